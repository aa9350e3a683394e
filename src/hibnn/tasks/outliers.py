"""Is this any of my tasks? What a row is like beside held-out rows of its most probable class, on both sides of usual.

A density alone finds inputs likely that are simpler than its own: a shirt on a plain ground is nearer to all digits on
a noisy ground than another such digit. Typical rows are neither too unlikely nor too likely, so several statistics s_j
of a row are compared with the class's held-out rows, each in spreads from its median, on either side:

    z_j   = (s_j - median_j) / (upper_j or lower_j)   upper, lower: from the median to the 84th and 16th percentile
    score = sqrt( (z - m)^T R^-1 (z - m) )            m, R: mean and covariance of z over held-out rows of all tasks

    log density     under the most probable class
    along           log of the squared Mahalanobis distance along the factors of the nearest component
    residual        log of the squared distance from its factors, in noises
    outside         log of the squared distance from the task's basis, where there is one
    mean, deviation, skewness, kurtosis     of the example, where it is standardised before a density sees it

An input is none of mine if its score is higher than all but a stated share of its class's held-out rows had: that share
is the rate at which own inputs are refused. Everything is fixed when a task has been learned, and nothing is a row.
`hibnn.tasks.task_densities` keeps a `Typical` a class and a `Shape` a task.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

LEVELS = torch.linspace(0, 1, 101, dtype=torch.float64)
USUAL, FARTHEST, RIDGE = 4.0, 30.0, 0.05
"""Held-out rows count for R up to so many spreads, rows that are judged up to so many more; what is added to R."""
PRIOR, EXPONENT = 0.05, 0.1
"""How probable an input of no class is beforehand, and the law u^(a - 1) of its p-values u; own ones are uniform."""


class Strangeness(NamedTuple):
    """How strange rows are: their score, the share of own rows that are stranger, and their most probable class."""

    score: Float[Tensor, " rows"]
    p_value: Float[Tensor, " rows"]
    classes: Int[Tensor, " rows"]

    @property
    def none_probability(self) -> Float[Tensor, " rows"]:
        """p(none of my classes | x): prior a u^(a-1) / (prior a u^(a-1) + 1 - prior) for a p-value u."""
        against = PRIOR * EXPONENT * self.p_value.clamp(min=1e-30) ** (EXPONENT - 1)
        return against / (against + 1 - PRIOR)


@dataclass(frozen=True)
class Typical:
    """What a class's held-out rows had: of every statistic the median and a spread on either side, and their scores."""

    median: Float[Tensor, " statistics"]
    lower: Float[Tensor, " statistics"]
    upper: Float[Tensor, " statistics"]
    scores: Float[Tensor, " levels"]

    @classmethod
    def empty(cls, statistics: int) -> "Typical":
        """Of a class of which no row has come."""
        nothing = torch.zeros(statistics)
        return cls(nothing, nothing, nothing, torch.zeros(len(LEVELS)))

    @classmethod
    def of(cls, statistics: Float[Tensor, "rows statistics"]) -> "Typical":
        """From held-out rows; their scores come later, when R is known."""
        lower, median, upper = torch.quantile(statistics.double(), torch.tensor([0.16, 0.5, 0.84]).double(), dim=0)
        return cls(median.float(), (median - lower).float(), (upper - median).float(), torch.zeros(len(LEVELS)))

    def in_spreads(self, statistics: Float[Tensor, "rows statistics"]) -> Float[Tensor, "rows statistics"]:
        """z of rows; a statistic that never varied counts only where it differs."""
        difference = statistics.double() - self.median.double()
        least = 1e-3 * (1 + self.median.double().abs())
        spread = torch.where(difference > 0, self.upper.double(), self.lower.double())
        return (difference / spread.maximum(least)).clamp(-FARTHEST, FARTHEST)

    def p_values(self, scores: Float[Tensor, " rows"]) -> Float[Tensor, " rows"]:
        """The share of held-out rows with a higher score; beyond the 95th percentile an exponential tail."""
        levels = self.scores.double()
        above = torch.searchsorted(levels, scores.contiguous()).clamp(1, len(LEVELS) - 1)
        width = (levels[above] - levels[above - 1]).clamp(min=1e-12)
        inside = 1 - (above - 1 + ((scores - levels[above - 1]) / width).clamp(0, 1)) / (len(LEVELS) - 1)
        rate = torch.log(torch.tensor(4.0)) / (levels[95] - levels[80]).clamp(min=1e-6)
        beyond = 0.05 * torch.exp(-rate * (scores - levels[95]).clamp(min=0))
        return torch.where(scores > levels[95], beyond, inside)

    def tensor(self) -> Float[Tensor, " numbers"]:
        """All of it in a row."""
        return torch.cat([getattr(self, field.name) for field in fields(self)])

    @classmethod
    def from_tensor(cls, numbers: Float[Tensor, " numbers"]) -> "Typical":
        """From what `tensor` gave."""
        size = (len(numbers) - len(LEVELS)) // 3
        return cls(*numbers.split([size, size, size, len(LEVELS)]))


@dataclass(frozen=True)
class Shape:
    """Sums over held-out rows: how many, of z, and of its products; what a task adds to those before it."""

    count: Float[Tensor, ""]
    first: Float[Tensor, " statistics"]
    second: Float[Tensor, "statistics statistics"]

    @classmethod
    def empty(cls, statistics: int) -> "Shape":
        zeros = torch.zeros(statistics, statistics, dtype=torch.float64)
        return cls(zeros.sum(), zeros[0], zeros)

    def update(self, z: Float[Tensor, "rows statistics"]) -> "Shape":
        """With rows added, each statistic within the usual."""
        near = z.double().clamp(-USUAL, USUAL)
        return Shape(self.count + len(near), self.first + near.sum(0), self.second + near.T @ near)

    def score(self, z: Float[Tensor, "rows statistics"]) -> Float[Tensor, " rows"]:
        """sqrt( (z - m)^T R^-1 (z - m) )."""
        mean = self.first / self.count
        covariance = self.second / self.count - torch.outer(mean, mean) + RIDGE * torch.eye(len(mean)).double()
        centred = z.double() - mean
        return (centred * torch.linalg.solve(covariance, centred.T).T).sum(1).clamp(min=0).sqrt()


def quantiles(values: Float[Tensor, " rows"]) -> Float[Tensor, " levels"]:
    """The percentiles of held-out rows: all that is kept of them."""
    return torch.quantile(values.double(), LEVELS)


def in_spreads(values: Float[Tensor, "*rows some"], kept: Float[Tensor, "some levels"]) -> Float[Tensor, "*rows some"]:
    """How far above the median log densities lie, in spreads; `kept` has the percentiles for each of the last axis."""
    middle, spread = kept[:, 50], ((kept[:, 84] - kept[:, 16]) / 2).clamp(min=1e-6)
    return (values.double() - middle) / spread


def example_statistics(x: Float[Tensor, "rows inputs"], standardised: Tensor) -> Float[Tensor, "rows 4"]:
    """Mean and deviation of every example, skewness and log kurtosis of what a density sees of it."""
    skewness, kurtosis = standardised.pow(3).mean(1), standardised.pow(4).mean(1)
    return torch.stack([x.mean(1), x.std(1, correction=0), skewness, kurtosis.clamp(min=1e-3).log()], 1)
