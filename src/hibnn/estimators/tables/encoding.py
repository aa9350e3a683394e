"""From a table's columns to numbers, by rules learned on the first file and kept with the model.

A column of numbers has its missing values filled with its mean, and a second column says where, if any were missing.
A column of words becomes a column of zeros and ones for each word; a missing word is none of them. A word that the
first file did not have is refused, or with `ignore` treated as missing. Columns that never change are kept: a later
file may change them. A column without any value, or of dates, is refused.

`Encoder.learn` makes the rules in one pass over the first file; the model stores them as JSON with its parameters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hibnn.checking import check_fields, checked
from hibnn.errors import UserError
from hibnn.estimators.scaling import LARGEST

MOST_COLUMNS = 5000
"""Encoded columns; the first layer has a distribution of weights for each."""
MOST_WORDS = 1000
"""A column with more is a name or an identifier, of which nothing can be learned."""
Unknown = Literal["refuse", "ignore"]
"""What to do with a word that the first file did not have."""


@dataclass(frozen=True)
class Column:
    """How one column is encoded: `words` is None for numbers, `mean` fills gaps, `indicator` adds a column for them."""

    name: str
    mean: float = 0.0
    indicator: bool = False
    words: tuple[str, ...] | None = None

    @property
    def names(self) -> list[str]:
        """The names of the encoded columns."""
        if self.words is not None:
            return [f"{self.name}={word}" for word in self.words]
        return [self.name, *([f"{self.name} is missing"] if self.indicator else [])]


@dataclass
class ColumnStatistics:
    """What one pass over a file finds out about a column: the sum and count of its numbers, gaps, words."""

    total: float = 0.0
    count: int = 0
    missing: int = 0
    words: set[str] = field(default_factory=set)
    text: bool = False


@dataclass(frozen=True)
class Encoder:
    """The columns of a table, in the model's order, and the target."""

    target: str
    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, tables: Iterable[Any], target: str, dropped: Sequence[str] = ()) -> "Encoder":
        """Means, words and missing values of every column but the target."""
        found: dict[str, ColumnStatistics] = {}
        for table in tables:
            for name in table.column_names:
                if name != target and name not in dropped:
                    count_column(found.setdefault(name, ColumnStatistics()), name, table[name])
        if not found:
            raise UserError("the table has no column besides the target to learn from, or no rows.")
        encoder = cls(target, tuple(describe(name, statistics) for name, statistics in found.items()))
        encoder.check_width()
        return encoder

    def check_width(self) -> None:
        """Refuse more encoded columns than fit into memory, with the column to leave out first."""
        if len(self.names) > MOST_COLUMNS:
            widest = max(self.columns, key=lambda column: len(column.names))
            raise UserError(
                f"the columns become {len(self.names)} numbers a row, and {MOST_COLUMNS} is the most: leave some out, "
                f"such as {widest.name!r}, which becomes {len(widest.names)} (--drop {widest.name})."
            )

    @property
    def text(self) -> tuple[str, ...]:
        """The columns of words."""
        return tuple(column.name for column in self.columns if column.words is not None)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return tuple(column.name for column in self.columns if column.words is None)

    @property
    def names(self) -> list[str]:
        """The names of all encoded columns, the inputs of the model."""
        return [name for column in self.columns for name in column.names]

    def encode(self, table: Any, unknown: Unknown) -> NDArray[np.float64]:
        """The table's rows as numbers, in the model's order of columns, whatever the table's."""
        missing = [column.name for column in self.columns if column.name not in table.column_names]
        if missing:
            raise UserError(f"the table lacks the column {missing[0]!r}, which the model was taught with.")
        return np.column_stack([encode_column(column, table[column.name], unknown) for column in self.columns])

    def as_json(self) -> dict[str, Any]:
        """Plain values, which `from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Encoder":
        """From what `as_json` gave; JSON has lists for tuples."""
        columns = tuple(Column(**column) for column in values["columns"])
        for column in columns:
            check_fields(column)
        return cls(checked("target", values["target"], str), columns)


def count_column(statistics: ColumnStatistics, name: str, values: Any) -> None:
    """Add a piece of a column to its statistics."""
    from pyarrow import types

    kind = values.type
    if types.is_null(kind):
        statistics.missing += len(values)
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        statistics.text = True
        statistics.words.update(str(word) for word in values.unique().to_pylist() if word is not None)
        if len(statistics.words) > MOST_WORDS:
            raise UserError(
                f"column {name!r} holds more than {MOST_WORDS} different words: leave it out with --drop {name}."
            )
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        numbers = as_numbers(values)
        check_numbers(numbers, f"column {name!r}")
        known = numbers[~np.isnan(numbers)]
        statistics.total += float(known.sum())
        statistics.count += len(known)
        statistics.missing += len(numbers) - len(known)
    else:
        raise UserError(
            f"column {name!r} holds values of type {kind}: turn them into numbers, or leave it out with --drop {name}."
        )


def describe(name: str, statistics: ColumnStatistics) -> Column:
    """How a column of these statistics will be encoded; a column without any value is refused."""
    if statistics.text:
        return Column(name, words=tuple(sorted(statistics.words)))
    if statistics.count == 0:
        raise UserError(f"column {name!r} has no value in any row: leave it out with --drop {name}.")
    return Column(name, mean=statistics.total / statistics.count, indicator=statistics.missing > 0)


def encode_column(column: Column, values: Any, unknown: Unknown) -> NDArray[np.float64]:
    """One column as columns of numbers: its values and perhaps its gaps, or one-hot words."""
    if column.words is None:
        try:
            numbers = as_numbers(values)
        except (ValueError, TypeError):
            raise UserError(f"column {column.name!r} held numbers before and holds words now: correct it.") from None
        check_numbers(numbers, f"column {column.name!r}")
        gaps = np.isnan(numbers)
        filled = np.where(gaps, column.mean, numbers)
        return np.column_stack([filled, gaps]) if column.indicator else filled[:, None]
    words = [None if word is None else str(word) for word in values.to_pylist()]
    places: dict[str | None, int] = {word: place for place, word in enumerate(column.words)}
    new = sorted({word for word in words if word is not None and word not in places})
    if new and unknown == "refuse":
        raise UserError(
            f"column {column.name!r} holds the unknown category {new[0]!r}: correct it, or add --unknown ignore to "
            "treat unknown categories as missing."
        )
    found = np.array([places.get(word, -1) for word in words])  # -1 equals no place, so a missing word is all zeros
    return np.equal.outer(found, np.arange(len(places))).astype(np.float64)


def as_numbers(values: Any) -> NDArray[np.float64]:
    """A column as real numbers, NaN where it has no value."""
    import pyarrow

    try:
        return values.cast(pyarrow.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise ValueError(str(error)) from None


def check_numbers(numbers: NDArray[np.float64], what: str) -> None:
    """Refuse infinite and gigantic numbers, which are nearly always codes for something missing."""
    largest = np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0)
    if largest > LARGEST:
        raise UserError(
            f"{what} holds {largest:g}, and nothing above {LARGEST:g} can be learned from: correct it, or leave the "
            "cell empty."
        )
