"""A mixture of low-rank Gaussians.

p(x) = sum_k n_k / n  N_k(x)
"""

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
        """log n_k / n N_k(x) for every component."""
        return torch.stack([one.log_density(x) for one in self.components], 1) + self.log_weights

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
