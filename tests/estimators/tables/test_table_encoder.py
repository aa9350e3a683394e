"""`hibnn.TableEncoder` keeps scikit-learn's conventions, and one table says the same however it is held."""

import numpy as np
import pandas
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import hibnn
from hibnn import TableEncoder

FRAME = pandas.DataFrame(
    {
        "age": [20.0, np.nan, 40.0] * 8,
        "plan": ["pro", None, "basic"] * 8,
        "new": [True, False, True] * 8,
        "when": pandas.date_range("2024-01-01", periods=24, freq="36h"),
    }
)
LABELS = pandas.Series(["yes", "no", "yes"] * 8, name="churned")


class Stream:
    """A table of another library, known by Arrow's protocol alone."""

    def __init__(self, table):
        self._table, self.columns = table, table.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@parametrize_with_checks([TableEncoder()])
def test_the_encoder_passes_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("arrays of numpy come in")
    check(estimator)


def holders():
    table = pyarrow.Table.from_pandas(FRAME)
    large = table.set_column(1, "plan", table["plan"].cast(pyarrow.large_string()))
    view = table.set_column(1, "plan", table["plan"].cast(pyarrow.string_view()))
    columns = {name: FRAME[name].to_list() for name in FRAME}
    return {"arrow": table, "large": Stream(large), "view": Stream(view), "dict": columns, "frame": FRAME[::1]}


@pytest.mark.parametrize("name", holders())
def test_frames_arrow_tables_streams_and_dictionaries_say_the_same(name):
    expected = TableEncoder().fit(FRAME)
    values = holders()[name]
    encoder = TableEncoder().fit(values)
    assert encoder.columns_ == expected.columns_
    assert np.array_equal(encoder.transform(values), expected.transform(FRAME))


def test_polars_frames_say_the_same():
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(FRAME)
    assert np.array_equal(TableEncoder().fit_transform(frame), TableEncoder().fit_transform(FRAME))


def test_an_array_has_columns_x0_and_so_on():
    values = np.array([[1, "a"], [None, "b"], [3, "a"]], dtype=object)
    encoder = TableEncoder().fit(values)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x0 is missing", "x1=a", "x1=b"]
    assert encoder.transform(values).tolist() == [[1, 0, 1, 0], [2, 1, 0, 1], [3, 0, 1, 0]]


def test_columns_are_found_by_name_and_unknown_ones_named_in_a_warning():
    encoder = TableEncoder().fit(FRAME)
    with pytest.warns(UserWarning, match="does not know: 'colour'"):
        other = encoder.transform(FRAME[["when", "new", "plan", "age"]].assign(colour="red"))
    assert np.array_equal(other, encoder.transform(FRAME))


def test_rules_are_learned_once_and_later_tables_are_checked():
    encoder = TableEncoder().partial_fit(FRAME[:12])
    names = encoder.get_feature_names_out().tolist()
    assert encoder.partial_fit(FRAME[12:]).get_feature_names_out().tolist() == names
    with pytest.raises(ValueError, match="unknown category 'gold'"):
        encoder.partial_fit(FRAME.assign(plan="gold"))
    assert not encoder.set_params(unknown="ignore").transform(FRAME.assign(plan="gold"))[:, 2:4].any()


def test_a_clone_has_the_parameters_and_pandas_output_the_names():
    encoder = TableEncoder(unknown="ignore", drop=["when"]).fit(FRAME)
    copy = clone(encoder)
    assert copy.get_params() == encoder.get_params()
    assert not hasattr(copy, "columns_")
    assert list(encoder.set_output(transform="pandas").transform(FRAME)) == encoder.names


def test_identifiers_are_named_in_a_warning():
    frame = FRAME.assign(customer=[f"c{number}" for number in range(24)])
    with pytest.warns(UserWarning, match="'customer' has a different word in nearly each row"):
        encoder = TableEncoder().fit(frame)
    assert encoder.transform(frame).shape == encoder.transform(FRAME).shape  # it need not be there


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (FRAME.assign(age=[1, "a", None] * 8), "one kind of values"),
        (FRAME.assign(when=pandas.to_timedelta(1, "D")), "turn them into numbers"),
        (pyarrow.table([[1.0], [2.0]], names=["a", "a"]), "several columns called 'a'"),
        ({"a": [1, 2], "b": [1]}, "cannot be read"),
    ],
)
def test_tables_that_cannot_be_read_have_a_sentence(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder().fit(values)
    with pytest.raises(ValueError, match="no column 'b' to drop"):
        TableEncoder(drop=["b"]).fit({"a": [1]})


def test_an_encoder_before_an_estimator_says_the_same_as_the_estimator_alone():
    options = {"epochs": 2, "truncation": 5, "random_state": 0, "verbose": False}
    alone = hibnn.ContinualClassifier(**options).fit(FRAME.drop(columns="when"), LABELS)
    both = make_pipeline(TableEncoder(drop=["when"]), hibnn.ContinualClassifier(**options)).fit(FRAME, LABELS)
    with pytest.warns(UserWarning, match="does not know are ignored: when"):
        assert np.array_equal(alone.predict_proba(FRAME), both.predict_proba(FRAME))
