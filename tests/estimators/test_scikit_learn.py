"""The estimators keep scikit-learn's conventions."""

import numpy as np
import pandas
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from hibnn.estimators import ContinualClassifier, ContinualRegressor
from hibnn.learners import methods

QUICK = {"epochs": 20, "truncation": 20, "random_state": 0}


def not_exactly(estimator):
    """A row of weight 2 is two rows in the objective (tests/estimators/test_weights.py), but not in its minibatches."""
    reason = "minibatches and held-out rows are drawn by number"
    return dict.fromkeys((f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")), reason)


# scikit-learn skips its check of the array API unless the environment asks for it; every other check applies
@parametrize_with_checks(
    [
        ContinualClassifier(epochs=4, truncation=10, density={"components": 2}),
        ContinualRegressor(epochs=12, truncation=10),
    ],
    expected_failed_checks=not_exactly,
)
def test_the_estimators_pass_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("the networks are torch's and numpy's arrays come in")
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([ContinualClassifier(), ContinualRegressor()], expected_failed_checks=not_exactly)
def test_the_estimators_as_they_come_pass_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("the networks are torch's and numpy's arrays come in")
    check(estimator)


def test_a_classifier_works_in_pipelines_searches_and_cross_validation():
    x, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(PolynomialFeatures(2), ContinualClassifier(**QUICK))
    search = GridSearchCV(pipeline, {"continualclassifier__method": ["vcl", "ibnn"]}, cv=2).fit(x, y)
    assert search.best_score_ > 0.75
    assert cross_val_score(ContinualClassifier(**QUICK), x, y, cv=3).mean() > 0.75


def test_a_regressor_works_in_pipelines_and_cross_validation():
    x, y = load_diabetes(return_X_y=True)
    pipeline = make_pipeline(PolynomialFeatures(1), ContinualRegressor(**QUICK))
    assert cross_val_score(pipeline, x, y, cv=2).mean() > 0.2


def test_a_clone_has_the_parameters_and_nothing_learned():
    x, y = load_iris(return_X_y=True)
    fitted = ContinualClassifier(method="vcl", options={"learning_rate": 0.02}, **QUICK).fit(x, y)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")


def test_arrays_frames_sparse_matrices_and_tensors_say_the_same():
    x, y = load_iris(return_X_y=True)
    frame = pandas.DataFrame(x, columns=["a", "b", "c", "d"])
    fitted = ContinualClassifier(**QUICK).fit(frame, y)
    plain = ContinualClassifier(**QUICK).fit(x, y)
    expected = plain.predict_proba(x)
    assert np.array_equal(fitted.predict_proba(frame), expected)
    for same in (sparse.csr_matrix(x), sparse.csc_array(x), torch.from_numpy(x), x.tolist()):
        other = ContinualClassifier(**QUICK).fit(same, torch.from_numpy(y))
        assert np.array_equal(other.predict_proba(same), expected)


@pytest.mark.parametrize("labels", [["red", "green", "blue"], [10, 20, 30], [0.5, 1.5, 2.5]])
def test_labels_come_back_as_they_came(labels):
    x, y = load_iris(return_X_y=True)
    given = np.array(labels)[y]
    if given.dtype.kind == "f":
        given = given * 2
    fitted = ContinualClassifier(**QUICK).fit(x, given)
    assert fitted.predict(x).dtype == given.dtype
    assert fitted.classes_.tolist() == sorted({*given.tolist()})
    assert fitted.score(x, given) > 0.7


@pytest.mark.parametrize("method", sorted(methods()))
def test_every_method_learns_by_name_and_takes_another_task(method):
    x, y = load_wine(return_X_y=True)
    options = {"coreset_size": 5, "coreset_epochs": 1} if method == "vcl-coreset" else {}
    model = ContinualClassifier(method, epochs=3, truncation=10, options=options, random_state=0)
    model.partial_fit(x[y < 2], y[y < 2], task="two").partial_fit(x, y, task="three")
    assert model.tasks_ == ["two", "three"]
    np.testing.assert_allclose(model.predict_proba(x).sum(1), 1, atol=1e-6)
