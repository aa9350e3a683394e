"""TOML files: read with a sentence when something is wrong, and written from plain values.

Sweeps and presets are such files. The standard library reads TOML but does not write it; the little that is needed here
is written by hand.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.files.reading import read_bounded


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return tomllib.loads(read_bounded(path).decode())
    except FileNotFoundError:
        raise UserError(f"there is no file {path}.") from None
    except RecursionError:
        raise UserError(f"{path} is not valid TOML: it is nested too deeply.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from None


def to_toml(values: Mapping[str, Any], comment: str = "") -> str:
    """Text of a file: a comment, then values and one level of tables; what is None is left out."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += _pairs({name: value for name, value in values.items() if not isinstance(value, Mapping)})
    for name, table in values.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]", *_pairs(table)]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, Any]) -> list[str]:
    # numbers, words, booleans and lists of them are written in TOML as in JSON
    return [f"{name} = {json.dumps(value, allow_nan=False)}" for name, value in values.items() if value is not None]
