"""The paper's tables with ours beside them, and what its figures show in numbers, from records alone, without torch.

Every row says which version made it, and by marks what differs from the paper (`notes`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hibnn.report.tables.published import published, published_text
from hibnn.report.tables.table import Table
from hibnn.reproduce.bars import TRUE_FEATURES, Bars
from hibnn.reproduce.cells import AnyCell, Book, Cell, cpu_text, mean_text, neurons_text, version_text
from hibnn.reproduce.notes import differences, explained
from hibnn.reproduce.studies import RANKINGS, WHOLE, curve_values, pruned_cells, sparsity_text, weights_text

WIDTHS = (10, 50, 100, 400)
STUDIED = (5, 10, 20, 50, 75, 100, 200, 400)
CHOSEN = ("ewc", "si", "gem", "vcl")
"""Methods whose width somebody must choose."""
TITLES = {"finetune": "none", "joint": "joint", "den-no-timestamps": "DEN, no stamps"}
SHORT = {
    "permuted-mnist": "P",
    "split-mnist": "S",
    "split-mnist-noise": "S+ε",
    "split-mnist-images": "S+img",
    "difficulty": "increasing difficulty",
}
SCENARIOS = {"task": "CL1", "domain": "CL2", "class": "CL3"}
SPLITS = ("split-mnist", "split-mnist-noise", "split-mnist-images")
TASKS = 5
"""Of permuted and of split MNIST."""
COMMON = (
    "Accuracy in % on the test sets after the last task, mean ± standard error over seeds; with several widths the\n"
    "median over widths of the mean over seeds, ± the standard error of each seed's median, and in brackets the\n"
    "largest and the smallest mean. Where a method keeps a head a task, CL2 and CL3 are read out of the models of\n"
    "CL1, with one head for a whole test set, as in the paper. CPU s: processor time of training a run. Written by\n"
    "`hibnn reproduce`."
)
HEADER = ("row", "method", "paper", "ours", "seeds", "neurons after each task", "CPU s", "made by", "differs")


def title(method: str) -> str:
    """A method as the paper writes it."""
    return TITLES.get(method, method.upper())


def place_title(dataset: str, scenario: str) -> str:
    """A row as the paper names it."""
    return f"{SHORT.get(dataset, dataset)} {SCENARIOS[scenario]}"


def row(table: str, dataset: str, scenario: str, method: str, cell: AnyCell) -> tuple[str, ...]:
    """A cell with everything that is said of it."""
    number = published_text(table, dataset, scenario, method)
    rest = (neurons_text(cell), cpu_text(cell), version_text(cell), differences(method, dataset, scenario) or "-")
    return (place_title(dataset, scenario), title(method), number, cell.text, str(cell.seeds), *rest)


def table1_cell(book: Book, method: str, dataset: str, scenario: str, regime: str = "default") -> AnyCell:
    """A cell of Table 1: over four widths where the paper has them."""
    if method in CHOSEN:
        return book.widths(method, dataset, scenario, WIDTHS, regime)
    return book.cell(method, dataset, scenario, regime)


def table1(book: Book) -> Table:
    """Table 1 with its bounds."""
    rows, breaks = [], []
    for dataset, scenario in dict.fromkeys(place[:2] for place in published("mnist")):
        breaks.append(len(rows))
        for method in ("finetune", "ewc", "si", "gem", "den", "vcl", "ibnn", "joint"):
            if (dataset, scenario, method) != ("permuted-mnist", "domain", "den"):
                cell = table1_cell(book, method, dataset, scenario)
                rows.append(row("mnist", dataset, scenario, method, cell))
    return Table("Table 1: MNIST and its variants", COMMON, HEADER, tuple(rows), tuple(breaks))


def difficulty_cell(book: Book, method: str, scenario: str) -> AnyCell:
    """A cell of Table 2."""
    if method == "vcl":
        return book.widths("vcl", "difficulty", scenario, (50, 100, 400), depth=2)
    grown: dict[str, Any] = {"child_alpha_step": 1.0, "timestamps": "auto"} if method == "hibnn" else {"depth": 2}
    return book.cell(method, "difficulty", scenario, **grown)


def table2(book: Book) -> Table:
    """Tasks of increasing difficulty."""
    rows = []
    for scenario in ("task", "domain"):
        for method in ("vcl", "ibnn", "hibnn"):
            rows.append(row("difficulty", "difficulty", scenario, method, difficulty_cell(book, method, scenario)))
        rows.append(variant("difficulty", scenario, "hibnn", no_stamps(book, scenario), "HIBNN, no stamps"))
        wide = book.cell("vcl", "difficulty", scenario, depth=2, width=200)
        rows.append(variant("difficulty", scenario, "vcl", wide, "VCL, width 200"))
    note = f"{COMMON} Two tasks of MNIST, two of Fashion-MNIST, two of CIFAR-10; two layers."
    return Table("Table 2: tasks of increasing difficulty", note, HEADER, tuple(rows), (5,))


def no_stamps(book: Book, scenario: str) -> Cell:
    """The HIBNN without time stamps on tasks of increasing difficulty."""
    return book.cell("hibnn", "difficulty", scenario, child_alpha_step=1.0, timestamps="none")


def den_cell(book: Book, method: str, dataset: str, scenario: str) -> Cell:
    """A cell of the table of DEN with and without time stamps."""
    if method == "ibnn":
        return book.cell("ibnn", dataset, scenario)
    return book.cell("den", dataset, scenario, timestamps=method == "den")


def den(book: Book) -> Table:
    """DEN with and without time stamps."""
    places = published("den")
    rows = [row("den", *place, den_cell(book, place[2], *place[:2])) for place in places]
    return Table("DEN with and without time stamps", COMMON, HEADER, tuple(rows), tuple(range(0, len(rows), 3)))


def bscl(book: Book) -> Table:
    """BSCL beside the IBNN."""
    rows = [row("bscl", *place, book.cell(place[2], *place[:2])) for place in published("bscl")]
    rows += [row("bscl", "permuted-mnist", "task", name, book.cell(name, "permuted-mnist", "task"))
             for name in ("bscl", "ibnn")]  # fmt: skip
    return Table("BSCL and IBNN", COMMON, HEADER, tuple(rows))


def width_study(book: Book) -> Table:
    """VCL at many widths beside the IBNN, on permuted MNIST."""
    place = ("permuted-mnist", "task")
    rows = [variant(*place, "vcl", book.cell("vcl", *place, width=width), f"VCL, width {width}") for width in STUDIED]
    rows.append(row("mnist", *place, "ibnn", book.cell("ibnn", *place)))
    return Table("VCL at many widths, and the IBNN", COMMON, HEADER, tuple(rows))


def regimes(book: Book) -> Table:
    """The paper's settings beside ours."""
    dataset, scenario = "split-mnist-noise", "task"
    rows = []
    for method in ("vcl", "ibnn"):
        for regime, words in (("default", "our settings"), ("paper", "the paper's settings, a tenth of its epochs")):
            cell = table1_cell(book, method, dataset, scenario, regime)
            rows.append((*row("mnist", dataset, scenario, method, cell)[:1], f"{title(method)}, {words}",
                         *row("mnist", dataset, scenario, method, cell)[2:]))  # fmt: skip
    return Table("The paper's settings beside ours", COMMON, HEADER, tuple(rows), (2,))


