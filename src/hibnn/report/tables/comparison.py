"""The paper's tables with our numbers beside its own.

A row is a benchmark, a scenario and a method: the paper's number, ours, over how many seeds and which widths, how the
head is inferred where the task is not told, and how many numbers the method keeps. Methods without a width of their own
(EWC, SI, GEM, VCL) that were run with several have the median (maximum, minimum) over widths of the mean over seeds, as
in the paper; all others mean ± standard error over seeds. "None" trains on each task in turn and "Joint" on all data.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from hibnn.report.outcomes import Outcome, memory
from hibnn.report.style import look
from hibnn.report.tables.averages import percent
from hibnn.report.tables.published import published, published_text
from hibnn.report.tables.table import Table

BOUNDS = ("finetune", "joint")
OVER_WIDTHS = ("ewc", "si", "gem", "vcl")
HEADER = ("benchmark", "scenario", "method", "paper", "ours", "seeds", "widths", "granularity", "numbers kept")
BENCHMARKS = {
    "permuted-mnist": "Permuted MNIST",
    "split-mnist": "Split MNIST",
    "split-mnist-noise": "Split MNIST + noise",
    "split-mnist-images": "Split MNIST + images",
    "difficulty": "increasing difficulty",
}
NOTE = (
    "Accuracy in % on the test sets after the last task: mean ± standard error over seeds, or median (maximum, "
    "minimum) over widths of the mean over seeds. The paper has five seeds and infers one head for a whole test set; "
    "the column granularity says how ours is inferred: for each sample, each batch, or a task's whole test set."
)


@dataclass(frozen=True)
class Comparison:
    """A table of the paper, by its name in `published.csv`."""

    name: str
    title: str
    methods: tuple[str, ...]


COMPARISONS = {
    one.name: one
    for one in (
        Comparison("mnist", "MNIST and its variants", ("ewc", "si", "gem", "den", "vcl", "ibnn")),
        Comparison("difficulty", "Tasks of increasing difficulty", ("vcl", "ibnn", "hibnn")),
        Comparison("den", "DEN with and without time stamps", ("den", "den-no-stamps", "ibnn")),
        Comparison("bscl", "BSCL and IBNN", ("bscl", "ibnn")),
    )
}


def comparison_table(comparison: Comparison, outcomes: Sequence[Outcome]) -> Table:
    """The paper's table with ours; what was not run or is unfinished is said to be."""
    rows: list[tuple[str, ...]] = []
    breaks = []
    for dataset, scenario in dict.fromkeys(place[:2] for place in published(comparison.name)):
        breaks.append(len(rows))
        for method in (BOUNDS[0], *comparison.methods, BOUNDS[1]):
            same = [one for one in outcomes if (one.method, one.dataset, one.scenario) == (method, dataset, scenario)]
            number = published_text(comparison.name, dataset, scenario, method)
            place = (BENCHMARKS[dataset], scenario, look(method).name, number)
            rows += [(*place, *cells) for cells in _ours(same)]
    return Table(f"{comparison.title}, paper and ours", NOTE, HEADER, tuple(rows), tuple(breaks))


def _ours(same: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """The cells of a method, a row for each kind of granularity; a row that says so if it was not run."""
    if not same:
        return [("not run", "0", "-", "-", "-")]
    rows = []
    for granularity in sorted({one.granularity for one in same}, key=_coarseness):
        cell = [one for one in same if one.granularity == granularity]
        finished = [one for one in cell if one.accuracy is not None]
        widths = ", ".join(_plain(width) for width in sorted({one.widths for one in cell}))
        seeds = str(len({one.seed for one in finished}))
        rows.append((our_number(cell), seeds, widths, granularity, memory(finished)))
    return rows


def our_number(cell: Sequence[Outcome]) -> str:
    """Mean ± standard error, or median (maximum, minimum) over widths; unfinished runs are counted, never averaged."""
    by_width: dict[tuple[int, ...], list[float]] = {}
    for one in cell:
        if one.accuracy is not None:
            by_width.setdefault(one.widths, []).append(one.accuracy)
    waiting = sum(one.accuracy is None for one in cell)
    if not by_width:
        return f"unfinished ({waiting})"
    if len(by_width) > 1 and cell[0].method in OVER_WIDTHS:
        means = [100 * statistics.mean(values) for values in by_width.values()]
        number = f"{statistics.median(means):.2f} ({max(means):.2f}, {min(means):.2f})"
    else:
        number = percent([value for values in by_width.values() for value in values])
    return f"{number}, {waiting} unfinished" if waiting else number


def _coarseness(granularity: str) -> tuple[int, str]:
    return ({"-": 0, "sample": 1, "task": 3}.get(granularity, 2), granularity)


def _plain(widths: tuple[int, ...]) -> str:
    return str(widths[0]) if len(widths) == 1 else "x".join(map(str, widths))
