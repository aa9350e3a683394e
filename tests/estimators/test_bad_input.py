"""Every mistake has its sentence and leaves the model exactly as it was."""

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from hibnn.estimators import ContinualClassifier, ContinualRegressor

X, Y = make_blobs(60, 4, centers=3, random_state=0)
FRAME = pandas.DataFrame(X, columns=list("abcd"))


def put(value, column=2):
    x = X.copy()
    x[:, column] = value
    return x


def one(value):
    x = X.copy()
    x[7, 1] = value
    return x


WRONG = {
    "too many columns": (lambda m: m.partial_fit(np.ones((5, 6)), Y[:5]), "6 features"),
    "too few columns": (lambda m: m.partial_fit(X[:, :3], Y), "3 features"),
    "no rows": (lambda m: m.partial_fit(X[:0], Y[:0]), "0 sample"),
    "no columns": (lambda m: m.partial_fit(X[:, :0], Y), "0 feature"),
    "one row as a vector": (lambda m: m.partial_fit(X[0], Y[:1]), "2D array"),
    "three dimensions": (lambda m: m.partial_fit(X[None], Y), "dim 3"),
    "one NaN": (lambda m: m.partial_fit(one(np.nan), Y), "NaN"),
    "infinity": (lambda m: m.partial_fit(one(np.inf), Y), "infinity"),
    "a column of NaN": (lambda m: m.partial_fit(put(np.nan), Y), "NaN"),
    "a sparse NaN": (lambda m: m.partial_fit(sparse.csr_matrix(one(np.nan)), Y), "NaN"),
    "a gigantic number": (lambda m: m.partial_fit(one(1e30), Y), "column 'b' of the inputs holds 1e"),
    "words among numbers": (lambda m: m.partial_fit(put("x").astype(object), Y), "could not convert"),
    "complex numbers": (lambda m: m.partial_fit(X * 1j, Y), "Complex"),
    "nothing": (lambda m: m.partial_fit(None, Y), "array"),
    "other column names": (lambda m: m.partial_fit(FRAME.rename(columns={"a": "z"}), Y), "lacks the column 'a'"),
    "no labels": (lambda m: m.partial_fit(X, None), "y"),
    "too few labels": (lambda m: m.partial_fit(X, Y[:-1]), "inconsistent numbers of samples"),
    "labels that are NaN": (lambda m: m.partial_fit(X, np.where(Y == 0, np.nan, Y)), "NaN"),
    "continuous labels": (lambda m: m.partial_fit(X, Y + 0.3), "continuous"),
    "labels in two columns": (lambda m: m.partial_fit(X, np.c_[Y, Y]), "1d array"),
    "labels of a new type": (lambda m: m.partial_fit(X, Y.astype(str)), "the labels are words"),
    "labels of several types": (lambda m: m.partial_fit(X, np.array([0, "a"] * 30, dtype=object)), "type"),
    "bytes as labels": (lambda m: m.partial_fit(X, Y.astype(bytes)), "not"),
    "a class not announced": (lambda m: m.partial_fit(X, Y + 5, classes=[5, 6]), "that `classes` does not"),
    "classes of another type": (lambda m: m.partial_fit(X, Y + 5, classes=["5", "6"]), "are words"),
    "a fraction as task": (lambda m: m.partial_fit(X, Y + 5, task=1.5), "a word or a whole number"),
    "a label of a book": (lambda m: m.partial_fit(X, np.where(Y == 0, "a" * 1001, "b")), "a label has 1001 characters"),
    "such a label as an object": (lambda m: m.partial_fit(X, np.array(["a" * 1001, "b"] * 30, object)), "1001 char"),
    "too many classes": (
        lambda m: m.partial_fit(X, Y + 5, classes=range(5, 2005)),
        "2003 classes, and 1000 is the most",
    ),
    "a list as task": (lambda m: m.partial_fit(X, Y + 5, task=["a"]), "a word or a whole number"),
    "an unknown task": (lambda m: m.predict(X, task="fist"), "did you mean 'first'"),
    "too few columns to predict": (lambda m: m.predict(X[:, :2]), "2 features"),
    "NaN to predict": (lambda m: m.predict_proba(one(np.nan)), "NaN"),
    "no rows to predict": (lambda m: m.predict(X[:0]), "0 sample"),
}
PARAMETERS = {
    "no epochs": ({"epochs": 0}, "epochs must be"),
    "half an epoch": ({"epochs": 0.5}, "epochs must be"),
    "empty batches": ({"batch_size": -1}, "batch_size must be"),
    "another method": ({"method": "vcl"}, "begun with ibnn"),
    "an unknown scaling": ({"scaling": "colums"}, "did you mean 'columns'"),
    "another truncation": ({"truncation": 9}, "another truncation, scaling or options"),
    "another scaling": ({"scaling": None}, "another scaling"),
    "other options": ({"options": {"alpha": 3.0}}, "another truncation, scaling or options"),
    "other densities": ({"density": {"components": 1}}, "another density"),
    "another seed": ({"random_state": 1}, "another random_state"),
    "no draws": ({"draws": 0}, "draws must be positive"),
    "an unknown prediction": ({"prediction": "median"}, "unknown prediction"),
}
UNBORN = {
    "an unknown method": ({"method": "ibn"}, "did you mean 'ibnn'"),
    "an unknown option": ({"options": {"alfa": 3}}, "did you mean 'alpha'"),
    "a negative option": ({"options": {"alpha": -1.0}}, "alpha must be positive"),
    "an option of the wrong type": ({"options": {"alpha": "many"}}, "alpha must be a finite number"),
    "no neurons": ({"truncation": 0}, "truncation must be"),
    "an unknown truncation": ({"truncation": "big"}, "truncation must be"),
}


