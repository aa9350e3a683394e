"""Bayesian networks that change their widths: neurons are appended, put into another order, or dropped.

An appended neuron has the first prior and outgoing means of zero: the network computes what it did, at the means
exactly, and the posterior of every older weight stays as it was. A dropped neuron takes its weights with it. Everything
here changes the network in place, and the moments of an optimiser with it. `hibnn.learners.sized` appends and drops
neurons task by task.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from hibnn.nn.layers.linear import BayesianLinear, gaussian_start
from hibnn.nn.networks.bayesian import BayesianMLP, copy_block

Change = Callable[[Tensor], Tensor]


def append_units(
    network: BayesianMLP,
    counts: Sequence[int],
    heads: Sequence[BayesianLinear],
    generator: torch.Generator,
) -> None:
    """Append `counts` neurons to the hidden layers, and inputs for them to the given heads."""
    below = network.inputs
    for layer, count in zip(network.hidden_layers(), counts, strict=True):
        outputs = layer.mean.shape[1]
        extend(network, layer, below, outputs + count)
        with torch.no_grad():
            layer.mean[:, outputs:] = gaussian_start(below, count, network.init_std, generator, network.bias_init_std)
        below = outputs + count
    for head in heads:
        extend(network, head, below, head.mean.shape[1])


def extend(network: BayesianMLP, layer: BayesianLinear, inputs: int, outputs: int) -> None:
    """Give a layer more inputs and outputs, under the network's first prior and with means of zero."""
    old_inputs, old_outputs = layer.mean.shape[0] - 1, layer.mean.shape[1]
    fresh = network.new_layer(torch.zeros(inputs + 1, outputs, device=layer.mean.device))
    copy_block(layer, fresh, old_inputs, old_outputs)
    for name, value in (*fresh.named_parameters(), *fresh.named_buffers()):
        getattr(layer, name).data = value.detach()


def keep_units(network: BayesianMLP, kept: Sequence[Tensor], optimiser: torch.optim.Optimizer | None = None) -> None:
    """Keep the neurons numbered `kept` in each hidden layer, in this order; every head loses the inputs of the others.

    A head that reads only the first neurons must not lose any of them.
    """
    rows: Tensor | None = None
    for layer, units in zip(network.hidden_layers(), kept, strict=True):
        _select(layer, rows, units, optimiser)
        rows = units
    for head in network.every_head():
        known = None if rows is None else rows[rows < head.mean.shape[0] - 1]
        _select(head, known, None, optimiser)


def take_shapes(network: BayesianMLP, tensors: Mapping[str, Tensor]) -> None:
    """Give every parameter and buffer the shape it has in a stored state, whose values are then loaded."""
    for name, value in tensors.items():
        path, _, leaf = name.rpartition(".")
        held = getattr(network.get_submodule(path), leaf)
        if held.shape != value.shape:
            held.data = torch.empty_like(value, device=held.device)


def _select(
    layer: BayesianLinear, rows: Tensor | None, columns: Tensor | None, optimiser: torch.optim.Optimizer | None
) -> None:
    """Keep the given inputs (all biases stay) and outputs of a layer, in place."""

    def chosen(value: Tensor) -> Tensor:
        if rows is not None:
            value = torch.cat([value[:-1][rows], value[-1:]])
        return value if columns is None else value[:, columns]

    for held in layer.tensors():
        if optimiser is not None and isinstance(held, nn.Parameter):
            _change_moments(optimiser, held, chosen)
        held.data = chosen(held.detach()).contiguous()
        held.grad = None


def _change_moments(optimiser: torch.optim.Optimizer, parameter: nn.Parameter, change: Change) -> None:
    """Do to Adam's moments of a parameter what is done to the parameter."""
    moments = optimiser.state.get(parameter, {})
    for name, value in moments.items():
        if value.shape == parameter.shape:
            moments[name] = change(value).contiguous()
