"""Experiences, tasks and uncertainty."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_regression

from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor

QUICK = {"epochs": 10, "truncation": 20, "random_state": 0}


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return x[:900], y[:900]


@pytest.fixture(scope="module")
def two_tasks(digits):
    x, y = digits
    model = ContinualClassifier(**QUICK)
    for number in (0, 1):
        model.partial_fit(x[y // 2 == number], y[y // 2 == number])
    return model


def test_new_classes_begin_a_new_task_and_known_ones_continue_theirs(digits, two_tasks):
    x, y = digits
    assert two_tasks.tasks_ == ["task-1", "task-2"]
    assert [task.classes for task in two_tasks.model_.tasks] == [(0, 1), (2, 3)]
    again = ContinualClassifier(**QUICK).fit(x[y < 2], y[y < 2]).partial_fit(x[y == 1], y[y == 1])
    assert again.tasks_ == ["task-1"]
    assert [(task.rows, task.experiences) for task in again.model_.tasks] == [((y < 2).sum() + (y == 1).sum(), 2)]


def test_an_earlier_task_is_taken_up_again_under_its_head(digits, two_tasks):
    x, y = digits
    model = ContinualClassifier(**QUICK)
    model.partial_fit(x[y < 2], y[y < 2], task="a").partial_fit(x[(y == 2) | (y == 3)], y[(y == 2) | (y == 3)], "b")
    heads = [head.mean.detach().clone() for head in model.model_.learner.bayesian.every_head()]
    model.partial_fit(x[y < 2], y[y < 2], task="a")
    after = model.model_.learner.bayesian.every_head()
    assert model.tasks_ == ["a", "b"]
    assert not np.array_equal(heads[0], after[0].mean.detach())
    assert np.array_equal(heads[1], after[1].mean.detach())
    assert model.score(x[y < 2], y[y < 2], task="a") > 0.97


def test_told_the_task_old_classes_are_remembered_and_others_impossible(digits, two_tasks):
    x, y = digits
    assert two_tasks.score(x[y < 2], y[y < 2], task="task-1") > 0.95
    assert (two_tasks.predict_proba(x, task="task-1")[:, 2:] == 0).all()


def test_untold_the_probabilities_are_a_mixture_over_tasks(digits, two_tasks):
    x, y = digits
    x, y = x[y < 4], y[y < 4]
    mixed = two_tasks.predict_proba(x)
    np.testing.assert_allclose(mixed.sum(1), 1)
    shares = two_tasks.predict_mixture(x, None).tasks.numpy()
    np.testing.assert_allclose(np.stack([mixed[:, :2].sum(1), mixed[:, 2:].sum(1)]), shares)
    assert (two_tasks.predict_task(x) == np.array(two_tasks.tasks_)[shares.argmax(0)]).all()


def test_classes_may_be_announced_before_they_come(digits):
    x, y = digits
    model = ContinualClassifier(**QUICK)
    model.partial_fit(x[y == 0], y[y == 0], classes=[0, 1])
    model.partial_fit(x[y == 1], y[y == 1])
    assert model.tasks_ == ["task-1"]
    assert model.classes_.tolist() == [0, 1]


def test_uncertainty_is_the_sum_of_its_parts_and_larger_where_nothing_was_seen():
    x, y = make_blobs(300, centers=[[-2, 0], [2, 0]], random_state=0)
    model = ContinualClassifier(**QUICK).fit(x, y)
    near, far = model.predict_uncertainty(x), model.predict_uncertainty([[0.0, 30.0], [0.0, -30.0]])
    np.testing.assert_allclose(near.total, near.epistemic + near.aleatoric, atol=1e-6)
    assert near.total.mean() < 0.2
    assert far.epistemic.mean() > 5 * near.epistemic.mean()


def test_a_regressors_standard_deviation_covers_its_errors_and_grows_away_from_the_data():
    x, y = make_regression(400, 3, noise=20.0, random_state=0)
    model = ContinualRegressor(truncation=20, epochs=25, random_state=0).fit(x[:300], y[:300])
    answer = model.predict_uncertainty(x[300:])
    np.testing.assert_allclose(answer.total**2, answer.epistemic**2 + answer.aleatoric**2)
    covered = np.abs(y[300:] - answer.mean) < 2 * answer.total
    assert covered.mean() > 0.85
    mean, deviation = model.predict(5 * x[300:], return_std=True)
    assert mean.shape == (100,)
    assert deviation.mean() > answer.total.mean()
    assert model.predict_uncertainty(5 * x[300:]).epistemic.mean() > 2 * answer.epistemic.mean()


def test_a_regressor_learns_tasks_of_its_own():
    x, y = make_regression(200, 3, random_state=0)
    model = (
        ContinualRegressor(random_state=0, truncation=20, epochs=30)
        .fit(x, y, task="up")
        .partial_fit(x, -y, task="down")
    )
    assert model.score(x, y, task="up") > 0.6
    assert model.score(x, -y, task="down") > 0.6
    assert np.isfinite(model.predict(x)).all()


def test_the_truncation_grows_when_the_neurons_are_in_use(digits):
    x, y = digits
    model = ContinualClassifier(epochs=24, random_state=0, options={"width": 4}).fit(x, y)
    assert model.model_.learner.bayesian.widths == model.n_active_
    assert model.n_active_[0] > 4


def test_the_answer_for_a_row_depends_on_no_other_row(digits, two_tasks):
    x, _ = digits
    together = two_tasks.predict_proba(x[:50])
    alone = np.concatenate([two_tasks.predict_proba(row[None]) for row in x[:50]])
    np.testing.assert_allclose(alone, together, atol=1e-9)


def test_the_means_alone_predict_too(digits, two_tasks):
    x, y = digits
    model = ContinualClassifier(prediction="mean", **QUICK).fit(x, y)
    assert model.score(x, y) > 0.8
    assert (model.predict_uncertainty(x).epistemic < 1e-6).all()


def test_a_method_that_cannot_go_on_with_a_task_says_so(digits):
    x, y = digits
    model = ContinualClassifier("ewc", epochs=1, random_state=0).fit(x, y)
    with pytest.raises(UserError, match="cannot go on with a task"):
        model.partial_fit(x, y)
