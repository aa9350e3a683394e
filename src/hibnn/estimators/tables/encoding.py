"""From a table's columns to numbers, by rules learned on the first file and kept with the model.

A column of numbers has its missing values filled with its mean, and a second column says where, if any were missing.
A column of words becomes a column of zeros and ones for each word; a missing word is none of them. A word that the
first file did not have is refused, or with `ignore` treated as missing. Columns that never change are kept: a later
file may change them. A column without any value, or of dates, is refused.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError

MOST_WORDS = 1000
Unknown = Literal["refuse", "ignore"]


@dataclass(frozen=True)
class Column:
    """How one column is encoded: `words` is None for numbers."""

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
    """What one pass over a file finds out about a column."""

    total: float = 0.0
    count: int = 0
    missing: int = 0
    words: Counter[str] = field(default_factory=Counter)
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
            raise UserError("the table has no column besides the target to learn from.")
        return cls(target, tuple(describe(name, census) for name, census in found.items()))

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.words is not None)

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.words is None)

    @property
    def names(self) -> list[str]:
        return [name for column in self.columns for name in column.names]

    def encode(self, table: Any, unknown: Unknown) -> NDArray[np.float64]:
        """The table's rows as numbers."""
        missing = [column.name for column in self.columns if column.name not in table.column_names]
        if missing:
            raise UserError(f"the table lacks the column {missing[0]!r}, which the model was taught with.")
        return np.column_stack([encode_column(column, table[column.name], unknown) for column in self.columns])

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Encoder":
        columns = (
            Column(**(one | {"words": None if one["words"] is None else tuple(one["words"])}))
            for one in values["columns"]
        )
        return cls(values["target"], tuple(columns))


def count_column(census: ColumnStatistics, name: str, values: Any) -> None:
    """Add an experience of a column to what is known of it."""
    from pyarrow import types

    kind = values.type
    if types.is_null(kind):
        census.missing += len(values)
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        census.text = True
        census.words.update(word for word in values.to_pylist() if word is not None)
        if len(census.words) > MOST_WORDS:
            raise UserError(
                f"column {name!r} holds more than {MOST_WORDS} different words: leave it out with --drop {name}."
            )
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        numbers = as_numbers(values)
        known = numbers[~np.isnan(numbers)]
        census.total += float(known.sum())
        census.count += len(known)
        census.missing += len(numbers) - len(known)
    else:
        raise UserError(
            f"column {name!r} holds values of type {kind}: turn them into numbers, or leave it out with --drop {name}."
        )


def describe(name: str, census: ColumnStatistics) -> Column:
    """How a column will be encoded."""
    if census.text:
        return Column(name, words=tuple(sorted(census.words)))
    if census.count == 0:
        raise UserError(f"column {name!r} has no value in any row: leave it out with --drop {name}.")
    return Column(name, mean=census.total / census.count, indicator=census.missing > 0)


def encode_column(column: Column, values: Any, unknown: Unknown) -> NDArray[np.float64]:
    """One column as one or more columns of numbers."""
    if column.words is None:
        try:
            numbers = as_numbers(values)
        except (ValueError, TypeError):
            raise UserError(f"column {column.name!r} held numbers before and holds words now: correct it.") from None
        gaps = np.isnan(numbers)
        filled = np.where(gaps, column.mean, numbers)
        return np.column_stack([filled, gaps]) if column.indicator else filled[:, None]
    words = [None if word is None else str(word) for word in values.to_pylist()]
    places = {word: place for place, word in enumerate(column.words)}
    new = sorted({word for word in words if word is not None and word not in places})
    if new and unknown == "refuse":
        raise UserError(
            f"column {column.name!r} holds the unknown category {new[0]!r}: correct it, or add --unknown ignore to "
            "treat unknown categories as missing."
        )
    encoded = np.zeros((len(words), len(places)))
    rows = [(row, places[word]) for row, word in enumerate(words) if word in places]
    if rows:
        encoded[tuple(np.array(rows).T)] = 1.0
    return encoded


def as_numbers(values: Any) -> NDArray[np.float64]:
    """A column as real numbers, NaN where it has no value."""
    import pyarrow

    try:
        return values.cast(pyarrow.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise ValueError(str(error)) from None
