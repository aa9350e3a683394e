"""Files that grow by lines of JSON and that several processes append to: a line is whole or is passed over.

The records of `hibnn reproduce` are kept this way. A process may be killed in the middle of a line; the next one that
appends begins a new line first, so that a torn line costs nobody else's.
"""

import json
import os
from pathlib import Path
from typing import Any

from filelock import FileLock

from hibnn.errors import UserError
from hibnn.files.atomic import writing_to
from hibnn.files.reading import parse_json, read_bounded

LOCK = ".lock"


def append_line(path: Path, value: dict[str, Any]) -> None:
    """Add a JSON object as the last line of a file, whatever other processes append at the same time."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    if path.exists() and not path.is_file():  # a pipe, for which nobody may be waiting
        raise UserError(f"{path} is no regular file: put an intact copy in its place.")
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.parent / LOCK), path.open("ab+") as file:
            file.write(b"" if _ends_with_a_line(file.fileno()) else b"\n")
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, line by line; what is torn or no object is passed over. The file may be absent."""
    try:
        content = read_bounded(path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}): put an intact copy in its place.") from None
    found = (_parsed(line) for line in content.splitlines())
    return [line for line in found if line is not None]


def _ends_with_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