@pytest.fixture(scope="module")
def fitted():
    return ContinualClassifier(epochs=1, truncation=5, random_state=0).fit(FRAME, Y, task="first")


@pytest.fixture
def model(fitted, tmp_path):
    fitted.set_params(epochs=1, batch_size=None, method="ibnn", scaling="columns", draws=32, prediction="sample")
    before = dict(vars(fitted))
    fitted.save(tmp_path / "before")
    yield fitted
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is before[name] for name in before if name.endswith("_"))
    fitted.set_params(**{name: value for name, value in before.items() if not name.endswith("_")})
    fitted.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_named_and_changes_nothing(mistake, model):
    attempt, sentence = WRONG[mistake]
    with pytest.raises((ValueError, TypeError), match=sentence):
        attempt(model)


@pytest.mark.parametrize("mistake", PARAMETERS)
def test_a_wrong_parameter_is_named_and_changes_nothing(mistake, model):
    wrong, sentence = PARAMETERS[mistake]
    with pytest.raises(ValueError, match=sentence):
        model.set_params(**wrong).partial_fit(FRAME, Y)


@pytest.mark.parametrize("mistake", UNBORN)
def test_a_model_that_cannot_be_begun_stays_untaught(mistake):
    wrong, sentence = UNBORN[mistake]
    model = ContinualClassifier(**wrong)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, Y)
    assert vars(model) == vars(ContinualClassifier(**wrong))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_interruption_and_a_failing_fit_leave_the_model_as_it_was(model, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match="NaN"):
        model.fit(one(np.nan), Y)
    monkeypatch.setattr("hibnn.continual.ContinualModel.epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(FRAME, Y)


def test_nothing_is_predicted_or_saved_before_a_fit(tmp_path):
    for attempt in (
        lambda: ContinualClassifier().predict(X),
        lambda: ContinualRegressor().predict(X),
        lambda: ContinualClassifier().save(tmp_path / "model"),
    ):
        with pytest.raises(NotFittedError):
            attempt()


@pytest.mark.parametrize(
    ("y", "sentence"),
    [(Y.astype(str), None), (np.full(60, np.inf), "infinity"), (np.where(Y == 0, 1e30, 0.0), "of the targets holds")],
)
def test_a_regressor_refuses_targets_that_are_no_numbers(y, sentence):
    if sentence is None:
        y, sentence = np.array(["low", "mid", "high"])[Y], "could not convert"
    with pytest.raises(ValueError, match=sentence):
        ContinualRegressor(epochs=1).fit(X, y)


def test_a_regressor_refuses_methods_that_only_know_classes():
    with pytest.raises(ValueError, match="ewc cannot learn real targets"):
        ContinualRegressor("ewc").fit(X, X[:, 0])


def test_a_column_without_a_name_is_named_by_its_number():
    with pytest.raises(ValueError, match="column 1 of the inputs holds 1e"):
        ContinualClassifier(epochs=1).fit(one(1e30), Y)


def test_the_same_word_is_never_suggested_for_a_task_of_another_type():
    model = ContinualClassifier(epochs=1, truncation=5).fit(X, Y, task=1)
    with pytest.raises(ValueError, match="unknown task '1': the one spelt so is of another type"):
        model.predict(X, task="1")


def test_data_beyond_comparison_with_the_first_are_refused_in_a_sentence():
    model = ContinualClassifier(epochs=1, truncation=5, random_state=0).fit(1e-6 * X, Y)
    with pytest.raises(ValueError, match=r"more than 1e.15 times the spread of the data"):
        model.partial_fit(1e13 * X, Y)
    assert np.isfinite(model.partial_fit(1e6 * X, Y).predict_proba(X)).all()
