"""Progress bars on standard error: they appear only where work takes longer than two seconds, and only on a terminal.

Everything that shows a bar uses these, from downloads to the estimators; rich is not imported until a bar is drawn.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from threading import Timer
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BEFORE_A_BAR = 2.0
Item = TypeVar("Item")


class Bar:
    """A bar over so many steps, for a `with` block; a total that is known only later is given as a function."""

    def __init__(
        self, title: str, total: float | Callable[[], float] | None = None, *, show: bool = True, in_bytes: bool = False
    ) -> None:
        self.title, self.total, self.in_bytes = title, total, in_bytes
        self.done, self.note = 0.0, ""
        self.drawn: Progress | None = None
        wanted = show and sys.stderr.isatty()  # a timer draws the bar, also if the work says nothing for long
        self.timer = Timer(SECONDS_BEFORE_A_BAR, self._draw) if wanted else None

    def restart(self, title: str, total: float, done: float = 0) -> None:
        """Begin another stretch of work."""
        self.title, self.total, self.done, self.note = title, total, done, ""
        self._update()

    def advance(self, steps: float = 1, note: str = "") -> None:
        """So many steps were done; the note stands behind the bar."""
        self.done, self.note = self.done + steps, note
        self._update()

    def print(self, line: str) -> None:
        """A line on standard error, above the bar."""
        if self.drawn is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self.drawn.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        if self.timer is not None:
            self.timer.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
        if self.drawn is not None:
            self.drawn.stop()

    def _draw(self) -> None:
        drawn = _new_bar(self.in_bytes)
        drawn.add_task("", note="")
        drawn.start()
        self.drawn = drawn
        self._update()

    def _update(self) -> None:
        if self.drawn is not None:
            total = self.total() if callable(self.total) else self.total
            values = {"description": self.title, "completed": self.done, "note": self.note}
            self.drawn.update(self.drawn.task_ids[0], total=total, **values)


def track(items: Sequence[Item], title: str) -> Iterator[Item]:
    """The items, with a bar."""
    with Bar(title, len(items)) as bar:
        for item in items:
            yield item
            bar.advance()


def _new_bar(in_bytes: bool) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    counts = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), counts, TimeRemainingColumn())
    note = TextColumn("{task.fields[note]}", style="dim", markup=False)
    return Progress(*columns, note, console=Console(stderr=True), transient=True)
