"""Is a method as often right as it is sure? Its stored predictions, tasks and seeds together, in bins of confidence."""

from collections.abc import Sequence

import numpy as np

from hibnn.report.figures.uncertainty import reliability
from hibnn.report.predictions import join_tasks
from hibnn.runs.groups import Group

BINS = 10
FEW = 10
"""Bins of fewer examples say little, and are drawn so."""


def bins_of(group: Group) -> list[tuple[float, float, int]]:
    """Mean confidence and accuracy in %, and examples, of every bin that holds any; nothing without predictions.

    Predictions of another program, or a damaged file, count as none: they must not cost the page.
    """
    if group.read_out:
        return []
    try:
        with np.errstate(all="ignore"):
            said = [join_tasks(record.predictions) for record in group.records]
        pairs = [
            (each.probabilities, each.targets)
            for each in said
            if each.probabilities is not None and each.targets is not None and np.isfinite(each.probabilities).all()
        ]
        return _bins(pairs)
    except (ValueError, IndexError, TypeError, KeyError, AttributeError):
        return []


def _bins(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[tuple[float, float, int]]:
    """Runs are binned one by one, because seeds may differ in their columns, and added up."""
    sums = np.zeros((3, BINS))
    for probabilities, targets in pairs:
        confidence, accuracy, count = reliability(probabilities, targets, BINS)
        sums += np.nan_to_num(np.stack([confidence * count, accuracy * count, count]))  # empty bins are NaN
    return [
        (float(100 * sure / count), float(100 * right / count), int(count))
        for sure, right, count in sums.T
        if count > 0
    ]
