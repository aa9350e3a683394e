"""How many neurons a task needs, by the loss of held-out rows: what `sized` asks when it has learned a while.

The neurons of a layer are put in the order of what they contribute. Then networks are nested: the first k neurons for
k = 0, 1, ..., all judged by the same draws of weights, so that two sizes differ by their neurons alone. The fewest
neurons suffice whose loss is within the tolerance of the best, or within one standard error of their paired difference.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.learners.optimisers import LBFGS
from hibnn.nn.layers.linear import BayesianLinear, WeightNoise
from hibnn.nn.likelihoods import Likelihood
from hibnn.nn.networks.bayesian import BayesianMLP

DRAWS = 8
EVERY_SIZE, STEP = 16, 1.12
"""All sizes up to here are tried, then each an eighth larger than the last."""
REFITTING = 50
"""Iterations at most of a head that is fitted to known neurons alone."""


@dataclass(frozen=True)
class Curve:
    """The held-out losses of nested layers, in nats an example: `losses` has a row for each size.

    `constant` are the losses without any neuron of the layer, those of earlier tasks neither: of an answer that does
    not look at its inputs.
    """

    sizes: list[int]
    losses: Float[Tensor, "sizes rows"]
    constant: Float[Tensor, " rows"]

    @property
    def means(self) -> Float[Tensor, " sizes"]:
        return self.losses.mean(1)

    @property
    def best(self) -> Float[Tensor, " rows"]:
        """The losses of the best size."""
        return self.losses[int(self.means.argmin())]

    def fewest(self, tolerance: float, before: Float[Tensor, " rows"] | None = None, share: int = 1) -> int:
        """The fewest neurons that suffice; the best size, where none comes near the best losses seen `before`.

        The layers of a network are cut one after the other: each may lose the tolerance once more, and `share` counts
        them.
        """
        enough = self.near(self.best, tolerance)
        if before is not None:
            enough &= self.near(before, share * tolerance)
        return self.sizes[int(enough.nonzero()[0] if enough.any() else self.means.argmin())]

    def learned(self, tolerance: float) -> bool:
        """Whether the best size is better than a constant answer, or could not be."""
        gain = self.constant - self.best
        return (
            float(gain.mean()) > max(tolerance, float(standard_error(gain))) or float(self.constant.mean()) <= tolerance
        )

    def near(self, best: Float[Tensor, " rows"], tolerance: float) -> Bool[Tensor, " sizes"]:
        """Which sizes lose no more than the tolerance, or than one standard error of the paired difference."""
        return is_near(self.losses, best, tolerance)


def is_near(
    losses: Float[Tensor, "*sizes rows"], best: Float[Tensor, " rows"], tolerance: float
) -> Bool[Tensor, "*sizes"]:
    """Whether losses exceed the best by no more than the tolerance, or one standard error of the paired difference."""
    difference = losses - best
    return difference.mean(-1) <= standard_error(difference).clamp(min=tolerance)


def standard_error(values: Float[Tensor, "*sizes rows"]) -> Float[Tensor, "*sizes"]:
    """Of the mean over rows; zero for a single row, which does not say."""
    rows = values.shape[-1]
    return values.std(-1, correction=min(1, rows - 1)) / math.sqrt(rows)


def sizes_up_to(most: int) -> list[int]:
    """The sizes that are tried for a layer with so many neurons."""
    sizes = list(range(min(most, EVERY_SIZE) + 1))
    while sizes[-1] < most:
        sizes.append(min(most, math.ceil(sizes[-1] * STEP)))
    return sizes


@torch.no_grad()
def held_out_curve(
    network: BayesianMLP, x: Tensor, y: Tensor, head: int, likelihood: Likelihood, layer: int, fixed: int, seed: int
) -> Curve:
    """The losses of rows without the last neurons of a layer; the first `fixed` always stay."""
    sizes = sizes_up_to(network.widths[layer] - fixed)
    before, after = torch.Generator(x.device).manual_seed(seed), torch.Generator(x.device)
    hidden = network.hidden(x, layer, before, DRAWS)

    def loss(outputs: Tensor) -> Tensor:
        return math.log(DRAWS) - likelihood.log_density(outputs.unflatten(0, (DRAWS, len(x))), y).logsumexp(0)

    def without(units: int) -> Tensor:
        kept = hidden.clone()
        kept[:, units:] = 0.0
        return network.outputs(kept, layer, head, after.manual_seed(seed + 1))  # the same noise for every size

    counts = [0, *(fixed + size for size in sizes)]
    if layer == len(network.widths) - 1 and network.weight_noise is WeightNoise.EXAMPLE:
        heads = (nested_outputs(above, hidden, counts, after) for above in network.heads_of(head))
        after.manual_seed(seed + 1)
        every = (torch.cat(parts, -1) for parts in zip(*heads, strict=True))
    else:
        every = (without(units) for units in counts)
    constant, *losses = (loss(outputs) for outputs in every)
    return Curve(sizes, torch.stack(losses), constant)


def nested_outputs(
    above: BayesianLinear, hidden: Float[Tensor, "rows units"], counts: Sequence[int], generator: torch.Generator
) -> Iterator[Float[Tensor, "rows outputs"]]:
    """The outputs of a layer that reads the first of some neurons, for each of these rising counts.

    Means and variances are sums over neurons: each count adds those of its own, so that all of them together cost about
    one product. The noise is the same for all.
    """
    variance, squares = above.log_variance.exp(), hidden.square()
    noise = torch.randn(len(hidden), above.mean.shape[1], generator=generator, device=hidden.device)
    location, spread = above.mean[-1].expand_as(noise), variance[-1].expand_as(noise)
    for first, last in pairwise((0, *counts)):
        location = torch.addmm(location, hidden[:, first:last], above.mean[first:last])
        spread = torch.addmm(spread, squares[:, first:last], variance[first:last])
        yield torch.addcmul(location, spread.sqrt(), noise)


def refit_head(
    network: BayesianMLP, x: Tensor, y: Tensor, head: int, likelihood: Likelihood, units: Sequence[int]
) -> Float[Tensor, "inputs outputs"]:
    """Means of a head that reads the first `units` of each layer only, at their best for these rows.

    Cutting judges neurons under a head that was learned together with all of them. A head fitted to the known ones
    alone says what they can do by themselves: its means maximise likelihood times prior, other weights at their means.
    """
    with torch.no_grad():
        part = network.part(units, head)
        features = part.features(x, None, None)
    (layer,) = part.heads_of(0)
    means = layer.mean.detach().clone().requires_grad_()
    optimiser = LBFGS([means], max_iter=REFITTING, tolerance_change=1e-6, line_search_fn="strong_wolfe")

    def objective() -> Tensor:
        optimiser.zero_grad()
        distance = (means - layer.prior_mean).square() * torch.exp(-layer.prior_log_variance)
        penalty = distance.sum() / (2 * len(x))
        loss = likelihood.nll(torch.addmm(means[-1], features, means[:-1]), y) + penalty
        loss.backward(inputs=[means])
        return loss

    optimiser.step(objective)  # pyright: ignore[reportArgumentType]
    return means.detach()


@torch.no_grad()
def known_losses(
    network: BayesianMLP, x: Tensor, y: Tensor, head: int, likelihood: Likelihood, units: Sequence[int], means: Tensor
) -> Float[Tensor, " rows"]:
    """The losses of rows under a head with these means that reads the first `units`, all weights at their means."""
    features = network.part(units, head).features(x, None, None)
    return -likelihood.log_density(torch.addmm(means[-1], features, means[:-1])[None], y)[0]


@torch.no_grad()
def contributions(network: BayesianMLP, x: Tensor, head: int, layer: int) -> Float[Tensor, " units"]:
    """How much the neurons of a layer move what comes after it: root mean square times the norm of outgoing means.

    What a neuron adds to all outputs of a softmax alike does not count.
    """
    hidden = network.hidden(x, layer, None, 1)
    last = layer == len(network.widths) - 1
    outgoing = torch.cat([above.mean[:-1] for above in network.heads_of(head)], 1) if last else None
    if outgoing is None:
        outgoing = network.hidden_layers()[layer + 1].mean[:-1]
    elif outgoing.shape[1] > 1 and not network.noise:  # outputs of a regression share no softmax
        outgoing = outgoing - outgoing.mean(1, keepdim=True)
    return hidden.square().mean(0).sqrt() * outgoing.norm(dim=1)