def task_accuracies(book: Book) -> Table:
    """Accuracy on each task after the last, IBNN and VCL at four widths (CL1)."""
    rows = []
    for dataset in ("permuted-mnist", *SPLITS):
        cells = {f"VCL, width {w}": book.cell("vcl", dataset, "task", width=w) for w in WIDTHS}
        for name, cell in ({"IBNN": book.cell("ibnn", dataset, "task")} | cells).items():
            last = [record.result["accuracy_matrix"][-1] for record in cell.records]
            by_task = [[100 * value for value in values if value is not None] for values in zip(*last, strict=False)]
            tasks = [mean_text(values, none="-") for values in by_task]
            none = "-" if tasks else "not run yet"
            shown = [*tasks, *[none] * TASKS][:TASKS]
            rows.append((place_title(dataset, "task"), name, *shown, str(cell.seeds), version_text(cell)))
    header = ("row", "method", *(f"task {number + 1}" for number in range(TASKS)), "seeds", "made by")
    return Table("Accuracies task by task", COMMON, header, tuple(rows), tuple(range(0, len(rows), 5)))


def pruning(book: Book) -> Table:
    """Accuracy before and after pruning at every depth, and the sparsity."""
    rows = []
    for (dataset, method, depth), cell in pruned_cells(book):
        for ranking in RANKINGS:
            none = "-" if cell.records else "not run yet"
            shown = (curve_values(cell, ranking, percent) for percent in (0.0, 90.0, 95.0, 98.2, 99.0))
            curves = [mean_text(values, none=none) for values in shown]
            counts = (sparsity_text(cell, ranking), str(cell.seeds), version_text(cell))
            names = (dataset, title(method), str(depth), weights_text(cell), WHOLE[ranking])
            rows.append((*names, *curves, *counts, differences(method, dataset, "task", pruned=True)))
    note = (
        "Test accuracy in % after so many percent of all weights were taken away, 50 posterior draws, mean ± standard\n"
        "error over seeds. Percentages are of the weights that 200 neurons a layer have, for every method; networks\n"
        "that held-out rows sized begin with fewer (`weights`, in thousands), and between two percentages that were\n"
        "tried accuracy is interpolated. Sparsity is the first percentage at which more than 10 points are lost.\n"
        "Written by `hibnn reproduce`."
    )
    percents = ("0 %", "90 %", "95 %", "98.2 %", "99 %")
    header = ("data", "method", "layers", "weights", "ranking", *percents, "sparsity", "seeds", "made by", "differs")
    return Table("One task, pruned", note, header, tuple(rows))


