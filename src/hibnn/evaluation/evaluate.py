"""How well a learner does on every task seen so far, when the task is told and when it must be inferred.

In the task scenario the head is given. In the domain and class scenarios with several heads the task is inferred
(`hibnn.tasks`) at a stated granularity: for each `sample`, for each `batch:n` in stored order, or once for a whole
`task`'s test set (the paper's way, which is far easier and needs test sets sorted by task). Then

    p(y, t | x) = p(t | x) p(y | x, t)        (class)          p(y | x) = sum_t p(y, t | x)        (domain)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hibnn.benchmarks.base import Benchmark, Scenario
from hibnn.errors import unknown
from hibnn.learners.base import Learner, Prediction
from hibnn.nn.networks.heads import Layout
from hibnn.tasks.predict import outlier_scores
from hibnn.tasks.task_inference import TaskInference

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
        raise unknown("granularity", text, ("sample", "batch:n (such as batch:100)", "task"))

    def share(self, evidence: Tensor) -> Tensor:
        """The sum of `evidence` (heads, examples) over the examples that share a head, for each of them."""
        count = evidence.shape[1]
        size = self.size or count
        groups = torch.arange(count, device=evidence.device) // size
        sums = torch.zeros(len(evidence), int(groups[-1]) + 1, dtype=evidence.dtype, device=evidence.device)
        return sums.index_add(1, groups, evidence)[:, groups]


@dataclass(frozen=True)
class TaskEvaluation:
    """What a learner said of one task's test set, example by example.

    `label_correct`: the label is right, whichever task it was thought to belong to (for permuted class-IL the paper's
    convention). `class_correct`: label and task are both right. `task_correct`: the task was inferred rightly, or None
    where nothing is inferred. `within_correct`: the label is right if the task is told. `outlier_scores`: how strange a
    density finds each example, if there is one. The columns of `probabilities` are labels, or in the class scenario all
    classes seen.
    """

    probabilities: np.ndarray
    targets: np.ndarray
    entropy: np.ndarray
    expected_entropy: np.ndarray
    label_correct: np.ndarray
    class_correct: np.ndarray
    task_correct: np.ndarray | None
    within_correct: np.ndarray
    gibbs_accuracy: float
    outlier_scores: np.ndarray | None = None

    def accuracy(self, scenario: Scenario) -> float:
        """The share of right answers: in the class scenario, of right classes."""
        return float((self.class_correct if scenario is Scenario.CLASS else self.label_correct).mean())


def evaluate(
    learner: Learner,
    benchmark: Benchmark,
    granularity: Granularity,
    score: Score = "predictive",
    inference: TaskInference | None = None,
) -> list[TaskEvaluation]:
    """Evaluations on the test sets of all tasks learned so far (of all tasks, where one shared head serves them)."""
    count = len(benchmark.tasks) if learner.setting.layout is Layout.SHARED else learner.task + 1
    return [evaluate_task(learner, benchmark, number, granularity, score, inference) for number in range(count)]


def evaluate_task(
    learner: Learner,
    benchmark: Benchmark,
    number: int,
    granularity: Granularity,
    score: Score = "predictive",
    inference: TaskInference | None = None,
) -> TaskEvaluation:
    """Evaluation on one task's test set; without an inference of its own, the head of lowest entropy answers."""
    split = benchmark.tasks[number].test.load()
    y = torch.from_numpy(split.y).to(learner.setting.device)

    def predict(head: int) -> Prediction:
        return learner.predict(split.x, head, learner.setting.generator("evaluate", number, head))

    layout = learner.setting.layout
    if layout is Layout.GROWING:
        return _growing(predict(0), y, number, learner.head_sizes)
    inference = inference or TaskInference("entropy", learner.setting, mixing="hard", score=score)
    joint = inference.joint(torch.from_numpy(split.x), learner=learner)
    scores = outlier_scores(inference, joint).numpy() if joint else None
    if layout is Layout.SHARED or benchmark.scenario is Scenario.TASK:
        told = predict(number if layout is Layout.MULTI else 0)
        evaluation = _told(inference.within_task(told, joint[number]) if joint else told, y)
    else:
        predictions = [predict(head) for head in range(len(learner.head_sizes))]
        evidence = granularity.share(inference.evidence(predictions, joint))
        weights = inference.task_probabilities(evidence).to(y.device, torch.float32)
        within = inference.within(predictions, joint)
        evaluation = _mixed(within, weights, y, number, learner.head_sizes, benchmark.scenario)
    return replace(evaluation, outlier_scores=scores)


def _told(prediction: Prediction, y: Tensor) -> TaskEvaluation:
    """One head that is known to be the right one."""
    correct = prediction.probabilities.argmax(-1) == y
    return _pack(prediction, y, correct, correct, None, correct)


def _growing(prediction: Prediction, y: Tensor, number: int, sizes: Sequence[int]) -> TaskEvaluation:
    """One softmax over all classes seen: the predicted class implies the task."""
    label_of, task_of = _owners(sizes, y.device)
    guess = prediction.probabilities.argmax(-1)
    label_correct, task_correct = label_of[guess] == y, task_of[guess] == number
    within = prediction.probabilities[:, task_of == number].argmax(-1) == y
    target = y + sum(sizes[:number])
    return _pack(prediction, target, label_correct, label_correct & task_correct, task_correct, within)


def _mixed(
    predictions: Sequence[Prediction], weights: Tensor, y: Tensor, number: int, sizes: Sequence[int], scenario: Scenario
) -> TaskEvaluation:
    """Several heads, each with a weight for every example: `weights` is (heads, examples)."""
    probabilities = [weight[:, None] * one.probabilities for weight, one in zip(weights, predictions, strict=True)]
    votes = [weight[:, None] * one.votes for weight, one in zip(weights, predictions, strict=True)]
    expected = (weights * torch.stack([one.expected_entropy for one in predictions])).sum(0)
    task_correct = weights.argmax(0) == number
    within = predictions[number].probabilities.argmax(-1) == y
    if scenario is Scenario.CLASS:
        mixture = Prediction(torch.cat(probabilities, -1), expected, torch.cat(votes, -1))
        label_of, task_of = _owners(sizes, y.device)
        guess = mixture.probabilities.argmax(-1)
        label_correct = label_of[guess] == y
        class_correct = label_correct & (task_of[guess] == number)
        return _pack(mixture, y + sum(sizes[:number]), label_correct, class_correct, task_correct, within)
    mixture = Prediction(torch.stack(probabilities).sum(0), expected, torch.stack(votes).sum(0))
    label_correct = mixture.probabilities.argmax(-1) == y
    return _pack(mixture, y, label_correct, label_correct & task_correct, task_correct, within)


def _owners(sizes: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """For every class seen, its label within its task, and its task."""
    label_of = torch.tensor([label for size in sizes for label in range(size)], device=device)
    task_of = torch.tensor([task for task, size in enumerate(sizes) for _ in range(size)], device=device)
    return label_of, task_of


def _pack(
    prediction: Prediction,
    targets: Tensor,
    label_correct: Tensor,
    class_correct: Tensor,
    task_correct: Tensor | None,
    within_correct: Tensor,
) -> TaskEvaluation:
    return TaskEvaluation(
        prediction.probabilities.cpu().numpy(),
        targets.cpu().numpy(),
        prediction.entropy.cpu().numpy(),
        prediction.expected_entropy.cpu().numpy(),
        label_correct.cpu().numpy(),
        class_correct.cpu().numpy(),
        None if task_correct is None else task_correct.cpu().numpy(),
        within_correct.cpu().numpy(),
        float(prediction.votes.gather(-1, targets[:, None]).mean()),
    )
