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
from hibnn.continual import Answer, ContinualModel, with_streams
from hibnn.errors import unknown
from hibnn.learners.base import Prediction
from hibnn.nn.layout import Layout
from hibnn.tasks.mixture import mix_classes, places_in_turn

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
    where nothing is inferred. `within_correct`: the label is right if the task is told; `within_entropy`: of what the
    task's head says. `outlier_scores`: how strange a density finds each example, if there is one. The columns of
    `probabilities` are labels, or in the class scenario all classes seen. `network` and `density` are what each would
    have answered alone; None where there is no network, or no density.
    """

    probabilities: np.ndarray
    targets: np.ndarray
    entropy: np.ndarray
    expected_entropy: np.ndarray
    label_correct: np.ndarray
    class_correct: np.ndarray
    task_correct: np.ndarray | None
    within_correct: np.ndarray
    within_entropy: np.ndarray
    gibbs_accuracy: float
    outlier_scores: np.ndarray | None = None
    network: "TaskEvaluation | None" = None
    density: "TaskEvaluation | None" = None

    def accuracy(self, scenario: Scenario) -> float:
        """The share of right answers: in the class scenario, of right classes."""
        return float((self.class_correct if scenario is Scenario.CLASS else self.label_correct).mean())


def evaluate(model: ContinualModel, benchmark: Benchmark, granularity: Granularity) -> list[TaskEvaluation]:
    """Evaluations on the test sets of all tasks learned so far (of all tasks, where one shared head serves them)."""
    learner = model.learner
    count = len(benchmark.tasks) if learner.setting.layout is Layout.SHARED else learner.task + 1
    return [evaluate_task(model, benchmark, number, granularity) for number in range(count)]


def evaluate_task(model: ContinualModel, benchmark: Benchmark, number: int, granularity: Granularity) -> TaskEvaluation:
    """Evaluation on one task's test set."""
    learner, layout, scenario = model.learner, model.learner.setting.layout, benchmark.scenario
    split = benchmark.tasks[number].test.load()
    y = torch.from_numpy(split.y).to(learner.setting.device)
    told = layout is Layout.MULTI and scenario is Scenario.TASK
    heads, sizes = [number] if told else model.heads, learner.head_sizes
    joint = model.joint(split.x)
    own = [joint[head] for head in heads] if joint else []
    answers = model.answers(split.x, heads, own, with_streams("evaluate", number), granularity.share)

    def judge(answer: Answer) -> TaskEvaluation:
        tasks, within = answer
        if layout is Layout.GROWING:
            return _growing(within[0], y, number, sizes)
        if told or layout is Layout.SHARED:
            return _judged(within[0], y, y, None, within[0].probabilities.argmax(-1) == y)
        apart = scenario is Scenario.CLASS and not benchmark.common_outputs
        mixed = _mixed(within, tasks, y, number, sizes, apart)
        return replace(mixed, class_correct=mixed.label_correct) if benchmark.common_outputs else mixed

    alone = {"network": answers.network, "density": answers.density}
    judged = {name: None if answer is None else judge(answer) for name, answer in alone.items()}
    evaluation = replace(judge(answers.both), **judged)
    if model.inference is None or not joint:
        return evaluation
    return replace(evaluation, outlier_scores=model.strangeness(split.x, joint).score.numpy())


def _growing(prediction: Prediction, y: Tensor, number: int, sizes: Sequence[int]) -> TaskEvaluation:
    """One softmax over all classes seen: the predicted class implies the task."""
    first, end = sum(sizes[:number]), sum(sizes[: number + 1])
    guess = prediction.probabilities.argmax(-1)
    own_correct = prediction.probabilities[:, first:end].argmax(-1) == y
    return _judged(prediction, y, y + first, (guess >= first) & (guess < end), own_correct, sizes)


def _mixed(
    within: Sequence[Prediction], tasks: Tensor, y: Tensor, number: int, sizes: Sequence[int], apart: bool
) -> TaskEvaluation:
    """Several heads, each with a weight for every example: `tasks` is (heads, examples); their classes may be apart."""
    own_correct = within[number].probabilities.argmax(-1) == y
    if apart:
        mixture, targets = mix_classes(within, places_in_turn(sizes), tasks), y + sum(sizes[:number])
    else:
        mixture, targets, sizes = mix_classes(within, [torch.eye(size) for size in sizes], tasks), y, ()
    judged = _judged(mixture, y, targets, mixture.tasks.argmax(0) == number, own_correct, sizes)
    return replace(judged, within_entropy=within[number].entropy.cpu().numpy())


def _judged(
    prediction: Prediction,
    y: Tensor,
    targets: Tensor,
    task_correct: Tensor | None,
    within_correct: Tensor,
    sizes: Sequence[int] = (),
) -> TaskEvaluation:
    """The columns of the prediction are labels or, where the sizes of heads are given, the classes of all of them."""
    guess = prediction.probabilities.argmax(-1)
    label_of = torch.cat([torch.arange(size, device=y.device) for size in sizes or prediction.probabilities.shape[1:]])
    class_correct = guess == targets
    if task_correct is not None and not sizes:
        class_correct = class_correct & task_correct
    return TaskEvaluation(
        prediction.probabilities.cpu().numpy(),
        targets.cpu().numpy(),
        prediction.entropy.cpu().numpy(),
        prediction.expected_entropy.cpu().numpy(),
        (label_of[guess] == y).cpu().numpy(),
        class_correct.cpu().numpy(),
        None if task_correct is None else task_correct.cpu().numpy(),
        within_correct.cpu().numpy(),
        prediction.entropy.cpu().numpy(),
        float(prediction.votes.gather(-1, targets[:, None]).mean()),
    )
