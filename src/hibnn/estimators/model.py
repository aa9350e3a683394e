"""What an estimator has learned, as one value that is never changed: a new experience of data makes a new one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hibnn.errors import UserError, unknown
from hibnn.estimators.drift import MEMORY, Change, FileScore
from hibnn.estimators.scaling import Scaling

if TYPE_CHECKING:  # torch is imported when a model is begun
    from hibnn.continual import ContinualModel
    from hibnn.learners import Learner
    from hibnn.learners.options import MethodOptions
    from hibnn.tasks import TaskInference

TaskName = str | int


@dataclass(frozen=True)
class TaskRecord:
    """A task: its name, its classes (none for a regression), and how much was learned of it."""

    name: TaskName
    classes: tuple[Any, ...]
    rows: int = 0
    experiences: int = 0
    scores: tuple[FileScore, ...] = ()
    """how the latest files were answered before they were learned, since the task last changed"""

    def after(self, rows: int) -> "TaskRecord":
        return replace(self, rows=self.rows + rows, experiences=self.experiences + 1)

    def scored(self, score: FileScore, changed: bool) -> "TaskRecord":
        """With one more score; a change makes the earlier ones worthless, and its own with them."""
        return replace(self, scores=() if changed else (*self.scores, score)[-MEMORY:])


@dataclass(frozen=True)
class Model:
    """The method with its options, how inputs and targets are scaled, the tasks, and what learned them."""

    method: str
    options: "MethodOptions"
    inputs: Scaling
    targets: Scaling
    tasks: tuple[TaskRecord, ...]
    continual: "ContinualModel"
    change: Change | None = None
    """what was found to have changed in the last experience; not stored"""
    history: tuple[dict[str, Any], ...] = ()
    """what was noted of each epoch of the last experience; not stored"""

    @property
    def learner(self) -> "Learner":
        return self.continual.learner

    @property
    def inference(self) -> "TaskInference":
        assert self.continual.inference is not None
        return self.continual.inference

    @property
    def regression(self) -> bool:
        return self.learner.setting.regression

    @property
    def head_of(self) -> dict[TaskName, int]:
        """The numbers of the tasks, by name."""
        return {task.name: number for number, task in enumerate(self.tasks)}

    def head(self, name: TaskName) -> int:
        """The number of a task, by its name."""
        if name not in self.head_of:
            raise unknown("task", str(name), [str(known) for known in self.head_of])
        return self.head_of[name]

    def tempered(self, task: TaskName, keep: float) -> "Model":
        """A model in which what was learned of a task counts `keep` times; with 0 its densities are gone too."""
        if keep == 1 or task not in self.head_of:
            return self
        number, continual = self.head_of[task], self.continual.copy(self.method, self.options)
        continual.learner.temper(number, keep)
        continual.coverage.pop(number, None)
        if keep == 0 and continual.inference is not None:
            continual.inference.densities.forget(number)
        return replace(self, continual=continual)

    def with_task(self, record: TaskRecord) -> tuple[TaskRecord, ...]:
        """The tasks, with this one added or in the place of the one of its name."""
        if record.name not in self.head_of:
            return (*self.tasks, record)
        return tuple(record if task.name == record.name else task for task in self.tasks)


def task_named(known: Sequence[TaskName], word: str | None) -> TaskName | None:
    """The task that a word on the command line names; in Python a name may be a number."""
    return next((name for name in known if word is not None and str(name) == word), word)


def check_task_name(name: Any) -> None:
    """Refuse a name that could not be written into a file and read back."""
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise UserError(f"a task's name must be a word or a whole number, not {type(name).__name__} ({name!r}).")
