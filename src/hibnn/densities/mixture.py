"""A mixture of low-rank Gaussians.

p(x) = sum_k n_k / n  N_k(x)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.densities.gaussian import LowRankGaussian


@dataclass(frozen=True)
class Mixture:
    """Components, and how many rows each of them stands for."""

    components: tuple[LowRankGaussian, ...]
    counts: Float[Tensor, " components"]

    @property
    def log_weights(self) -> Float[Tensor, " components"]:
        return (self.counts / self.counts.sum()).log()

    def joint(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows components"]:
        """log n_k / n N_k(x) for every component, all of them by a few products of matrices."""
        gaussians = self.components
        means = torch.stack([one.mean for one in gaussians])
        noise = torch.stack([one.noise for one in gaussians])
        centre = (self.counts / self.counts.sum()) @ means  # distances lose few digits from here
        means, shifted = means - centre, x - centre
        directions = torch.cat([one.directions for one in gaussians], 1)
        offsets = torch.cat([mean @ one.directions for mean, one in zip(means, gaussians, strict=True)])
        gains = torch.block_diag(*((1 / one.variances - 1 / one.noise)[:, None] for one in gaussians))
        inside = (shifted @ directions - offsets).square() @ gains
        cross = shifted @ means.T
        distances = (shifted.square().sum(1, keepdim=True) + means.square().sum(1) - 2 * cross).clamp(min=0)
        constants = torch.stack([one.log_determinant() for one in gaussians]) + x.shape[1] * math.log(2 * math.pi)
        return self.log_weights - 0.5 * (inside + distances / noise + constants)

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
