"""A benchmark as a value, before any data are loaded: what it is called, how large it is, how its tasks are made.

Presets, tables and estimates of time read these fields and name no benchmark themselves, so one can come from any file:
`hibnn.benchmarks`, a plug-in, an installed package.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hibnn.benchmarks.base import Task
from hibnn.errors import UserError

FEW_ROWS = 2_000


@dataclass(frozen=True)
class TaskSize:
    """How large one task is; `validation` counts rows set apart for it, None where they are held out of `train`."""

    train: int
    test: int
    inputs: int
    classes: int
    validation: int | None = None


@dataclass(frozen=True)
class Traits:
    """What presets may know of a benchmark: training rows and classes of a task, and whether all share their classes.

    `same_classes`: every task asks for the same classes of changed inputs, as permuted images do; `tasks`: how many
    there are; `sources`: how many data sets they come from.
    """

    rows: int
    inputs: int
    classes: int
    same_classes: bool = False
    tasks: int = 5
    sources: int = 1

    @property
    def few_rows(self) -> bool:
        """Whether a task has so few rows that large batches make too few steps."""
        return self.rows < FEW_ROWS


@dataclass(frozen=True)
class BenchmarkEntry:
    """A benchmark by its name, and by its title for people.

    `make(seed, count)` gives its first tasks, at least `count` of them; `sizes` are those of its tasks without loading
    data; an `endless` one makes as many as asked for, and has as many sizes as it makes by default. `data` is a hash of
    the content of data of one's own. `sources` counts the data sets its tasks come from; `embedded` inputs are features
    of a pre-trained network.
    """

    name: str
    title: str
    make: Callable[[int, int], Sequence[Task]]
    sizes: tuple[TaskSize, ...]
    same_classes: bool = False
    endless: bool = False
    data: str = ""
    sources: int = 1
    embedded: bool = False

    @property
    def traits(self) -> Traits:
        """What presets may know of it."""
        rows, classes = min(size.train for size in self.sizes), max(size.classes for size in self.sizes)
        return Traits(rows, self.sizes[0].inputs, classes, self.same_classes, len(self.sizes), self.sources)

    def count(self, tasks: int | None) -> int:
        """How many tasks it has when so many are asked for; None asks for all."""
        if tasks is not None and tasks < 1:
            raise UserError(f"the number of tasks must be at least 1, not {tasks}.")
        if tasks is not None and tasks > len(self.sizes) and not self.endless:
            raise UserError(f"{self.name} has {len(self.sizes)} tasks, not {tasks}.")
        return len(self.sizes) if tasks is None else tasks

    def first_sizes(self, tasks: int | None) -> tuple[TaskSize, ...]:
        """The sizes of the first tasks."""
        count = self.count(tasks)
        return (self.sizes * count)[:count]
