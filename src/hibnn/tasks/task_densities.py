"""For every task, a density of each of its classes, and what held-out rows of the class had as log densities.

They see inputs, or what the network makes of them: its last hidden layer under the task's head. Features of different
tasks are different things, so their log densities count in spreads from the usual value (`hibnn.tasks.outliers`).
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.base import Learner, Setting, State
from hibnn.tasks.density.basis import Basis
from hibnn.tasks.density.choosing import JUDGED, best_power, best_target, least_variances, pooled, prefers_ranks
from hibnn.tasks.density.compressing import LADDER
from hibnn.tasks.density.density import (
    FEW_INPUTS,
    Density,
    DensityOptions,
    MixtureDensity,
    SingleDensity,
    new_density,
    restore_density,
)
from hibnn.tasks.density.families import Borrowed
from hibnn.tasks.density.quantising import byte_count
from hibnn.tasks.density.transform import RankMap, Transform
from hibnn.tasks.outliers import LEVELS, in_spreads, quantiles

NEVER = -1e30
"""The log density of a class of which no row has come."""
SMALL_CLASS = 500
"""Classes of many inputs with fewer rows may borrow a covariance from others."""


class TaskDensities:
    """Densities by task and label; each is a value, and nothing a later class learns changes it.

    Unless there is a bound in bytes: then all become smaller when together they would exceed it.
    """

    def __init__(self, options: DensityOptions, setting: Setting) -> None:
        self.options, self.setting = options, setting
        self.transform = Transform(options.power or 1.0, None, options.standardise)
        """What densities see; the first task decides what the options leave open."""
        self.scale: Tensor | None = None
        """What the columns have been divided by before they came here, if they have: estimators know."""
        self.floor = torch.ones(setting.inputs)
        """The least variance of every column; the first task decides."""
        self.bases: list[Basis | None] = []
        self.tasks: list[list[Density]] = []
        self.quantiles: list[list[Tensor]] = []
        self.before: list[Density] = []
        """The densities of a task before the experience that is being learned."""

    def copy(self) -> "TaskDensities":
        """Another one that knows the same and goes its own way."""
        made = copy.copy(self)
        made.bases = list(self.bases)
        made.tasks = [list(task) for task in self.tasks]
        made.quantiles = [list(task) for task in self.quantiles]
        return made

    def learn(
        self,
        train: Split,
        held: Split,
        task: int,
        classes: int,
        *,
        on_class: Callable[[dict[str, float]], None] = lambda terms: None,
        learner: Learner | None = None,
    ) -> None:
        """Learn from rows of a task, known or next; `held` ones choose the sizes, and some of its classes may lack.

        `on_class` is called after each class; `learner` is the one whose features are seen, where these are.
        """
        labels, held_labels = (torch.from_numpy(split.y).long() for split in (train, held))
        rows, others = (self._given(torch.from_numpy(split.x), task, learner) for split in (train, held))
        if not self.tasks:
            self.transform = choose_transform(self.options, rows, labels, self.setting.seed)
        rows, others = self.transform(rows), self.transform(others)
        if task == len(self.tasks):
            self._begin(rows, task, classes)
        borrowed = self._borrowed(rows, labels, task)
        self.before = list(self.tasks[task])
        for label, density in enumerate(self.tasks[task]):
            own, kept = rows[labels == label], others[held_labels == label]
            if len(own) == 0:
                continue
            kept = kept if len(kept) else own
            before = [round(density.count)] if density.count else []
            generator = self.setting.generator("density", task, label, *before)
            updated = density.update(own, kept, generator, borrowed if self._borrows(own) else None)
            values = updated.log_density(kept)
            self.tasks[task][label], self.quantiles[task][label] = updated, quantiles(values)
            on_class({"log density": float(values.mean())})
        if self.options.budget is not None:
            self._fit_within(self.options.budget)

    def settle(self, train: Split, held: Split, task: int, learner: Learner | None = None) -> None:
        """Learn from the held-out rows of an experience too, once they have calibrated what they were held out for.

        For experiences that cannot spare rows. Sizes, shapes and percentiles stay those that were chosen without them.
        """
        both = [torch.from_numpy(np.concatenate(part)) for part in ((train.x, held.x), (train.y, held.y))]
        rows, labels = self.seen(both[0], task, learner), both[1].long()
        borrowed = self._borrowed(rows, labels, task)
        for label, (before, now) in enumerate(zip(self.before, self.tasks[task], strict=True)):
            generator = self.setting.generator("density", task, label, "settle", round(before.count))
            own = rows[labels == label]
            if isinstance(before, SingleDensity):
                self.tasks[task][label] = before.update(own, own, generator) if len(own) else now
            elif isinstance(before, MixtureDensity) and isinstance(now, MixtureDensity) and now.fit and borrowed:
                self.tasks[task][label] = before.update_as(now.fit, own, borrowed, generator)
        self.before = []
        if self.options.budget is not None:
            self._fit_within(self.options.budget)

    def _begin(self, rows: Tensor, task: int, classes: int) -> None:
        """Make room for a task."""
        inputs, basis = rows.shape[1], None
        if task == 0:
            scale = torch.ones(inputs) if self.scale is None or self.transform.ranks else self.scale
            self.floor = least_variances(rows, scale)
        if inputs > FEW_INPUTS and self.options.components > 1:
            basis = Basis.of(rows, self.options.basis, self.setting.generator("density", task, "basis"))
        self.bases.append(basis)
        self.tasks.append([new_density(self.options, inputs, basis) for _ in range(classes)])
        self.quantiles.append([torch.zeros_like(LEVELS) for _ in range(classes)])

    def _borrows(self, own: Tensor) -> bool:
        """Few inputs are always judged beside what other classes say of them; of many inputs, those of small classes."""
        return own.shape[1] <= FEW_INPUTS or len(own) < SMALL_CLASS

    def _borrowed(self, rows: Tensor, labels: Tensor, task: int) -> Borrowed | None:
        """What other classes say: a pooled covariance, and of few inputs the least variance of a column."""
        if self.options.components == 1:
            return None
        few, basis = rows.shape[1] <= FEW_INPUTS, self.bases[task]
        own = [rows[labels == label] for label in labels.unique()]
        if not few and all(len(part) >= SMALL_CLASS for part in own):
            return None
        coordinates = rows if basis is None else basis.project(rows).z
        known = [(self._basis_of(density), density) for density in self._known(task)]
        borrowed = Borrowed(shared_covariance(coordinates, labels, known, basis), self.floor.double())
        if not few:
            return borrowed
        logs = [density.log_density(rows).double()[:, None] for _, density in known]
        some = torch.randperm(len(rows), generator=self.setting.generator("density", task, "target"))[:JUDGED]
        seen = torch.cat(logs, 1)[some] if logs else None
        return replace(borrowed, target=best_target(rows[some], labels[some], borrowed, seen, self.setting.seed))

    def _known(self, task: int) -> list[Density]:
        """Densities of other tasks' classes, where they see the same as this task's."""
        if self.options.of == "features":
            return []
        return [own for number, densities in enumerate(self.tasks) if number != task for own in densities if own.count]

    def _basis_of(self, density: Density) -> Basis | None:
        return density.basis if isinstance(density, MixtureDensity) else None

    def _fit_within(self, budget: int) -> None:
        """Make all densities smaller, by the same bound, if together they take more bytes than they may."""
        for bound in LADDER:
            if self.byte_count() <= budget:
                return
            self.bases = [None if basis is None else basis.truncate(bound.basis) for basis in self.bases]
            self.tasks = [
                [own.compress(bound, basis) if isinstance(own, MixtureDensity) else own for own in densities]
                for basis, densities in zip(self.bases, self.tasks, strict=True)
            ]
        if self.byte_count() > budget:
            raise UserError(
                f"{sum(map(len, self.tasks))} densities take {self.byte_count()} bytes at least: "
                f"raise density-bytes, now {budget}."
            )

    def joint(
        self, x: Float[Tensor, "rows inputs"], tasks: Sequence[int] | None = None, learner: Learner | None = None
    ) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) for the classes of some or all tasks, n_y as a share of the task."""
        wanted = range(len(self.tasks)) if tasks is None else tasks
        if self.options.of == "inputs":
            rows = self.preprocess(x)
            return [joint_of(self.tasks[task], rows) for task in wanted]
        return [
            joint_of(self.tasks[task], self.seen(x, task, learner), torch.stack(self.quantiles[task]))
            for task in wanted
        ]

    def seen(self, x: Float[Tensor, "rows inputs"], task: int, learner: Learner | None) -> Float[Tensor, "rows seen"]:
        """What the densities of a task see: inputs, or what the network makes of them now."""
        return self.preprocess(self._given(x, task, learner))

    def _given(self, x: Tensor, task: int, learner: Learner | None) -> Tensor:
        """Inputs or features, as they come."""
        if self.options.of == "inputs":
            return x
        if learner is None:
            raise UserError("densities of features need the network: give the learner.")
        return learner.features(x, task)

    def preprocess(self, x: Float[Tensor, "rows seen"]) -> Float[Tensor, "rows seen"]:
        """Powers, normal quantiles of ranks, or every row with mean 0 and deviation 1: see `Transform`."""
        return self.transform(x)

    def most_probable(self, joint: Sequence[Tensor]) -> tuple[Float[Tensor, " rows"], Int[Tensor, " rows"]]:
        """The log density of each row under its most probable class, and that class; `joint` is of all tasks."""
        logs = torch.cat(list(joint), 1)
        classes = logs.argmax(1)
        return (logs - self.shares).gather(1, classes[:, None])[:, 0], classes

    @property
    def shares(self) -> Float[Tensor, " classes"]:
        """log n_y of the classes of all tasks, as in `joint`."""
        return torch.cat([log_shares(task) for task in self.tasks])

    @property
    def levels(self) -> Float[Tensor, "classes levels"]:
        """The percentiles, over held-out rows, of what `joint` gives without the shares."""
        kept = torch.stack([label for task in self.quantiles for label in task])
        return kept if self.options.of == "inputs" else in_spreads(kept.T, kept).T

    def tensors(self) -> dict[str, Tensor]:
        """All that must be stored, but the number of each task's classes."""
        if not self.tasks:
            return {}
        made = {"quantiles": torch.stack([label for task in self.quantiles for label in task]), "floor": self.floor}
        made |= {f"transform.{name}": value for name, value in self.transform.tensors().items()}
        for task, (basis, densities) in enumerate(zip(self.bases, self.tasks, strict=True)):
            if basis is not None:
                made |= {f"basis.{task}.{name}": value for name, value in basis.tensors().items()}
            for label, density in enumerate(densities):
                made |= {f"density.{task}.{label}.{name}": value for name, value in density.tensors().items()}
        return made

    def byte_count(self) -> int:
        """How many bytes all of it takes where it is stored."""
        return byte_count(self.tensors())

    def restore(self, state: State, sizes: Sequence[int]) -> None:
        """Take over what `tensors` gave, for tasks with so many classes."""
        self.bases, self.tasks, self.quantiles = [], [], []
        if not sizes:
            return
        self.quantiles = [list(task) for task in state.tensors["quantiles"].split(list(sizes))]
        self.floor, self.transform = state.tensors["floor"], self.transform.restored(state.below("transform."))
        for task, size in enumerate(sizes):
            stored = state.below(f"basis.{task}.")
            basis = Basis.from_tensors(stored) if stored else None
            self.bases.append(basis)
            parts = [state.below(f"density.{task}.{label}.") for label in range(size)]
            self.tasks.append([restore_density(self.options, part, basis) for part in parts])


