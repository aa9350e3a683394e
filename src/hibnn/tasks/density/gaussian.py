"""A Gaussian with a few directions of its own variance and the same noise in all others: probabilistic PCA.

    N(x; mean, V diag(variances - noise) V^T + noise I)        V: orthonormal columns    (Tipping and Bishop 1999)

    log N = -1/2 [ sum_k z_k^2 (1/variances_k - 1/noise) + |x - mean|^2 / noise
                   + sum_k log variances_k + (d - q) log noise + d log 2 pi ],     z = V^T (x - mean)

The inverse and the determinant never need a matrix of d x d (Woodbury). With q = d directions it is any Gaussian.
Every variance has a floor, a small share of the mean variance: constant pixels, repeated rows and fewer rows than
dimensions leave no direction without variance. Where rows are coordinates in a basis (`hibnn.tasks.density.basis`),
mean and directions are too; `outside` counts the other dimensions, of which a row's `rest` has the squared length.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.evidence import evidence_rank
from hibnn.tasks.density.moments import Statistics

FLOOR = 0.2
"""What is added to every variance, as a share of the noise."""
LEAST_SHARE, LEAST = 1e-3, 1e-6
"""The least noise: a share of the mean variance of an input, and where nothing varies."""


@dataclass(frozen=True)
class LowRankGaussian:
    """Mean, orthonormal directions, the variance along each of them, and the variance along all others."""

    mean: Float[Tensor, " inputs"]
    directions: Float[Tensor, "inputs rank"]
    variances: Float[Tensor, " rank"]
    noise: Float[Tensor, ""]
    outside: int = 0

    @classmethod
    def of_spectrum(
        cls, mean: Tensor, directions: Tensor, values: Tensor, total: Tensor, outside: int = 0
    ) -> "LowRankGaussian":
        """From the leading eigenvectors (`directions`) and eigenvalues of a covariance and its trace `total`.

        The noise is the mean of the other eigenvalues; the floor is added to it and to every variance.
        """
        inputs, rank = len(mean) + outside, directions.shape[1]
        least = LEAST_SHARE * total / inputs + LEAST
        noise = (total - values.sum()).clamp(min=0) / max(1, inputs - rank) + least
        return cls(mean, directions, values.clamp(min=0) + FLOOR * noise + least, (1 + FLOOR) * noise, outside)

    @classmethod
    def of_statistics(cls, statistics: Statistics, largest: int | None = None) -> "LowRankGaussian":
        """The density of highest likelihood, of the rank with the highest evidence among those up to `largest`."""
        values, vectors = torch.linalg.eigh(statistics.covariance())
        values, vectors = values.flip(0).clamp(min=0), vectors.flip(1)  # eigh sorts upwards, and may round below 0
        rank = evidence_rank(values + LEAST, statistics.count, largest)
        return cls.of_spectrum(statistics.mean, vectors[:, :rank], values[:rank], values.sum())

    @classmethod
    def of_covariance(cls, mean: Tensor, covariance: Float[Tensor, "inputs inputs"]) -> "LowRankGaussian":
        """Any Gaussian: as many directions as inputs. The noise, which nothing has, is such that no digits cancel."""
        values, vectors = torch.linalg.eigh(covariance)
        values = values.clamp(min=values[-1].clamp(min=LEAST) * torch.finfo(values.dtype).eps)
        return cls(mean, vectors.flip(1), values.flip(0), values[-1].clone())

    @property
    def rank(self) -> int:
        """How many directions have a variance of their own."""
        return len(self.variances)

    @property
    def full(self) -> bool:
        """Whether every direction has a variance of its own, so that there is no noise."""
        return self.rank == self.inputs

    @property
    def inputs(self) -> int:
        """How many dimensions there are, inside and outside."""
        return len(self.mean) + self.outside

    def squares(self, x: Float[Tensor, "rows inputs"], rest: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
        """z^2 along every direction, and |x - mean|^2."""
        centred = x - self.mean
        return (centred @ self.directions).square(), centred.square().sum(-1) + rest

    def log_density(self, x: Float[Tensor, "rows inputs"], rest: Tensor | float = 0.0) -> Float[Tensor, " rows"]:
        """log N(x) of each row."""
        return self.log_density_of_squares(*self.squares(x, rest))

    def log_density_of_squares(self, along: Tensor, whole: Tensor) -> Tensor:
        """The log density from what `squares` gave, of which a smaller rank takes the first columns."""
        quadratic = self.quadratic_of_squares(along, whole)
        return -0.5 * (quadratic + self.log_determinant() + self.inputs * math.log(2 * math.pi))

    def quadratic_of_squares(self, along: Tensor, whole: Tensor) -> Tensor:
        """(x - mean)^T C^-1 (x - mean), the squared Mahalanobis distance."""
        return (along[:, : self.rank] * (1 / self.variances - 1 / self.noise)).sum(-1) + whole / self.noise

    def log_determinant(self) -> Float[Tensor, ""]:
        """log |C| of the whole covariance C."""
        return self.variances.log().sum() + (self.inputs - self.rank) * self.noise.log()

    def truncate(self, rank: int) -> "LowRankGaussian":
        """The same density with fewer directions; the variance of the others goes into the noise."""
        if rank >= self.rank:
            return self
        others = self.inputs - self.rank
        noise = (self.noise * others + self.variances[rank:].sum()) / (self.inputs - rank)
        return replace(self, directions=self.directions[:, :rank], variances=self.variances[:rank], noise=noise)

    def scaled(self, factor: float) -> "LowRankGaussian":
        """The density with every variance so many times as large."""
        return replace(self, variances=self.variances * factor, noise=self.noise * factor)

    def covariance(self) -> Float[Tensor, "inputs inputs"]:
        """The whole matrix within the coordinates, for tests and few inputs."""
        low_rank = (self.directions * (self.variances - self.noise)) @ self.directions.T
        return low_rank + self.noise * torch.eye(len(self.mean), dtype=self.mean.dtype)

    def to(self, dtype: torch.dtype) -> "LowRankGaussian":
        """In another precision."""
        mean, directions, variances, noise = (
            part.to(dtype) for part in (self.mean, self.directions, self.variances, self.noise)
        )
        return LowRankGaussian(mean, directions, variances, noise, self.outside)
