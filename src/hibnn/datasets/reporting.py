"""What the user sees on stderr while data are fetched: a progress bar on a terminal, plain lines elsewhere.

On stderr, because stdout belongs to the command that needs the data and may be JSON.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def report(line: str) -> None:
    """Print a line on stderr."""
    print(f"hibnn: {line}", file=sys.stderr, flush=True)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show that something takes a while; call what this yields with the bytes done since the last call."""
    if not sys.stderr.isatty():
        report(title)
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
    if total is not None:
        columns.insert(2, DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda step: bar.advance(task, step)
