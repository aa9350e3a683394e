"""Mixtures of Gaussians of any covariances, many at once: what densities of few inputs are fitted and judged by.

Weighted moments of rows, and squared Mahalanobis distances from them, are both linear in the products of inputs:

    sum_r w_r (1, x_r, x_r x_r^T)          and          Q(x) = x^T P x - 2 x^T P m + m^T P m,      P = C^-1

so the products are computed once (`Products`), and all mixtures that share the rows, folds of a cross-validation and
strengths of shrinking alike, cost one product of matrices in each step of expectation-maximisation. Rows are centred
first: in double precision no digits that count are lost. `hibnn.tasks.density.families` and `.choosing` call this.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture

ITERATIONS = 10
"""Rounds of expectation-maximisation at most."""
CONVERGED = 3e-3
"""It ends when the rows of no mixture gain more than so many nats each, times the number of inputs."""
MOST_PRODUCTS = 2**23
"""Numbers that are kept at once (64 MB); products of more rows are computed block by block, when they are asked for."""


class Moments(NamedTuple):
    """Of weighted rows."""

    weights: Float[Tensor, "*some"]
    means: Float[Tensor, "*some inputs"]
    covariances: Float[Tensor, "*some inputs inputs"]


@dataclass(frozen=True)
class Products:
    """Rows as densities see them, and of each the products of all pairs of inputs, its inputs and 1."""

    rows: Float[Tensor, "rows inputs"]

    @cached_property
    def centre(self) -> Float[Tensor, " inputs"]:
        return self.rows.mean(0)

    @cached_property
    def pairs(self) -> Float[Tensor, "2 pairs"]:
        """i and j of every product x_i x_j, i <= j."""
        return torch.triu_indices(self.rows.shape[1], self.rows.shape[1])

    @cached_property
    def block(self) -> Float[Tensor, "rows products"] | None:
        """The products of all rows, where they are few."""
        size = len(self.rows) * (self.pairs.shape[1] + self.rows.shape[1] + 1)
        return self._of(self.rows) if size <= MOST_PRODUCTS else None

    def _of(self, rows: Tensor) -> Float[Tensor, "rows products"]:
        centred = rows - self.centre
        return torch.cat(
            [centred[:, self.pairs[0]] * centred[:, self.pairs[1]], centred, centred.new_ones(len(rows), 1)], 1
        )

    def blocks(self) -> Iterator[Float[Tensor, "some products"]]:
        """The products of all rows, some rows at a time."""
        if self.block is not None:
            yield self.block
            return
        for rows in self.rows.split(max(1, MOST_PRODUCTS // (self.pairs.shape[1] + self.rows.shape[1] + 1))):
            yield self._of(rows)

    def moments(self, weights: Float[Tensor, "*some rows"]) -> Moments:
        """Sums of weights, means and covariances of the rows by each set of weights."""
        flat, sums, first = weights.flatten(0, -2), 0.0, 0
        for block in self.blocks():
            sums = sums + flat[:, first : first + len(block)] @ block
            first += len(block)
        assert isinstance(sums, Tensor)
        inputs, pairs = self.rows.shape[1], self.pairs
        totals = sums[:, -1]
        sums = (sums / totals.clamp(min=1e-300)[:, None]).unflatten(0, weights.shape[:-1])
        means = sums[..., len(pairs[0]) : -1]
        places = pairs.new_empty(inputs, inputs)
        places[pairs[0], pairs[1]] = places[pairs[1], pairs[0]] = torch.arange(len(pairs[0]))
        covariances = (
            sums[..., places.flatten()].unflatten(-1, (inputs, inputs)) - means[..., None] * means[..., None, :]
        )
        return Moments(totals.unflatten(0, weights.shape[:-1]), means + self.centre, covariances)

    def quadratic(
        self, means: Float[Tensor, "*some inputs"], factors: Float[Tensor, "*some inputs inputs"]
    ) -> Float[Tensor, "*some rows"]:
        """Squared Mahalanobis distances, the covariances given by their Cholesky factors."""
        precisions, shifted = torch.cholesky_inverse(factors), means - self.centre
        slopes = (precisions @ shifted[..., None])[..., 0]
        twice = torch.where(self.pairs[0] == self.pairs[1], 1.0, 2.0).to(means)
        own = precisions[..., self.pairs[0], self.pairs[1]] * twice
        linear = torch.cat([own, -2 * slopes, (slopes * shifted).sum(-1, keepdim=True)], -1).flatten(0, -2)
        found = torch.cat([linear @ block.T for block in self.blocks()], -1)
        return found.clamp_(min=0).unflatten(0, means.shape[:-1])


@dataclass(frozen=True)
class Full:
    """Mixtures of Gaussians by the Cholesky factors of their covariances, several at once.

    Components that have lost their rows stay, with a log weight of -inf.
    """

    means: Float[Tensor, "*mixtures components inputs"]
    factors: Float[Tensor, "*mixtures components inputs inputs"]
    counts: Float[Tensor, "*mixtures components"]

    @cached_property
    def constants(self) -> Float[Tensor, "*mixtures components"]:
        """log n_k / n - 1/2 log |2 pi C_k|."""
        weights = (self.counts / self.counts.sum(-1, keepdim=True)).log()
        halves = self.factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return weights - halves - self.means.shape[-1] / 2 * math.log(2 * math.pi)

    def quadratic(self, x: Products) -> Float[Tensor, "*mixtures components rows"]:
        """The squared Mahalanobis distance to every component."""
        return x.quadratic(self.means, self.factors)

    def mixture(self, *place: int) -> Mixture:
        """One of the mixtures, without components that have no rows."""
        kept = self.counts[place] > 0
        parts = zip(self.means[place][kept], self.factors[place][kept], strict=True)
        gaussians = tuple(LowRankGaussian.of_covariance(mean, factor @ factor.T) for mean, factor in parts)
        return Mixture(gaussians, self.counts[place][kept])


Shrink = Callable[[Moments], Tensor]
"""From the moments of components to covariances that have an inverse."""


def expectation_maximisation(
    x: Products,
    parts: Float[Tensor, "*mixtures components rows"],
    learned: Float[Tensor, "*mixtures 1 rows"],
    shrink: Shrink,
) -> tuple[Full, Float[Tensor, "*mixtures components rows"]]:
    """Mixtures from rows that are first grouped into `parts`, and the distances of all rows from their components.

    `learned` is 1 for the rows that a mixture learns from; the others are only judged.
    """
    made, distances, before = None, None, -math.inf
    share = learned[..., 0, :] / learned.sum(-1)
    for _ in range(ITERATIONS if parts.shape[-2] > 1 else 1):
        moments = x.moments(parts * learned)
        few = (learned.sum(-1) - 1).clamp(max=2)  # so few rows are no component, and belong to the others
        counts = torch.where(moments.weights > few, moments.weights, 0.0)
        counts = counts * (learned.sum(-1) / counts.sum(-1, keepdim=True).clamp(min=1e-300))
        made = Full(moments.means, factor(shrink(moments)), counts)
        distances = made.quadratic(x)
        joint = made.constants[..., None] - 0.5 * distances
        likelihoods = (joint.logsumexp(-2) * share).sum(-1)
        if float((likelihoods - before).max()) < CONVERGED * x.rows.shape[1]:
            break
        before, parts = likelihoods, joint.softmax(-2)
    assert made is not None
    assert distances is not None
    return made, distances


def factor(covariances: Float[Tensor, "*some inputs inputs"]) -> Float[Tensor, "*some inputs inputs"]:
    """Cholesky factors; where rounding left no positive matrix, of one with a little more on its diagonal."""
    factors, failed = torch.linalg.cholesky_ex(covariances)
    ridge = 1e-12
    while failed.any():
        size = covariances.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None].clamp(min=1e-30)
        covariances = covariances + ridge * size * torch.eye(covariances.shape[-1], dtype=covariances.dtype)
        factors, failed = torch.linalg.cholesky_ex(covariances)
        ridge *= 10
    return factors