def training_time(book: Book) -> Table:
    """Processor time of one permuted MNIST task."""
    rows = []
    for method in ("vcl", "ibnn"):
        cell = book.cell(method, "permuted-mnist", "task", tasks=1, width=100, epochs=15)
        spent = mean_text([record.cpu["training"] for record in cell.records], 1)
        rows.append((title(method), spent, str(cell.seeds), version_text(cell)))
    note = (
        "Processor time of 15 epochs on one task of permuted MNIST, one layer of 100, on one thread. The paper has 200."
    )
    return Table("Training time", note, ("method", "seconds", "seeds", "made by"), tuple(rows))


def factorisation(found: Mapping[int, Bars]) -> Table:
    """How many features make up the images of each seed."""
    rows = [
        (str(seed), str(bars.features), f"{bars.expected_features:.2f}", f"{bars.noise:.3f}", f"{bars.error:.3f}",
         f"{bars.elbo:.0f}", bars.version)
        for seed, bars in sorted(found.items())
    ]  # fmt: skip
    note = (
        f"Noisy images of 6 x 6 pixels made of {TRUE_FEATURES} features (noise 0.5), factorised with at most twelve.\n"
        "Error is the root mean square between true and recovered features. Written by `hibnn reproduce`."
    )
    header = ("seed", "features found", "expected", "noise", "error", "bound (nats)", "made by")
    return Table("Matrix factorisation", note, header, tuple(rows))


TABLES: dict[str, Callable[[Book], Table]] = {
    "table1": table1,
    "table2": table2,
    "den": den,
    "bscl": bscl,
    "width-study": width_study,
    "task-accuracies": task_accuracies,
    "pruning": pruning,
    "training-time": training_time,
    "paper-regime": regimes,
}
"""Every table of the paper that is made of runs, by the name of its entry in the catalogue."""
MARKS = "differs"


def with_notes(table: Table) -> str:
    """The sentences behind the marks that occur in a table; nothing where there are none."""
    if MARKS not in table.header:
        return ""
    column = table.header.index(MARKS)
    return explained(cells[column].strip("-") for cells in table.rows)


def recorded_rows(table: Table) -> Iterable[tuple[str, ...]]:
    """The rows of which anything was recorded."""
    made_by = table.header.index("made by")
    return (cells for cells in table.rows if cells[made_by] != "-")


def variant(dataset: str, scenario: str, method: str, cell: Cell, name: str) -> tuple[str, ...]:
    """A row that the paper does not have."""
    rest = (neurons_text(cell), cpu_text(cell), version_text(cell), differences(method, dataset, scenario) or "-")
    return (place_title(dataset, scenario), name, "-", cell.text, str(cell.seeds), *rest)
