"""Metrics: pure functions of the accuracy matrix, and of predicted probabilities.

    R[i, j] = accuracy after training on task i, measured on task j     (T tasks, counted from 0; NaN: not measured)

Accuracies are fractions in [0, 1]. A value that cannot be computed is returned as `Undefined` with its reason. Runs,
reports and `hibnn fit` take their numbers from here; arguments are checked, because users call these functions too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from hibnn.errors import UserError

_LOWEST_PROBABILITY = float(np.finfo(np.float32).tiny)
"""What a probability of zero counts as in a logarithm."""


@dataclass(frozen=True)
class Undefined:
    """The reason why a metric has no value, in place of the number."""

    reason: str


Metric = float | Undefined
"""A number, or the reason why there is none."""


def average_accuracy(R: Float[np.ndarray, "T T"]) -> Metric:
    """Mean accuracy over all tasks after the last one.

        1/T sum_j R[T-1, j]

    Lopez-Paz and Ranzato 2017; the number that most tables print.
    """
    return _mean(_accuracy_matrix(R)[-1], "a task was not evaluated after the last one (R[i, j] is after i, on j)")


def backward_transfer(R: Float[np.ndarray, "T T"]) -> Metric:
    """What later tasks did to earlier ones: negative when they are forgotten.

        1/(T-1) sum_{j<T-1} R[T-1, j] - R[j, j]

    Lopez-Paz and Ranzato 2017.
    """
    R = _accuracy_matrix(R)
    change = R[-1] - np.diag(R)
    return _mean(change[:-1], "a task was not evaluated right after it was learned, or after the last task")


def forward_transfer(R: Float[np.ndarray, "T T"], chance: float | Float[np.ndarray, " T"]) -> Metric:
    """How far above chance a task is just before it is learned.

        1/(T-1) sum_{j>=1} R[j-1, j] - chance_j

    `chance` is one number or one a task: the accuracy of an untrained network, or of guessing.
    Lopez-Paz and Ranzato 2017.
    """
    R = _accuracy_matrix(R)
    before = np.diag(R, k=1)
    return _mean(
        before - _chance(chance, len(R))[1:],
        "future tasks were not evaluated: a task that has not been learned may have no head",
    )


def forgetting(R: Float[np.ndarray, "T T"]) -> Metric:
    """How far each task has fallen from its best; the last task, which nothing followed, is left out.

        1/(T-1) sum_{j<T-1} max_{i<T-1} R[i, j] - R[T-1, j]

    Chaudhry et al. 2018.
    """
    R = _accuracy_matrix(R)
    not_yet_learned = np.triu(np.isnan(R), k=1)
    # -inf for tasks that had not been learned, so that only a missing evaluation of a learned one gives NaN
    best = np.where(not_yet_learned, -np.inf, R)[:-1].max(axis=0, initial=-np.inf)
    return _mean((best - R[-1])[:-1], "a task that had been learned was not evaluated after every later one")


def average_incremental_accuracy(R: Float[np.ndarray, "T T"]) -> Metric:
    """Mean over the sequence of the accuracy on the tasks learned so far.

        1/T sum_i 1/(i+1) sum_{j<=i} R[i, j]

    Rebuffi et al. 2017, who report it over the classes seen so far.
    """
    missing = "a task that had been learned was not evaluated after every later one"
    return _mean(accuracies_so_far(R), missing)


def accuracies_so_far(R: Float[np.ndarray, "T T"]) -> Float[np.ndarray, " T"]:
    """The mean accuracy on the tasks learned so far, after each of them; NaN where one was not evaluated.

    a_i = 1/(i+1) sum_{j<=i} R[i, j]
    """
    return np.array([row[: i + 1].mean() for i, row in enumerate(_accuracy_matrix(R))])


def expected_calibration_error(
    probabilities: Float[np.ndarray, "examples classes"], labels: Int[np.ndarray, " examples"], bins: int = 15
) -> float:
    """How far confidence is from accuracy, over equal bins (low, high] of the confidence.

        sum_b n_b/n |accuracy_b - confidence_b|,   confidence = max_c p(c | x)

    Guo et al. 2017.
    """
    if bins < 1:
        raise UserError(f"the calibration error needs at least one bin, not {bins}.")
    probabilities, labels = _predictions(probabilities, labels)
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == labels
    inner_edges = np.linspace(0, 1, bins + 1)[1:-1]
    # n_b (accuracy_b - confidence_b) is a sum over the bin's examples, so empty bins need no care
    gaps = np.bincount(np.searchsorted(inner_edges, confidence), weights=correct - confidence)
    return float(np.abs(gaps).sum() / len(labels))


def negative_log_likelihood(
    probabilities: Float[np.ndarray, "examples classes"], labels: Int[np.ndarray, " examples"]
) -> float:
    """Mean of -log p(label | x) in nats.

    A probability under 1.2e-38, the smallest normal single-precision number, counts as that (87.3 nats): a softmax
    in single precision rounds what is smaller to zero, and one such example would make the mean infinite.
    """
    probabilities, labels = _predictions(probabilities, labels)
    of_label = np.take_along_axis(probabilities, labels[:, None], axis=1)
    return float(-np.log(np.maximum(of_label, _LOWEST_PROBABILITY)).mean())


def join_probabilities(
    parts: Sequence[Float[np.ndarray, "examples classes"]],
) -> Float[np.ndarray, "examples classes"]:
    """Predictions of several tasks in one array; a class that a task does not have has probability zero there.

    Runs measure all tasks together by it, and reports draw them; tasks may differ in how many classes they have.
    """
    columns = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, columns - part.shape[1]))) for part in parts])


def ood_auroc(known_scores: Float[np.ndarray, " known"], ood_scores: Float[np.ndarray, " ood"]) -> float:
    """How well a score, such as the predictive entropy, tells out-of-distribution data from known: 1/2 is chance.

        P(ood > known) + 1/2 P(ood = known)

    This is the area under the ROC curve with ood as the positive class.
    """
    known, ood = np.sort(_scores("known", known_scores)), _scores("ood", ood_scores)
    lower, not_higher = np.searchsorted(known, ood, side="left"), np.searchsorted(known, ood, side="right")
    return float((lower + not_higher).mean() / (2 * len(known)))


def _mean(values: np.ndarray, reason_if_missing: str) -> Metric:
    """The mean of what a metric sums over: empty with a single task, NaN where an evaluation is missing."""
    if values.size == 0:
        return Undefined("it compares one task with another, and there is only one")
    if np.isnan(values).any():
        return Undefined(reason_if_missing)
    return float(values.mean())


def _accuracy_matrix(R: np.ndarray) -> np.ndarray:
    """R as floats, or a UserError if it is no accuracy matrix; NaN passes."""
    R = np.asarray(R, dtype=float)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or R.size == 0:
        raise UserError(f"an accuracy matrix has one row and one column a task, but this one has shape {R.shape}.")
    if np.any((R < 0) | (R > 1)):
        raise UserError("accuracies are fractions between 0 and 1: divide percentages by 100.")
    return R


def _chance(chance: float | np.ndarray, tasks: int) -> np.ndarray:
    """A chance level for each task."""
    values = np.asarray(chance, dtype=float)
    if values.shape not in ((), (tasks,)):
        raise UserError(f"give one chance level, or one for each of the {tasks} tasks, not shape {values.shape}.")
    if not np.all((values >= 0) & (values <= 1)):
        raise UserError("chance levels are fractions between 0 and 1.")
    return np.broadcast_to(values, tasks)


def _predictions(probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    probabilities, labels = _distributions(probabilities), np.asarray(labels)
    examples, classes = probabilities.shape
    if labels.shape != (examples,):
        raise UserError(f"{examples} rows of probabilities need as many labels, not an array of shape {labels.shape}.")
    if labels.dtype.kind not in "iu":
        raise UserError("labels are class numbers: give integers.")
    if labels.min() < 0 or labels.max() >= classes:
        raise UserError(
            f"with {classes} classes, labels are 0 to {classes - 1}: found {labels.min()} to {labels.max()}."
        )
    return probabilities, labels


def _distributions(probabilities: np.ndarray) -> np.ndarray:
    probabilities = np.asarray(probabilities, dtype=float)
    if probabilities.ndim != 2 or probabilities.size == 0:
        raise UserError(
            f"probabilities have one row an example and one column a class, not shape {probabilities.shape}."
        )
    if not np.all(probabilities >= 0):
        raise UserError("probabilities may be neither negative nor NaN: give them after the softmax.")
    if not np.allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-4):
        raise UserError("the probabilities of an example must sum to one: give them after the softmax.")
    return probabilities


def _scores(which: str, scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 1 or scores.size == 0:
        raise UserError(f"the {which} scores are one number an example, at least one, not shape {scores.shape}.")
    if np.isnan(scores).any():
        raise UserError(f"the {which} scores contain NaN.")
    return scores
