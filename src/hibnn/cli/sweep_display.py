"""What a person sees while a sweep goes on: a live table on a terminal, a line a run elsewhere."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hibnn.cli.commands.plan import duration
from hibnn.runs.experiment import Experiment
from hibnn.sweeps.sweep import Outcome
from hibnn.visible import visible

CERTAIN = 60.0
"""Seconds of expected work after which the time that it took says how far expectations are off."""


class SweepDisplay:
    """Counts what was started and what came of it, and draws itself.

    `costs` are seconds that runs should take, by digest, where that is known before; they must name every run.
    """

    def __init__(self, console: Console, total: int, workers: int, costs: Mapping[str, float] | None = None) -> None:
        self.console, self.total, self.workers = console, total, workers
        self.costs, self.spent = dict(costs or {}), 0.0
        self.running: dict[str, tuple[Experiment, float]] = {}
        self.counts: Counter[str] = Counter()
        self.seconds: list[float] = []

    def start(self, experiment: Experiment) -> None:
        """A run was handed to a worker."""
        self.running[experiment.digest] = (experiment, time.monotonic())

    def done(self, outcome: Outcome) -> None:
        """A run has come to its end, or was found at it."""
        self.counts[outcome.status] += 1
        started = self.running.pop(outcome.experiment.digest, None)
        if started is not None:
            self.seconds.append(time.monotonic() - started[1])
        cost = self.costs.pop(outcome.experiment.digest, 0.0)
        self.spent += cost if started is not None else 0.0
        if started is not None or outcome.result is None:
            left = f" ({self.counts.total()}/{self.total}, {self.time_left})" if self.spent else ""
            self.console.print(visible(_line(outcome) + left), highlight=False, markup=False, soft_wrap=True)

    @property
    def summary(self) -> str:
        """How many runs ended in which way."""
        parts = [f"{self.counts['done']} runs done", f"{self.counts['failed']} failed"]
        parts += [f"{self.counts['diverged']} diverged"] if self.counts["diverged"] else []
        parts += [f"{self.counts['elsewhere']} being run elsewhere"] if self.counts["elsewhere"] else []
        return ", ".join(parts)

    @property
    def time_left(self) -> str:
        """From what the runs should take, and did; or else from the mean time of the runs so far."""
        if self.costs:
            slower = sum(self.seconds) / self.spent if self.spent > CERTAIN else 1.0
            return f"about {duration(slower * sum(self.costs.values()) / self.workers)} left"
        if not self.seconds:
            return "time left unknown"
        left = (self.total - self.counts.total()) * sum(self.seconds) / len(self.seconds) / self.workers
        return f"about {duration(left)} left"

    def __rich__(self) -> RenderableType:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for experiment, started in list(self.running.values()):
            where = f"{experiment.method} on {experiment.dataset}, {experiment.scenario}"
            table.add_row(
                "running", Text(visible(where)), f"seed {experiment.seed}", f"{time.monotonic() - started:.0f} s"
            )
        state = f"{self.counts.total()}/{self.total}: {self.summary}, {len(self.running)} running, {self.time_left}"
        bar = ProgressBar(total=max(1, self.total), completed=self.counts.total(), width=40)
        return Group(table, bar, Text(state))


@contextmanager
def open_sweep_display(total: int, workers: int, costs: Mapping[str, float] | None = None) -> Iterator[SweepDisplay]:
    """The display that suits where standard error goes."""
    console = Console(stderr=True)
    display = SweepDisplay(console, total, workers, costs)
    if console.is_terminal:
        with Live(get_renderable=display.__rich__, console=console, refresh_per_second=2, transient=True):
            yield display
    else:
        yield display
    console.print(f"{display.summary}.", highlight=False)


def _line(outcome: Outcome) -> str:
    if outcome.result is None:
        return f"{outcome.folder.name}: {outcome.status}, {outcome.error}"
    return f"{outcome.folder.name}: {100 * outcome.result['acc']:.2f} % in {outcome.result['seconds']:.0f} s"
