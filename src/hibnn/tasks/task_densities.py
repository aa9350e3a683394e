"""For every task, a density of each of its classes, and what held-out rows of the class were like.

They see inputs, or what the network makes of them: its last hidden layer under the task's head. Features of different
tasks are different things, so their log densities count in spreads from the usual value (`hibnn.tasks.outliers`).
What densities see, and the least variance of columns, the first task decides; what a class is like, its own rows.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.base import Learner, Setting, State
from hibnn.tasks.density.basis import Basis
from hibnn.tasks.density.borrowing import borrowed_by, borrows
from hibnn.tasks.density.choosing import choose_transform, least_variances
from hibnn.tasks.density.compressing import LADDER, Bound
from hibnn.tasks.density.density import (
    FEW_INPUTS,
    MOST_ROWS,
    Density,
    DensityOptions,
    MixtureDensity,
    SingleDensity,
    new_density,
    restore_density,
)
from hibnn.tasks.density.discriminant import Discriminant
from hibnn.tasks.density.drawing import draw_density
from hibnn.tasks.density.families import Borrowed
from hibnn.tasks.density.quantising import byte_count
from hibnn.tasks.density.transform import Transform
from hibnn.tasks.outliers import LEVELS, Strangeness, in_spreads, quantiles
from hibnn.tasks.typicality import Typicality

NEVER = -1e30
"""The log density of a class of which no row has come."""
ENOUGH_HELD_OUT = 200
"""Held-out rows of a class that suffice to say what is typical."""
DRAWN = 200
"""Rows drawn from a density to see what its compression changes."""


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
        """The least variance of every column, where inputs are few; the first task decides."""
        self.bases: list[Basis | None] = []
        self.tasks: list[list[Density]] = []
        self.quantiles: list[list[Tensor]] = []
        self.weights: list[list[float]] = []
        """the weights of the rows that each class has learned from, a row's being 1 where nobody says otherwise"""
        self.typicality = Typicality(options.standardise)
        self.discriminant: Discriminant | None = None
        """what tells classes apart in the place of densities, where the options say so"""
        self.before: list[Density] = []
        """The densities of a task before the experience that is being learned."""

    def copy(self) -> "TaskDensities":
        """Another one that knows the same and goes its own way."""
        made = copy.copy(self)
        made.bases, made.typicality = list(self.bases), self.typicality.copy()
        made.tasks = [list(task) for task in self.tasks]
        made.quantiles = [list(task) for task in self.quantiles]
        made.weights = [list(task) for task in self.weights]
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
        """Learn from rows of a task, known or next, of `classes` by now; `held` ones choose the sizes.

        `on_class` is called after each class; `learner` is the one whose features are seen, where these are.
        """
        labels, held_labels = (torch.from_numpy(split.y).long() for split in (train, held))
        given, held_given = (self._given(torch.from_numpy(split.x), task, learner) for split in (train, held))
        if not self.tasks:
            shown, ignored = self.transform.without_ignored(given), self.transform.ignored
            chosen = choose_transform(self.options, shown, labels, self.setting.seed % 2**63)
            self.transform = replace(chosen, ignored=ignored)
        rows, others = self.transform(given), self.transform(held_given)
        if task == len(self.tasks):
            self._begin(rows, task)
        for _ in range(classes - len(self.tasks[task])):
            self._add_class(task, rows.shape[1])
        borrowed = self._borrowed(rows, labels, task)
        self.before = list(self.tasks[task])
        statistics = {}
        for label, density in enumerate(self.tasks[task]):
            own, kept = labels == label, held_labels == label
            if not own.any():
                continue
            seen, as_given = (others[kept], held_given[kept]) if kept.any() else (rows[own], given[own])
            before = [round(density.count)] if density.count else []
            generator = self.setting.generator("density", task, label, *before)
            updated = density.update(rows[own], seen, generator, borrowed if borrows(rows[own]) else None)
            values = updated.log_density(seen)
            self.tasks[task][label], self.quantiles[task][label] = updated, quantiles(values)
            self.weights[task][label] += float(own.sum() if train.weights is None else train.weights[own.numpy()].sum())
            statistics[label] = self._statistics(updated, (given[own], rows[own]), (as_given, seen))
            on_class({"log density": float(values.mean())})
        self.typicality.learn(task, statistics)
        self._discriminate(rows, labels, task)
        self._fit_within(self.options.budget)

    def _statistics(
        self, density: Density, learned: tuple[Tensor, Tensor], held: tuple[Tensor, Tensor]
    ) -> Float[Tensor, "rows statistics"]:
        """Of held-out rows as they come and are seen; where they are few, of all rows in cross-validation."""
        judged = density.fit.judged if isinstance(density, MixtureDensity) and density.fit is not None else None
        if judged is None or len(held[0]) >= ENOUGH_HELD_OUT or len(learned[0]) > MOST_ROWS:
            return self.typicality.statistics(density, *held)
        given, seen = (torch.cat([rows[judged.order], others]) for rows, others in zip(learned, held, strict=True))
        return self.typicality.judged_statistics(judged, given, seen)

    def settle(self, train: Split, held: Split, task: int, learner: Learner | None = None) -> None:
        """Learn from the held-out rows of an experience too, once they have calibrated what they were held out for.

        For experiences that cannot spare rows. Sizes, shapes and percentiles stay those that were chosen without them.
        """
        x, y = (torch.from_numpy(np.concatenate(part)) for part in ((train.x, held.x), (train.y, held.y)))
        rows, labels = self.seen(x, task, learner), y.long()
        borrowed = self._borrowed(rows, labels, task, choose=False)
        for label, (before, now) in enumerate(zip(self.before, self.tasks[task], strict=True)):
            own = rows[labels == label]
            generator = self.setting.generator("density", task, label, "settle", round(before.count))
            if len(own) and isinstance(before, SingleDensity):
                self.tasks[task][label] = before.update(own, own, generator)
            elif isinstance(before, MixtureDensity) and isinstance(now, MixtureDensity) and now.fit and borrowed:
                self.tasks[task][label] = before.update_as(now.fit, own, borrowed, generator)
        self._discriminate(rows[len(train) :], labels[len(train) :], task)
        self._fit_within(self.options.budget)

    def _discriminate(self, rows: Tensor, labels: Tensor, task: int) -> None:
        """Add rows of a task to the discriminant, if there is to be one."""
        if self.options.scores != "discriminant":
            return
        if self.discriminant is None:
            seed = self.setting.generator("density", "random features").initial_seed() % 2**32
            self.discriminant = Discriminant.of(rows, self.options.random_features, self.options.basis, seed)
        known = self.discriminant.with_classes([len(densities) for densities in self.tasks])
        self.discriminant = known.update({int(label): rows[labels == label] for label in labels.unique()}, task)

    def ignore(self, columns: Bool[Tensor, " inputs"]) -> None:
        """Leave some columns out of account, before anything is learned."""
        self.transform = replace(self.transform, ignored=columns if columns.any() else None)

    def forget(self, task: int) -> None:
        """Begin the densities of a task again."""
        if task < len(self.tasks):
            classes, basis = range(len(self.tasks[task])), self.bases[task]
            self.tasks[task] = [new_density(self.options, self.setting.inputs, basis) for _ in classes]
            self.quantiles[task] = [torch.zeros_like(LEVELS) for _ in classes]
            self.weights[task] = [0.0 for _ in classes]
            self.typicality.forget(task)
            self.discriminant = self.discriminant and self.discriminant.forget(task)

    def _begin(self, rows: Tensor, task: int) -> None:
        """Make room for a task."""
        inputs, basis = rows.shape[1], None
        if task == 0:
            known = self.scale if self.transform.ranks is None else None
            self.floor = least_variances(rows, torch.ones(inputs) if known is None else known)
        if inputs > FEW_INPUTS and self.options.components > 1:
            basis = Basis.of(rows, self.options.basis, self.setting.generator("density", task, "basis"))
        self.bases.append(basis)
        self.tasks.append([])
        self.quantiles.append([])
        self.weights.append([])
        self.typicality.begin()

    def _add_class(self, task: int, inputs: int) -> None:
        """Make room for a class of a task, first or taken up later."""
        self.tasks[task].append(new_density(self.options, inputs, self.bases[task]))
        self.quantiles[task].append(torch.zeros_like(LEVELS))
        self.weights[task].append(0.0)
        self.typicality.add_class(task)

    def _borrowed(self, rows: Tensor, labels: Tensor, task: int, choose: bool = True) -> Borrowed | None:
        """What the classes of these rows may borrow from each other, and from those of other tasks."""
        if self.options.components == 1:
            return None
        others = [densities for number, densities in enumerate(self.tasks) if number != task]
        known = [own for densities in others for own in densities if own.count]
        floor = self.floor
        if self.options.of == "features":  # which are something else in every task, and may be more
            known, floor = [], least_variances(rows, torch.ones(rows.shape[1]))
        generator = self.setting.generator("density", task, "borrowing")
        return borrowed_by(rows, labels, known, self.bases[task], floor, generator, choose=choose)

    def _fit_within(self, budget: int | None) -> None:
        """Make all densities smaller, by the same bound, if together they take more bytes than they may."""
        for bound in LADDER:
            if budget is None or self.byte_count() <= budget:
                return
            self._compress(bound)
        if budget is not None and self.byte_count() > budget:
            raise UserError(
                f"{sum(map(len, self.tasks))} densities of {self.setting.inputs} inputs take {self.byte_count()} bytes "
                f"at least: raise density-bytes, now {budget}."
            )

    def _compress(self, bound: Bound) -> None:
        """Bring all densities within a bound; typical values move as those of rows drawn from them do."""
        for task, densities in enumerate(self.tasks):
            basis = self.bases[task]
            basis = None if basis is None else basis.truncate(bound.basis)
            for label, old in enumerate(densities):
                if not isinstance(old, MixtureDensity) or old.within(bound):
                    continue
                new = old.compress(bound, basis)
                self.tasks[task][label] = new
                if old.count:
                    drawn = draw_density(old, DRAWN, self.setting.generator("density", task, label, "compress"))
                    before, after = (self.typicality.statistics(one, drawn, drawn) for one in (old, new))
                    self.typicality.follow(task, label, before, after)
                    moved = (after - before)[:, 0].median()
                    self.quantiles[task][label] = self.quantiles[task][label] + moved
            self.bases[task] = basis

    def joint(
        self, x: Float[Tensor, "rows inputs"], tasks: Sequence[int] | None = None, learner: Learner | None = None
    ) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) for the classes of some or all tasks, n_y as a share of the weights of its rows.

        Where a discriminant tells classes apart, g_y(x) stands in the place of log p.
        """
        wanted = range(len(self.tasks)) if tasks is None else tasks
        if self.discriminant is not None:
            scores = self.discriminant.scores(self.preprocess(x), wanted)
            shares = [log_shares(self.weights[task]) for task in wanted]
            return [(own + share).clamp(min=NEVER) for own, share in zip(scores, shares, strict=True)]
        if self.options.of == "inputs":
            rows = self.preprocess(x)
            return [joint_of(self.tasks[task], self.weights[task], rows) for task in wanted]
        return [
            joint_of(
                self.tasks[task], self.weights[task], self.seen(x, task, learner), torch.stack(self.quantiles[task])
            )
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

    def strangeness(
        self,
        x: Float[Tensor, "rows inputs"],
        joint: Sequence[Float[Tensor, "rows labels"]],
        tasks: Sequence[int] | None = None,
        learner: Learner | None = None,
    ) -> Strangeness:
        """How strange rows are beside their most probable class among those of some or all tasks.

        `joint` is what the method of that name says of the same rows and tasks.
        """
        wanted = list(range(len(self.tasks)) if tasks is None else tasks)
        places = [(task, label) for task in wanted for label in range(len(self.tasks[task]))]
        classes = torch.cat(list(joint), 1).argmax(1)
        scores, p_values = (torch.zeros(len(x), dtype=torch.float64) for _ in range(2))
        for place in classes.unique().tolist():
            (task, label), rows = places[place], classes == place
            given = self._given(x[rows], task, learner)
            statistics = self.typicality.statistics(self.tasks[task][label], given, self.transform(given))
            scores[rows], p_values[rows] = self.typicality.strangeness(task, label, statistics)
        return Strangeness(scores, p_values, classes)

    def tensors(self) -> dict[str, Tensor]:
        """All that must be stored, but the number of each task's classes."""
        if not self.tasks:
            return {}
        made = {"quantiles": torch.stack([label for task in self.quantiles for label in task]), "floor": self.floor}
        made["weights"] = torch.tensor([label for task in self.weights for label in task], dtype=torch.float64)
        made |= self.typicality.tensors()
        made |= {f"transform.{name}": value for name, value in self.transform.tensors().items()}
        if self.discriminant is not None:
            made |= {f"discriminant.{name}": value for name, value in self.discriminant.tensors().items()}
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
        self.bases, self.tasks, self.quantiles, self.weights = [], [], [], []
        if not sizes:
            return
        self.quantiles = [list(task) for task in state.tensors["quantiles"].split(list(sizes))]
        self.weights = [task.tolist() for task in state.tensors["weights"].split(list(sizes))]
        self.floor, self.transform = state.tensors["floor"], self.transform.restored(state.below("transform."))
        self.typicality.restore(state.tensors, sizes)
        stored = state.below("discriminant.")
        self.discriminant = Discriminant.from_tensors(stored, sizes) if stored else None
        for task, size in enumerate(sizes):
            stored = state.below(f"basis.{task}.")
            basis = Basis.from_tensors(stored) if stored else None
            self.bases.append(basis)
            parts = [state.below(f"density.{task}.{label}.") for label in range(size)]
            self.tasks.append([restore_density(self.options, part, basis) for part in parts])


def joint_of(
    densities: Sequence[Density],
    weights: Sequence[float],
    rows: Float[Tensor, "rows seen"],
    spreads: Float[Tensor, "labels levels"] | None = None,
) -> Float[Tensor, "rows labels"]:
    """log n_y p(x | y) of one task's classes; with percentiles of log p, that in spreads in the place of log p."""
    never = torch.full_like(rows[:, 0], NEVER, dtype=torch.float64)
    seen = densities[0].project(rows)  # the classes of a task share their basis
    logs = torch.stack([density.log_density(seen).double() if density.count else never for density in densities], 1)
    return (logs if spreads is None else in_spreads(logs, spreads)) + log_shares(weights)


def log_shares(weights: Sequence[float]) -> Float[Tensor, " labels"]:
    """log n_y, as shares of a task's rows."""
    counts = torch.tensor(weights, dtype=torch.float64)
    return (counts / counts.sum()).log().clamp(min=NEVER)
