"""A pruned network without the inputs and neurons that cannot change its outputs.

A weight is gone where its mean and its variance are zero. Then there is nothing to draw

    for an input or a neuron that is not read:    all weights above it are gone, or lead to neurons that are not read
    for a neuron that is not fed:                 its bias is gone and so are all weights below it, or they come from
                                                  neurons that are not fed; it is relu(0) = 0, whatever its mask

and what is left has the same outputs, in distribution and at the means. A neuron that only its bias feeds stays.
Predictions (`hibnn.learners`) ask their network through `compacted`: of one that was pruned to a few percent of its
weights (`hibnn.evaluation.pruning`) few neurons are left, often none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP


@dataclass(frozen=True)
class Compacted:
    """A network that answers for one head of another, of which it has the `inputs` and `units`; None: all of them."""

    network: BayesianMLP
    head: int
    inputs: Int[Tensor, " inputs"] | None = None
    units: Sequence[Int[Tensor, " units"]] | None = None
    widths: Sequence[int] = ()

    def __call__(
        self,
        x: Float[Tensor, "batch inputs"],
        masks: Sequence[Float[Tensor, "rows units"]] | None,
        generator: torch.Generator | None,
        draws: int = 1,
    ) -> Float[Tensor, "rows outputs"]:
        """Logits for inputs and masks of the whole network, as its `forward` has them."""
        if self.inputs is None or self.units is None:
            return self.network(x, self.head, masks, generator, draws)
        if masks is not None:
            whole = zip(masks, self.units, self.widths, strict=True)
            masks = [_columns(mask, units, width) for mask, units, width in whole]
        return self.network(x.index_select(1, self.inputs), self.head, masks, generator, draws)


@torch.no_grad()
def compacted(network: BayesianMLP, head: int) -> Compacted:
    """What is left of a network for one of its heads; the network itself where no weight is gone."""
    layers, heads = network.hidden_layers(), network.heads_of(head)
    if not any(torch.isneginf(layer.log_variance.amin()) for layer in (*layers, *heads) if layer.mean.numel()):
        return Compacted(network, head)
    present = [_present(layer) for layer in layers]
    inputs, *units = needed(present, torch.cat([_present(layer) for layer in heads], 1))
    part = BayesianMLP(
        len(inputs),
        [len(own) for own in units],
        Layout.GROWING,  # all heads of the part answer
        None,
        log_variance=network.log_variance,
        prior_variance=network.prior_variance,
        init_std=0.0,
        weight_noise=network.weight_noise,
        generator=torch.Generator(inputs.device),  # nothing is drawn
    )
    for layer in heads:
        part.add_head(layer.mean.shape[1], torch.Generator(inputs.device))
    below = inputs
    for mine, own, outputs in zip(part.hidden_layers(), layers, units, strict=True):
        _take(mine, own, below, outputs)
        below = outputs
    for mine, own in zip(part.every_head(), heads, strict=True):
        _take(mine, own, below, torch.arange(own.mean.shape[1], device=below.device))
    return Compacted(part, 0, inputs, units, network.widths)


def needed(
    hidden: Sequence[Bool[Tensor, "inputs+1 outputs"]], head: Bool[Tensor, "inputs+1 outputs"]
) -> list[Int[Tensor, " units"]]:
    """The inputs, and the neurons of each hidden layer, that are both fed and read, given which weights are there.

    One pass up and one down find them all: what feeds a neuron that is read is read, and what a fed neuron is read by
    is fed.
    """
    first = hidden[0] if hidden else head
    fed = [first.new_ones(len(first) - 1)]
    for weights in hidden:
        fed.append(weights[:-1][fed[-1]].any(0) | weights[-1])
    found, read = list[Tensor](), head.new_ones(head.shape[1])
    for weights, below in zip((head, *reversed(hidden)), reversed(fed), strict=True):
        read = weights[:-1][:, read].any(1) & below
        found.insert(0, read.nonzero().squeeze(1))
    return found


def _present(layer: BayesianLinear) -> Bool[Tensor, "inputs+1 outputs"]:
    """Weights and biases that are not gone."""
    return (layer.mean != 0) | ~torch.isneginf(layer.log_variance)


def _take(target: BayesianLinear, source: BayesianLinear, inputs: Tensor, outputs: Tensor) -> None:
    """Copy the posterior of some inputs, of the biases, and of some outputs."""
    rows = torch.cat([inputs, inputs.new_tensor([len(source.mean) - 1])])
    target.mean.data = source.mean[rows][:, outputs]
    target.log_variance.data = source.log_variance[rows][:, outputs]


def _columns(mask: Tensor, units: Tensor, width: int) -> Tensor:
    """The masks of some neurons of a layer; columns are there for the last neurons, those before are always on."""
    on = width - mask.shape[1]
    return mask.index_select(1, units[units >= on] - on)
