"""Labels are learned as the file spells them, or refused with a sentence."""

import datetime
import decimal

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hibnn.cli.commands import fit
from hibnn.errors import UserError
from hibnn.estimators import load_model

ROWS = 40


def learn(tmp_path, labels, *words, name="data.csv"):
    path, model = tmp_path / name, tmp_path / "m.hibnn"
    if path.suffix == ".csv":
        rows = (f"{number},{labels[number % len(labels)]}" for number in range(ROWS))
        path.write_text("\n".join(["a,y", *rows]) + "\n")
    else:
        parquet.write_table(pyarrow.table({"a": np.arange(float(len(labels))), "y": labels}), path)
    target = [] if model.exists() else ["--target", "y"]
    fit.main([str(path), *target, "--model", str(model), "--epochs", "1", "--quiet", *words])
    return load_model(model).classes_.tolist()


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["9007199254740992", "9007199254740993"], [9007199254740992, 9007199254740993]),
        (["99999999999999999999", "99999999999999999998"], ["99999999999999999998", "99999999999999999999"]),
        (["NA", "null", "nan", "N/A", "EU"], ["EU", "N/A", "NA", "nan", "null"]),
        (["1.0", "2"], [1, 2]),
        (["007", "7"], ["007", "7"]),
        (["true", "False"], [False, True]),
        (["1a", "2"], ["1a", "2"]),
    ],
)
def test_labels_of_a_csv_file_are_what_it_spells(labels, classes, tmp_path):
    assert learn(tmp_path, labels) == classes


def test_digits_are_words_where_the_model_has_words(tmp_path):
    learn(tmp_path, ["1a", "2"])
    assert learn(tmp_path, ["2", "3"]) == ["1a", "2", "3"]


def test_words_are_refused_where_the_model_has_numbers(tmp_path):
    learn(tmp_path, ["1", "2"])
    with pytest.raises(UserError, match="the labels are words"):
        learn(tmp_path, ["one", "two"])


def test_a_class_that_only_every_tenth_row_has_is_learned_and_not_held_out(tmp_path):
    learn(tmp_path, ["x"] * 4 + ["y"] * 5 + ["rare"])
    model = load_model(tmp_path / "m.hibnn")
    assert model.model_.tasks[0].rows == ROWS


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["1", "1e300"], "holds 1e\\+300"),
        (["1.5", "2"], "holds 1.5"),
        (["1", "2", "NaN"], "holds numbers and 'NaN'"),
        (["yes", ""], "no value in some rows"),
        (["yes", "n" * 200_000], "a label of 200000 characters"),
    ],
)
def test_labels_that_would_be_changed_or_fill_the_memory_are_refused(labels, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence):
        learn(tmp_path, labels)


ODD = {
    "NaN": ([0.0, 1.0, float("nan")], "no value in some rows"),
    "real": ([0.5, 1.0, 1.5], "holds .* whole numbers"),
    "infinite": ([0.0, 1.0, float("inf")], "holds inf"),
    "date": ([datetime.date(2020, 1, 1)] * 3, "turn them into words"),
    "bytes": ([b"a", b"b", b"a"], "turn them into words"),
    "decimal": ([decimal.Decimal("1.5")] * 3, "turn them into words"),
    "list": ([[1], [2], [1]], "turn them into words"),
    "struct": ([{"a": 1}] * 3, "turn them into words"),
    "gigantic": (pyarrow.array([2**63, 1, 2], pyarrow.uint64()), "above 2\\^63"),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_target_of_an_odd_type_has_its_sentence(kind, tmp_path):
    labels, sentence = ODD[kind]
    with pytest.raises(UserError, match=sentence):
        learn(tmp_path, labels, name="data.parquet")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["low", "high"], "--regression predicts numbers"),
        ([[1], [2]], "--regression predicts numbers"),
        ([1.0, float("nan")], "no value in some rows"),
        ([1.0, float("inf")], "target column 'y' holds inf"),
    ],
)
def test_a_regression_refuses_what_is_no_number(labels, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence):
        learn(tmp_path, labels, "--regression", name="data.parquet")


def test_a_model_has_at_most_a_thousand_classes(tmp_path, monkeypatch):
    monkeypatch.setattr("hibnn.estimators.tables.target.MOST_CLASSES", 3)
    with pytest.raises(UserError, match="more than 3 different values"):
        learn(tmp_path, list("abcd"))
    learn(tmp_path, list("abc"))
    with pytest.raises(UserError, match="more than 3 classes"):
        learn(tmp_path, list("bcd"))
