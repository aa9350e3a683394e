"""All runs below folders; for one folder fast, by an index of JSON lines that remembers what its files say.

    {"format": 2, "hibnn": "0.1.0"}                                      the first line
    {"run": "core/ibnn-...", "state": [[mtime, size, inode], ...], "record": [config, result, status, message, setting]}

Every call looks at each run folder (names, times, sizes) but opens only files that are new or differ. A damaged index,
or one of another version, is made again. There is none where the folder cannot be written, nor in a run's own folder.
"""

import contextlib
import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from hibnn import __version__
from hibnn.errors import UserError
from hibnn.files.atomic import atomic_write
from hibnn.runs.record import FILES, RunRecord, read_record
from hibnn.runs.status import Status

NAME = ".hibnn-index.jsonl"
HEADER = {"format": 2, "hibnn": __version__}
State = list[list[int] | None]
Stored = list[Any] | None
Track = Callable[[list[str]], Iterable[str]]


def results(path: str | Path, *, track: Track = iter) -> list[dict[str, Any]]:
    """One flat record for every run in or below a folder, ready for `pandas.DataFrame`.

    `track` may wrap the list of run folders that must be read, to show progress.
    """
    return [{"run": run, **record.row()} for run, record in indexed_records(Path(path), track).items()]


def indexed_records(root: Path, track: Track = iter) -> dict[str, RunRecord]:
    """Every run in or below a folder, by its name from there; an index is kept in the folder."""
    states = dict(sorted(find_runs(root)))
    known = _read(root / NAME)
    entries = {run: known[run] for run, state in states.items() if run in known and known[run][0] == state}
    missing = [run for run in states if run not in entries]
    for run in track(missing):
        entries[run] = states[run], _stored(root / run, states[run])
    if "." not in states and (missing or len(known) != len(states)):
        _write(root / NAME, entries)
    found = ((run, *entries[run]) for run in states)
    return {run: _record(root / run, state, stored) for run, state, stored in found if stored is not None}


def records_below(folders: Iterable[Path]) -> list[RunRecord]:
    """Every run in or below some folders, each once, in the order of their names; no index is read or written."""
    found: dict[Path, RunRecord] = {}
    for folder in folders:
        for run, _ in sorted(find_runs(folder)):
            record = read_record(folder / run)
            if record is not None:
                found.setdefault(record.folder.resolve(), record)
    return list(found.values())


def find_runs(root: Path) -> Iterator[tuple[str, State]]:
    """Folders with a run's files and the state of these, named from the root; hidden folders are passed over."""
    if not root.is_dir():
        raise UserError(f"there is no folder {root}: name one that holds runs.")
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        state: State = [None] * len(FILES)
        with contextlib.suppress(OSError), os.scandir(root / folder) as entries:
            for entry in entries:
                if entry.name in FILES:
                    with contextlib.suppress(OSError):  # a link that leads nowhere
                        facts = entry.stat()
                        state[FILES.index(entry.name)] = [facts.st_mtime_ns, facts.st_size, facts.st_ino]
                elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}/{entry.name}" if folder else entry.name)
        if any(state):
            yield folder or ".", state


def _stored(folder: Path, state: State) -> Stored:
    """What the index remembers of a run; None if the folder holds none of ours."""
    present = [name for name, facts in zip(FILES, state, strict=True) if facts is not None]
    record = read_record(folder, present)
    return None if record is None else [record.config, record.result, record.said, record.message, record.setting]


def _record(folder: Path, state: State, stored: list[Any]) -> RunRecord:
    config, result, said, message, setting = stored
    touched = state[FILES.index("status.json")]
    record = RunRecord(folder, config, result, Status(said), message, touched[0] / 1e9 if touched else 0.0)
    vars(record)["setting"] = setting  # a cached property: hashing ten thousand configurations anew takes half a second
    return record


def _read(path: Path) -> dict[str, tuple[State, Stored]]:
    """What the index knows; nothing if it is absent, damaged, or of another version."""
    collecting = gc.isenabled()
    gc.disable()  # nothing here is garbage, and looking for it among ten thousand records doubles the time
    try:
        if not path.is_file():  # nor a pipe, which would never end
            return {}
        with path.open() as file:
            if json.loads(next(file)) != HEADER:
                return {}
            return {line["run"]: (line["state"], _checked(line["record"])) for line in map(json.loads, file)}
    except (OSError, ValueError, KeyError, TypeError, StopIteration, RecursionError):
        return {}
    finally:
        if collecting:
            gc.enable()


def _checked(stored: Any) -> Stored:
    """What the index stored of a run, if it could be a record."""
    if stored is not None:
        config, result, said, message, setting = stored
        kinds = zip((config, result or {}, message, setting), (dict, dict, str, str), strict=True)
        if Status(said) is None or not all(isinstance(value, kind) for value, kind in kinds):
            raise ValueError("the index holds no record")
    return stored


def _write(path: Path, entries: dict[str, tuple[State, Stored]]) -> None:
    """Store the index, unless the folder cannot be written."""
    with contextlib.suppress(OSError), atomic_write(path) as temporary, temporary.open("w") as file:
        file.write(json.dumps(HEADER) + "\n")
        for run, (state, stored) in entries.items():
            file.write(json.dumps({"run": run, "state": state, "record": stored}) + "\n")
