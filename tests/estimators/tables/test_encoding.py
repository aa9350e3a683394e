"""Columns become numbers by rules that the first file teaches."""

import json

import numpy as np
import pyarrow
import pytest

from hibnn.errors import UserError
from hibnn.estimators.tables.encoding import TableEncoder

TABLE = pyarrow.table(
    {"age": [20.0, None, 40.0], "plan": ["pro", "basic", None], "new": [True, False, True], "y": [0, 1, 0]}
)


def learn(*tables, drop=()):
    return TableEncoder(drop=["y", *drop]).learn(tables)


def test_gaps_are_filled_with_the_mean_and_marked_and_words_become_columns():
    encoder = learn(TABLE)
    assert encoder.names == ["age", "age is missing", "plan=basic", "plan=pro", "new"]
    expected = [[20, 0, 0, 1, 1], [30, 1, 1, 0, 0], [40, 0, 0, 0, 1]]
    assert np.array_equal(encoder.encode(TABLE, "refuse"), expected)


def test_rules_do_not_depend_on_how_the_table_is_cut():
    assert learn(TABLE.slice(0, 1), TABLE.slice(1)).columns_ == learn(TABLE).columns_


def test_rules_come_back_from_json():
    table = TABLE.append_column("when", pyarrow.array(["1.2.2024", None, "13.2.2024"]))
    encoder = learn(table)
    back = TableEncoder.from_json(json.loads(json.dumps(encoder.as_json())))
    assert (back.columns_, back.left_out_) == (encoder.columns_, encoder.left_out_)
    assert np.array_equal(back.transform(table), encoder.transform(table))


def test_a_gap_where_there_was_none_is_filled_without_a_mark():
    encoder = learn(TABLE.slice(0, 1), drop=["plan", "new"])
    assert encoder.encode(TABLE, "refuse").tolist() == [[20], [20], [40]]


def test_an_unknown_category_is_refused_or_counts_as_missing():
    encoder = learn(TABLE.slice(0, 1), drop=["age", "new"])
    with pytest.raises(UserError, match="unknown category 'basic'"):
        encoder.encode(TABLE, "refuse")
    assert encoder.encode(TABLE, "ignore").tolist() == [[1], [0], [0]]


def test_categories_that_are_numbers_are_words():
    table = pyarrow.table({"zone": pyarrow.array([7, None, 9]).dictionary_encode(), "y": [0, 1, 0]})
    encoder = learn(table)
    assert encoder.names == ["zone=7", "zone=9"]
    assert encoder.encode(table, "refuse").tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize("kind", [pyarrow.int64(), pyarrow.uint64()])
def test_whole_numbers_that_real_ones_skip_have_the_sentence_of_gigantic_ones(kind):
    gigantic = pyarrow.table({"id": pyarrow.array([1, 2**60 + 1, None], kind), "y": [0, 1, 0]})
    sentence = "column 'id' holds 1.15292e\\+18, and nothing above 1e\\+15"
    with pytest.raises(UserError, match=sentence):
        learn(gigantic)
    known = learn(pyarrow.table({"id": [1, 2], "y": [0, 1]}))
    with pytest.raises(UserError, match=sentence):
        known.encode(gigantic, "refuse")


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pyarrow.nulls(3), "has no value in any row"),
        (pyarrow.array([None] * 3, pyarrow.float64()), "has no value in any row"),
        (pyarrow.array([None] * 3, pyarrow.string()), "has no value in any row"),
        (pyarrow.array([1, 2, 3], pyarrow.duration("s")), "turn them into numbers"),
        (pyarrow.array([[1], [2], [3]]), "turn them into numbers"),
    ],
)
def test_a_column_that_says_nothing_is_refused(column, sentence):
    with pytest.raises(UserError, match=sentence):
        learn(TABLE.append_column("odd", column))


def test_a_column_of_too_many_words_is_refused():
    table = pyarrow.table({"name": [f"person {number // 2}" for number in range(2002)], "y": [0] * 2002})
    with pytest.raises(UserError, match="--drop name"):
        learn(table)


@pytest.mark.parametrize("rows", [20, 5000])
def test_a_column_with_a_different_word_in_nearly_each_row_is_left_out(rows):
    words = [f"person {number}" for number in range(rows)]
    words[1] = words[0]
    table = pyarrow.table({"a": range(rows), "name": words, "y": [0] * rows})
    encoder, pieces = learn(table), learn(table.slice(0, 7), table.slice(7))
    assert (encoder.names, encoder.left_out_) == (["a"], ("y", "name"))
    assert encoder.remarks_ == ("column 'name' has a different word in nearly each row and is left out.",)
    assert pieces.columns_ == encoder.columns_


def test_words_that_come_back_are_no_identifiers():
    table = pyarrow.table({"town": [f"town {number % 16}" for number in range(20)], "y": [0] * 20})
    assert len(learn(table).names) == 16


def test_missing_columns_and_words_in_place_of_numbers_are_refused():
    encoder = learn(TABLE)
    with pytest.raises(UserError, match="lacks the column 'age'"):
        encoder.encode(TABLE.drop_columns(["age"]), "refuse")
    for wrong in (["a", "b", "c"], pyarrow.array([1, 2, 3], pyarrow.timestamp("s"))):
        with pytest.raises(UserError, match="held numbers before and holds"):
            encoder.encode(TABLE.set_column(0, "age", [wrong] if isinstance(wrong, list) else wrong), "refuse")


def test_truth_values_may_be_spelt():
    encoder = learn(TABLE)
    spelt = TABLE.set_column(2, "new", [["True", "false", None]])
    assert encoder.encode(spelt, "refuse")[:, 4].tolist() == [1, 0, pytest.approx(2 / 3)]
