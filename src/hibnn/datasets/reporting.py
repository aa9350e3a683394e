"""What the user sees on stderr while data are fetched: a progress bar on a terminal, plain lines elsewhere.

On stderr, because stdout belongs to the command that needs the data and may be JSON.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hibnn.progress import Bar
from hibnn.visible import visible


def report(line: str) -> None:
    """Print a line on stderr."""
    print(visible(f"hibnn: {line}"), file=sys.stderr, flush=True)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show that something takes a while; call what this yields with the bytes done since the last call."""
    if not sys.stderr.isatty():
        report(title)
    with Bar(title, total, in_bytes=total is not None) as bar:
        yield bar.advance
