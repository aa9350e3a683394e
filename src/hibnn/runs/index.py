"""All runs below a folder, fast: an index of JSON lines remembers each run's record and the state of its files.

    {"format": 1, "hibnn": "0.1.0", "defaults": {...}}                   the first line
    {"run": "core/ibnn-...", "state": [[mtime, size, inode], ...], "record": {...}}

Every call looks at each run folder (names, times, sizes) but opens only files that are new or differ. A damaged index,
or one of another version, is made again. There is none where the folder cannot be written, nor in a run's own folder.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from hibnn import __version__
from hibnn.errors import UserError
from hibnn.files.atomic import atomic_write
from hibnn.runs.record import FILES, Defaults, Record, read_record

NAME = ".hibnn-index.jsonl"
FORMAT = 1
STILL = 60.0
"""Seconds without a sign of life after which a running run counts as interrupted."""
State = list[list[int] | None]
Entry = tuple[State, Record | None]
Track = Callable[[list[str]], Iterable[str]]


def results(path: str | Path, *, track: Track = iter) -> list[Record]:
    """One flat record for every run in or below a folder, ready for `pandas.DataFrame`.

    `track` may wrap the list of run folders that must be read, to show progress.
    """
    root = Path(path)
    if not root.is_dir():
        raise UserError(f"there is no folder {root}: name one that holds runs.")
    states = dict(sorted(find_runs(root)))
    defaults, known = _read(root / NAME)
    entries = {run: known[run] for run, state in states.items() if run in known and known[run][0] == state}
    missing = [run for run in states if run not in entries]
    for run in track(missing):
        present = [name for name, state in zip(FILES, states[run], strict=True) if state is not None]
        entries[run] = states[run], read_record(root / run, present, defaults)
    if "." not in states and (missing or len(known) != len(states)):
        _write(root / NAME, defaults, entries)
    return [
        {"run": run, **record, **_still(*entries[run])} for run in states if (record := entries[run][1]) is not None
    ]


def find_runs(root: Path) -> Iterator[tuple[str, State]]:
    """Folders with a run's files and the state of these, named from the root; hidden folders are passed over."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        state: State = [None] * len(FILES)
        with contextlib.suppress(OSError), os.scandir(root / folder) as entries:
            for entry in entries:
                if entry.name in FILES:
                    facts = entry.stat()
                    state[FILES.index(entry.name)] = [facts.st_mtime_ns, facts.st_size, facts.st_ino]
                elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}/{entry.name}" if folder else entry.name)
        if any(state):
            yield folder or ".", state


def _still(state: State, record: Record | None) -> dict[str, str]:
    """A run that says it is running touches its status file every few seconds; one that does not was interrupted."""
    touched = state[FILES.index("status.json")]
    if record is None or record["status"] != "running" or touched is None:
        return {}
    if time.time() - touched[0] / 1e9 < STILL:
        return {}
    return {"status": "pending", "reason": "it was interrupted: start it again and it goes on"}


def _read(path: Path) -> tuple[Defaults, dict[str, Entry]]:
    """What the index knows; nothing if it is absent, damaged, or of another version."""
    try:
        with path.open() as file:
            header = json.loads(next(file))
            if (header["format"], header["hibnn"]) != (FORMAT, __version__):
                return Defaults(), {}
            entries = {line["run"]: (line["state"], line["record"]) for line in map(json.loads, file)}
            return Defaults(header["defaults"]), entries
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return Defaults(), {}


def _write(path: Path, defaults: Defaults, entries: dict[str, Entry]) -> None:
    """Store the index, unless the folder cannot be written."""
    header: dict[str, Any] = {"format": FORMAT, "hibnn": __version__, "defaults": defaults.known}
    with contextlib.suppress(OSError), atomic_write(path) as temporary, temporary.open("w") as file:
        file.write(json.dumps(header) + "\n")
        for run, (state, record) in entries.items():
            file.write(json.dumps({"run": run, "state": state, "record": record}) + "\n")
