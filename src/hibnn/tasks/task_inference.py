"""Task inference that learns beside any learner: evidence for each task, a temperature, and densities where asked for.

    entropy              e_t(x) = - H[p(y | x, t)]            the paper's (section 4): a head that is sure is right
    mutual-information   e_t(x) = - I[y; weights | x, t]      the part of the entropy that more data would remove
    density              e_t(x) = log sum_y n_y p(x | y, t)   a density over inputs for every class of every task

A small part of each task's training rows is held out, usually from the network too: it sizes the densities and
calibrates. No row is kept once its experience has been learned. `hibnn.continual` puts learner and inference together.
"""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, TypeVar, cast, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.benchmarks.base import LazySplit, Split
from hibnn.datasets import hold_out
from hibnn.errors import UserError, unknown
from hibnn.learners.base import GaussianPrediction, Learner, Measure, Prediction, Setting, State
from hibnn.tasks.density.density import DensityOptions
from hibnn.tasks.outliers import is_ood, outlier_score
from hibnn.tasks.pooling import Pooling
from hibnn.tasks.task_densities import TaskDensities
from hibnn.tasks.temperature import Temperature

TaskInferenceName = Literal["entropy", "mutual-information", "density"]
Mixing = Literal["soft", "hard"]
INFERENCES: tuple[str, ...] = get_args(TaskInferenceName)
HELD_OUT = 0.05
FEWEST_HELD_OUT = 50
PREFIX = "inference."
P = TypeVar("P", Prediction, GaussianPrediction)


class TaskInference:
    """What is known about tasks, apart from the network."""

    def __init__(
        self,
        kind: str,
        setting: Setting,
        *,
        mixing: str = "soft",
        score: str = "predictive",
        options: DensityOptions | None = None,
    ) -> None:
        if kind not in INFERENCES:
            raise unknown("inference of tasks", kind, INFERENCES)
        if mixing not in get_args(Mixing):
            raise unknown("mixing", mixing, get_args(Mixing))
        self.kind, self.mixing, self.score = kind, mixing, score
        self.setting, self.options = setting, options or DensityOptions()
        self.temperature, self.pooling = Temperature.new(), Pooling.new()
        self.densities = TaskDensities(self.options, setting)
        """empty unless tasks are told by density"""

    def copy(self) -> "TaskInference":
        """Another one that knows the same and goes its own way."""
        made = copy.copy(self)
        made.densities = self.densities.copy()
        return made

    @property
    def has_density(self) -> bool:
        return self.kind == "density"

    @property
    def holds_out(self) -> bool:
        """Whether some rows must be kept from the network."""
        return self.has_density or self.mixing == "soft"

    def calibrate(self, predictions: Sequence[P], joint: Sequence[Tensor], task: int, labels: Tensor | None) -> None:
        """Learn from held-out rows of a task: the temperature, and how far densities can be trusted with labels.

        Labels are given only if the network did not learn from these rows.
        """
        evidence = self.evidence(predictions, joint)
        if len(evidence) > 1:
            self.temperature = self.temperature.update(evidence, task)
        own = predictions[task]
        if joint and labels is not None and isinstance(own, Prediction):
            self.pooling = self.pooling.update(own.probabilities.cpu(), joint[task], labels)

    def joint(
        self, x: Float[Tensor, "rows inputs"], tasks: Sequence[int] | None = None, learner: Learner | None = None
    ) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) for the classes of some or all tasks; nothing without densities."""
        return self.densities.joint(x, tasks, learner) if self.has_density else []

    def uses_densities(self, tasks: Sequence[int]) -> bool:
        """Not if there are none, nor if the task is told and its network answers alone."""
        return self.has_density and (len(tasks) > 1 or self.pooling.exponents != (1.0, 0.0))

    def posterior(
        self,
        predictions: Sequence[P],
        joint: Sequence[Tensor],
        share: Callable[[Tensor], Tensor] = lambda values: values,
    ) -> tuple[Float[Tensor, "tasks rows"], list[P]]:
        """p(t | x), and p(y | x, t) of every task; `share` adds up evidence over rows known to share a task."""
        tasks = self.task_probabilities(share(self.evidence(predictions, joint)))
        if not joint:
            return tasks, list(predictions)
        pools = [partial(self.pooling.probabilities, joint=own) for own in joint]
        return tasks, [prediction.pooled(pool) for prediction, pool in zip(predictions, pools, strict=True)]

    def evidence(self, predictions: Sequence[P], joint: Sequence[Tensor]) -> Float[Tensor, "tasks rows"]:
        """What speaks for each task: the higher the likelier."""
        if joint:
            return torch.stack([task.logsumexp(1) for task in joint])
        measure = cast(Measure, self.kind if self.kind == "mutual-information" else self.score)
        return -torch.stack([prediction.uncertainty(measure) for prediction in predictions]).cpu()

    def task_probabilities(self, evidence: Float[Tensor, "tasks rows"]) -> Float[Tensor, "tasks rows"]:
        """p(t | x); with hard mixing, one for the task of highest evidence."""
        if self.mixing == "hard":
            return torch.nn.functional.one_hot(evidence.argmax(0), len(evidence)).T.double()
        return self.temperature.probabilities(evidence)

    def outlier_scores(self, joint: Sequence[Tensor]) -> Float[Tensor, " rows"]:
        """How strange every row is, given what `joint` says of it under all tasks; see `hibnn.tasks.outliers`."""
        return outlier_score(*self.densities.most_probable(joint), self.densities.levels)

    def is_ood(self, joint: Sequence[Tensor], rate: float) -> Bool[Tensor, " rows"]:
        """Which rows are out of distribution when a stated share of own rows may be called so."""
        if not self.has_density:
            raise UserError(
                "only a density can say that an input is out of distribution: infer tasks by density "
                "(--task-inference density)."
            )
        if not 0 < rate < 1:
            raise UserError(f"the share of own inputs that may be refused lies between 0 and 1, not at {rate}.")
        return is_ood(*self.densities.most_probable(joint), self.densities.levels, rate)

    def parameter_count(self) -> int:
        """How many numbers are stored."""
        return sum(tensor.numel() for tensor in self.state().tensors.values())

    def state(self) -> State:
        """All that must be stored: statistics of inputs, no input."""
        tensors = {"temperature": self.temperature.losses, "pooling": self.pooling.losses} | self.densities.tensors()
        metadata = {"densities": [len(task) for task in self.densities.tasks]}
        return State({PREFIX + name: value for name, value in tensors.items()}, {"inference": metadata})

    def restore(self, state: State) -> None:
        """Take over a stored state."""
        tensors = {name: value.cpu() for name, value in state.below(PREFIX).items()}
        self.temperature, self.pooling = Temperature(tensors["temperature"]), Pooling(tensors["pooling"])
        self.densities.restore(State(tensors, {}), state.metadata["inference"]["densities"])


def divide(train: LazySplit, seed: int) -> tuple[LazySplit, Split]:
    """An experience without the rows that calibrate, and those rows; a class keeps its only row."""
    if len(train) < 2:
        return train, train.take(np.arange(0)).load()
    rest, held = hold_out(train.labels, count=held_out_count(len(train)), seed=seed)
    spared = np.isin(train.labels[held], train.labels[rest])
    rest, held = np.sort(np.concatenate([rest, held[~spared]])), held[spared]
    return train.take(rest), train.take(held).load()


def held_out_count(rows: int) -> int:
    """How many of so many rows calibrate: 5 %, but 50 where that leaves four times as many."""
    return max(round(HELD_OUT * rows), min(FEWEST_HELD_OUT, rows // 5), 1)
