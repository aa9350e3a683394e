"""The paper's tables with our numbers beside its own.

A row is a benchmark, a scenario, a method and, where it was run in several, a setting: the paper's number, ours, over
how many seeds and which widths, how the head is inferred where the task is not told, and how many numbers the method
keeps. The bounds are `finetune`, which trains on each task in turn, and `joint`, which trains on all data.
"""

from collections.abc import Sequence

from hibnn.report.contenders import Contender, contenders
from hibnn.report.names import benchmark_title, bounds, method_title, shown_method, with_variants
from hibnn.report.tables.ledger import both_alone, bytes_text
from hibnn.report.tables.published import TABLES, Place, published, published_methods, published_text
from hibnn.report.tables.table import Table
from hibnn.runs.groups import Group

HEADER = (
    *("benchmark", "scenario", "method", "paper", "ours", "network / density alone", "seeds", "widths", "granularity"),
    *("numbers kept", "bytes: network + density"),
)
NOTE = (
    "Accuracy in % on the test sets after the last task: mean ± standard error over seeds, or median (maximum, "
    "minimum) over widths of the mean over seeds, ours with the standard error of the median. The paper has five seeds "
    "and infers one head for a whole test set; the column granularity says how ours is inferred: for each sample, each "
    "batch, or a task's whole test set. Where a density tells the task, network and density are also judged alone "
    "(ledger)."
)


def comparison_table(name: str, groups: Sequence[Group]) -> Table:
    """A table of the paper with ours; what was not run or is unfinished is said to be."""
    rows: list[tuple[str, ...]] = []
    breaks = []
    known = with_variants(groups)
    lowest, *highest = bounds()
    methods = (lowest, *published_methods(name), *highest)
    for place in dict.fromkeys(key[:2] for key in published(name)):
        breaks.append(len(rows))
        here = [group for group in known if group.place == place]
        for method in methods:
            rows += _rows(name, (*place, method), [group for group in here if _row_of(group, methods) == method])
    return Table(f"{TABLES[name]}, paper and ours", NOTE, HEADER, tuple(rows), tuple(breaks))


def _row_of(group: Group, methods: Sequence[str]) -> str:
    """The method beside which a group stands; variants that the paper does not have stand beside their method."""
    shown = shown_method(group)
    return shown if shown in methods else group.method


def _rows(name: str, place: Place, groups: Sequence[Group]) -> list[tuple[str, ...]]:
    """The rows of one place: a row for each of our numbers, or one that says there is none."""
    dataset, scenario, method = place
    head = (benchmark_title(dataset), scenario)
    found = sorted(contenders(groups), key=_order)
    if not found:
        return [(*head, method_title(method), published_text(name, *place), "not run", "-", "0", *["-"] * 4)]
    return [(*head, ours.label, published_text(name, dataset, scenario, ours.method), *_cells(ours)) for ours in found]


def our_number(contender: Contender) -> str:
    """A number with how many of its runs are unfinished; these are never averaged."""
    if contender.value is None:
        return f"unfinished ({contender.waiting})"
    return f"{contender.text}, {contender.waiting} unfinished" if contender.waiting else contender.text


def _cells(contender: Contender) -> tuple[str, ...]:
    return (
        our_number(contender),
        both_alone(contender.groups[0]),
        str(contender.seeds),
        contender.widths,
        contender.granularity,
        contender.memory,
        bytes_text(contender.groups[0]),
    )


def _order(contender: Contender) -> tuple[int, str, str]:
    """From what is told or inferred for each sample to what is inferred for a whole test set."""
    coarseness = {"-": 0, "sample": 1, "task": 3}.get(contender.granularity, 2)
    return coarseness, contender.granularity, contender.label
