"""Values from Python, TOML or JSON as the fields of a dataclass declare them, or refused in a sentence.

`Experiment` and the options of every method call `check_fields` when they are made, so that a wrong word or type is
found at the edge, whichever way it came in.
"""

import math
from dataclasses import fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from hibnn.errors import UserError, unknown

PLAIN = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a word"}


def check_fields(owner: Any) -> None:
    """Bring every field of a frozen dataclass to its declared type; other types than plain ones are left alone."""
    for name, kind in _kinds(type(owner)).items():
        object.__setattr__(owner, name, checked(name.replace("_", "-"), getattr(owner, name), kind))


def checked(label: str, value: Any, kind: Any) -> Any:
    """A value as its type declares it: numbers of numpy become plain, whole numbers real, words members of an enum."""
    value = value.item() if isinstance(value, np.generic) else value
    if get_origin(kind) in (Union, UnionType):
        return _one_of(label, value, get_args(kind))
    if get_origin(kind) is Literal:
        return _word(label, value, get_args(kind))
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        if not isinstance(value, (list, tuple)):
            raise UserError(f"{label} must be a list, not {value!r}.")
        return tuple(checked(label, part, get_args(kind)[0]) for part in value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(_word(label, value, [member.value for member in kind]))
    return _plain(label, value, kind) if kind in PLAIN else value


def _one_of(label: str, value: Any, kinds: tuple[Any, ...]) -> Any:
    if value is None and NoneType in kinds:
        return None
    *others, last = (kind for kind in kinds if kind is not NoneType)
    for kind in others:
        try:
            return checked(label, value, kind)
        except UserError:
            continue
    return checked(label, value, last)


def _word(label: str, value: Any, words: Any) -> Any:
    if value not in words:
        raise unknown(label, str(value), map(str, words))
    return value


def _plain(label: str, value: Any, kind: type) -> Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if kind is float or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UserError(f"{label} must be {PLAIN[kind]}, not {value!r}.")
    return value


@cache
def _kinds(owner: type) -> dict[str, Any]:
    hints = get_type_hints(owner)
    return {field.name: hints[field.name] for field in fields(owner)}
