"""The density of a class: it learns from rows, experience by experience, and gives the log density of others.

`SingleDensity` is a Gaussian made from sufficient statistics: the same however its rows are divided into experiences.
`MixtureDensity` is a mixture of a few components; rows that come later are fitted by a mixture of their own, which is
pooled with the first. `hibnn.tasks.task_densities` makes, updates, stores and restores them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.basis import Basis, Rows
from hibnn.tasks.density.compressing import Bound, compress
from hibnn.tasks.density.families import Borrowed, Fit, fit_family, refit
from hibnn.tasks.density.fitting import fit_mixture
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.merging import pool
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.moments import Statistics
from hibnn.tasks.density.options import DensityOptions, Of
from hibnn.tasks.density.quantising import byte_count
from hibnn.tasks.density.stored import StoredMixture

__all__ = ["Density", "DensityOptions", "MixtureDensity", "Of", "SingleDensity", "new_density", "restore_density"]

MOST_ROWS = 6_000
"""Rows of an experience that a mixture is fitted to, drawn at random where there are more."""
FEW_INPUTS = 128
"""Up to so many inputs, covariances are full; of more, they have low rank within a basis that a task has."""
LEAST_VARIANCE = 1e-6


class Density(ABC):
    """A density of a class that has seen some rows; immutable, so that an update returns another."""

    @abstractmethod
    def update(
        self, x: Tensor, held_out: Tensor, generator: torch.Generator, borrowed: Borrowed | None = None
    ) -> "Density":
        """The density after more rows; `held_out` rows of the class choose sizes and are not learned."""

    @abstractmethod
    def mixture_in(self, dtype: torch.dtype) -> Mixture | None:
        """The density as a mixture; None before any rows."""

    def project(self, x: Float[Tensor, "rows inputs"]) -> Rows:
        """Rows in the coordinates of the mixture."""
        return Rows.of(x)

    @property
    def mixture(self) -> Mixture | None:
        """The density as a mixture in single precision; None before any rows."""
        return self.mixture_in(torch.float32)

    def log_density(self, x: Float[Tensor, "rows inputs"] | Rows) -> Float[Tensor, " rows"]:
        """log p(x) of each row, in the precision of the rows; only after an update."""
        rows = x if isinstance(x, Rows) else self.project(x)
        mixture = self.mixture_in(rows.z.dtype)
        assert mixture is not None
        return mixture.log_density(rows)

    @property
    def count(self) -> float:
        """How many rows have been learned."""
        return 0.0 if self.mixture is None else float(self.mixture.counts.sum())

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """All that must be stored, by name; `restore_density` reads it back."""

    def parameter_count(self) -> int:
        """How many numbers `tensors` stores."""
        return sum(tensor.numel() for tensor in self.tensors().values())

    def byte_count(self) -> int:
        """How many bytes `tensors` takes."""
        return byte_count(self.tensors())


class SingleDensity(Density):
    """A Gaussian whose rank has the highest evidence; held-out rows are not needed."""

    def __init__(self, options: DensityOptions, statistics: Statistics) -> None:
        self.options, self.statistics, self.made = options, statistics, None
        if statistics.count:
            gaussian = LowRankGaussian.of_statistics(statistics, options.rank)
            single = Mixture((gaussian,), torch.tensor([float(statistics.count)], dtype=torch.float64))
            self.made = {torch.float64: single, torch.float32: single.to(torch.float32)}

    def update(
        self, x: Tensor, held_out: Tensor, generator: torch.Generator, borrowed: Borrowed | None = None
    ) -> "SingleDensity":
        return SingleDensity(self.options, self.statistics.merge(Statistics.of(x)))

    def mixture_in(self, dtype: torch.dtype) -> Mixture | None:
        return None if self.made is None else self.made[dtype]

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
    """A mixture whose family, number of components, rank and tails rows that it has not learned from choose.

    Of an experience, at most 6,000 rows are fitted; their counts are scaled up to all of it. `fit` are the choices of
    the last update, as long as they are needed: they are not stored.
    """

    def __init__(
        self,
        options: DensityOptions,
        stored: StoredMixture | None = None,
        basis: Basis | None = None,
        fit: Fit | None = None,
    ) -> None:
        self.options, self.stored, self.basis, self.fit = options, stored, basis, fit

    def project(self, x: Float[Tensor, "rows inputs"]) -> Rows:
        return Rows.of(x) if self.basis is None else self.basis.project(x)

    def mixture_in(self, dtype: torch.dtype) -> Mixture | None:
        return None if self.stored is None else self.stored.mixture(dtype)

    def update(
        self, x: Tensor, held_out: Tensor, generator: torch.Generator, borrowed: Borrowed | None = None
    ) -> "MixtureDensity":
        rows = x if len(x) <= MOST_ROWS else x[torch.randperm(len(x), generator=generator)[:MOST_ROWS]]
        held_out = held_out if len(held_out) else rows
        if self.basis is None and x.shape[1] <= FEW_INPUTS:
            given = borrowed or Borrowed(None, torch.full((x.shape[1],), LEAST_VARIANCE, dtype=torch.float64))
            seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
            fit = fit_family(rows, held_out, self.options.components, given, seed)
            return self._joined(fit.mixture, len(x) / len(rows), held_out, fit)
        outside = 0 if self.basis is None else self.basis.inputs - self.basis.size
        shared = None if borrowed is None else borrowed.rows()
        mixture = fit_mixture(
            self.project(rows), self.project(held_out), self.options.components, self.options.rank, generator,
            outside=outside, borrowed=shared,
        )  # fmt: skip
        return self._joined(mixture, len(x) / len(rows), held_out)

    def update_as(self, chosen: Fit, x: Tensor, borrowed: Borrowed, generator: torch.Generator) -> "MixtureDensity":
        """The density after more rows, by choices made for most of them."""
        seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
        fit = refit(x, chosen.family, chosen.freedom, chosen.scale, borrowed, seed)
        return self._joined(fit.mixture, 1.0, x)

    def _joined(self, fitted: Mixture, factor: float, held_out: Tensor, fit: Fit | None = None) -> "MixtureDensity":
        """Pooled with what was known, and stored; one row fitted stands for `factor` rows."""
        fitted = replace(fitted, counts=fitted.counts * factor)
        held = self.project(held_out.to(fitted.counts.dtype))
        if self.stored is not None:
            fitted = pool(self.stored.mixture(fitted.counts.dtype), fitted, self.options.components)
        return MixtureDensity(self.options, StoredMixture.of(fitted, held), self.basis, fit)

    def within(self, bound: Bound) -> bool:
        """Whether it keeps a bound already."""
        if self.stored is None or (self.basis is not None and self.basis.size > bound.basis):
            return False
        components, rank = self.stored.variances.shape
        return components <= bound.components and rank <= bound.rank

    def compress(self, bound: Bound, basis: Basis | None) -> "MixtureDensity":
        """The density within smaller bounds, with the first directions of its basis (`basis`) alone."""
        if self.stored is None:
            return MixtureDensity(self.options, None, basis)
        mixture = self.stored.mixture(torch.float64)
        made = compress(mixture, bound, None if basis is None else basis.size)
        return MixtureDensity(self.options, StoredMixture.in_bits(made, self.stored.bits), basis)

    def tensors(self) -> dict[str, Tensor]:
        return {"counts": torch.zeros(0)} if self.stored is None else self.stored.tensors()

    @classmethod
    def from_tensors(
        cls, options: DensityOptions, tensors: Mapping[str, Tensor], basis: Basis | None = None
    ) -> "MixtureDensity":
        """From what `tensors` gave."""
        outside = 0 if basis is None else basis.inputs - basis.size
        stored = StoredMixture.from_tensors(tensors, outside) if len(tensors["counts"]) else None
        return cls(options, stored, basis)


def new_density(options: DensityOptions, inputs: int, basis: Basis | None = None) -> Density:
    """A density that has seen nothing."""
    if options.components == 1:
        return SingleDensity(options, Statistics.empty(inputs))
    return MixtureDensity(options, None, basis)


def restore_density(options: DensityOptions, tensors: Mapping[str, Tensor], basis: Basis | None = None) -> Density:
    """A density from what `tensors` gave."""
    if options.components == 1:
        return SingleDensity.from_tensors(options, tensors)
    return MixtureDensity.from_tensors(options, tensors, basis)
