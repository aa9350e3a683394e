"""The words after a command as a value; what is wrong with them is one sentence, for every command alike."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from itertools import dropwhile, takewhile
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from hibnn.errors import UserError

Arguments = TypeVar("Arguments")
MOST_AT_ONCE = 1024
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def parse(kind: type[Arguments], command: str, words: list[str], **more: Any) -> Arguments:
    """The words as the dataclass of a command describes them; `--help` is printed and ends the program."""
    config = (*more.pop("config", ()), tyro.conf.FlagCreatePairsOff)
    with one_sentence(command):
        return tyro.cli(kind, prog=f"hibnn {command}", args=words, config=config, registry=plain_optionals(), **more)


def plain_optionals() -> ConstructorRegistry:
    """The rule for `T | None`: help shows T alone, and what was not said is unset. A number may be said to be None."""
    registry = ConstructorRegistry()

    @registry.primitive_rule
    def optional(info: PrimitiveTypeInfo) -> Any:
        kinds = [kind for kind in get_args(info.type) if kind is not NoneType]
        if info.type_origin not in (Union, UnionType) or NoneType not in get_args(info.type):
            return None
        kind: Any = Union[*kinds]
        inner: Any = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kind, info.markers))
        may_be_none = kinds[0] in (int, float)
        return PrimitiveConstructorSpec(
            nargs=inner.nargs,
            metavar=inner.metavar,
            choices=inner.choices,
            instance_from_str=lambda said: None if may_be_none and said == ["None"] else inner.instance_from_str(said),
            is_instance=lambda value: value is None or inner.is_instance(value),
            str_from_instance=lambda value: ["unset"] if value is None else inner.str_from_instance(value),
        )

    return registry


@contextmanager
def one_sentence(command: str) -> Iterator[None]:
    """Turn the box of lines with which tyro ends the program into a UserError."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            yield
    except SystemExit as ended:
        if not ended.code:
            raise
        wrong = _first_section(said.getvalue()) or "these words make no sense"
        raise UserError(f"{wrong}; 'hibnn {command} --help' lists what can be said.") from None


def check_positive(parsed: Any, *names: str) -> None:
    """Refuse counts below 1, and more threads or processes than any machine has."""
    for name in names:
        if getattr(parsed, name) < 1:
            raise UserError(f"--{name} must be at least 1, not {getattr(parsed, name)}.")
        if name in ("threads", "workers") and getattr(parsed, name) > MOST_AT_ONCE:
            raise UserError(f"--{name} must be at most {MOST_AT_ONCE}, not {getattr(parsed, name)}.")


def _first_section(text: str) -> str:
    """What a box says above its first rule: a sentence, or a heading with the names of what is missing below it."""
    rows = [row.replace("│", " ").rstrip() for row in COLOUR.sub("", text).splitlines()[1:]]
    rows = [*dropwhile(_is_rule, rows)]  # a terminal without box characters has one below the title
    rows = [*takewhile(lambda row: not _is_rule(row), rows)]
    depths = [len(row) - len(row.lstrip()) for row in rows]
    plain = [row.strip() for row, depth in zip(rows, depths, strict=True) if depth == depths[0]]
    names = [row.strip() for row, depth in zip(rows, depths, strict=True) if depth == depths[0] + 4]
    sentence = " ".join([*plain, ", ".join(names)]).rstrip(" .")
    return sentence[:1].lower() + sentence[1:]


def _is_rule(row: str) -> bool:
    return not row.strip(" ─-╰╯")
