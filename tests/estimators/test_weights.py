"""Rows and classes that count more than others."""

import inspect

import numpy as np
import pandas
import pyarrow
import pytest
import torch

from hibnn import ContinualClassifier, ContinualRegressor, load_model
from hibnn.benchmarks.base import Split
from hibnn.continual import as_weighted
from hibnn.errors import UserError
from hibnn.estimators.common import ContinualEstimator
from hibnn.estimators.weights import check_named, spelt_weights, weigh_classes
from hibnn.nn.likelihoods import Categorical, Gaussian, Weighted

QUICK = {"epochs": 12, "truncation": 20, "random_state": 0, "verbose": -1}


def overlapping(rows=600, rare=0.08, seed=0):
    random = np.random.default_rng(seed)
    y = (random.random(rows) < rare).astype(int)
    return random.normal(size=(rows, 2)) + 1.5 * y[:, None], y


def recall(model, x, y):
    return (model.predict(x)[y == 1] == 1).mean()


@pytest.mark.parametrize("method", ["ibnn", "vcl"])
def test_balanced_weights_find_more_of_a_rare_class(method):
    x, y = overlapping()
    plain = ContinualClassifier(method, **QUICK).fit(x, y)
    balanced = ContinualClassifier(method, class_weight="balanced", **QUICK).fit(x, y)
    other = overlapping(seed=1)
    assert recall(balanced, *other) > recall(plain, *other) + 0.2
    heavy = ContinualClassifier(method, class_weight={1: 30.0}, **QUICK).fit(x, y)
    assert recall(heavy, *other) > recall(plain, *other) + 0.2


def test_class_weights_have_a_mean_of_one_and_balanced_ones_the_same_sum_for_every_class():
    labels, counts = np.array(["a"] * 6 + ["b"] * 3 + ["c"]), np.array([1.0, 2.0, 0.5, 1, 1, 1, 3, 1, 1, 4])
    for own in (None, counts):
        base = np.ones(10) if own is None else own
        balanced = weigh_classes("balanced", labels, own)
        sums = [balanced[labels == name].sum() for name in "abc"]
        np.testing.assert_allclose(sums, base.sum() / 3)
        given = weigh_classes({"a": 1, "c": 5}, labels, own)
        assert given.sum() == pytest.approx(base.sum())
        assert given[9] / base[9] == pytest.approx(5 * given[0] / base[0])
        assert given[6] / base[6] == pytest.approx(given[0] / base[0])
    assert weigh_classes(None, labels, counts) is counts


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_weight_of_two_is_the_row_twice(kind):
    torch.manual_seed(0)
    outputs, weights = torch.randn(3, 5, 4, dtype=torch.float64), torch.tensor([2.0, 1.0, 0.0, 3.0, 1.0])
    likelihood = Categorical() if kind == "classes" else Gaussian(4, 0.5).double()
    targets = torch.randint(4, (5,)) if kind == "classes" else torch.randn(5, 4, dtype=torch.float64)
    times = torch.repeat_interleave(torch.arange(5), weights.long())
    repeated = likelihood.nll(outputs[:, times].flatten(0, 1), targets[times]) * len(times)
    weighted = Weighted(likelihood, weights).nll(outputs.flatten(0, 1), targets) * 5
    torch.testing.assert_close(weighted, repeated)


@pytest.mark.parametrize("kind", [ContinualClassifier, ContinualRegressor])
def test_a_row_of_weight_zero_is_absent_and_equal_weights_of_one_change_nothing(kind):
    x, y = overlapping(120, rare=0.4)
    weights = (np.arange(120) % 3 > 0).astype(float)
    model = kind(**QUICK | {"epochs": 3})
    absent = model.fit(x[weights > 0], y[weights > 0]).predict_uncertainty(x)
    weighted = model.fit(x, y, sample_weight=weights).predict_uncertainty(x)
    np.testing.assert_array_equal(absent, weighted)
    heavier = model.fit(x[weights > 0], y[weights > 0], sample_weight=np.full(80, 5)).predict_uncertainty(x)
    assert not np.array_equal(absent.total, heavier.total)
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.fit(x, y, sample_weight=np.zeros(120))


def as_series(frame, y):
    return frame, pandas.Series(y, name="target", index=frame.index)


@pytest.mark.parametrize("kind", [ContinualClassifier, ContinualRegressor])
@pytest.mark.parametrize(
    "form",
    [
        as_series,
        lambda frame, y: (pyarrow.Table.from_pandas(frame, preserve_index=False), y.tolist()),
        lambda frame, y: (frame.to_dict("list"), torch.tensor(y)),
    ],
    ids=["frame", "arrow", "dictionary"],
)
def test_rows_of_weight_zero_are_absent_from_a_table_before_its_columns_are_learned(kind, form):
    x, y = overlapping(60, rare=0.4)
    there = np.arange(60) % 3 > 0
    frame = pandas.DataFrame({"a": np.where(there, x[:, 0], 1e6), "plan": np.where(there, "basic", "gone")})
    frame.loc[::7, "a"] = np.nan
    model = kind(**QUICK | {"epochs": 1})
    absent = model.fit(*form(frame[there], y[there])).predict_uncertainty(frame[there])
    rules = model.encoder_.columns_
    weighted = model.fit(*form(frame, y), sample_weight=there.astype(float)).predict_uncertainty(frame[there])
    assert model.encoder_.columns_ == rules
    np.testing.assert_array_equal(absent, weighted)
    model.partial_fit(*form(frame.assign(plan=np.where(there, "basic", "new")), y), sample_weight=there.astype(float))
    assert getattr(model, "target_", None) == ("target" if form is as_series else None)


