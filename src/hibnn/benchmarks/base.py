"""What a benchmark is made of: splits of examples, tasks, and the scenario: who knows the task at test time."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError, unknown

EvaluateOn = Literal["test", "validation"]


class Scenario(StrEnum):
    """Who knows the task at test time (van de Ven and Tolias 2019; the paper's CL1, CL2, CL3)."""

    TASK = "task"
    DOMAIN = "domain"
    CLASS = "class"

    @classmethod
    def parse(cls, name: str) -> "Scenario":
        """A scenario by its name or one of its aliases: cl1, task-il, task-incremental, and so on."""
        aliases = {f"cl{number}": scenario for number, scenario in enumerate(cls, start=1)}
        for scenario in cls:
            aliases |= {str(scenario) + ending: scenario for ending in ("", "-il", "-incremental")}
        word = str(name).lower()
        if word not in aliases:
            raise unknown("scenario", word, aliases)
        return aliases[word]


@dataclass(frozen=True)
class Split:
    """Examples: inputs (n, d) as float32 and labels (n,), each an index into its task's classes.

    `weights` (n,) say how much each counts in the likelihood; None: all count once.
    """

    x: NDArray[np.float32]
    y: NDArray[np.int64]
    weights: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[Any]) -> "Split":
        """Some of the examples, by number or by truth value."""
        return Split(self.x[rows], self.y[rows], None if self.weights is None else self.weights[rows])


@dataclass(frozen=True)
class LazySplit:
    """Rows of a stored array that become a `Split` when asked for, so that tasks cost no memory until used.

    An input becomes (input / scale) ** power; features of a network that are never negative take their square root.
    """

    inputs: NDArray[np.generic]
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    scale: float = 1.0
    pixels: NDArray[np.int64] | None = None
    power: float = 1.0
    weights: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def load(self) -> Split:
        x = self.inputs[self.rows]
        if self.pixels is not None:
            x = x[:, self.pixels]
        scaled = np.divide(x, self.scale, dtype=np.float32)
        powers = scaled if self.power == 1 else np.power(scaled, self.power, dtype=np.float32)
        return Split(powers, self.labels, self.weights)

    def take(self, keep: NDArray[np.int64]) -> "LazySplit":
        """The experience's rows at the positions `keep`."""
        weights = None if self.weights is None else self.weights[keep]
        return replace(self, rows=self.rows[keep], labels=self.labels[keep], weights=weights)


@dataclass(frozen=True)
class Task:
    """One task: its examples, and for each label the class of the whole benchmark that it stands for."""

    name: str
    classes: tuple[int, ...]
    train: LazySplit
    test: LazySplit
    validation: LazySplit | None = None
    """rows set apart for tuning; where there are none, some are held out of `train`"""


@dataclass(frozen=True)
class Benchmark:
    """A sequence of tasks, and the scenario they are judged in.

    `single_domain_head`: all tasks have the same classes, so that in the domain scenario one head serves them.
    `common_outputs`: a label means the same under every head, so in the class scenario a right one counts under any.
    """

    name: str
    scenario: Scenario
    tasks: tuple[Task, ...]
    single_domain_head: bool = False
    common_outputs: bool = False

    def in_scenario(self, scenario: Scenario) -> "Benchmark":
        """The same tasks judged in a scenario; runs and read-outs ask for it before anything is learned or judged."""
        sizes = [len(task.classes) for task in self.tasks]
        if scenario is Scenario.DOMAIN and len(set(sizes)) > 1:
            raise UserError(
                f"the tasks of {self.name} have {min(sizes)} to {max(sizes)} classes, and in the domain scenario all "
                "tasks share their labels: use the task or class scenario."
            )
        return replace(self, scenario=scenario)

    def with_common_outputs(self) -> "Benchmark":
        """Every task with the classes of all tasks; labels stay as they are where all tasks have the same."""
        if self.single_domain_head:
            return replace(self, common_outputs=True)
        classes = tuple(sorted({one for task in self.tasks for one in task.classes}))
        return replace(self, tasks=tuple(_among(task, classes) for task in self.tasks), common_outputs=True)

    @property
    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Random arrays that belong to the run: each task's permutation of the pixels, where it has one."""
        orders = [task.train.pixels for task in self.tasks if task.train.pixels is not None]
        return {"permutations": np.stack(orders)} if orders else {}

    @classmethod
    def from_arrays(
        cls, name: str, arrays: Sequence[tuple[Any, Any, Any, Any]], scenario: str, names: Sequence[str] | None = None
    ) -> "Benchmark":
        """Tasks of one's own, a (training inputs, training labels, test inputs, test labels) each.

        Inputs are numbers in rows and columns; labels are whole numbers or words.
        """
        from hibnn.benchmarks.own import benchmark_from_arrays

        return benchmark_from_arrays(name, arrays, scenario, names)

    @cached_property
    def digest(self) -> str:
        """A hash of all examples."""
        content = hashlib.sha256()
        for split in (part.load() for task in self.tasks for part in (task.train, task.test)):
            content.update(f"{split.x.shape}".encode() + split.x.tobytes() + split.y.tobytes())
        return content.hexdigest()[:16]

    @property
    def inputs(self) -> int:
        """How many numbers an example has."""
        return int(self.tasks[0].train.inputs.shape[1])

    @property
    def bytes_an_example(self) -> int:
        """What an example takes in storage: a byte for each number of an image, four for any other number."""
        return self.inputs * min(self.tasks[0].train.inputs.dtype.itemsize, 4)


def _among(task: Task, classes: tuple[int, ...]) -> Task:
    """A task whose labels count among more classes than its own."""
    places = np.searchsorted(classes, task.classes)

    def relabelled(split: LazySplit) -> LazySplit:
        return replace(split, labels=places[split.labels].astype(np.int64))

    validation = None if task.validation is None else relabelled(task.validation)
    return Task(task.name, classes, relabelled(task.train), relabelled(task.test), validation)


def check_split(split: Split, inputs: int, classes: int) -> None:
    """Refuse data that no learner can use, in plain words."""
    if split.x.ndim != 2 or split.x.shape[1] != inputs:
        raise UserError(f"the inputs must have {inputs} columns, but their shape is {split.x.shape}.")
    if len(split.x) != len(split.y) or len(split.y) == 0:
        raise UserError(
            f"there must be one label an input, but there are {len(split.x)} inputs and {len(split.y)} labels."
        )
    if not np.isfinite(split.x).all():
        raise UserError("the inputs contain NaN or infinity; fill or drop those rows first.")
    if split.y.min() < 0 or split.y.max() >= classes:
        raise UserError(f"the labels must lie in 0..{classes - 1}, but they span {split.y.min()}..{split.y.max()}.")
