"""The density of a class: it learns from rows, experience by experience, and gives the log density of others.

`SingleDensity` is a Gaussian made from sufficient statistics: the same however its rows are divided into experiences.
`MixtureDensity` is a mixture of a few Gaussians; rows that come later are fitted by a mixture of their own, which is
pooled with the first. `hibnn.tasks.task_densities` makes, updates, stores and restores them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.errors import UserError, unknown
from hibnn.tasks.density.fitting import fit_mixture
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.merging import pool
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.moments import Statistics

MOST_ROWS = 6_000
"""Rows of an experience that a mixture is fitted to, drawn at random where there are more."""
GAUSSIAN_FIELDS = tuple(field.name for field in fields(LowRankGaussian))
Of = Literal["inputs", "features"]


@dataclass(frozen=True)
class DensityOptions:
    """Bounds on the size of a class's density, and what its inputs are."""

    components: int = 16
    """at most so many Gaussians a class; 1: a single one, the same for any division into experiences"""
    rank: int = 16
    """at most so many factors each"""
    power: float = 1.0
    """inputs are first raised to this power (their signs stay); the same for all classes, so that they compare"""
    standardise: bool = True
    """whether every example is first scaled to mean 0 and standard deviation 1: for images, not for a few columns"""
    of: Of = "inputs"
    """what they are densities of: the inputs, or the network's last hidden layer under a task's head"""

    def __post_init__(self) -> None:
        for name in ("components", "rank"):
            if getattr(self, name) < 1:
                raise UserError(f"density-{name} must be at least 1, not {getattr(self, name)}.")
        if self.of not in get_args(Of):
            raise unknown("thing to have a density", self.of, get_args(Of))
        if not self.power > 0:
            raise UserError(f"density-power must be positive, not {self.power}.")


class Density(ABC):
    """A density of a class that has seen some rows; immutable, so that an update returns another."""

    @abstractmethod
    def update(self, x: Float[Tensor, "rows inputs"], held_out: Tensor, generator: torch.Generator) -> "Density":
        """The density after more rows; `held_out` rows of the class choose sizes and are not learned."""

    mixture: Mixture | None
    """The density as a mixture; None before any rows."""

    def log_density(self, x: Float[Tensor, "rows inputs"]) -> Float[Tensor, " rows"]:
        """log p(x) of each row, in the precision of the rows; only after an update."""
        mixture = self.double if x.dtype == torch.float64 else self.mixture
        assert mixture is not None
        return mixture.log_density(x)

    @cached_property
    def double(self) -> Mixture | None:
        """The mixture in double precision, converted once."""
        return None if self.mixture is None else self.mixture.to(torch.float64)

    @cached_property
    def count(self) -> float:
        """How many rows have been learned."""
        return 0.0 if self.mixture is None else float(self.mixture.counts.sum())

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """All that must be stored, by name; `restore_density` reads it back."""

    def parameter_count(self) -> int:
        """How many numbers `tensors` stores."""
        return sum(tensor.numel() for tensor in self.tensors().values())


class SingleDensity(Density):
    """A Gaussian whose rank has the highest evidence; held-out rows are not needed."""

    def __init__(self, options: DensityOptions, statistics: Statistics) -> None:
        self.options, self.statistics, self.mixture = options, statistics, None
        if statistics.count:
            gaussian = LowRankGaussian.of_statistics(statistics, options.rank).to(torch.float32)
            self.mixture = Mixture((gaussian,), torch.tensor([float(statistics.count)]))

    def update(self, x: Tensor, held_out: Tensor, generator: torch.Generator) -> "SingleDensity":
        return SingleDensity(self.options, self.statistics.merge(Statistics.of(x)))

    def tensors(self) -> dict[str, Tensor]:
        """Count, mean and scatter matrix; of the latter, which is symmetric, the upper triangle."""
        above = torch.triu_indices(*self.statistics.scatter.shape)
        return {
            "count": torch.tensor(self.statistics.count),
            "mean": self.statistics.mean,
            "scatter": self.statistics.scatter[above[0], above[1]],
        }

    @classmethod
    def from_tensors(cls, options: DensityOptions, tensors: Mapping[str, Tensor]) -> "SingleDensity":
        """From what `tensors` gave."""
        mean = tensors["mean"]
        above = torch.triu_indices(len(mean), len(mean))
        scatter = torch.zeros(len(mean), len(mean), dtype=mean.dtype)
        scatter[above[0], above[1]] = tensors["scatter"]
        return cls(options, Statistics(int(tensors["count"]), mean, scatter + scatter.triu(1).T))


class MixtureDensity(Density):
    """A mixture of low-rank Gaussians whose number and rank held-out rows choose.

    Of an experience, at most 6,000 rows are fitted; their counts are scaled up to all of it.
    """

    def __init__(self, options: DensityOptions, mixture: Mixture | None = None) -> None:
        self.options, self.mixture = options, mixture

    def update(self, x: Tensor, held_out: Tensor, generator: torch.Generator) -> "MixtureDensity":
        rows = x if len(x) <= MOST_ROWS else x[torch.randperm(len(x), generator=generator)[:MOST_ROWS]]
        fitted = fit_mixture(rows, held_out, self.options.components, self.options.rank, generator)
        fitted = Mixture(fitted.components, fitted.counts * (len(x) / len(rows)))
        if self.mixture is not None:
            fitted = pool(self.mixture, fitted, self.options.components)
        return MixtureDensity(self.options, fitted)

    def tensors(self) -> dict[str, Tensor]:
        """The counts, and the fields of each Gaussian under its number."""
        if self.mixture is None:
            return {"counts": torch.zeros(0)}
        stored = {
            f"{number}.{name}": getattr(gaussian, name)
            for number, gaussian in enumerate(self.mixture.components)
            for name in GAUSSIAN_FIELDS
        }
        return {"counts": self.mixture.counts, **stored}

    @classmethod
    def from_tensors(cls, options: DensityOptions, tensors: Mapping[str, Tensor]) -> "MixtureDensity":
        """From what `tensors` gave."""
        components = tuple(
            LowRankGaussian(*(tensors[f"{number}.{name}"] for name in GAUSSIAN_FIELDS))
            for number in range(len(tensors["counts"]))
        )
        return cls(options, Mixture(components, tensors["counts"]) if components else None)


def new_density(options: DensityOptions, inputs: int) -> Density:
    """A density that has seen nothing."""
    if options.components == 1:
        return SingleDensity(options, Statistics.empty(inputs))
    return MixtureDensity(options)


def restore_density(options: DensityOptions, tensors: Mapping[str, Tensor]) -> Density:
    """A density from what `tensors` gave."""
    if options.components == 1:
        return SingleDensity.from_tensors(options, tensors)
    return MixtureDensity.from_tensors(options, tensors)
