"""Files that anybody may have written, read within bounds: none can hang, flood or crash its reader.

The records of runs, their status and the live page read through these; what is wrong with a file is an OSError or a
ValueError.
"""

import json
import os
import stat
from pathlib import Path
from typing import Any

LARGEST_FILE = 64 << 20
"""Bytes; the largest JSON file of a run has a few megabytes."""
DEEPEST, LONGEST_INTEGER = 32, 20
"""Levels of lists and objects within each other, and digits of an integer; a longer one is read as a float."""


def read_bounded(path: Path, tail: int | None = None) -> bytes:
    """The content of a regular file, or the end of it; anything else (a pipe, a device) is not even opened."""
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise ValueError("it is no regular file")
    if tail is None and facts.st_size > LARGEST_FILE:
        raise ValueError(f"it is larger than {LARGEST_FILE >> 20} MB")
    # without waiting: another process may have put a pipe in its place since
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        file.seek(0 if tail is None else max(0, facts.st_size - tail))
        return file.read(tail or LARGEST_FILE)


def parse_json(content: bytes) -> Any:
    """A value that can be compared, printed and written: not too deep, no endless integers, no half characters."""
    try:
        value = json.loads(content.decode(), parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _depth_exceeds(value, DEEPEST):
        raise ValueError("it is nested too deeply")
    if b"\\ud" in content.lower():  # half of a surrogate pair cannot be written as UTF-8
        return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    return value


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    content = parse_json(read_bounded(path))
    if not isinstance(content, dict):
        raise ValueError("it holds no JSON object")
    return content


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level = [value for items in inner for value in items]
    return bool(level)
