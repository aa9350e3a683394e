"""Task inference that learns beside any learner: evidence for each task, a temperature, and densities where asked for.

    entropy              e_t(x) = - H[p(y | x, t)]            the paper's (section 4): a head that is sure is right
    mutual-information   e_t(x) = - I[y; weights | x, t]      the part of the entropy that more data would remove
    density              e_t(x) = log sum_y n_y p(x | y, t)   a density over inputs for every class of every task

Entropies are divided by log2 of the number of classes, so that heads of few classes have no advantage. A small part of
each task's training rows is held out, from the network too: it sizes the densities and calibrates. No row is kept once
its experience has been learned.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.benchmarks.base import Split, Task
from hibnn.datasets import hold_out
from hibnn.errors import unknown
from hibnn.learners.base import Learner, Prediction, Setting, State, entropy
from hibnn.tasks.density.density import DensityOptions
from hibnn.tasks.pooling import SMALLEST, Pooling
from hibnn.tasks.task_densities import TaskDensities, below
from hibnn.tasks.temperature import Temperature

TaskInferenceName = Literal["entropy", "mutual-information", "density"]
Mixing = Literal["soft", "hard"]
INFERENCES: tuple[str, ...] = get_args(TaskInferenceName)
HELD_OUT = 0.05
FEWEST_HELD_OUT = 50
PREFIX = "inference."


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

    def end(self, learner: Learner, held: Split) -> None:
        """Calibrate on held-out rows of the task that was just learned."""
        predictions = [
            learner.predict(held.x, head, self.setting.generator("calibrate", learner.task, head))
            for head in range(len(learner.head_sizes))
        ]
        joint = self.joint(torch.from_numpy(held.x), learner=learner)
        self.calibrate(self.evidence(predictions, joint), learner.task)
        if self.has_density:
            own = predictions[-1].probabilities.cpu()
            self.pooling = self.pooling.update(own, joint[-1], torch.from_numpy(held.y))

    def calibrate(self, evidence: Float[Tensor, "tasks rows"], task: int) -> None:
        """Let the temperature learn from rows that are known to belong to a task."""
        if len(evidence) > 1:
            self.temperature = self.temperature.update(evidence, task)

    def joint(
        self, x: Float[Tensor, "rows inputs"], tasks: Sequence[int] | None = None, learner: Learner | None = None
    ) -> list[Float[Tensor, "rows labels"]]:
        """log n_y p(x | y, t) for the classes of some or all tasks; nothing without densities."""
        return self.densities.joint(x, tasks, learner) if self.has_density else []

    def evidence(self, predictions: Sequence[Prediction], joint: Sequence[Tensor]) -> Float[Tensor, "tasks rows"]:
        """What speaks for each task: the higher the likelier."""
        if joint:
            return torch.stack([one.logsumexp(1) for one in joint])
        if self.kind == "mutual-information":
            scores = [one.mutual_information for one in predictions]
        else:
            scores = [one.entropy if self.score == "predictive" else one.expected_entropy for one in predictions]
        bits = [math.log2(one.probabilities.shape[-1]) for one in predictions]
        return -torch.stack([score / most for score, most in zip(scores, bits, strict=True)]).cpu()

    def task_probabilities(self, evidence: Float[Tensor, "tasks rows"]) -> Float[Tensor, "tasks rows"]:
        """p(t | x); with hard mixing, one for the task of highest evidence."""
        if self.mixing == "hard":
            return torch.nn.functional.one_hot(evidence.argmax(0), len(evidence)).T.double()
        return self.temperature.probabilities(evidence)

    def within(self, predictions: Sequence[Prediction], joint: Sequence[Tensor]) -> list[Prediction]:
        """p(y | x, t) for every task: the network's, pooled with the densities' where there are any."""
        if not joint:
            return list(predictions)
        return [self.within_task(one, own) for one, own in zip(predictions, joint, strict=True)]

    def within_task(self, prediction: Prediction, joint: Float[Tensor, "rows labels"]) -> Prediction:
        """p(y | x, t) for one task; the share of its entropy that comes from the weights stays the network's."""
        pooled = self.pooling.probabilities(prediction.probabilities, joint.to(prediction.probabilities.device))
        share = prediction.expected_entropy / prediction.entropy.clamp(min=SMALLEST)
        return replace(prediction, probabilities=pooled, expected_entropy=share * entropy(pooled))

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
        tensors = {name: value.cpu() for name, value in below(state.tensors, PREFIX).items()}
        self.temperature, self.pooling = Temperature(tensors["temperature"]), Pooling(tensors["pooling"])
        self.densities.restore(tensors, state.metadata["inference"]["densities"])


def held_out_part(task: Task, seed: int) -> tuple[Task, Split]:
    """A task without the rows that calibrate, and those rows."""
    train, held = hold_out(task.train.labels, count=held_out_count(len(task.train)), seed=seed)
    return replace(task, train=task.train.take(train)), task.train.take(held).load()


def held_out_count(rows: int) -> int:
    """How many of so many rows calibrate: 5 %, but 50 where that leaves four times as many."""
    return max(round(HELD_OUT * rows), min(FEWEST_HELD_OUT, rows // 5), 1)
