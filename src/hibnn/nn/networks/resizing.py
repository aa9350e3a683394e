"""Bayesian networks that change their widths: neurons are appended when a layer is full, or dropped when unused.

An appended neuron has the first prior, a new stick at the end of its layer's, and outgoing means of zero: the network
computes what it did, at the means exactly, and the posterior of every older weight and stick stays as it was. A dropped
neuron takes its weights with it and leaves its stick behind (`hibnn.nn.layers.pruned`). Everything here changes the
network in place; learners with truncation "auto" append, and `hibnn.estimators.compaction` drops.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from hibnn.nn.layers.ibp import SMALLEST_CONCENTRATION, HIBPMask, NeuronMask, Sticks, inverse_softplus
from hibnn.nn.layers.linear import BayesianLinear, gaussian_start
from hibnn.nn.layers.pruned import PrunedMask
from hibnn.nn.networks.bayesian import BayesianMLP


def append_units(
    network: BayesianMLP,
    counts: Sequence[int],
    *,
    alpha: float,
    init_alpha: float,
    init_std: float,
    generator: torch.Generator,
) -> None:
    """Append `counts` neurons to the hidden layers; an H-IBP needs the same number in every layer."""
    below = 0
    for layer, count in zip(network.hidden_layers(), counts, strict=True):
        _extend_layer(network, layer, below, count, init_std, generator)
        below = count
    for head in network.heads:
        _extend_layer(network, cast(BayesianLinear, head), below, 0, 0.0, generator)
    if network.buffet is not None:
        _extend_mask(network.buffet, counts, alpha, init_alpha)


def units_to_append(expected_pi: Sequence[Tensor], same: bool, threshold: float = 0.5, share: float = 0.5) -> list[int]:
    """For each layer half as many neurons again where its last neuron is on with a probability above the threshold.

    pi falls along a layer, so the last neuron in use means that the truncation binds. With `same`, as an H-IBP needs
    it, every layer gets what the layer with the most gets.
    """
    counts = [max(1, round(share * len(pi))) if float(pi[-1]) > threshold else 0 for pi in expected_pi]
    return [max(counts)] * len(counts) if same else counts


def keep_units(network: BayesianMLP, kept: Sequence[Tensor]) -> None:
    """Drop all neurons but those numbered `kept` in each hidden layer."""
    rows: Tensor | None = None
    for layer, units in zip(network.hidden_layers(), kept, strict=True):
        _select(layer, rows, units)
        rows = units
    for head in network.heads:
        _select(cast(BayesianLinear, head), rows, None)
    mask = network.buffet
    if isinstance(mask, PrunedMask):
        network.buffet = PrunedMask(mask.inner, [old[new] for old, new in zip(mask.kept, kept, strict=True)])
    elif mask is not None:
        network.buffet = PrunedMask(mask, list(kept))


def take_shapes(network: BayesianMLP, tensors: Mapping[str, Tensor]) -> None:
    """Give every parameter and buffer the shape it has in a stored state, whose values are then loaded.

    For a network that has grown or was pruned: its stored state does not fit one that is made anew.
    """
    kept = [value for name, value in sorted(tensors.items()) if name.startswith("buffet.kept_")]
    if kept and network.buffet is not None:
        network.buffet = PrunedMask(network.buffet, kept)
    for name, value in tensors.items():
        path, _, leaf = name.rpartition(".")
        module = network.get_submodule(path)
        if getattr(module, leaf).shape != value.shape:
            _replace(module, leaf, value)
    inner = network.buffet.inner if isinstance(network.buffet, PrunedMask) else network.buffet
    if isinstance(inner, HIBPMask):
        inner.widths = [len(inner.each()[0].prior[0])] * len(inner.widths) if kept else network.widths


def _extend_layer(
    network: BayesianMLP, layer: BayesianLinear, rows: int, columns: int, init_std: float, generator: torch.Generator
) -> None:
    """Add inputs and outputs to a layer in place; input rows go before the last row, which holds the biases."""
    inputs, outputs = layer.mean.shape[0] - 1 + rows, layer.mean.shape[1]
    fresh = BayesianLinear(
        torch.zeros(inputs + 1, outputs + columns, device=layer.mean.device),
        network.log_variance,
        network.prior_variance,
    )
    with torch.no_grad():
        fresh.mean[:, outputs:] = gaussian_start(inputs, columns, init_std, generator)
        for name, old in (*layer.named_parameters(), *layer.named_buffers()):
            new = getattr(fresh, name)
            new[: len(old) - 1, :outputs] = old[:-1]
            new[-1, :outputs] = old[-1]
            _replace(layer, name, new)


def _extend_mask(mask: NeuronMask, counts: Sequence[int], alpha: float, init_alpha: float) -> None:
    """Add sticks; in a pruned mask the new neurons come behind all that there ever were."""
    if isinstance(mask, PrunedMask):
        for layer, (units, pi, count) in enumerate(zip(mask.kept, mask.inner.expected_pi(), counts, strict=True)):
            _replace(mask, f"kept_{layer}", torch.cat([units, len(pi) + torch.arange(count, device=units.device)]))
        _extend_mask(mask.inner, counts, alpha, init_alpha)
        return
    if isinstance(mask, HIBPMask):
        mask.widths = [width + counts[0] for width in mask.widths]
    for sticks, count in zip(mask.each(), counts, strict=False):  # an H-IBP has one set of sticks for all layers
        _extend_sticks(sticks, count, alpha, init_alpha)


def _extend_sticks(sticks: Sticks, count: int, alpha: float, init_alpha: float) -> None:
    """New sticks at the end, with the first prior and start."""
    fresh = sticks.raw.new_tensor([[init_alpha], [1.0]]).expand(2, count)
    raw = torch.cat([sticks.raw.detach(), inverse_softplus(fresh - SMALLEST_CONCENTRATION)], 1)
    _replace(sticks, "raw", raw)
    _replace(sticks, "prior", torch.cat([sticks.prior, sticks.prior.new_tensor([[alpha], [1.0]]).expand(2, count)], 1))


def _select(layer: BayesianLinear, rows: Tensor | None, columns: Tensor | None) -> None:
    """Keep the given inputs (all biases stay) and outputs of a layer, in place."""
    for name, old in [*layer.named_parameters(), *layer.named_buffers()]:
        value = old.detach()
        if rows is not None:
            value = torch.cat([value[:-1][rows], value[-1:]])
        _replace(layer, name, value if columns is None else value[:, columns])


def _replace(module: nn.Module, name: str, value: Tensor) -> None:
    """Put another tensor in the place of a parameter or buffer."""
    value = value.detach().clone()
    setattr(module, name, nn.Parameter(value) if isinstance(getattr(module, name), nn.Parameter) else value)
