"""How one column of a table becomes numbers: the rule, which the model keeps, and its use.

Numbers and truth values: their gaps are filled with the mean of the first file, and a second column says where, if that
file had any. Words: a column of zeros and ones for each; a missing word is none of them. Dates: see `dates`.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError
from hibnn.estimators.scaling import LARGEST
from hibnn.estimators.tables.dates import MOVING, Part, as_floats, days_of, part_names, parts_of

Unknown = Literal["refuse", "ignore"]
"""What to do with a word that the first file did not have."""
Kind = Literal["numbers", "words", "date"]


@dataclass(frozen=True)
class Column:
    """The rule for a column: `mean` fills gaps (for a date: of days), `indicator` adds a column that says where."""

    name: str
    kind: Kind = "numbers"
    mean: float = 0.0
    indicator: bool = False
    words: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    """of dates that are spelt"""
    parts: tuple[Part, ...] = ()
    """of dates"""

    @property
    def names(self) -> list[str]:
        """The names of the encoded columns."""
        if self.kind == "words":
            return [f"{self.name}={word}" for word in self.words]
        own = [self.name] if self.kind == "numbers" else part_names(self.name, self.parts)
        return [*own, *([f"{self.name} is missing"] if self.indicator else [])]

    @property
    def moving(self) -> list[bool]:
        """Which of the encoded columns move on with time."""
        moving = part_names(self.name, tuple(part for part in self.parts if part in MOVING))
        return [name in moving for name in self.names]

    def encode(self, values: Any, unknown: Unknown) -> NDArray[np.float64]:
        """An Arrow column as columns of numbers."""
        if self.kind == "words":
            return encode_words(self, values, unknown)
        if self.kind == "date":
            check_spelt_or(values, "temporal", self.name, "dates")
            days = days_of(values, self.formats, self.name, unknown == "ignore")
            columns, gaps = parts_of(days, self.parts, self.mean), np.isnan(days)
        else:
            numbers = known_numbers(self.name, values)
            gaps = np.isnan(numbers)
            columns = [np.where(gaps, self.mean, numbers)]
        return np.column_stack([*columns, *([gaps] if self.indicator else [])]).astype(np.float64)


def encode_words(column: Column, values: Any, unknown: Unknown) -> NDArray[np.float64]:
    """One-hot words."""
    words = [None if word is None else spelt(word) for word in values.to_pylist()]
    places: dict[str | None, int] = {word: place for place, word in enumerate(column.words)}
    new = sorted({word for word in words if word is not None and word not in places})
    if new and unknown == "refuse":
        raise UserError(
            f"column {column.name!r} holds the unknown category {new[0]!r}: correct it, or add --unknown ignore "
            '(in Python: encoder_.set_params(unknown="ignore")) to treat unknown categories as missing.'
        )
    found = np.array([places.get(word, -1) for word in words])  # -1 equals no place, so a missing word is all zeros
    return np.equal.outer(found, np.arange(len(places))).astype(np.float64)


def spelt(word: Any) -> str:
    """A category as a word: 7.0, which a column of whole numbers with gaps makes of 7, is 7."""
    return str(int(word)) if isinstance(word, float) and word.is_integer() else str(word)


def known_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """The numbers of a column that held numbers before."""
    check_spelt_or(values, "primitive", name, "numbers")
    try:
        numbers = as_numbers(values)
    except (ValueError, TypeError):
        raise UserError(f"column {name!r} held numbers before and holds words now: correct it.") from None
    check_numbers(numbers, f"column {name!r}")
    return numbers


def check_spelt_or(values: Any, kind: str, name: str, before: str) -> None:
    """Refuse a column of a type that cannot be what it was."""
    from pyarrow import types

    temporal = types.is_temporal(values.type)
    fits = (
        temporal
        if kind == "temporal"
        else not temporal and (is_number(values.type) or types.is_dictionary(values.type))
    )
    if not (fits or is_text(values.type) or types.is_null(values.type)):
        raise UserError(f"column {name!r} held {before} before and holds values of type {values.type} now: correct it.")


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of words."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers or truth values."""
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def as_numbers(values: Any) -> NDArray[np.float64]:
    """A column as real numbers, NaN for a gap; true is 1 and false 0, also as words. ValueError for others."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    try:
        if is_text(values.type) and is_truth(values.unique()):
            values = values.cast(pyarrow.string()).cast(pyarrow.bool_())
        return as_floats(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise ValueError(str(error)) from None


def is_truth(words: Any) -> bool:
    """Whether some word is there, and all are true or false."""
    found = {word.lower() for word in words.to_pylist() if word is not None}
    return bool(found) and found <= {"true", "false"}


def check_numbers(numbers: NDArray[np.float64], what: str) -> None:
    """Refuse infinite and gigantic numbers, which are nearly always codes for something missing."""
    largest = np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0)
    if largest > LARGEST:
        raise UserError(
            f"{what} holds {largest:g}, and nothing above {LARGEST:g} can be learned from: correct it, or leave the "
            "cell empty."
        )
