"""Weights of rows: how much each of them counts in the likelihood, by its class or as the user says.

    objective = KL(q || prior) - sum_i w_i E_q[log p(y_i | x_i)]

A user's sample weights count as they are: a row of weight 2 is two rows, a row of weight 0 is none and is left out
before anything sees it. Class weights have a mean of 1 over an experience, so that they change what counts and not how
much the experience counts against what was learned before. The estimators ask here before they learn.
"""

from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from hibnn.errors import UserError
from hibnn.estimators.tables.columns import spelt
from hibnn.estimators.tables.frames import as_table, is_table

ClassWeight = Literal["balanced"] | Mapping[Any, float] | None


def check_class_weight(class_weight: ClassWeight) -> None:
    """Refuse what is neither None nor 'balanced' nor weights of classes."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise UserError(f"class_weight must be None, 'balanced' or a weight for each class, not {class_weight!r}.")
    wrong = [weight for weight in class_weight.values() if not (np.isreal(weight) and 0 < weight < np.inf)]
    if wrong or not class_weight:
        raise UserError(f"class_weight must give positive numbers, not {wrong[0] if wrong else 'nothing'!r}.")
    for name in class_weight:
        if not isinstance(name, str | int | float | np.bool_ | np.integer | np.floating):
            raise UserError(f"class_weight must name classes by words, numbers or truth values, not {name!r}.")


def without_absent(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """A table, its targets and weights without the rows of weight 0, from which an encoder would learn otherwise.

    The estimators call this before they read a table; of arrays, which have no encoder, `counted` leaves rows out.
    """
    if sample_weight is None or y is None or not is_table(X):
        return X, y, sample_weight
    table = as_table(X)
    check_consistent_length(table, y)
    weights = np.asarray(_check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True))
    if (weights > 0).all():
        return X, y, weights
    rows = np.flatnonzero(weights)
    return table.take(rows), _safe_indexing(y, rows), weights[rows]


def counted(
    x: NDArray[Any], y: NDArray[Any], sample_weight: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
    """The rows that count at all, and their weights as the user has them; None where all count once."""
    if sample_weight is None:
        return x, y, None
    weights = np.asarray(_check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True))
    there = weights > 0
    x, y, weights = x[there], y[there], weights[there]
    return x, y, None if (weights == 1).all() else weights


def weigh_classes(
    class_weight: ClassWeight, labels: NDArray[Any], weights: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """The weights of rows times those of their classes, which have a mean of 1 over the (weighted) rows.

    Balanced, every class that is present has the same sum of weights.
    """
    if class_weight is None:
        return weights
    own = np.ones(len(labels)) if weights is None else weights
    classes, place = np.unique(labels, return_inverse=True)
    sums = np.bincount(place, own)
    if isinstance(class_weight, Mapping):
        factors = np.array([_weight_of(class_weight, label) or 1.0 for label in classes.tolist()])
    else:
        factors = 1 / sums
    factors = factors * sums.sum() / (factors * sums).sum()
    return own * factors[place]


def spelt_weights(word: str) -> ClassWeight:
    """What a word on the command line says: balanced, none, or weights such as no=1,yes=5."""
    if word in ("balanced", "none"):
        return "balanced" if word == "balanced" else None
    pairs = [part.rpartition("=") for part in word.split(",")]
    try:
        return {name.strip(): float(weight) for name, _, weight in pairs}
    except ValueError:
        raise UserError(
            f"--class-weight is balanced, none, or a weight for classes such as no=1,yes=5, not {word!r}."
        ) from None


def check_named(class_weight: ClassWeight, classes: Collection[Any]) -> None:
    """Refuse weights of which none is for a class that the model knows: they are for something else."""
    if isinstance(class_weight, Mapping) and not any(_weight_of(class_weight, one) for one in classes):
        named = ", ".join(str(name) for name in list(class_weight)[:5])
        known = ", ".join(sorted(str(one) for one in classes)[:10])
        raise UserError(f"class_weight names no class there is ({named}): the classes are {known}.")


def _weight_of(class_weight: Mapping[Any, float], label: Any) -> float | None:
    """The weight of a class, if it has one; words name numbers and truth values too, as on the command line."""
    named = {str(name): weight for name, weight in class_weight.items()} | dict(class_weight)
    words = (label, str(label), spelt(label), *([str(label).lower()] if isinstance(label, bool) else []))
    return next((float(named[word]) for word in words if word in named), None)
