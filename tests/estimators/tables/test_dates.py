"""Dates are understood in several formats and become linear and cyclic parts."""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pandas
import pyarrow
import pytest

from hibnn import ContinualClassifier, TableEncoder, load_model
from hibnn.absent import with_absent_classes
from hibnn.benchmarks.base import Split
from hibnn.errors import UserError

DAYS = [datetime(2024, 1, 1) + timedelta(days=17 * number) for number in range(30)]
TIMES = [day + timedelta(hours=5 * number % 24, minutes=number) for number, day in enumerate(DAYS)]
FORMATS = {
    "%Y-%m-%d": DAYS,
    "%d.%m.%Y": DAYS,
    "%d/%m/%Y": DAYS,
    "%m/%d/%Y": DAYS,
    "%Y/%m/%d": DAYS,
    "%d.%m.%y": DAYS,
    "%d %B %Y": DAYS,
    "%b %d, %Y": DAYS,
    "%Y-%m-%d %H:%M": TIMES,
    "%Y-%m-%dT%H:%M:%S": TIMES,
    "%Y-%m-%dT%H:%M:%S.250Z": TIMES,
    "%Y-%m-%d %H:%M:%S+01:00": TIMES,
    "%d.%m.%Y %H:%M": TIMES,
    "%m/%d/%Y %I:%M %p": TIMES,
}


@pytest.mark.parametrize("form", FORMATS)
def test_words_in_many_formats_are_the_dates_they_mean(form):
    days = FORMATS[form]
    spelt = {"when": [day.strftime(form) for day in days], "a": range(30)}
    encoder = TableEncoder().fit(spelt)
    expected = TableEncoder().fit_transform({"when": days, "a": range(30)})
    np.testing.assert_allclose(encoder.transform(spelt), expected, atol=1e-9)
    np.testing.assert_allclose(encoder.transform({"when": days, "a": range(30)}), expected, atol=1e-9)


def test_the_parts_are_years_from_the_mean_and_angles_of_year_week_and_day():
    noon = pandas.Timestamp("1970-01-02 12:00")  # 1.5 days
    encoder = TableEncoder().fit({"when": [noon, noon + pandas.Timedelta(days=2)]})
    assert encoder.names == [f"when {part}" for part in (
        "in years", "year sin", "year cos", "week sin", "week cos", "day sin", "day cos"
    )]  # fmt: skip
    angles = [2 * np.pi * 1.5 / period for period in (365.2425, 7.0, 1.0)]
    expected = [-1 / 365.2425, *(part(angle) for angle in angles for part in (np.sin, np.cos))]
    np.testing.assert_allclose(encoder.transform({"when": [noon]})[0], expected, atol=1e-9)


def test_a_year_later_is_one_further_and_at_the_same_angle():
    encoder = TableEncoder().fit({"when": DAYS})
    first, second = encoder.transform({"when": [datetime(2024, 3, 5), datetime(2024, 3, 5) + timedelta(365.2425)]})
    assert second[0] - first[0] == pytest.approx(1)
    np.testing.assert_allclose(second[1:3], first[1:3], atol=1e-9)


def test_a_missing_date_is_marked_and_in_the_middle():
    encoder = TableEncoder().fit({"when": [*DAYS, None]})
    row = encoder.transform({"when": pyarrow.array([None], pyarrow.timestamp("s"))})[0]
    assert row.tolist() == [0, 0, 0, 0, 0, 1]


def test_a_time_of_day_is_an_angle_alone():
    encoder = TableEncoder().fit({"at": ["06:00", "18:30"] * 20})
    assert encoder.names == ["at day sin", "at day cos"]
    np.testing.assert_allclose(encoder.transform({"at": ["06:00"]}), [[1, 0]], atol=1e-12)
    assert TableEncoder().fit({"at": pandas.to_datetime(["2024-01-01 06:00"]).time}).names == encoder.names


def test_days_that_could_be_months_are_read_first_and_named():
    with pytest.warns(UserWarning, match="'when' are read as day/month/year"):
        encoder = TableEncoder().fit({"when": ["01/02/2024", "03/04/2024"]})
    assert encoder.columns_[0].formats == ("%d/%m/%Y",)


def test_what_is_no_date_is_refused_or_missing():
    encoder = TableEncoder().fit({"when": ["24.12.2024", "1.1.2025"]})
    with pytest.raises(UserError, match="held dates before and holds 'soon' now"):
        encoder.transform({"when": ["soon"]})
    assert not encoder.set_params(unknown="ignore").transform({"when": ["soon"]}).any()
    with pytest.raises(UserError, match="held dates before and holds values of type int64"):
        encoder.transform({"when": [3]})


@pytest.mark.parametrize("words", [["24.12.2024", "soon"], ["9999-12-31", "2024-01-01"], ["1.2", "3.4"], ["", "a"]])
def test_other_words_are_words(words):
    assert TableEncoder().fit({"when": words}).columns_[0].kind == "words"


