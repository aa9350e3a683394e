"""How well a learner does on every task seen so far, when the task is told and when it must be inferred.

In the task scenario the head is given. In the domain and class scenarios with several heads it is the head of lowest
predictive entropy, chosen at a stated granularity: for each `sample`, for each `batch:n` in stored order, or once for a
whole `task`'s test set (the paper's way, which is far easier and needs test sets sorted by task).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from hibnn.errors import unknown
from hibnn.learners.base import Learner, Prediction
from hibnn.networks.heads import Layout
from hibnn.scenarios.base import Benchmark, Scenario

Score = Literal["predictive", "expected"]


@dataclass(frozen=True)
class Granularity:
    """How many consecutive test examples share one inferred head; None is the whole test set."""

    size: int | None

    @classmethod
    def parse(cls, text: str) -> "Granularity":
        kind, _, number = text.partition(":")
        if text in ("sample", "task"):
            return cls(1 if text == "sample" else None)
        if kind == "batch" and number.isdigit() and int(number) > 0:
            return cls(int(number))
        raise unknown("inference", text, ("sample", "batch:n (such as batch:100)", "task"))

    def choose(self, scores: Tensor) -> Tensor:
        """The head of lowest mean score for each example; `scores` is (heads, examples)."""
        count = scores.shape[1]
        size = self.size or count
        groups = torch.arange(count, device=scores.device) // size
        sums = torch.zeros(len(scores), int(groups[-1]) + 1, dtype=scores.dtype, device=scores.device)
        return sums.index_add(1, groups, scores).argmin(0)[groups]


@dataclass(frozen=True)
class TaskEvaluation:
    """What a learner said of one task's test set, example by example.

    `label_correct`: the label is right, whichever task it was thought to belong to (for permuted class-IL the paper's
    convention). `class_correct`: label and task are both right. `task_correct`: the task was inferred rightly, or None
    where nothing is inferred. The columns of `probabilities` are labels, or in the class scenario all classes seen.
    """

    probabilities: np.ndarray
    targets: np.ndarray
    entropy: np.ndarray
    label_correct: np.ndarray
    class_correct: np.ndarray
    task_correct: np.ndarray | None
    gibbs_accuracy: float

    def accuracy(self, scenario: Scenario) -> float:
        """The share of right answers: in the class scenario, of right classes."""
        return float((self.class_correct if scenario is Scenario.CLASS else self.label_correct).mean())


def evaluate(
    learner: Learner, benchmark: Benchmark, granularity: Granularity, score: Score = "predictive"
) -> list[TaskEvaluation]:
    """Evaluations on the test sets of all tasks learned so far (of all tasks, where one shared head serves them)."""
    count = len(benchmark.tasks) if learner.setting.layout is Layout.SHARED else learner.task + 1
    return [evaluate_task(learner, benchmark, number, granularity, score) for number in range(count)]


def evaluate_task(
    learner: Learner, benchmark: Benchmark, number: int, granularity: Granularity, score: Score = "predictive"
) -> TaskEvaluation:
    """Evaluation on one task's test set."""
    split = benchmark.tasks[number].test.load()
    y = torch.from_numpy(split.y).to(learner.setting.device)

    def predict(head: int) -> Prediction:
        return learner.predict(split.x, head, learner.setting.generator("evaluate", number, head))

    layout = learner.setting.layout
    if layout is Layout.GROWING:
        return _growing(predict(0), y, number, learner.head_sizes)
    if layout is Layout.SHARED or benchmark.scenario is Scenario.TASK:
        return _told(predict(number if layout is Layout.MULTI else 0), y)
    predictions = [predict(head) for head in range(len(learner.head_sizes))]
    scores = [one.entropy if score == "predictive" else one.expected_entropy for one in predictions]
    chosen = granularity.choose(torch.stack(scores))
    return _inferred(predictions, chosen, y, number, learner.head_sizes, benchmark.scenario)


def _told(prediction: Prediction, y: Tensor) -> TaskEvaluation:
    """One head that is known to be the right one."""
    correct = prediction.probabilities.argmax(-1) == y
    return _pack(prediction, y, correct, correct, None)


def _growing(prediction: Prediction, y: Tensor, number: int, sizes: Sequence[int]) -> TaskEvaluation:
    """One softmax over all classes seen: the predicted class implies the task."""
    label_of = torch.tensor([label for size in sizes for label in range(size)], device=y.device)
    task_of = torch.tensor([task for task, size in enumerate(sizes) for _ in range(size)], device=y.device)
    guess = prediction.probabilities.argmax(-1)
    label_correct, task_correct = label_of[guess] == y, task_of[guess] == number
    return _pack(prediction, y + sum(sizes[:number]), label_correct, label_correct & task_correct, task_correct)


def _inferred(
    predictions: Sequence[Prediction], chosen: Tensor, y: Tensor, number: int, sizes: Sequence[int], scenario: Scenario
) -> TaskEvaluation:
    """Several heads, one of them chosen for each example."""
    rows = torch.arange(len(y), device=y.device)
    labels = torch.stack([one.probabilities.argmax(-1) for one in predictions])[chosen, rows]
    offset = 0
    if scenario is Scenario.CLASS:
        predictions = [_widen(one, head, sizes) for head, one in enumerate(predictions)]
        offset = sum(sizes[:number])
    prediction = Prediction(
        torch.stack([one.probabilities for one in predictions])[chosen, rows],
        torch.stack([one.expected_entropy for one in predictions])[chosen, rows],
        torch.stack([one.votes for one in predictions])[chosen, rows],
    )
    label_correct, task_correct = labels == y, chosen == number
    return _pack(prediction, y + offset, label_correct, label_correct & task_correct, task_correct)


def _widen(prediction: Prediction, head: int, sizes: Sequence[int]) -> Prediction:
    """The prediction of one head as one over the classes of all heads, with zeros for the others."""
    margins = (sum(sizes[:head]), sum(sizes[head + 1 :]))
    return Prediction(
        pad(prediction.probabilities, margins), prediction.expected_entropy, pad(prediction.votes, margins)
    )


def _pack(
    prediction: Prediction, targets: Tensor, label_correct: Tensor, class_correct: Tensor, task_correct: Tensor | None
) -> TaskEvaluation:
    return TaskEvaluation(
        prediction.probabilities.cpu().numpy(),
        targets.cpu().numpy(),
        prediction.entropy.cpu().numpy(),
        label_correct.cpu().numpy(),
        class_correct.cpu().numpy(),
        None if task_correct is None else task_correct.cpu().numpy(),
        float(prediction.votes.gather(-1, targets[:, None]).mean()),
    )
