"""A mixture of low-rank Gaussians.

p(x) = sum_k n_k / n  N_k(x)

A value that densities hold, fitting makes and merging joins; log densities of all components take a few products of
matrices, whatever the number of components.
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
        """constants - 1/2 [ |x - m_k|^2 / noise_k + sum_i (V_k^T (x - m_k))_i^2 (1/variances_ki - 1/noise_k) ]."""
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
        """log n_k / n."""
        return (self.counts / self.counts.sum()).log()

    @cached_property
    def terms(self) -> "Terms":
        """What `joint` multiplies rows with."""
        gaussians = self.components
        means = torch.stack([gaussian.mean for gaussian in gaussians])
        centre = (self.counts / self.counts.sum()) @ means  # distances lose few digits from here
        means = means - centre
        log_determinants = torch.stack([gaussian.log_determinant() for gaussian in gaussians])
        return Terms(
            centre,
            means,
            torch.cat([gaussian.directions for gaussian in gaussians], 1),
            torch.cat([mean @ gaussian.directions for mean, gaussian in zip(means, gaussians, strict=True)]),
            torch.block_diag(*((1 / gaussian.variances - 1 / gaussian.noise)[:, None] for gaussian in gaussians)),
            means.square().sum(1),
            torch.stack([gaussian.noise for gaussian in gaussians]),
            self.log_weights - 0.5 * (log_determinants + means.shape[1] * math.log(2 * math.pi)),
        )

    def joint(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows components"]:
        """log n_k / n N_k(x) for every component, all of them by a few products of matrices."""
        return self.terms.joint(x)

    def log_density(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, " rows"]:
        """log p(x) of each row."""
        return self.joint(x).logsumexp(1)

    def log_density_by_rank(self, x: Tensor, ranks: Sequence[int]) -> Float[Tensor, "ranks rows"]:
        """The log density that components cut to each of several ranks would give, from one set of projections."""
        squares = [gaussian.squares(x) for gaussian in self.components]
        made = []
        for rank in ranks:
            cut = [gaussian.truncate(rank) for gaussian in self.components]
            logs = [gaussian.log_density_of_squares(*given) for gaussian, given in zip(cut, squares, strict=True)]
            made.append((torch.stack(logs, 1) + self.log_weights).logsumexp(1))
        return torch.stack(made)

    def truncate(self, rank: int) -> "Mixture":
        """The mixture with components of at most this rank."""
        return Mixture(tuple(gaussian.truncate(rank) for gaussian in self.components), self.counts)

    def to(self, dtype: torch.dtype) -> "Mixture":
        """In another precision."""
        return Mixture(tuple(gaussian.to(dtype) for gaussian in self.components), self.counts.to(dtype))
