"""Pruning curves from records: which networks were pruned, and how accurate they stayed. Nothing here imports torch.

Percentages are of the weights that K neurons a layer have, for every method, as in the paper. A network that held-out
rows sized has fewer from the start: in percent of its own, half of a small network would count as half of a large one.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from hibnn.reproduce.cells import Book, Cell, last_setting
from hibnn.reproduce.records import Recorded

RANKINGS = ("magnitude", "snr")
WHOLE = {"magnitude": "|mu|", "snr": "|mu| / sigma"}
DATA = ("mnist", "fashion-mnist")
METHODS = ("mfvi", "ibnn", "hibnn", "svd", "bscl")
DEPTHS = (1, 2, 3, 4)
DROP = 10.0
"""Points of accuracy whose loss marks the sparsity (the paper, section 5.1)."""
INPUTS, CLASSES = 784, 10
"""Of both data sets."""
LEAST_LEFT = 1e-3
"""Percent of weights: the logarithm of none is not finite."""


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


def offered_weights(record: Recorded) -> int:
    """Weights and biases of a network with all the neurons that were offered."""
    return sum((below + 1) * above for below, above in pairwise([INPUTS, *record.widths, CLASSES]))


def offered_study(record: Recorded) -> dict[str, Any]:
    """The pruning curves in percent of the weights that were offered, at the percentages that were tried."""
    study, offered = record.pruning, offered_weights(record)
    curves = []
    for curve in study["curves"]:
        tried = curve["percentages"]
        accuracies = [_accuracy(curve, study["weights"] / offered, percent) for percent in tried]
        removed = [round(percent * offered / 100) for percent in tried]
        curves.append(curve | {"removed": removed, "accuracies": accuracies})
    return study | {"weights": offered, "curves": curves}


def accuracy_of(record: Recorded, ranking: str, percent: float) -> float | None:
    """Accuracy in percent after so many percent of what was offered are gone."""
    for curve in record.pruning.get("curves", []):
        if curve["ranking"] == ranking:
            return 100 * _accuracy(curve, record.pruning["weights"] / offered_weights(record), percent)
    return None


def _accuracy(curve: dict[str, Any], share: float, percent: float) -> float:
    """Of a network with a share of what was offered: what its layers never had is gone at no loss.

    Between two percentages that were tried it is linear in the log of what is left.
    """
    left = np.log(np.maximum(share * (100 - np.array(curve["percentages"])), LEAST_LEFT))
    return float(np.interp(-np.log(max(100 - percent, LEAST_LEFT)), -left, curve["accuracies"]))


def curve_values(cell: Cell, ranking: str, percent: float) -> list[float]:
    """The accuracies of a cell's runs at a percentage."""
    found = (accuracy_of(record, ranking, percent) for record in cell.records)
    return [accuracy for accuracy in found if accuracy is not None]


def losses(cell: Cell, ranking: str, percent: float) -> dict[int, float]:
    """Points that pruning costs each seed."""
    found = {}
    for record in cell.records:
        whole, pruned = (accuracy_of(record, ranking, share) for share in (0.0, percent))
        if whole is not None and pruned is not None:
            found[record.seed] = whole - pruned
    return found


def sparsities(cell: Cell, ranking: str) -> dict[int, float]:
    """The first percentage that was tried at which more than ten points are lost, of each seed; 100 where none does."""
    found: dict[int, float] = {}
    for record in cell.records:
        for curve in offered_study(record)["curves"]:
            if curve["ranking"] == ranking:
                whole, points = curve["accuracies"][0], zip(curve["percentages"], curve["accuracies"], strict=True)
                found[record.seed] = next((p for p, accuracy in points if 100 * (whole - accuracy) > DROP), 100.0)
    return found


def sparsity_text(cell: Cell, ranking: str) -> str:
    """The sparsities of a cell, from the least to the greatest."""
    values = sorted(sparsities(cell, ranking).values())
    if not values:
        return "-"
    return f"{values[0]:g}" if values[0] == values[-1] else f"{values[0]:g} to {values[-1]:g}"


def weights_text(cell: Cell) -> str:
    """Thousands of weights that a cell's networks have, from the fewest to the most."""
    counts = sorted({round(record.pruning["weights"] / 1000) for record in cell.records})
    return " to ".join(str(count) for count in {counts[0]: None, counts[-1]: None}) if counts else "-"
