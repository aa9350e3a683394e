"""What a person sees while a run goes on: a live bar on a terminal, a line a task elsewhere, or nothing."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


class Display(Protocol):
    """Told when a task begins, after each epoch, and when the task has been evaluated."""

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None: ...

    def epoch(self, terms: dict[str, float]) -> None: ...

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None: ...


class Silent:
    """Shows nothing."""

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None:
        pass

    def epoch(self, terms: dict[str, float]) -> None:
        pass

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None:
        pass


class Lines:
    """One line a task, for logs."""

    def __init__(self) -> None:
        self.title = ""

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None:
        self.title = f"task {number + 1}/{count} ({name})"

    def epoch(self, terms: dict[str, float]) -> None:
        pass

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None:
        print(f"{self.title}: {_summary(accuracies, active_units)}", file=sys.stderr, flush=True)


class Live:
    """A bar that moves with every epoch, and the accuracy on each task so far."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.bar = progress.add_task("starting", terms="")
        self.title = ""

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None:
        self.title = f"task {number + 1}/{count} ({name})"
        self.progress.reset(self.bar, total=epochs, completed=done, description=self.title, terms="")

    def epoch(self, terms: dict[str, float]) -> None:
        self.progress.update(
            self.bar, advance=1, terms="  ".join(f"{name} {value:.3f}" for name, value in terms.items())
        )

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None:
        self.progress.console.print(f"{self.title}: {_summary(accuracies, active_units)}", highlight=False)


@contextmanager
def open_display(quiet: bool) -> Iterator[Display]:
    """The display that suits where the output goes; all of it goes to standard error."""
    console = Console(stderr=True)
    if quiet:
        yield Silent()
    elif not console.is_terminal:
        yield Lines()
    else:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        terms = TextColumn("{task.fields[terms]}", style="dim")
        with Progress(*columns, terms, console=console, transient=True) as progress:
            yield Live(progress)


def matrix_table(matrix: Sequence[Sequence[float | None]], title: str) -> Table:
    """The accuracy matrix for the terminal, in percent."""
    table = Table(title=title, title_justify="left")
    table.add_column("after task")
    for number in range(len(matrix)):
        table.add_column(f"on {number + 1}", justify="right")
    for number, row in enumerate(matrix):
        table.add_row(str(number + 1), *("" if value is None else f"{100 * value:.1f}" for value in row))
    return table


def _summary(accuracies: np.ndarray, active_units: Sequence[float] | None) -> str:
    values = " ".join(f"{100 * value:.1f}" for value in accuracies[~np.isnan(accuracies)])
    neurons = "" if active_units is None else f", neurons in use {' + '.join(f'{units:.0f}' for units in active_units)}"
    return f"accuracy on tasks so far {values} %{neurons}"
