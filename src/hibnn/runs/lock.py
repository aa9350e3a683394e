"""One process a run: a lock that the operating system takes back when its holder dies, however it dies.

On file systems whose locks do not reach across machines a heartbeat does: the holder touches `status.json` every few
seconds, and a run that another machine says it is running is free once that file has been still for a minute.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from hibnn.errors import BusyError
from hibnn.files.atomic import writing_to
from hibnn.runs.status import Status, host, raw_status

LOCK = "lock"
HEARTBEAT, STILL = 10.0, 60.0
"""Seconds between two signs of life of a run, and seconds without one after which it was interrupted."""


@contextmanager
def run_lock(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold the run's lock during the block; `BusyError` if another process keeps it longer than `patience` seconds."""
    deadline = time.monotonic() + patience
    lock = FileLock(folder / LOCK)
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=patience)
        except Timeout:
            raise busy(folder) from None
    try:
        while _runs_on_another_machine(folder):
            if time.monotonic() >= deadline:
                raise busy(folder)
            time.sleep(1.0)
        with _heartbeat(folder / "status.json"):
            yield
    finally:
        lock.release()


def busy(folder: Path) -> BusyError:
    """The sentence for the second comer."""
    owner = raw_status(folder)
    who = f" (process {owner.get('pid')} on {owner.get('host')})" if owner.get("status") == Status.RUNNING else ""
    return BusyError(f"{folder} is being run by another process{who}: wait for it, or choose another --out.")


def _runs_on_another_machine(folder: Path) -> bool:
    owner = raw_status(folder)
    if owner.get("status") != Status.RUNNING or owner.get("host") == host():
        return False
    return not is_still((folder / "status.json").stat().st_mtime)


def is_still(touched: float) -> bool:
    """Whether a file's time is no sign of life: long past, or so far ahead that no clock can have set it."""
    return abs(time.time() - touched) > STILL


@contextmanager
def _heartbeat(path: Path) -> Iterator[None]:
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT):
            with suppress(OSError):
                os.utime(path)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
