"""The ledger of what must infer its task: what the network answers alone, what the density does, and both together.

    bytes of each, and how many examples of earlier tasks are stored

All three answers are of the same runs and the same test examples (`hibnn.evaluation.evaluate`). `hibnn tables` writes
it as a table of its own, and the page of `hibnn report` has it as a section.
"""

from collections.abc import Sequence

from hibnn.report.contenders import Contender, contenders
from hibnn.report.names import benchmark_title, has_network, in_order
from hibnn.report.tables.averages import percent
from hibnn.report.tables.table import Table
from hibnn.runs.groups import Group
from hibnn.sizes import format_bytes

HEADER = (
    *("benchmark", "scenario", "method", "network alone", "density alone", "both"),
    *("log loss: network", "density", "both", "bytes: network", "density", "stored examples", "seeds"),
)
NOTE = (
    "Accuracy in % and log loss in nats on the test sets after the last task, mean ± standard error over seeds. The "
    "network alone infers tasks by entropy; the density alone is the class with the highest n_y p(x | y, t); both "
    "is what the method answers. Bytes are those a model keeps: four for a number of a network, examples as their data "
    "set stores them."
)


def ledger_table(groups: Sequence[Group]) -> Table:
    """A row for each finished setting on test data in which nobody tells the task."""
    untold = [group for group in groups if group.scenario != "task" and group.finished]
    rows, breaks, place = [], [], None
    for group in in_order(untold):
        for found in contenders([group]):
            if group.place != place:
                breaks.append(len(rows))
                place = group.place
            rows.append(ledger_row(found))
    return Table("Network and density, alone and together", NOTE, HEADER, tuple(rows), tuple(breaks))


def ledger_row(found: Contender) -> tuple[str, ...]:
    """What one setting's runs are worth and cost."""
    group = found.groups[0]
    way = "" if found.granularity in ("-", "sample") else f", by {found.granularity}"
    return (
        benchmark_title(group.dataset),
        group.scenario,
        found.label + way,
        alone(group, "network"),
        alone(group, "density"),
        percent(group.values("acc")),
        *(_loss(group, name) for name in ("nll_network", "nll_density", "nll")),
        _bytes(group, "bytes_network") if has_network(group.method) else "-",
        _bytes(group, "bytes_density"),
        _examples(group),
        str(len(group.finished)),
    )


def alone(group: Group, part: str) -> str:
    """The accuracy of network or density without the other; "-" where there is no such part."""
    values = group.values(f"acc_{part}")
    return percent(values) if values else "-"


def both_alone(group: Group) -> str:
    """Network and density, each without the other, in one cell; "-" where a run has but one of them."""
    network, density = alone(group, "network"), alone(group, "density")
    return "-" if "-" in (network, density) else f"{network} / {density}"


def bytes_text(group: Group) -> str:
    """Bytes of network and density."""
    return (
        " + ".join(part for part in (_bytes(group, "bytes_network"), _bytes(group, "bytes_density")) if part != "-")
        or "-"
    )


def _bytes(group: Group, name: str) -> str:
    mean = group.mean(name)
    return format_bytes(mean) if mean else "-"


def _loss(group: Group, name: str) -> str:
    mean = group.mean(name)
    return "-" if mean is None else f"{mean:.4f}"


def _examples(group: Group) -> str:
    mean = group.mean("stored_examples")
    return "-" if mean is None else f"{mean:,.0f}"
