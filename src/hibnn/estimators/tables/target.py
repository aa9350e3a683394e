"""The target column: class labels exactly as the file spells them, or numbers to regress.

A CSV file spells everything, so its labels are read as words first: they are whole numbers or truth values only if all
of them are, and the model's classes are no words. `table_model` asks for all classes of a file before it learns.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError
from hibnn.estimators.labels import LONGEST_LABEL, MOST_CLASSES
from hibnn.estimators.tables.columns import as_numbers, check_numbers
from hibnn.estimators.tables.dialect import GAP_WORDS

LARGEST_WHOLE = 2**53
"""From here on real numbers skip whole ones, and labels would merge."""
INTEGER = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
Classes = dict[Any, Any]
"""From what a file holds to the class it stands for."""


def real_targets(table: Any, name: str) -> NDArray[np.float64]:
    """The target as numbers; a row without one is refused."""
    try:
        numbers = as_numbers(target_column(table, name))
    except ValueError:
        raise UserError(
            f"the target column {name!r} holds values of type {table[name].type}, and --regression predicts numbers: "
            "choose another --target, or begin a model of classes without --regression."
        ) from None
    if np.isnan(numbers).any():
        raise _gap(name)
    check_numbers(numbers, f"the target column {name!r}")
    return numbers


def raw_labels(table: Any, name: str, spelt: bool) -> Any:
    """The target as an Arrow column of words, numbers or truth values; `spelt` is true of a CSV file."""
    from pyarrow import types

    column = target_column(table, name)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    text = types.is_string(column.type) or types.is_large_string(column.type)
    if not (text or types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        raise UserError(
            f"the target column {name!r} holds values of type {column.type}: turn them into words or whole numbers."
        )
    words = column.unique().to_pylist() if text else []
    if column.null_count or (spelt and "" in words):
        raise _gap(name)
    longest = max(map(len, words), default=0)
    if longest > LONGEST_LABEL:
        raise UserError(
            f"the target column {name!r} holds a label of {longest} characters, and {LONGEST_LABEL} is the most: "
            "shorten it, or choose another --target."
        )
    return column


def target_column(table: Any, name: str) -> Any:
    """The target as the table has it, without a missing value."""
    if name not in table.column_names:
        raise UserError(f"the table lacks the target column {name!r}.")
    if table[name].null_count:
        raise _gap(name)
    return table[name]


def all_labels(columns: Iterable[Any], name: str, spelt: bool, known: Sequence[Any]) -> Classes:
    """The classes of a file, given as pieces of its target, for a model that knows some classes already."""
    found: set[Any] = set()
    for column in columns:
        found |= set(column.unique().to_pylist())
        if len(found) > MOST_CLASSES:
            raise UserError(
                f"the target {name!r} has more than {MOST_CLASSES} different values: "
                "if it is a number to predict, begin the model with --regression."
            )
    classes = read_classes(found, name, spelt and not (len(known) and isinstance(known[0], str)))
    if len(known) and isinstance(known[0], float):  # as real labels in Python are
        classes = {value: float(name) if type(name) is int else name for value, name in classes.items()}
    if len({*known} | {*classes.values()}) > MOST_CLASSES:
        raise UserError(f"the model would have more than {MOST_CLASSES} classes: begin another --model.")
    return classes


def read_classes(found: set[Any], name: str, spelt: bool) -> Classes:
    """What each value stands for: itself, or the whole number that it spells."""
    if any(isinstance(value, float) for value in found):
        return {value: whole(value, name) for value in found}
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in found):
        raise UserError(f"the target column {name!r} holds whole numbers above 2^63: turn them into words.")
    return read_spelt(found, name) if spelt else {value: value for value in found}


def read_spelt(words: set[str], name: str) -> Classes:
    """Whole numbers or truth values if all words are, otherwise the words."""
    themselves = {word: word for word in words}
    numbers = {word for word in words if NUMBER.fullmatch(word.strip())}
    unread = {word.lower() for word in GAP_WORDS}
    if numbers and (gaps := words - numbers) and {word.strip().lower() for word in gaps} <= unread:
        raise UserError(
            f"the target column {name!r} holds numbers and {min(gaps)!r}: leave those rows out, or call that class "
            "something else."
        )
    if {word.lower() for word in words} <= {"true", "false"}:
        return {word: word.lower() == "true" for word in words}
    # 007 is a code, and what exceeds 64 bits a name: as numbers they could not be written as they were read
    if numbers != words or any(re.match(r"\s*[+-]?0\d", word) for word in words):
        return themselves
    if all(INTEGER.fullmatch(word.strip()) for word in words):
        integers = {word: int(word) for word in words}
        return integers if all(-(2**63) <= value < 2**63 for value in integers.values()) else themselves
    return {word: whole(float(word), name) for word in words}


def whole(value: float, name: str) -> int:
    """A class label that came as a real number."""
    if math.isnan(value):
        raise _gap(name)
    if abs(value) >= LARGEST_WHOLE or value != int(value):
        raise UserError(
            f"the target column {name!r} holds {value:g}, and classes are words or whole numbers (below 2^53 where "
            "some have a decimal point): correct it, or begin the model with --regression to predict a number."
        )
    return int(value)


def _gap(name: str) -> UserError:
    return UserError(f"the target column {name!r} has no value in some rows: leave those rows out.")
