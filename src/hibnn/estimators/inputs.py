"""Inputs at the edge: arrays, data frames, sparse matrices and torch tensors become plain arrays, or a sentence."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from hibnn.estimators.scaling import check_size

ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def plain(values: Any) -> Any:
    """A torch tensor as an array; everything else as it is."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def read_inputs(estimator: BaseEstimator, X: Any, first: bool) -> NDArray[np.floating]:
    """Inputs as numbers; the first time, their columns (and names) are remembered, later they are compared."""
    return _dense(estimator, validate_data(estimator, plain(X), reset=first, **ACCEPTED))


def read_examples(
    estimator: BaseEstimator, X: Any, y: Any, first: bool, numeric: bool
) -> tuple[NDArray[np.floating], NDArray[Any]]:
    """Inputs and as many targets."""
    x, targets = validate_data(estimator, plain(X), plain(y), reset=first, y_numeric=numeric, **ACCEPTED)
    return _dense(estimator, x), np.asarray(targets)


def _dense(estimator: BaseEstimator, x: Any) -> NDArray[np.floating]:
    dense = x.toarray() if sparse.issparse(x) else x
    check_size(dense, "the inputs", getattr(estimator, "feature_names_in_", None))
    return dense
