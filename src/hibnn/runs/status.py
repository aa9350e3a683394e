"""`status.json`: what is becoming of a run, who runs it, and since when."""

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from hibnn.errors import DivergedError, GivenUpError, UserError
from hibnn.files.atomic import write_json, writing_to
from hibnn.files.reading import read_object


class Status(StrEnum):
    """A run waits, is under way, was interrupted and can go on, or has ended in one of four ways; or cannot be read."""

    PENDING = "pending"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    DONE = "done"
    DIVERGED = "diverged"
    GIVEN_UP = "given up"
    FAILED = "failed"
    DAMAGED = "damaged"


def host() -> str:
    """The name of this machine."""
    return platform.node()


def raw_status(folder: Path) -> dict[str, Any]:
    """The content of status.json, empty where there is none or it cannot be understood."""
    try:
        return read_object(folder / "status.json")
    except (OSError, ValueError):
        return {}


def write_status(folder: Path, status: Status, **more: Any) -> None:
    """Replace status.json."""
    with writing_to(folder):
        write_json(folder / "status.json", {"status": status, "message": None, **more})


@contextmanager
def track_status(folder: Path, seconds_before: float = 0.0) -> Iterator[list[str]]:
    """Keep status.json true during a run and after it, however it ends; notes put into the list are stored with it.

    `seconds` is the time the run took in this process, with the loading of its data before the block.
    """
    start = time.perf_counter() - seconds_before
    notes: list[str] = []
    common: dict[str, Any] = {"started": _now(), "pid": os.getpid(), "host": host(), "notes": notes}
    write_status(folder, Status.RUNNING, **common)

    def finish(status: Status, message: str | None = None) -> None:
        ended = {"message": message, "finished": _now(), "seconds": time.perf_counter() - start}
        write_status(folder, status, **common | ended)

    try:
        yield notes
    except BaseException as error:
        with suppress(UserError):  # a disk that is full now, when the error itself is on its way
            finish(_status_after(error), _sentence(error))
        raise
    finish(Status.DONE)


def _status_after(error: BaseException) -> Status:
    if isinstance(error, DivergedError):
        return Status.DIVERGED
    if isinstance(error, GivenUpError):
        return Status.GIVEN_UP
    return Status.FAILED if isinstance(error, Exception) else Status.INTERRUPTED


def _sentence(error: BaseException) -> str:
    return str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
