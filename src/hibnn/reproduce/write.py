"""Everything that is made of records: tables and verdicts without torch, figures with it, all in seconds."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hibnn.files.atomic import atomic_write
from hibnn.report.tables.table import Table, markdown
from hibnn.reproduce.bars import read_bars
from hibnn.reproduce.cells import Book
from hibnn.reproduce.further_tables import FURTHER_TABLES
from hibnn.reproduce.records import Recorded, read_records
from hibnn.reproduce.results import results
from hibnn.reproduce.studies import offered_study, pruned_cells
from hibnn.reproduce.tables import SPLITS, STUDIED, TABLES, WIDTHS, factorisation, recorded_rows, with_notes
from hibnn.runs.record import RunRecord

QUICK = ("tasks", "epochs", "likelihood_epochs", "retraining_epochs", "prediction_draws")
"""Options that a trial changes."""


def write_tables(records: Path, out: Path, quick: bool = False) -> Iterator[Path]:
    """Write a page for every table of which anything is recorded, and RESULTS.md; yields what was written."""
    known, bars = read_records(records), read_bars(records)
    book = Book(known.values(), QUICK if quick else ())
    made = {name: make(book) for name, make in (TABLES | FURTHER_TABLES).items()} | {
        "factorisation": factorisation(bars)
    }
    for name, table in made.items():
        if any(recorded_rows(table)):
            yield _written(out / "tables" / f"{name}.md", page(table))
    yield _written(out / "RESULTS.md", results(known, book, bars))


def page(table: Table) -> str:
    """A table as Markdown, with the sentences behind its marks."""
    notes = with_notes(table)
    return markdown(table) + (f"\n{notes}\n" if notes else "")


def write_figures(records: Path, out: Path, quick: bool = False) -> Iterator[Path]:
    """Draw every figure of which anything is recorded; yields what was written."""
    from hibnn.report.gallery import draw_all
    from hibnn.report.style import save_figure

    book = Book(read_records(records).values(), QUICK if quick else ())
    for names, select in FIGURES:
        runs = [_run(record) for record in select(book)]
        for drawing in draw_all(runs, names) if runs else ():
            if drawing.figure is not None:
                path = out / f"{drawing.name}.png"
                save_figure(drawing.figure, path)
                yield path


def _run(record: Recorded) -> RunRecord:
    run = record.as_run()
    if record.pruning:
        vars(run).update(pruning=offered_study(record))
    return run


def _pruned(book: Book) -> list[Recorded]:
    return [run for _, cell in pruned_cells(book) for run in cell.records]


def _two_layers(book: Book) -> list[Recorded]:
    chosen = (cell for (_, method, depth), cell in pruned_cells(book) if depth == 2 and method in ("ibnn", "hibnn"))
    return [run for cell in chosen for run in cell.records]


def _widths(book: Book) -> list[Recorded]:
    place = ("permuted-mnist", "task")
    return [*book.widths("vcl", *place, STUDIED).records, *book.cell("ibnn", *place).records]


def _tasks(book: Book) -> list[Recorded]:
    found: list[Recorded] = []
    for dataset in ("permuted-mnist", *SPLITS):
        found += book.cell("ibnn", dataset, "task").records
        found += book.widths("vcl", dataset, "task", WIDTHS).records
    return found


def _neurons(book: Book) -> list[Recorded]:
    cells = (book.cell("ibnn", dataset, "task") for dataset in ("permuted-mnist", *SPLITS))
    return [run for cell in cells for run in cell.records]


def _structures(book: Book) -> list[Recorded]:
    ours = book.cell("ibnn", "difficulty", "task", depth=2)
    return [*ours.records, *book.cell("hibnn", "difficulty", "task", child_alpha_step=1.0, timestamps="auto").records]


def _sticks(book: Book) -> list[Recorded]:
    cells = (book.cell(method, "permuted-mnist", "task") for method in ("bscl", "ibnn"))
    return [run for cell in cells for run in cell.records]


def _times(book: Book) -> list[Recorded]:
    words: dict[str, Any] = {"tasks": 1, "width": 100, "epochs": 15}
    cells = (book.cell(method, "permuted-mnist", "task", **words) for method in ("vcl", "ibnn"))
    return [run for cell in cells for run in cell.records]


FIGURES: Sequence[tuple[tuple[str, ...], Callable[[Book], list[Recorded]]]] = (
    (("pruning-curves", "pruning-depth"), _pruned),
    (("active-neurons-by-layer",), _two_layers),
    (("vcl-width",), _widths),
    (("task-accuracies",), _tasks),
    (("active-neurons-by-task",), _neurons),
    (("inferred-structure",), _structures),
    (("alpha-and-masks",), _sticks),
    (("training-time",), _times),
)
"""The figures of the paper and its supplement by their names in the gallery, and the runs they show."""


def _written(path: Path, text: str) -> Path:
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
