import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import log_loss, roc_auc_score

from hibnn.errors import UserError
from hibnn.evaluation import metrics
from hibnn.evaluation.metrics import Undefined

NAN = float("nan")
FULL = np.array([[0.9, 0.4, 0.6], [0.7, 0.8, 0.3], [0.5, 0.6, 1.0]])
LOWER = np.where(np.triu(np.ones((3, 3)), k=1) == 1, NAN, FULL)
MATRIX_METRICS = [
    metrics.average_accuracy,
    metrics.backward_transfer,
    metrics.forgetting,
    metrics.average_incremental_accuracy,
    lambda R: metrics.forward_transfer(R, 0.5),
]

repeatable = settings(deadline=None, derandomize=True)
fractions = st.floats(0, 1, width=32)
matrices = st.integers(2, 5).flatmap(lambda tasks: arrays(float, (tasks, tasks), elements=fractions))
scores = arrays(float, st.integers(1, 30), elements=st.integers(0, 5).map(float))


def some_predictions(examples=200, classes=4, sharpness=2.0):
    random = np.random.default_rng(0)
    odds = np.exp(sharpness * random.normal(size=(examples, classes)))
    return odds / odds.sum(axis=1, keepdims=True), random.integers(0, classes, examples)


@pytest.mark.parametrize("R", [FULL, LOWER])
def test_metrics_of_the_learned_tasks_equal_those_computed_by_hand(R):
    assert metrics.average_accuracy(R) == pytest.approx((0.5 + 0.6 + 1.0) / 3)
    assert metrics.backward_transfer(R) == pytest.approx(((0.5 - 0.9) + (0.6 - 0.8)) / 2)
    assert metrics.forgetting(R) == pytest.approx(((0.9 - 0.5) + (0.8 - 0.6)) / 2)
    assert metrics.average_incremental_accuracy(R) == pytest.approx((0.9 + (0.7 + 0.8) / 2 + (0.5 + 0.6 + 1.0) / 3) / 3)


def test_forward_transfer_compares_with_chance_just_before_a_task_is_learned():
    assert metrics.forward_transfer(FULL, 0.5) == pytest.approx(((0.4 - 0.5) + (0.3 - 0.5)) / 2)
    assert metrics.forward_transfer(FULL, np.array([0.9, 0.5, 0.1])) == pytest.approx(((0.4 - 0.5) + (0.3 - 0.1)) / 2)


def test_forgetting_is_measured_from_the_best_and_not_from_the_first_accuracy():
    R = np.array([[0.6, NAN, NAN], [0.9, 0.8, NAN], [0.5, 0.8, 0.7]])
    assert metrics.forgetting(R) == pytest.approx(((0.9 - 0.5) + (0.8 - 0.8)) / 2)
    assert metrics.backward_transfer(R) == pytest.approx(((0.5 - 0.6) + (0.8 - 0.8)) / 2)


def test_the_best_accuracy_may_precede_the_task_but_never_is_the_last_one():
    R = np.array([[0.5, 0.9], [0.7, 0.8]])
    assert metrics.forgetting(R) == pytest.approx(0.5 - 0.7)
    early = np.array([[0.5, 0.9, NAN], [0.5, 0.6, NAN], [0.5, 0.7, 0.8]])
    assert metrics.forgetting(early) == pytest.approx(((0.5 - 0.5) + (0.9 - 0.7)) / 2)


@pytest.mark.parametrize("metric", MATRIX_METRICS)
def test_transposing_the_matrix_changes_the_metric(metric):
    value, transposed = metric(FULL), metric(FULL.T)
    assert isinstance(value, float)
    assert isinstance(transposed, float)
    assert abs(value - transposed) > 0.01


@pytest.mark.parametrize("metric", MATRIX_METRICS[:4])
def test_a_transposed_lower_triangle_is_undefined_rather_than_wrong(metric):
    assert isinstance(metric(LOWER), float)
    assert isinstance(metric(LOWER.T), Undefined)


