"""A mixture of low-rank Gaussians.

p(x) = sum_k n_k / n  N_k(x)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.gaussian import LowRankGaussian


@dataclass(frozen=True)
class Terms:
    """A mixture's numbers as its log density needs them; means and distances are from the centre."""

    centre: Float[Tensor, " inputs"]
    means: Float[Tensor, "components inputs"]
    directions: Float[Tensor, "inputs factors"]
    offsets: Float[Tensor, " factors"]
    gains: Float[Tensor, "factors components"]
    lengths: Float[Tensor, " components"]
    noise: Float[Tensor, " components"]
    constants: Float[Tensor, " components"]

    def joint(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows components"]:
        shifted = x - self.centre
        distances = shifted.square().sum(1, keepdim=True) + self.lengths - 2 * (shifted @ self.means.T)
        quadratic = distances.clamp(min=0) / self.noise
        if len(self.offsets):
            quadratic = quadratic + (shifted @ self.directions - self.offsets).square() @ self.gains
        return self.constants - 0.5 * quadratic


@dataclass(frozen=True)
class Mixture:
    """Components, and how many rows each of them stands for."""

    components: tuple[LowRankGaussian, ...]
    counts: Float[Tensor, " components"]

    @property
    def log_weights(self) -> Float[Tensor, " components"]:
        return (self.counts / self.counts.sum()).log()

    @cached_property
    def terms(self) -> "Terms":
        """What `joint` multiplies rows with."""
        gaussians = self.components
        means = torch.stack([one.mean for one in gaussians])
        centre = (self.counts / self.counts.sum()) @ means  # distances lose few digits from here
        means = means - centre
        constants = torch.stack([one.log_determinant() for one in gaussians]) + means.shape[1] * math.log(2 * math.pi)
        return Terms(
            centre,
            means,
            torch.cat([one.directions for one in gaussians], 1),
            torch.cat([mean @ one.directions for mean, one in zip(means, gaussians, strict=True)]),
            torch.block_diag(*((1 / one.variances - 1 / one.noise)[:, None] for one in gaussians)),
            means.square().sum(1),
            torch.stack([one.noise for one in gaussians]),
            self.log_weights - 0.5 * constants,
        )

    def joint(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows components"]:
        """log n_k / n N_k(x) for every component, all of them by a few products of matrices."""
        return self.terms.joint(x)

    def log_density(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, " rows"]:
        return self.joint(x).logsumexp(1)

    def log_density_by_rank(self, x: Tensor, ranks: Sequence[int]) -> Float[Tensor, "ranks rows"]:
        """The log density that components cut to each of several ranks would give, from one set of projections."""
        squares = [one.squares(x) for one in self.components]
        made = []
        for rank in ranks:
            cut = [one.truncate(rank) for one in self.components]
            logs = [one.log_density_of_squares(*given) for one, given in zip(cut, squares, strict=True)]
            made.append((torch.stack(logs, 1) + self.log_weights).logsumexp(1))
        return torch.stack(made)

    def truncate(self, rank: int) -> "Mixture":
        return Mixture(tuple(one.truncate(rank) for one in self.components), self.counts)

    def to(self, dtype: torch.dtype) -> "Mixture":
        """In another precision."""
        return Mixture(tuple(one.to(dtype) for one in self.components), self.counts.to(dtype))
