"""What a person sees while a run goes on: a line a task, on a terminal a bar too, or nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from rich.table import Table
from rich.text import Text

from hibnn.neurons import neurons_text
from hibnn.progress import Bar
from hibnn.runs.progress import Progress, Silent
from hibnn.visible import visible


@dataclass(frozen=True)
class Live:
    """A line a task with the accuracy on each so far, and on a terminal a bar that moves with every epoch."""

    bar: Bar

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None:
        self.bar.restart(f"task {number + 1}/{count} ({visible(name)})", epochs, done)

    def epoch(self, terms: dict[str, float]) -> None:
        self.bar.advance(note="  ".join(f"{name} {value:.3f}" for name, value in terms.items()))

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None:
        self.bar.print(f"{self.bar.title}: {_summary(accuracies, active_units)}")


@contextmanager
def open_display(quiet: bool) -> Iterator[Progress]:
    """The display that suits where the output goes; all of it goes to standard error."""
    if quiet:
        yield Silent()
    else:
        with Bar("starting") as bar:
            yield Live(bar)


def matrix_table(matrix: Sequence[Sequence[float | None]], title: str) -> Table:
    """The accuracy matrix for the terminal, in percent."""
    table = Table(title=Text(visible(title), "table.title"), title_justify="left")
    table.add_column("after task")
    for number in range(len(matrix)):
        table.add_column(f"on {number + 1}", justify="right")
    for number, row in enumerate(matrix):
        table.add_row(str(number + 1), *("" if value is None else f"{100 * value:.1f}" for value in row))
    return table


def _summary(accuracies: np.ndarray, active_units: Sequence[float] | None) -> str:
    values = " ".join(f"{100 * value:.1f}" for value in accuracies[~np.isnan(accuracies)])
    neurons = "" if active_units is None else f", {neurons_text(active_units)} neurons"
    return f"accuracy on tasks so far {values} %{neurons}"