def choose_transform(options: DensityOptions, x: Tensor, y: Tensor, seed: int) -> Transform:
    """What densities see, as the options say or as best tells the classes of the first task apart."""
    several = len(y.unique()) > 1
    power = options.power
    if power is None:
        power = best_power(x, y, seed) if options.standardise and several else 1.0
    ranks = options.columns == "rank"
    if options.columns == "auto" and not options.standardise and several and x.shape[1] <= FEW_INPUTS:
        ranks = prefers_ranks(x, y, seed)
    powered = Transform(power, None, False)(x)
    return Transform(power, RankMap.of(powered) if ranks else None, options.standardise)


def shared_covariance(
    rows: Float[Tensor, "rows coordinates"],
    labels: Int[Tensor, " rows"],
    known: Sequence[tuple[Basis | None, Density]],
    basis: Basis | None,
) -> Float[Tensor, "coordinates coordinates"]:
    """The covariance within classes, pooled over those of these rows and those known, by their numbers of rows."""
    own = [rows[labels == label] for label in labels.unique()]
    scatter, count = pooled([part - part.mean(0) for part in own]) * len(rows), float(len(rows))
    for other, density in known:
        mixture = density.mixture_in(torch.float64)
        assert mixture is not None
        covariance = mixture.covariance()[1]
        if basis is not None and other is not None:
            turn = basis.double.T @ other.double
            noise = float((mixture.counts @ torch.stack([part.noise for part in mixture.components])) / density.count)
            covariance = turn @ (covariance - noise * torch.eye(len(covariance)).double()) @ turn.T
            covariance = covariance + noise * torch.eye(len(covariance)).double()
        scatter, count = scatter + density.count * covariance, count + density.count
    return scatter / count


def joint_of(
    densities: Sequence[Density],
    rows: Float[Tensor, "rows seen"],
    spreads: Float[Tensor, "labels levels"] | None = None,
) -> Float[Tensor, "rows labels"]:
    """log n_y p(x | y) of one task's classes; with percentiles of log p, that in spreads in the place of log p."""
    never = torch.full_like(rows[:, 0], NEVER, dtype=torch.float64)
    seen = densities[0].project(rows)  # the classes of a task share their basis
    logs = torch.stack([density.log_density(seen).double() if density.count else never for density in densities], 1)
    return (logs if spreads is None else in_spreads(logs, spreads)) + log_shares(densities)


def log_shares(densities: Sequence[Density]) -> Float[Tensor, " labels"]:
    """log n_y of one task's classes."""
    counts = torch.tensor([density.count for density in densities], dtype=torch.float64)
    return (counts / counts.sum()).log().clamp(min=NEVER)
