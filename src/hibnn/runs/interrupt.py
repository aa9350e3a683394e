"""Signals that ask a run or a sweep to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noted_signals() -> Iterator[Callable[[], int | None]]:
    """In the block the first signal is only noted, a second one ends it; what is yielded tells the one that came."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:
            interrupt(number, frame)
        received.append(number)

    with handled_by(note):
        yield lambda: received[0] if received else None


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """End the block at once; the exception carries the signal's number."""
    raise KeyboardInterrupt(number)


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM handled during the block; only the main thread can, elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before)
