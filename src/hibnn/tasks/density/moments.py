"""Sufficient statistics of a Gaussian: what is kept of the data, exact however they are divided into experiences.

n = n_1 + n_2,   mean = (n_1 mean_1 + n_2 mean_2) / n
scatter = scatter_1 + scatter_2 + n_1 n_2 / n (mean_1 - mean_2)(mean_1 - mean_2)^T       (Chan, Golub, LeVeque 1983)

In double precision, because they are summed over every experience of a class. `SingleDensity` is made of them.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Statistics:
    """Count, mean and scatter matrix sum_i (x_i - mean)(x_i - mean)^T, in double precision."""

    count: int
    mean: Float[Tensor, " inputs"]
    scatter: Float[Tensor, "inputs inputs"]

    @classmethod
    def empty(cls, inputs: int) -> "Statistics":
        """Of no rows."""
        zeros = torch.zeros(inputs, inputs, dtype=torch.float64)
        return cls(0, zeros.new_zeros(inputs), zeros)

    @classmethod
    def of(cls, x: Float[Tensor, "rows inputs"]) -> "Statistics":
        """The statistics of some rows, at least one."""
        rows = x.double()
        mean = rows.mean(0)
        centred = rows - mean
        return cls(len(rows), mean, centred.T @ centred)

    def merge(self, other: "Statistics") -> "Statistics":
        """The statistics of both sets of rows."""
        count = self.count + other.count
        if 0 in (self.count, other.count):
            return self if other.count == 0 else other
        difference = other.mean - self.mean
        mean = self.mean + difference * (other.count / count)
        between = torch.outer(difference, difference) * (self.count * other.count / count)
        return Statistics(count, mean, self.scatter + other.scatter + between)

    def covariance(self) -> Float[Tensor, "inputs inputs"]:
        """The covariance of highest likelihood, scatter / n."""
        return self.scatter / self.count
