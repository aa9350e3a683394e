"""Signals that ask a run to end: the first is noted for the next safe point, a second one ends it at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noted_signals() -> Iterator[Callable[[], int | None]]:
    """During the block SIGINT and SIGTERM are only noted; what is yielded tells the one that came, or None."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread may have handlers
        yield lambda: None
        return
    earlier = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield lambda: received[0] if received else None
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
