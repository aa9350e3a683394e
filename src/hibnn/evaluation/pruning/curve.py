"""Accuracy as weights are pruned.

sparsity = the least percentage p with  accuracy(0) - accuracy(p) > 0.10        (paper, section 5.1)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hibnn.benchmarks import Benchmark
from hibnn.continual import ContinualModel
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity, Score, evaluate
from hibnn.evaluation.pruning.ranking import Ranking, scores, weight_layers
from hibnn.evaluation.pruning.removal import Removal, kept_weights, pruned
from hibnn.learners.base import Learner
from hibnn.tasks import TaskInference

GRID = (0.0, *(float(p) for p in range(60, 96, 5)), *(round(95 + 0.2 * step, 1) for step in range(1, 25)))
"""The paper's percentages: 0, 60 to 95 by 5, then to 99.8 by 0.2."""
DROP = 0.10
EACH_EXAMPLE = Granularity(1)


@dataclass(frozen=True)
class Curve:
    """Accuracy, averaged over tasks, at each percentage of pruned weights."""

    ranking: Ranking
    removal: Removal
    percentages: tuple[float, ...]
    removed: tuple[int, ...]
    accuracies: tuple[float, ...]

    @property
    def sparsity(self) -> float | None:
        return sparsity(self.percentages, self.accuracies)

    @property
    def unpruned(self) -> float | None:
        """The accuracy with everything kept, if the curve has it: the same for all rankings."""
        whole = zip(self.removed, self.accuracies, strict=True)
        return next((accuracy for removed, accuracy in whole if removed == 0), None)


def pruning_curve(
    learner: Learner,
    benchmark: Benchmark,
    ranking: Ranking,
    removal: Removal = Removal.ENTIRELY,
    percentages: Sequence[float] = GRID,
    granularity: Granularity = EACH_EXAMPLE,
    score: Score = "predictive",
    advance: Callable[[], None] = lambda: None,
    unpruned: float | None = None,
) -> Curve:
    """Prune by a ranking, evaluate the network alone on the tasks learned, give the weights back; `advance` follows.

    `unpruned` is the accuracy with everything kept, where the curve of another ranking has it already.
    """
    layers, ranked = weight_layers(learner), scores(learner, ranking)
    model = ContinualModel(learner, TaskInference("entropy", learner.setting, mixing="hard", score=score))
    removed, accuracies = [], []
    for percent in percentages:
        kept = kept_weights(ranked, percent)
        if unpruned is not None and kept.all():
            accuracies.append(unpruned)
        else:
            with pruned(layers, kept, removal):
                row = evaluate(model, benchmark, granularity)
            accuracies.append(float(np.mean([task.accuracy(benchmark.scenario) for task in row])))
        removed.append(int((~kept).sum()))
        advance()
    return Curve(ranking, removal, tuple(percentages), tuple(removed), tuple(accuracies))


def sparsity(percentages: Sequence[float], accuracies: Sequence[float], drop: float = DROP) -> float | None:
    """The first percentage at which accuracy lies more than `drop` below that of the whole network; None if none."""
    if not percentages or percentages[0] != 0:
        raise UserError("sparsity compares with the whole network: begin the percentages with 0.")
    lost = ((p, accuracies[0] - accuracy) for p, accuracy in zip(percentages, accuracies, strict=True))
    return next((p for p, loss in lost if loss > drop), None)
