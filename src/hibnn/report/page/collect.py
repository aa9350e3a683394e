"""What lies in run folders, read with patience: runs that are unfinished or damaged are told, not left out.

done         result.json holds an accuracy and belongs to config.json
running, pending, failed, diverged, given up: as status.json says, without a result
silent       said to be running, but status.json, which a running run touches every few seconds, has long been still
unfinished   neither a result nor a status
damaged      a file cannot be read, or files do not belong together
"""

import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.files.atomic import read_json
from hibnn.report.runs import StoredRun
from hibnn.runs.readout import stored_read_outs

SILENCE = 120.0
"""Seconds after which a run that does not touch its status.json is no longer called running."""
TAIL = 65_536
"""How much of the end of metrics.jsonl is read to see how far a run has come."""


@dataclass(frozen=True)
class Record:
    """One run: its status with a message, its environment, and how it was judged besides its own result."""

    run: StoredRun
    status: str
    message: str
    environment: dict[str, Any]
    read_outs: tuple[dict[str, Any], ...]

    @property
    def name(self) -> str:
        return str(self.run.folder)


@dataclass(frozen=True)
class Damaged:
    """A folder that looks like a run and cannot be understood, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Collection:
    """All runs below some folders, and what could not be read there."""

    records: tuple[Record, ...]
    damaged: tuple[Damaged, ...]


def collect(folders: Iterable[Path]) -> Collection:
    """Every run in or below some folders, each once, in the order of their names."""
    records, damaged = [], []
    for folder in run_folders(folders):
        try:
            records.append(_record(folder))
        except (OSError, ValueError) as error:
            damaged.append(Damaged(str(folder), str(error)))
    return Collection(tuple(records), tuple(damaged))


def run_folders(folders: Iterable[Path]) -> list[Path]:
    """Folders that hold a config.json or a result.json."""
    found: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}: name folders with runs.")
        parents = {path.parent for name in ("config.json", "result.json") for path in folder.rglob(name)}
        for parent in sorted(parents):
            found.setdefault(parent.resolve(), parent)
    return list(found.values())


def _record(folder: Path) -> Record:
    """The run in a folder; ValueError says what is wrong with it."""
    config, result = _object(folder / "config.json"), _object(folder / "result.json")
    if not config:
        raise ValueError("there is no config.json")
    _check_config(config)
    if result:
        _check_result(result, config)
    status = _object(folder / "status.json")
    run = StoredRun(folder, config, result or None)
    word, message = ("done", "") if result else _unfinished(folder, status)
    read_outs = tuple(one for one in stored_read_outs(folder) if _is_fraction(one.get("acc"))) if result else ()
    return Record(run, word, message, _object(folder / "env.json"), read_outs)


def _unfinished(folder: Path, status: dict[str, Any]) -> tuple[str, str]:
    """The status of a run without a result, and what is known of it."""
    word = str(status.get("status") or "unfinished")
    if word == "done":
        raise ValueError("status.json says done, but there is no result.json")
    parts = [str(status.get("message") or ""), progress(folder / "metrics.jsonl")]
    if word == "running":
        touched = (folder / "status.json").stat().st_mtime
        if time.time() - touched > SILENCE:
            word = "silent"
            parts.append(f"no sign of life since {datetime.fromtimestamp(touched, UTC):%Y-%m-%d %H:%M UTC}")
    return word, "; ".join(part for part in parts if part)


def progress(path: Path) -> str:
    """How far a run has come, from the last lines of its metrics; nothing if they do not say."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        lines = [line for text in file.read().splitlines() if (line := _line(text))]
    if not lines or not isinstance(lines[-1].get("task"), int):
        return ""
    epoch = lines[-1].get("epoch")
    where = f"task {lines[-1]['task'] + 1}" + (f", epoch {epoch + 1}" if isinstance(epoch, int) else " learned")
    rows = [line["accuracies"] for line in lines if isinstance(line.get("accuracies"), list) and line["accuracies"]]
    if not rows or not all(map(is_number, rows[-1])):
        return where
    return f"{where}; accuracy so far {100 * sum(rows[-1]) / len(rows[-1]):.2f} % on tasks 1 to {len(rows[-1])}"


def _line(text: bytes) -> dict[str, Any]:
    """A line of metrics; the first may be cut and the last half-written."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _object(path: Path) -> dict[str, Any]:
    """A JSON object, empty where there is no file."""
    try:
        value = read_json(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path.name} cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    return value


def _check_config(config: dict[str, Any]) -> None:
    for name in ("method", "dataset", "scenario"):
        if not isinstance(config.get(name), str):
            raise ValueError(f"config.json names no {name}")
    if not isinstance(config.get("options"), dict) or not isinstance(config.get("seed"), int):
        raise ValueError("config.json has no options or no seed")


def _check_result(result: dict[str, Any], config: dict[str, Any]) -> None:
    if result.get("experiment") != config.get("experiment"):
        raise ValueError("result.json belongs to another experiment than config.json")
    if not _is_fraction(result.get("acc")):
        raise ValueError("result.json has no accuracy between 0 and 1")
    matrix: Any = result.get("accuracy_matrix")
    if not _is_table(matrix) or not all(len(row) == len(matrix) for row in matrix):
        raise ValueError("result.json has no square accuracy matrix")
    if not all(value is None or _is_fraction(value) for row in matrix for value in row):
        raise ValueError("the accuracy matrix holds more than numbers between 0 and 1")
    units = result.get("active_units_per_task") or []
    if not isinstance(units, list) or not all(one is None or _is_table([one]) for one in units):
        raise ValueError("result.json has neurons in use that are no lists of numbers")
    if not all(is_number(value) for one in units if one is not None for value in one):
        raise ValueError("result.json has neurons in use that are no numbers")


def is_number(value: Any) -> bool:
    """Whether a value from a file is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, list) for row in value)


def _is_fraction(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1
