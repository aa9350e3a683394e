"""Progress bars on standard error: they appear only where work takes longer than two seconds, and only on a terminal.

Everything that shows a bar uses these, from downloads to the estimators; nothing is imported until a bar is drawn.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BEFORE_A_BAR = 2.0
Item = TypeVar("Item")


class Bar:
    """A bar over so many steps; a total that is known only later is given as a function.

    As a context manager it takes the bar away at the end.
    """

    def __init__(
        self, title: str, total: float | Callable[[], float] | None = None, *, show: bool = True, bytes: bool = False
    ) -> None:
        self.title, self.total, self.bytes = title, total, bytes
        self.done, self.note = 0.0, ""
        self.show = show and sys.stderr.isatty()
        self.start = time.perf_counter()
        self.drawn: Progress | None = None

    def restart(self, title: str, total: float, done: float = 0) -> None:
        """Begin another stretch of work."""
        self.title, self.total, self.done, self.note = title, total, done, ""
        self._draw()

    def advance(self, steps: float = 1, note: str = "") -> None:
        """So many steps were done; the note stands behind the bar."""
        self.done, self.note = self.done + steps, note
        self._draw()

    def print(self, line: str) -> None:
        """A line on standard error, above the bar."""
        if self.drawn is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self.drawn.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        if self.drawn is not None:
            self.drawn.stop()

    def _draw(self) -> None:
        if not self.show or (self.drawn is None and time.perf_counter() - self.start < SECONDS_BEFORE_A_BAR):
            return
        if self.drawn is None:
            self.drawn = _new_bar(self.bytes)
            self.drawn.add_task("", note="")
            self.drawn.start()
        total = self.total() if callable(self.total) else self.total
        self.drawn.update(
            self.drawn.task_ids[0], description=self.title, total=total, completed=self.done, note=self.note
        )


def track(items: Sequence[Item], title: str) -> Iterator[Item]:
    """The items, with a bar."""
    with Bar(title, len(items)) as bar:
        for item in items:
            yield item
            bar.advance()


def _new_bar(bytes: bool) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    counts = DownloadColumn() if bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), counts, TimeRemainingColumn())
    note = TextColumn("{task.fields[note]}", style="dim")
    return Progress(*columns, note, console=Console(stderr=True), transient=True)
