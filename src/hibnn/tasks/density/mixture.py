"""A mixture of low-rank Gaussians, or of Student's t distributions with the same shapes.

    p(x) = sum_k n_k / n  t(x; m_k, C_k, v)
    log t = lgamma((v + d)/2) - lgamma(v/2) - d/2 log(v pi) - 1/2 log |C| - (v + d)/2 log(1 + Q / v)

with the squared Mahalanobis distance Q = (x - m)^T C^-1 (x - m); v = inf is the Gaussian. A value that densities hold,
fitting makes and merging joins; log densities of all components take a few products of matrices, whatever the number
of components.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.basis import Rows
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

    def quadratic(self, rows: Rows) -> Float[Tensor, "rows components"]:
        """|x - m_k|^2 / noise_k + sum_i (V_k^T (x - m_k))_i^2 (1/variances_ki - 1/noise_k)."""
        shifted = rows.z - self.centre
        lengths = (shifted.square().sum(1) + rows.rest)[:, None] + self.lengths
        quadratic = (lengths - 2 * (shifted @ self.means.T)).clamp(min=0) / self.noise
        if len(self.offsets):
            quadratic = quadratic + (shifted @ self.directions - self.offsets).square() @ self.gains
        return quadratic.clamp(min=0)


@dataclass(frozen=True)
class Mixture:
    """Components, how many rows each of them stands for, and the degrees of freedom of their tails."""

    components: tuple[LowRankGaussian, ...]
    counts: Float[Tensor, " components"]
    freedom: float = math.inf

    @property
    def inputs(self) -> int:
        """How many dimensions there are."""
        return self.components[0].inputs

    @property
    def log_weights(self) -> Float[Tensor, " components"]:
        """log n_k / n."""
        return (self.counts / self.counts.sum()).log()

    @cached_property
    def terms(self) -> "Terms":
        """What `quadratic` multiplies rows with."""
        gaussians = self.components
        means = torch.stack([gaussian.mean for gaussian in gaussians])
        centre = (self.counts / self.counts.sum()) @ means  # distances lose few digits from here
        means = means - centre
        return Terms(
            centre,
            means,
            torch.cat([gaussian.directions for gaussian in gaussians], 1),
            torch.cat([mean @ gaussian.directions for mean, gaussian in zip(means, gaussians, strict=True)]),
            torch.block_diag(*((1 / gaussian.variances - 1 / gaussian.noise)[:, None] for gaussian in gaussians)),
            means.square().sum(1),
            torch.stack([gaussian.noise for gaussian in gaussians]),
        )

    @cached_property
    def constants(self) -> Float[Tensor, " components"]:
        """What does not depend on rows, of the Gaussian: log n_k / n - 1/2 log |2 pi C_k|."""
        determinants = torch.stack([gaussian.log_determinant() for gaussian in self.components])
        return self.log_weights - 0.5 * (determinants + self.inputs * math.log(2 * math.pi))

    def quadratic(self, rows: Rows) -> Float[Tensor, "rows components"]:
        """The squared Mahalanobis distance to every component, all of them by a few products of matrices."""
        return self.terms.quadratic(rows)

    def distances(self, rows: Rows) -> tuple[Float[Tensor, " rows"], Float[Tensor, " rows"]]:
        """Q of the most probable component in two parts: along its directions, and from them in noises."""
        terms, sizes = self.terms, [gaussian.rank for gaussian in self.components]
        best = self.joint(rows).argmax(1, keepdim=True)
        shifted = rows.z - terms.centre
        lengths = (shifted.square().sum(1) + rows.rest)[:, None] + terms.lengths
        whole = (lengths - 2 * (shifted @ terms.means.T)).clamp(min=0)
        parts = (shifted @ terms.directions - terms.offsets).square().split(sizes, 1)
        along = torch.stack([part @ (1 / own.variances) for part, own in zip(parts, self.components, strict=True)], 1)
        inside = torch.stack([part.sum(1) for part in parts], 1)
        from_them = (whole - inside).clamp(min=0) / terms.noise
        return along.gather(1, best)[:, 0], from_them.gather(1, best)[:, 0]

    def joint(self, rows: Rows | Tensor) -> Float[Tensor, "rows components"]:
        """log n_k / n p_k(x) for every component."""
        rows = rows if isinstance(rows, Rows) else Rows.of(rows)
        return self.constants + log_tail(self.quadratic(rows), self.inputs, self.freedom)

    def log_density(self, rows: Rows | Tensor) -> Float[Tensor, " rows"]:
        """log p(x) of each row."""
        return self.joint(rows).logsumexp(1)

    def log_density_by_rank(self, rows: Rows | Tensor, ranks: Sequence[int]) -> Float[Tensor, "ranks rows"]:
        """The log density that components cut to each of several ranks would give, from one set of projections."""
        rows = rows if isinstance(rows, Rows) else Rows.of(rows)
        squares = [gaussian.squares(rows.z, rows.rest) for gaussian in self.components]
        made = []
        for rank in ranks:
            cut = self.truncate(rank)
            quadratic = [own.quadratic_of_squares(*given) for own, given in zip(cut.components, squares, strict=True)]
            tails = log_tail(torch.stack(quadratic, 1).clamp(min=0), self.inputs, self.freedom)
            made.append((cut.constants + tails).logsumexp(1))
        return torch.stack(made)

    def truncate(self, rank: int) -> "Mixture":
        """The mixture with components of at most this rank."""
        return replace(self, components=tuple(gaussian.truncate(rank) for gaussian in self.components))

    def to(self, dtype: torch.dtype) -> "Mixture":
        """In another precision."""
        components = tuple(gaussian.to(dtype) for gaussian in self.components)
        return replace(self, components=components, counts=self.counts.to(dtype))

    def covariance(self) -> tuple[Float[Tensor, " inputs"], Float[Tensor, "inputs inputs"]]:
        """The mean, and the covariance within and between the components, in the coordinates."""
        weights = self.counts / self.counts.sum()
        means = torch.stack([gaussian.mean for gaussian in self.components])
        mean = weights @ means
        within = torch.stack([w * own.covariance() for w, own in zip(weights, self.components, strict=True)]).sum(0)
        shifted = (means - mean) * weights.sqrt()[:, None]
        return mean, within + shifted.T @ shifted


def log_tail(quadratic: Tensor, inputs: int, freedom: float) -> Tensor:
    """log t - log N at the same mean and shape's mode, as a function of Q: -Q/2 for the Gaussian.

    Added to log weights and -1/2 log |2 pi C| it gives the log density of a component.
    """
    if math.isinf(freedom):
        return -0.5 * quadratic
    constant = math.lgamma((freedom + inputs) / 2) - math.lgamma(freedom / 2) - inputs / 2 * math.log(freedom / 2)
    return constant - (freedom + inputs) / 2 * (quadratic / freedom).log1p()