@pytest.mark.parametrize(
    "metric", [metrics.backward_transfer, metrics.forgetting, lambda R: metrics.forward_transfer(R, 0.5)]
)
def test_one_task_has_no_transfer_and_no_forgetting_and_says_so(metric):
    value = metric(np.array([[0.8]]))
    assert isinstance(value, Undefined)
    assert "only one" in value.reason


def test_one_task_has_an_average_accuracy():
    assert metrics.average_accuracy(np.array([[0.8]])) == pytest.approx(0.8)
    assert metrics.average_incremental_accuracy(np.array([[0.8]])) == pytest.approx(0.8)


def test_forward_transfer_without_heads_for_future_tasks_is_undefined_and_says_why():
    value = metrics.forward_transfer(LOWER, 0.5)
    assert isinstance(value, Undefined)
    assert "no head" in value.reason


@pytest.mark.parametrize("missing", [(0, 0), (1, 0), (1, 1)])
def test_forgetting_is_undefined_when_the_best_may_have_been_missed(missing):
    R = LOWER.copy()
    R[missing] = NAN
    assert isinstance(metrics.forgetting(R), Undefined)
    assert isinstance(metrics.average_accuracy(R), float)


@repeatable
@given(matrices)
def test_forgetting_is_never_less_than_the_loss_since_learning(R):
    lost, transfer = metrics.forgetting(R), metrics.backward_transfer(R)
    assert isinstance(lost, float)
    assert isinstance(transfer, float)
    assert lost >= -transfer - 1e-12


@repeatable
@given(matrices, fractions)
def test_a_model_that_never_changes_neither_forgets_nor_transfers(R, chance):
    constant = np.repeat(R[:1], len(R), axis=0)
    assert metrics.forgetting(constant) == 0
    assert metrics.backward_transfer(constant) == 0
    assert metrics.average_accuracy(constant) == pytest.approx(R[0].mean())
    assert metrics.forward_transfer(constant, chance) == pytest.approx(R[0, 1:].mean() - chance, abs=1e-12)


@pytest.mark.parametrize("R", [np.ones((2, 3)), np.ones(4), np.ones((0, 0)), np.ones((2, 2, 2))])
def test_a_matrix_that_is_not_square_is_refused(R):
    with pytest.raises(UserError, match="one row and one column a task"):
        metrics.average_accuracy(R)


@pytest.mark.parametrize("R", [FULL * 100, FULL - 1])
def test_percentages_and_negative_accuracies_are_refused(R):
    with pytest.raises(UserError, match="fractions between 0 and 1"):
        metrics.forgetting(R)


@pytest.mark.parametrize("chance", [np.full(2, 0.5), 50.0, NAN])
def test_a_chance_level_that_fits_no_task_is_refused(chance):
    with pytest.raises(UserError, match="chance level"):
        metrics.forward_transfer(FULL, chance)


def slow_calibration_error(probabilities, labels, bins):
    total, edges = 0.0, np.linspace(0, 1, bins + 1)
    for low, high in itertools.pairwise(edges):
        inside = [(max(p), np.argmax(p) == label) for p, label in zip(probabilities, labels, strict=True)]
        inside = [(confidence, right) for confidence, right in inside if low < confidence <= high]
        if inside:
            confidence, accuracy = np.mean(inside, axis=0)
            total += len(inside) / len(labels) * abs(accuracy - confidence)
    return total


@pytest.mark.parametrize("bins", [1, 4, 15])
@pytest.mark.parametrize("sharpness", [0.0, 0.5, 4.0])
def test_calibration_error_agrees_with_a_slow_loop(bins, sharpness):
    probabilities, labels = some_predictions(sharpness=sharpness)
    expected = slow_calibration_error(probabilities, labels, bins)
    assert metrics.expected_calibration_error(probabilities, labels, bins) == pytest.approx(expected, abs=1e-12)


def test_calibration_error_equals_the_one_computed_by_hand():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.45, 0.55]])
    labels = np.array([0, 0, 0, 1])
    by_hand = 0.5 * abs(1 / 2 - 0.85) + 0.5 * abs(2 / 2 - 0.575)
    assert metrics.expected_calibration_error(probabilities, labels, bins=4) == pytest.approx(by_hand)
    assert metrics.expected_calibration_error(probabilities, labels) != pytest.approx(by_hand)


