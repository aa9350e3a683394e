"""Pruning curves from records: which networks were pruned, and how accurate they stayed. Nothing here imports torch."""

from collections.abc import Iterator

from hibnn.reproduce.cells import Book, Cell, last_setting
from hibnn.reproduce.records import Recorded

RANKINGS = ("magnitude", "snr")
WHOLE = {"magnitude": "|mu|", "snr": "|mu| / sigma"}
DATA = ("mnist", "fashion-mnist")
METHODS = ("mfvi", "ibnn", "hibnn", "svd", "bscl")
DEPTHS = (1, 2, 3, 4)
DROP = 10.0
"""Points of accuracy whose loss marks the sparsity (the paper, section 5.1)."""


def pruned_cell(book: Book, dataset: str, method: str, depth: int) -> Cell:
    """The pruned networks of a method and depth."""
    found = book.by_place.get((method, dataset, "default"), [])
    return Cell(tuple(last_setting([run for run in found if run.pruning and len(run.widths) == depth])))


def pruned_cells(book: Book) -> Iterator[tuple[tuple[str, str, int], Cell]]:
    """Every pruned cell that the paper has: a hierarchy needs two layers, SVD and BSCL were pruned at two."""
    for dataset in DATA:
        for method in METHODS if dataset == "mnist" else METHODS[:3]:
            for depth in DEPTHS:
                if (method in ("svd", "bscl") and depth != 2) or (method == "hibnn" and depth == 1):
                    continue
                yield (dataset, method, depth), pruned_cell(book, dataset, method, depth)


def curve_of(record: Recorded, ranking: str) -> dict[float, float]:
    """Accuracy in percent by percentage pruned."""
    for curve in record.pruning.get("curves", []):
        if curve["ranking"] == ranking:
            return {p: 100 * acc for p, acc in zip(curve["percentages"], curve["accuracies"], strict=True)}
    return {}


def curve_values(cell: Cell, ranking: str, percent: float) -> list[float]:
    """The accuracies of a cell's runs at a percentage."""
    curves = (curve_of(record, ranking) for record in cell.records)
    return [curve[percent] for curve in curves if percent in curve]


def losses(cell: Cell, ranking: str, percent: float) -> dict[int, float]:
    """Points that pruning costs each seed."""
    found = {}
    for record in cell.records:
        curve = curve_of(record, ranking)
        if percent in curve:
            found[record.seed] = curve[0.0] - curve[percent]
    return found


def sparsities(cell: Cell, ranking: str) -> dict[int, float]:
    """The first percentage at which more than ten points are lost, of each seed; 100 where none does."""
    found = {}
    for record in cell.records:
        curve = curve_of(record, ranking)
        if curve:
            found[record.seed] = next((p for p, acc in sorted(curve.items()) if curve[0.0] - acc > DROP), 100.0)
    return found


def sparsity_text(cell: Cell, ranking: str) -> str:
    """The sparsities of a cell, from the least to the greatest."""
    values = sorted(sparsities(cell, ranking).values())
    if not values:
        return "-"
    return f"{values[0]:g}" if values[0] == values[-1] else f"{values[0]:g} to {values[-1]:g}"
