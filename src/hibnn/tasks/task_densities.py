"""For every task, a density of each of its classes, and what held-out rows of the class had as log densities.

They see inputs, or what the network makes of them: its last hidden layer under the task's head. Features of different
tasks are different things, so their log densities count in spreads from the usual value (`hibnn.tasks.outliers`).
"""

import copy
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.base import Learner, Setting, State
from hibnn.tasks.density.density import Density, DensityOptions, new_density, restore_density
from hibnn.tasks.outliers import LEVELS, in_spreads, quantiles

NEVER = -1e30
"""The log density of a class of which no row has come."""


class TaskDensities:
    """Densities by task and label; each is a value, and nothing a later class learns changes it."""

    def __init__(self, options: DensityOptions, setting: Setting) -> None:
        self.options, self.setting = options, setting
        self.tasks: list[list[Density]] = []
        self.quantiles: list[list[Tensor]] = []

    def copy(self) -> "TaskDensities":
        """Another one that knows the same and goes its own way."""
        made = copy.copy(self)
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
        rows, others = (self.seen(torch.from_numpy(split.x), task, learner) for split in (train, held))
        if task == len(self.tasks):
            self.tasks.append([new_density(self.options, rows.shape[1]) for _ in range(classes)])
            self.quantiles.append([torch.zeros_like(LEVELS) for _ in range(classes)])
        for label, density in enumerate(self.tasks[task]):
            own, kept = rows[torch.from_numpy(train.y == label)], others[torch.from_numpy(held.y == label)]
            if len(own) == 0:
                continue
            kept = kept if len(kept) else own
            before = [round(density.count)] if density.count else []
            updated = density.update(own, kept, self.setting.generator("density", task, label, *before))
            values = updated.log_density(kept)
            self.tasks[task][label], self.quantiles[task][label] = updated, quantiles(values)
            on_class({"log density": float(values.mean())})

    def forget(self, task: int) -> None:
        """Begin the densities of a task again."""
        if task < len(self.tasks):
            classes = range(len(self.tasks[task]))
            self.tasks[task] = [new_density(self.options, self.setting.inputs) for _ in classes]
            self.quantiles[task] = [torch.zeros_like(LEVELS) for _ in classes]

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
        if self.options.of == "inputs":
            return self.preprocess(x)
        if learner is None:
            raise UserError("densities of features need the network: give the learner.")
        return self.preprocess(learner.features(x, task))

    def preprocess(self, x: Float[Tensor, "rows seen"]) -> Float[Tensor, "rows seen"]:
        """Powers, and every row with mean 0 and deviation 1, as the options say."""
        if self.options.power != 1:
            x = x.sign() * x.abs() ** self.options.power
        if not self.options.standardise:
            return x
        centred = x - x.mean(-1, keepdim=True)
        return centred / centred.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-6)

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
        made = {"quantiles": torch.stack([label for task in self.quantiles for label in task])}
        for task, densities in enumerate(self.tasks):
            for label, density in enumerate(densities):
                made |= {f"density.{task}.{label}.{name}": value for name, value in density.tensors().items()}
        return made

    def restore(self, state: State, sizes: Sequence[int]) -> None:
        """Take over what `tensors` gave, for tasks with so many classes."""
        self.quantiles = [list(task) for task in state.tensors["quantiles"].split(list(sizes))] if sizes else []
        self.tasks = [
            [restore_density(self.options, state.below(f"density.{task}.{label}.")) for label in range(size)]
            for task, size in enumerate(sizes)
        ]


def joint_of(
    densities: Sequence[Density],
    rows: Float[Tensor, "rows seen"],
    spreads: Float[Tensor, "labels levels"] | None = None,
) -> Float[Tensor, "rows labels"]:
    """log n_y p(x | y) of one task's classes; with percentiles of log p, that in spreads in the place of log p."""
    never = torch.full_like(rows[:, 0], NEVER, dtype=torch.float64)
    logs = torch.stack([density.log_density(rows).double() if density.count else never for density in densities], 1)
    return (logs if spreads is None else in_spreads(logs, spreads)) + log_shares(densities)


def log_shares(densities: Sequence[Density]) -> Float[Tensor, " labels"]:
    """log n_y of one task's classes."""
    counts = torch.tensor([density.count for density in densities], dtype=torch.float64)
    return (counts / counts.sum()).log().clamp(min=NEVER)