def test_a_confidence_on_an_edge_belongs_to_the_lower_bin():
    probabilities, labels = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([1, 1])
    assert metrics.expected_calibration_error(probabilities, labels, bins=2) == pytest.approx((0.5 + 0.25) / 2)


def test_certain_predictions_have_the_error_rate_as_calibration_error():
    probabilities, labels = np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 1])
    assert metrics.expected_calibration_error(probabilities, labels) == pytest.approx(0.25)


def test_negative_log_likelihood_agrees_with_scikit_learn():
    probabilities, labels = some_predictions()
    expected = log_loss(labels, probabilities, labels=range(4))
    assert metrics.negative_log_likelihood(probabilities, labels) == pytest.approx(expected, rel=1e-12)


def test_a_true_label_of_probability_zero_costs_much_but_not_everything():
    nll = metrics.negative_log_likelihood(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 1]))
    assert nll == pytest.approx((126 * np.log(2) + np.log(2)) / 2)


@repeatable
@given(scores, scores)
def test_ood_auroc_agrees_with_scikit_learn_also_with_ties(known, ood):
    expected = roc_auc_score(np.repeat([0, 1], [len(known), len(ood)]), np.concatenate([known, ood]))
    assert metrics.ood_auroc(known, ood) == pytest.approx(expected, abs=1e-12)


def test_ood_auroc_is_one_when_ood_data_are_the_more_uncertain():
    assert metrics.ood_auroc(np.array([0.1, 0.2]), np.array([0.3, 0.4, 0.5])) == 1.0
    assert metrics.ood_auroc(np.array([0.3, 0.4, 0.5]), np.array([0.1, 0.2])) == 0.0


@pytest.mark.parametrize("known", [np.array([]), np.array([0.1, NAN]), np.ones((2, 2))])
def test_scores_that_cannot_be_ranked_are_refused(known):
    with pytest.raises(UserError, match="the known scores"):
        metrics.ood_auroc(known, np.array([0.5]))
    with pytest.raises(UserError, match="the ood scores"):
        metrics.ood_auroc(np.array([0.5]), known)


@pytest.mark.parametrize(
    ("row", "words"),
    [([0.5, 0.6], "sum to one"), ([1.5, -0.5], "negative"), ([NAN, 1.0], "NaN"), ([], "one row an example")],
)
def test_what_is_no_distribution_is_refused(row, words):
    for metric in (metrics.expected_calibration_error, metrics.negative_log_likelihood):
        with pytest.raises(UserError, match=words):
            metric(np.array([row]), np.array([0]))


@pytest.mark.parametrize(
    ("labels", "words"),
    [([0, 2], "labels are 0 to 1"), ([-1, 0], "labels are 0 to 1"), ([0], "as many labels"), ([0.0, 1.0], "integers")],
)
def test_labels_that_do_not_fit_the_probabilities_are_refused(labels, words):
    with pytest.raises(UserError, match=words):
        metrics.negative_log_likelihood(np.full((2, 2), 0.5), np.array(labels))


def test_probabilities_of_a_single_example_still_need_a_row():
    with pytest.raises(UserError, match="one row an example"):
        metrics.negative_log_likelihood(np.array([0.5, 0.5]), np.array([0]))


def test_a_calibration_error_without_bins_is_refused():
    with pytest.raises(UserError, match="at least one bin"):
        metrics.expected_calibration_error(np.full((1, 2), 0.5), np.array([0]), bins=0)


def test_single_precision_probabilities_and_small_integer_labels_are_accepted():
    probabilities, labels = some_predictions(classes=10)
    single, small = probabilities.astype(np.float32), labels.astype(np.uint8)
    nll = metrics.negative_log_likelihood(probabilities, labels)
    assert metrics.negative_log_likelihood(single, small) == pytest.approx(nll, rel=1e-6)
    assert metrics.expected_calibration_error(single, small) == pytest.approx(
        metrics.expected_calibration_error(probabilities, labels), abs=1e-6
    )