def test_sample_weights_move_a_regression_to_the_rows_that_count():
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 1))
    y = np.where(np.arange(300) % 2, 3.0, -3.0) + 0.1 * random.normal(size=300)
    model = ContinualRegressor(**QUICK).fit(x, y, sample_weight=np.where(np.arange(300) % 2, 9.0, 1.0))
    assert model.predict(x).mean() == pytest.approx(2.4, abs=0.4)


def test_what_calibrates_sees_rows_as_often_as_their_weights_ask():
    split = Split(np.arange(8, dtype=np.float32)[:, None], np.arange(8), np.array([4, 0, 1, 1, 1, 0, 0, 1], np.float32))
    assert as_weighted(split).y.tolist() == [0, 0, 0, 0, 2, 3, 4, 7]
    assert as_weighted(split.take(np.arange(0))).y.tolist() == []


def test_weights_are_kept_with_the_model_and_may_change(tmp_path):
    x, y = overlapping(200, rare=0.3)
    model = ContinualClassifier(class_weight={0: 1, 1: 4}, **QUICK | {"epochs": 2}).fit(x, y)
    model.save(tmp_path / "model.hibnn")
    again = load_model(tmp_path / "model.hibnn")
    assert np.array_equal(again.partial_fit(x, y).predict_proba(x), model.partial_fit(x, y).predict_proba(x))
    model.set_params(class_weight=None).partial_fit(x, y)


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_weights_by_classes_of_every_kind_are_kept_as_they_are(kind, tmp_path):
    x, y = overlapping(60, rare=0.5)
    y = y.astype(bool).astype(kind)
    weights = dict(zip(np.unique(y), [1.0, 5.0], strict=True))
    ContinualClassifier(class_weight=weights, **QUICK | {"epochs": 1}).fit(x, y).save(tmp_path / "model.hibnn")
    again = load_model(tmp_path / "model.hibnn")
    assert isinstance(again, ContinualClassifier)
    assert again.class_weight == weights
    assert {type(name) for name in again.class_weight} == {kind}
    again.partial_fit(x, y)


@pytest.mark.parametrize(
    ("weights", "labels"),
    [
        ({0: 1, 1: 3}, [0.0, 1.0]),
        ({False: 1, True: 3}, [0, 1]),
        ({"0": 1, "1": 3}, [0.0, 1.0]),
        ({"0.0": 1, "1.0": 3}, [0.0, 1.0]),
        ({"false": 1, "true": 3}, [False, True]),
        ({"False": 1, "True": 3}, [False, True]),
        ({0: 1, 1: 3}, ["0", "1"]),
    ],
)
def test_a_class_may_be_named_by_an_equal_value_or_by_its_word(weights, labels):
    check_named(weights, labels)
    assert weigh_classes(weights, np.array(labels), None) == pytest.approx([0.5, 1.5])


def test_what_cannot_be_a_weight_is_refused():
    x, y = overlapping(60, rare=0.5)
    for wrong, sentence in (
        ("balancd", "None, 'balanced' or a weight"),
        ({0: -1.0}, "positive numbers"),
        ({(0, 1): 1.0}, "by words, numbers or truth values"),
        ({"x": 2.0}, "names no class there is"),
    ):
        with pytest.raises(ValueError, match=sentence):
            ContinualClassifier(class_weight=wrong, **QUICK).fit(x, y)
    with pytest.raises(ValueError, match="counts every row once"):
        ContinualClassifier("ewc", class_weight="balanced", **QUICK).fit(x, y)
    for table in (x, pandas.DataFrame(x, columns=["a", "b"])):
        with pytest.raises(ValueError, match="Negative"):
            ContinualClassifier(**QUICK).fit(table, y, sample_weight=-np.ones(60))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            ContinualClassifier(**QUICK).fit(table, y[1:], sample_weight=np.arange(60))
        with pytest.raises(ValueError, match="y"):
            ContinualClassifier(**QUICK).fit(table, None, sample_weight=np.arange(60))
    assert spelt_weights("no=1, yes=5") == {"no": 1.0, "yes": 5.0}
    assert spelt_weights("none") is None
    with pytest.raises(UserError, match="no=1,yes=5"):
        spelt_weights("heavy")


def test_a_classifier_takes_every_parameter_that_all_estimators_have():
    shared, own = (set(inspect.signature(kind).parameters) for kind in (ContinualEstimator, ContinualClassifier))
    assert own - shared == {"class_weight", "ood"}
    assert shared <= own
