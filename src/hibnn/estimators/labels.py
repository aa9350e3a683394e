"""Class labels of any plain kind: numbers, words or truth values, but one kind for a model's whole life."""

import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from hibnn.errors import UserError
from hibnn.estimators.model import Model

if TYPE_CHECKING:
    from torch import Tensor

MOST_CLASSES = 1000
"""A target with more different values is taken for a number that should be regressed."""
LONGEST_LABEL = 1000
"""Characters; labels are held in arrays as wide as the longest."""
KINDS = {"b": "truth values", "i": "whole numbers", "u": "whole numbers", "f": "numbers", "U": "words", "S": "bytes"}


def plain_kind(y: Any) -> Any:
    """Whole numbers and truth values of pandas' nullable types as numpy's own; scikit-learn would make them real.

    The classifier asks before its targets are validated. Those with gaps stay as they are, and are refused there.
    """
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if kind is None or kind.kind not in "biu" or y.isna().any():
        return y
    return y.to_numpy(dtype=kind)


def read_labels(y: Any) -> NDArray[Any]:
    """One label a row; words stored as objects become an array of words."""
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if labels.dtype.kind in "OT":
        kinds = {type(label) for label in labels.tolist()}
        if len(kinds) > 1:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise UserError(f"the labels mix several types ({names}): use one type for all.")
        if kinds == {str}:
            _check_length(max(map(len, labels.tolist())))
        labels = np.array(labels.tolist())
    if labels.dtype.kind not in KINDS or labels.dtype.kind == "S":
        raise UserError(f"labels of type {labels.dtype} are not understood: use words, numbers or truth values.")
    if labels.dtype.kind == "U":
        _check_length(int(np.char.str_len(labels).max(initial=0)))
    return labels


def announced_classes(classes: Any) -> tuple[Any, ...]:
    """The classes of a list; each may stand there once, which in a column of labels would be suspicious."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        return distinct(read_labels(np.asarray(classes)))


def _check_length(longest: int) -> None:
    if longest > LONGEST_LABEL:
        raise UserError(f"a label has {longest} characters, and {LONGEST_LABEL} is the most: shorten it.")


def check_count(classes: Collection[Any]) -> None:
    """Refuse more classes than a model can hold."""
    if len(classes) > MOST_CLASSES:
        raise UserError(
            f"the model would have {len(classes)} classes, and {MOST_CLASSES} is the most: if the target is a number, "
            "regress it, otherwise join classes or begin another model."
        )


def distinct(labels: NDArray[Any]) -> tuple[Any, ...]:
    """The labels that occur, in order, as plain Python values."""
    return tuple(np.unique(labels).tolist())


def kind_of(classes: Iterable[Any]) -> str:
    """What the classes are, in words."""
    return KINDS.get(np.array(list(classes)).dtype.kind, "unknown")


def check_same_kind(known: Sequence[Any], new: Sequence[Any]) -> None:
    """Refuse labels of another kind than the model's."""
    if known and kind_of(known) != kind_of(new):
        raise UserError(
            f"the labels are {kind_of(new)}, but the classes learned so far are {kind_of(known)}: convert the labels."
        )


def positions(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """The place of every label among classes, in whatever order these are."""
    known = np.array(classes)
    order = known.argsort()
    return order[np.searchsorted(known, labels, sorter=order)].astype(np.int64)


def all_classes(model: Model) -> NDArray[Any]:
    """The classes of all tasks, in order."""
    return np.unique(np.array([name for task in model.tasks for name in task.classes]))


def class_places(model: Model) -> "list[Tensor]":
    """For each head a matrix of zeros and ones that puts its own classes among all."""
    import torch

    everything = all_classes(model).tolist()
    identity = torch.eye(len(everything), dtype=torch.float64)
    return [identity[positions(np.array(task.classes), everything)] for task in model.tasks]
