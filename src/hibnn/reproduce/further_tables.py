"""Tables that the paper does not have, from records alone, without torch."""

import json
from collections.abc import Callable

from hibnn.report.tables.table import Table
from hibnn.reproduce.cells import Book, Cell, last_setting, neurons_text, version_text
from hibnn.reproduce.records import Recorded
from hibnn.reproduce.tables import COMMON, HEADER, SCENARIOS, SPLITS, row, variant
from hibnn.runs.setting import words

SIZED = ("width", "alpha", "init_alpha", "epochs", "size", "timestamps")
"""What should not decide the size of a layer."""
CONTROLS = ("split-mnist", "split-mnist-constant", "split-mnist-shuffled", "split-mnist-repeated")
CONTROLS += ("split-digits", "split-digits-constant", "split-digits-shuffled", "split-digits-repeated")
CONTROLS += ("mnist-500", "mnist-5000", "mnist")


def time_stamps(book: Book) -> Table:
    """The IBNN with and without time stamps."""
    rows = []
    for dataset in SPLITS:
        for stamps, name in (("auto", "hard time stamps"), ("none", "no stamps")):
            cell = book.cell("ibnn", dataset, "task", timestamps=stamps)
            rows.append(variant(dataset, "task", "ibnn", cell, f"IBNN, {name}"))
    return Table("Time stamps of the IBNN", COMMON, HEADER, tuple(rows), (2, 4))


def neighbours(book: Book) -> Table:
    """Methods of neighbouring libraries, on split MNIST."""
    rows = [
        row("mnist", "split-mnist", scenario, method, book.cell(method, "split-mnist", scenario))
        for scenario in SCENARIOS
        for method in ("er", "agem", "derpp", "lwf", "mas")
    ]
    return Table("Methods of neighbouring libraries", COMMON, HEADER, tuple(rows), (5, 10))


def size(book: Book) -> Table:
    """Is the size decided by the data? Controls with nothing to learn, and settings that should not matter."""
    rows = []
    for dataset in CONTROLS:
        found: dict[str, list[Recorded]] = {}
        for run in book.by_place.get(("ibnn", dataset, "default"), []):
            changed = run.line.get("changed", {})
            if run.scenario == "task" and set(changed) <= {*SIZED, *book.ignored}:
                found.setdefault(json.dumps(changed, sort_keys=True), []).append(run)
        for changed, runs in sorted(found.items()):
            cell = Cell(tuple(last_setting(runs)))
            said = words(json.loads(changed)) or "-"
            rows.append((dataset, said, neurons_text(cell), cell.text, str(cell.seeds), version_text(cell)))
    note = (
        "IBNN in the task scenario with the default settings but for what the second column says: mean number of\n"
        "neurons after each task over seeds, and accuracy in % on the test sets after the last. Constant and shuffled\n"
        "labels hold nothing to learn; a repeated task is the same five times. With `size=prior` the layer is sized\n"
        "as in the paper: neurons are those expected to be on. Written by `hibnn reproduce --only size`."
    )
    header = ("benchmark", "changed", "neurons after each task", "accuracy", "seeds", "made by")
    return Table("Who decides the size?", note, header, tuple(rows))


FURTHER_TABLES: dict[str, Callable[[Book], Table]] = {
    "time-stamps": time_stamps,
    "neighbours": neighbours,
    "size": size,
}
"""By the names of their entries in the catalogue."""