@pytest.mark.parametrize("code", [datetime(9999, 12, 31), datetime(1, 1, 1)])
def test_codes_for_no_date_are_gaps_however_they_come_and_counted_in_the_first_table(code):
    with pytest.warns(UserWarning, match=r"'end' holds dates before 1285 or after 3338 \(2\): they count as missing"):
        encoder = TableEncoder().fit({"end": [*DAYS, code, code, None]})
    usual = TableEncoder().fit({"end": [*DAYS, None]})
    assert encoder.columns_ == usual.columns_
    for spelt in (code, code.isoformat(), code.date().isoformat()):
        assert encoder.transform({"end": [spelt]}).tolist() == [[0, 0, 0, 0, 0, 1]]


def test_a_year_of_two_digits_is_no_code():
    encoder = TableEncoder().fit({"when": ["24.12.2024", "1.1.2025"]})
    np.testing.assert_array_equal(encoder.transform({"when": ["5.1.24"]}), encoder.transform({"when": ["5.1.2024"]}))
    slashes = TableEncoder().fit({"when": ["24/12/2024", "1/1/2025"]})
    with pytest.raises(UserError, match="holds '5/1/24' now"):
        slashes.transform({"when": ["5/1/24"]})


def test_dates_are_not_scaled_by_the_first_month():
    january = pandas.DataFrame({"when": pandas.date_range("2024-01-01", periods=31), "a": np.arange(31.0)})
    model = ContinualClassifier(epochs=1, truncation=3, verbose=False, random_state=0)
    model.fit(january, np.arange(31) % 2)
    assert model.model_.inputs.scale[:-1].tolist() == [1] * 5
    assert model.model_.inputs.scale[-1] == pytest.approx(np.arange(31).std())


def month_of(number, rows=150):
    """Two classes told by `a` and `b`, in a month of 2024; `when` moves on."""
    random = np.random.default_rng(number)
    first = datetime(2024, number, 1)
    when = [first + timedelta(days=int(day)) for day in random.integers(28, size=rows)]
    labels = random.integers(2, size=rows)
    a, b = random.normal(labels, 0.3), random.normal(size=rows)
    return pandas.DataFrame({"when": when, "a": a, "b": b}), np.array(["no", "yes"])[labels]


def test_the_next_month_is_not_out_of_distribution_because_of_its_date_and_a_foreign_row_still_is(tmp_path):
    model = ContinualClassifier(epochs=5, truncation=10, random_state=0, verbose=-1)
    for number in (1, 2, 3):
        model.partial_fit(*month_of(number))
    following, _ = month_of(4, 1000)
    flagged = model.predict_ood(following, rate=0.05)
    assert 0.005 < flagged.mean() < 0.1
    assert model.predict_ood(following.assign(a=9.0)).mean() > 0.99
    assert model.predict_ood(following.assign(when=datetime(2034, 7, 1))).mean() < 0.1
    model.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_ood(following, rate=0.05), flagged)


def test_rows_drawn_for_absent_classes_have_dates_of_the_experience_that_lacks_them():
    model = ContinualClassifier(epochs=5, truncation=10, random_state=0, verbose=-1).fit(*month_of(1))
    inference, moving = model.model_.inference, model.encoder_.moving
    assert [name for name, moves in zip(model.encoder_.names, moving, strict=True) if moves] == [
        "when in years", "when year sin", "when year cos",
    ]  # fmt: skip
    x = model.model_.inputs.apply(model.encoder_.transform(month_of(6)[0]))
    drawn = with_absent_classes(Split(x, np.zeros(len(x), np.int64)), inference, 0, seed=0)
    assert set(drawn.x[len(x) :, 0]) <= set(x[:, 0])
    assert len(drawn.x) > len(x)


def test_beside_a_new_class_the_others_are_drawn_at_the_dates_of_the_first_experience():
    model = ContinualClassifier(epochs=5, truncation=10, random_state=0, verbose=-1).fit(*month_of(1))
    inference, moving = model.model_.inference, model.encoder_.moving
    x = model.model_.inputs.apply(model.encoder_.transform(month_of(6)[0]))
    known, new = np.arange(len(x)) % 2, np.arange(len(x)) % 3
    assert len(with_absent_classes(Split(x, known), inference, 0, seed=0)) == len(x)
    drawn = with_absent_classes(Split(x, new), inference, 0, seed=0)
    assert set(drawn.y[len(x) :]) == {0, 1}
    assert np.abs(drawn.x[len(x) :, moving].mean(0)).max() < 0.2 < np.abs(x[:, moving].mean(0)).min()
    assert drawn.x[len(x) :, ~moving].std(0).min() > 0.1
    inference.densities.transform = replace(inference.densities.transform, ignored=None)
    assert len(with_absent_classes(Split(x, new), inference, 0, seed=0)) == len(x)


def test_a_later_file_may_spell_its_dates_otherwise_if_they_can_be_read_in_one_way_only():
    encoder = TableEncoder().fit({"when": ["2024-01-05", "2024-02-07", "2024-03-09"], "a": [1, 2, 3]})
    expected = encoder.transform({"when": ["2024-04-28", "2024-04-03"], "a": [1, 2]})
    for spelt in (["28.04.2024", "03.04.2024"], ["28 Apr 2024", "2024/04/03"], ["28-04-2024", "3.4.24"]):
        np.testing.assert_allclose(encoder.transform({"when": spelt, "a": [1, 2]}), expected)
    with pytest.raises(ValueError, match="03/04/2024"):
        encoder.transform({"when": ["28.04.2024", "03/04/2024"], "a": [1, 2]})
