"""One pass over the first file finds out what its columns are: numbers, words, dates, or names that say nothing.

A column of words that are all dates of one format is a date. One with another word in nearly each row is an identifier
and is left out. More than `MOST_WORDS` words are refused otherwise. Nothing depends on how the file is cut into pieces,
and no more than `MOST_WORDS` words of a column are held. `encoding` calls this.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hibnn.errors import UserError
from hibnn.estimators.tables.columns import Column, as_numbers, check_numbers, is_number, is_text, spelt
from hibnn.estimators.tables.dates import FORMATS, TIMES, Part, spelt_days, temporal_days

MOST_WORDS = 1000
"""A column with more, each in several rows, is refused."""
SHARE_OF_IDENTIFIERS, FEWEST_IDENTIFIERS = 0.95, 20
"""A column of at least so many words, of which this share differ from all others, is an identifier."""


@dataclass
class Sums:
    """Of numbers, or of dates in days: what a mean needs, and whether a date has a time of day."""

    total: float = 0.0
    count: int = 0
    timed: bool = False

    def add(self, numbers: Any) -> None:
        known = numbers[~np.isnan(numbers)]
        self.total += float(known.sum())
        self.count += len(known)
        self.timed = self.timed or bool((known % 1).any())

    @property
    def mean(self) -> float:
        return self.total / self.count


@dataclass
class ColumnStatistics:
    """What is known of a column after some pieces of the file."""

    numbers: Sums = field(default_factory=Sums)
    temporal: Sums | None = None
    time_alone: bool = False
    dates: dict[str, Sums] | None = None
    """For each format in which all words so far are dates; None before the first word."""
    missing: int = 0
    text: bool = False
    spelt: int = 0
    """Rows with a word."""
    words: set[str] = field(default_factory=set)
    crowded: int | None = None
    """How many rows it took to have more than `MOST_WORDS` words."""


def count_column(statistics: ColumnStatistics, name: str, values: Any) -> None:
    """Add a piece of a column to its statistics."""
    from pyarrow import types

    kind = values.type
    if types.is_null(kind):
        statistics.missing += len(values)
    elif types.is_dictionary(kind) or is_text(kind):
        count_words(statistics, values, may_be_dates=is_text(kind))
    elif is_number(kind):
        numbers = as_numbers(values)
        check_numbers(numbers, f"column {name!r}")
        statistics.numbers.add(numbers)
        statistics.missing += int(np.isnan(numbers).sum())
    elif types.is_temporal(kind) and not types.is_duration(kind):
        days = temporal_days(values, name)
        statistics.temporal = statistics.temporal or Sums()
        statistics.temporal.add(days)
        statistics.time_alone = types.is_time(kind)
        statistics.missing += int(np.isnan(days).sum())
    else:
        raise UserError(
            f"column {name!r} holds values of type {kind}: turn them into numbers, or leave it out with --drop {name} "
            f'(in Python: TableEncoder(drop=["{name}"])).'
        )


def count_words(statistics: ColumnStatistics, values: Any, may_be_dates: bool) -> None:
    """Words, as long as there are not too many, and the formats in which all are dates."""
    statistics.text = True
    statistics.missing += values.null_count
    known = values.drop_null()
    if len(known) == 0:
        return
    if statistics.dates is None:
        first = known.slice(0, 1)
        statistics.dates = {form: Sums() for form in FORMATS if may_be_dates and spelt_days(first, form) is not None}
    for form in [*statistics.dates]:
        days = spelt_days(values, form)
        if days is None:
            del statistics.dates[form]
        else:
            statistics.dates[form].add(days)
    if statistics.crowded is None:
        new = {spelt(word) for word in known.unique().to_pylist()}
        if len(statistics.words | new) > MOST_WORDS:
            statistics.crowded = _rows_until_crowded(statistics, known)
        else:
            statistics.words |= new
    statistics.spelt += len(known)


def _rows_until_crowded(statistics: ColumnStatistics, known: Any) -> int:
    words = {*statistics.words}
    for row, word in enumerate(known.to_pylist(), statistics.spelt + 1):
        words.add(spelt(word))
        if len(words) > MOST_WORDS:
            return row
    raise AssertionError("these words were too many")


def describe(name: str, statistics: ColumnStatistics) -> Column | None:
    """The rule for a column of these statistics, None for an identifier; a column without any value is refused."""
    gaps = statistics.missing > 0
    if statistics.temporal is not None and statistics.temporal.count:
        return _date(name, statistics.temporal, gaps, "", statistics.time_alone)
    if statistics.dates:
        form, sums = next(iter(statistics.dates.items()))
        return _date(name, sums, gaps, form, form in TIMES)
    if statistics.text and statistics.spelt:
        return _words(name, statistics)
    if statistics.numbers.count == 0:
        raise UserError(f"column {name!r} has no value in any row: leave it out with --drop {name}.")
    return Column(name, mean=statistics.numbers.mean, indicator=gaps)


def ambiguous(statistics: ColumnStatistics) -> bool:
    """Whether all dates of a column could also be read with day and month exchanged."""
    forms = [*(statistics.dates or {})]
    return all(any(form.startswith(start) for form in forms) for start in ("%d/%m/", "%m/%d/"))


def _date(name: str, sums: Sums, gaps: bool, form: str, time_alone: bool) -> Column:
    parts: tuple[Part, ...] = ("day",) if time_alone else ("linear", "year", "week", *(["day"] if sums.timed else []))
    return Column(name, "date", sums.mean, gaps, formats=(form,) if form else (), parts=parts)


def _words(name: str, statistics: ColumnStatistics) -> Column | None:
    if statistics.crowded is not None:
        if SHARE_OF_IDENTIFIERS * statistics.crowded <= MOST_WORDS + 1:
            return None
        raise UserError(
            f"column {name!r} holds more than {MOST_WORDS} different words: leave it out with --drop {name}."
        )
    if statistics.spelt >= FEWEST_IDENTIFIERS and len(statistics.words) >= SHARE_OF_IDENTIFIERS * statistics.spelt:
        return None
    return Column(name, "words", words=tuple(sorted(statistics.words)))
