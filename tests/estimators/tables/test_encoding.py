"""Columns become numbers by rules that the first file teaches."""

import numpy as np
import pyarrow
import pytest

from hibnn.errors import UserError
from hibnn.estimators.tables.encoding import Encoder

TABLE = pyarrow.table(
    {"age": [20.0, None, 40.0], "plan": ["pro", "basic", None], "new": [True, False, True], "y": [0, 1, 0]}
)


def test_gaps_are_filled_with_the_mean_and_marked_and_words_become_columns():
    encoder = Encoder.learn([TABLE], "y")
    assert encoder.names == ["age", "age is missing", "plan=basic", "plan=pro", "new"]
    expected = [[20, 0, 0, 1, 1], [30, 1, 1, 0, 0], [40, 0, 0, 0, 1]]
    assert np.array_equal(encoder.encode(TABLE, "refuse"), expected)


def test_rules_do_not_depend_on_how_the_table_is_cut():
    assert Encoder.learn([TABLE.slice(0, 1), TABLE.slice(1)], "y") == Encoder.learn([TABLE], "y")


def test_rules_come_back_from_json():
    encoder = Encoder.learn([TABLE], "y")
    assert Encoder.from_json(encoder.as_json()) == encoder


def test_a_gap_where_there_was_none_is_filled_without_a_mark():
    encoder = Encoder.learn([TABLE.slice(0, 1)], "y", dropped=["plan", "new"])
    assert encoder.encode(TABLE, "refuse").tolist() == [[20], [20], [40]]


def test_an_unknown_category_is_refused_or_counts_as_missing():
    encoder = Encoder.learn([TABLE.slice(0, 1)], "y", dropped=["age", "new"])
    with pytest.raises(UserError, match="unknown category 'basic'"):
        encoder.encode(TABLE, "refuse")
    assert encoder.encode(TABLE, "ignore").tolist() == [[1], [0], [0]]


def test_categories_that_are_numbers_are_words():
    table = pyarrow.table({"zone": pyarrow.array([7, None, 9]).dictionary_encode(), "y": [0, 1, 0]})
    encoder = Encoder.learn([table], "y")
    assert encoder.names == ["zone=7", "zone=9"]
    assert encoder.encode(table, "refuse").tolist() == [[1, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pyarrow.nulls(3), "has no value in any row"),
        (pyarrow.array([None] * 3, pyarrow.float64()), "has no value in any row"),
        (pyarrow.array([1, 2, 3], pyarrow.timestamp("s")), "turn them into numbers"),
    ],
)
def test_a_column_that_says_nothing_is_refused(column, sentence):
    with pytest.raises(UserError, match=sentence):
        Encoder.learn([TABLE.append_column("odd", column)], "y")


def test_a_column_of_too_many_words_is_refused():
    table = pyarrow.table({"name": [f"person {number}" for number in range(1001)], "y": [0] * 1001})
    with pytest.raises(UserError, match="--drop name"):
        Encoder.learn([table], "y")


def test_missing_columns_and_words_in_place_of_numbers_are_refused():
    encoder = Encoder.learn([TABLE], "y")
    with pytest.raises(UserError, match="lacks the column 'age'"):
        encoder.encode(TABLE.drop_columns(["age"]), "refuse")
    with pytest.raises(UserError, match="held numbers before and holds words now"):
        encoder.encode(TABLE.set_column(0, "age", [["a", "b", "c"]]), "refuse")
