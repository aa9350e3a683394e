"""What is kept of every class's held-out rows to find inputs of no class: see `hibnn.tasks.outliers` for the score.

`TaskDensities` has one, lets it learn from the held-out rows of an experience, and asks it how strange rows are.
"""

import copy
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.tasks.density.density import Density
from hibnn.tasks.density.families import Judged
from hibnn.tasks.outliers import Shape, Typical, example_statistics, quantiles

LEAST = 1e-3
"""Added to distances before their logarithm."""
OF_DENSITY = 4
"""Statistics that a density gives; the others are of the example itself."""


class Typicality:
    """Typical values of statistics for every class, and how they vary together, up to and including every task."""

    def __init__(self, standardise: bool) -> None:
        self.standardise = standardise
        self.tasks: list[list[Typical]] = []
        self.shapes: list[Shape] = []

    def copy(self) -> "Typicality":
        """Another one that knows the same and goes its own way."""
        made = copy.copy(self)
        made.tasks, made.shapes = [list(task) for task in self.tasks], list(self.shapes)
        return made

    @property
    def count(self) -> int:
        """How many statistics there are."""
        return OF_DENSITY + (4 if self.standardise else 0)

    def statistics(
        self, density: Density, given: Float[Tensor, "rows inputs"], seen: Float[Tensor, "rows seen"]
    ) -> Float[Tensor, "rows statistics"]:
        """All statistics of rows as they come (`given`) and as the density sees them."""
        rows, mixture = density.project(seen), density.mixture_in(seen.dtype)
        assert mixture is not None
        along, residual = mixture.distances(rows)
        logs = [(part + LEAST).log() for part in (along, residual, rows.rest)]
        own = torch.stack([mixture.log_density(rows), *logs], 1).double()
        return torch.cat([own, example_statistics(given, seen).double()], 1) if self.standardise else own

    def judged_statistics(
        self, judged: Judged, given: Float[Tensor, "rows inputs"], seen: Float[Tensor, "rows seen"]
    ) -> Float[Tensor, "rows statistics"]:
        """The same of rows that chose a density of few inputs, by densities that had not learned from them."""
        nothing = torch.full_like(judged.quadratic, LEAST).log()
        own = torch.stack([judged.log_density, (judged.quadratic + LEAST).log(), nothing, nothing], 1).double()
        return torch.cat([own, example_statistics(given, seen).double()], 1) if self.standardise else own

    def begin(self) -> None:
        """Make room for a task."""
        self.tasks.append([])
        self.shapes.append(self.shapes[-1] if self.shapes else Shape.empty(self.count))

    def add_class(self, task: int) -> None:
        """Make room for a class of a task."""
        self.tasks[task].append(Typical.empty(self.count))

    def forget(self, task: int) -> None:
        """Begin a task again."""
        self.tasks[task] = [Typical.empty(self.count) for _ in self.tasks[task]]

    def learn(self, task: int, statistics: Mapping[int, Float[Tensor, "rows statistics"]]) -> None:
        """Learn from held-out rows of some classes of a task."""
        typical = {label: Typical.of(values) for label, values in statistics.items()}
        in_spreads = {label: typical[label].in_spreads(values) for label, values in statistics.items()}
        shape = self.shapes[task]
        for z in in_spreads.values():
            shape = shape.update(z)
        self.shapes[task] = shape
        for label, known in typical.items():
            scores = quantiles(shape.score(in_spreads[label])).float()
            self.tasks[task][label] = Typical(known.median, known.lower, known.upper, scores)

    def follow(self, task: int, label: int, old: Tensor, new: Tensor) -> None:
        """Take note of a density that has changed: its statistics of the same rows under the old and the new one."""
        before, after = Typical.of(old), Typical.of(new)
        known = self.tasks[task][label]
        lower, upper = (
            (kept + now - then).maximum(kept.minimum(now))
            for kept, then, now in ((known.lower, before.lower, after.lower), (known.upper, before.upper, after.upper))
        )
        self.tasks[task][label] = Typical(known.median + after.median - before.median, lower, upper, known.scores)

    def strangeness(
        self, task: int, label: int, statistics: Float[Tensor, "rows statistics"]
    ) -> tuple[Float[Tensor, " rows"], Float[Tensor, " rows"]]:
        """Scores of rows whose most probable class this is, and the share of its own rows that are stranger."""
        typical = self.tasks[task][label]
        scores = self.shapes[task].score(typical.in_spreads(statistics))
        return scores, typical.p_values(scores)

    def tensors(self) -> dict[str, Tensor]:
        """All that must be stored."""
        made = {"typical": torch.stack([label.tensor() for task in self.tasks for label in task])}
        for name in ("count", "first", "second"):
            made[f"shapes.{name}"] = torch.stack([getattr(shape, name) for shape in self.shapes])
        return made

    def restore(self, tensors: Mapping[str, Tensor], sizes: Sequence[int]) -> None:
        """Take over what `tensors` gave, for tasks with so many classes."""
        rows = [Typical.from_tensor(numbers) for numbers in tensors["typical"]]
        parts = (tensors[f"shapes.{name}"] for name in ("count", "first", "second"))
        self.shapes = [Shape(*part) for part in zip(*parts, strict=True)]
        self.tasks = []
        for size in sizes:
            self.tasks.append(rows[:size])
            rows = rows[size:]
