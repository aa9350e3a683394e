"""The paper's tables with our numbers beside its own.

A row is a benchmark, a scenario, a method and, where it was run in several, a setting: the paper's number, ours, over
how many seeds and which widths, how the head is inferred where the task is not told, and how many numbers the method
keeps. "None" trains on each task in turn and "Joint" on all data.
"""

from collections.abc import Sequence

from hibnn.report.contenders import Contender, contenders
from hibnn.report.names import benchmark_title, bounds, method_title, published_method, with_variants
from hibnn.report.tables.published import TABLES, published, published_methods, published_text
from hibnn.report.tables.table import Table
from hibnn.runs.groups import Group

HEADER = ("benchmark", "scenario", "method", "paper", "ours", "seeds", "widths", "granularity", "numbers kept")
NOTE = (
    "Accuracy in % on the test sets after the last task: mean ± standard error over seeds, or median (maximum, "
    "minimum) over widths of the mean over seeds. The paper has five seeds and infers one head for a whole test set; "
    "the column granularity says how ours is inferred: for each sample, each batch, or a task's whole test set."
)


def comparison_table(name: str, groups: Sequence[Group]) -> Table:
    """A table of the paper with ours; what was not run or is unfinished is said to be."""
    rows: list[tuple[str, ...]] = []
    breaks = []
    known = with_variants(groups)
    lowest, highest = bounds()
    for dataset, scenario in dict.fromkeys(place[:2] for place in published(name)):
        breaks.append(len(rows))
        for method in (lowest, *published_methods(name), highest):
            place = (dataset, scenario, method)
            same = [group for group in known if (*group.place, published_method(group)) == place]
            head = (benchmark_title(dataset), scenario)
            number = published_text(name, *place)
            rows += [(*head, found.label, number, *_cells(found)) for found in sorted(contenders(same), key=_order)]
            if not same:
                rows.append((*head, method_title(method), number, "not run", "0", "-", "-", "-"))
    return Table(f"{TABLES[name]}, paper and ours", NOTE, HEADER, tuple(rows), tuple(breaks))


def our_number(contender: Contender) -> str:
    """A number with how many of its runs are unfinished; these are never averaged."""
    if contender.value is None:
        return f"unfinished ({contender.waiting})"
    return f"{contender.text}, {contender.waiting} unfinished" if contender.waiting else contender.text


def _cells(contender: Contender) -> tuple[str, ...]:
    return (
        our_number(contender),
        str(contender.seeds),
        contender.widths,
        contender.granularity,
        contender.memory,
    )


def _order(contender: Contender) -> tuple[int, str]:
    """From what is told or inferred for each sample to what is inferred for a whole test set."""
    coarseness = {"-": 0, "sample": 1, "task": 3}.get(contender.granularity, 2)
    return coarseness, contender.granularity
