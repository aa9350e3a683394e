"""Inputs at the edge: arrays, data frames, sparse matrices and torch tensors become plain arrays, or a sentence.

Inputs with named columns go through a `TableEncoder`, which is learned from the first of them and belongs to the model
(`encoder_`): words, dates, truth values and gaps are welcome, and columns are found by name. Arrays must be numbers; a
model that has an encoder takes arrays of its encoded columns too, as the command line gives them.
"""

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data

from hibnn.errors import UserError
from hibnn.estimators.labels import plain_kind
from hibnn.estimators.scaling import Scaling, check_size
from hibnn.estimators.tables.encoding import TableEncoder
from hibnn.estimators.tables.frames import as_table, is_table

ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def plain(values: Any) -> Any:
    """A torch tensor as an array; everything else as it is."""
    torch = sys.modules.get("torch")  # there is no tensor where nobody has imported it
    return values.detach().cpu().numpy() if torch is not None and isinstance(values, torch.Tensor) else values


def read_inputs(estimator: BaseEstimator, X: Any, first: bool) -> NDArray[np.floating]:
    """Inputs as numbers; the first time, their columns (and names) are remembered, later they are compared."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is None:
        return _dense(estimator, validate_data(estimator, plain(X), reset=first, **ACCEPTED))
    return _dense(estimator, check_array(_encoded(estimator, encoder, plain(X)), **ACCEPTED))


def read_examples(
    estimator: Any, X: Any, y: Any, first: bool, numeric: bool
) -> tuple[NDArray[np.floating], NDArray[Any]]:
    """Inputs and as many targets."""
    if first and not hasattr(estimator, "encoder_") and is_table(X):
        adopt_encoder(estimator, TableEncoder().fit(X))
    name = getattr(y, "name", None)
    if first and isinstance(name, str) and name:
        estimator.target_ = name
    y = plain(y) if numeric else plain_kind(plain(y))
    encoder = getattr(estimator, "encoder_", None)
    if encoder is None:
        x, targets = validate_data(estimator, plain(X), y, reset=first, y_numeric=numeric, **ACCEPTED)
    elif y is None:
        raise UserError("y is None, and the estimator needs targets to learn from.")
    else:
        x, targets = check_X_y(_encoded(estimator, encoder, plain(X)), y, y_numeric=numeric, **ACCEPTED)
    return _dense(estimator, x), np.asarray(targets)


def adopt_encoder(estimator: Any, encoder: TableEncoder) -> None:
    """Give an estimator the encoder of its tables, and the facts that scikit-learn expects of it."""
    estimator.encoder_ = encoder
    estimator.feature_names_in_ = encoder.feature_names_in_
    estimator.n_features_in_ = encoder.n_features_in_


def input_scaling(estimator: Any, x: NDArray[np.floating]) -> Scaling:
    """Means and deviations of the first inputs; what an encoder has brought to a scale of its own is left as it is."""
    scaling, encoder = Scaling.of(x), getattr(estimator, "encoder_", None)
    if encoder is None:
        return scaling
    return Scaling(np.where(encoder.unscaled, 0.0, scaling.mean), np.where(encoder.unscaled, 1.0, scaling.scale))


def _encoded(estimator: Any, encoder: TableEncoder, X: Any) -> Any:
    """A table by the model's rules; an array with the encoded columns, or those of the table in their order."""
    if not is_table(X):
        columns = np.shape(X)[1] if len(np.shape(X)) == 2 else 0
        if columns in (0, len(encoder.names)):
            return X
        if sparse.issparse(X) or columns != encoder.n_features_in_:
            raise UserError(
                f"X has {columns} features, but {type(estimator).__name__} is expecting {encoder.n_features_in_} "
                f"features as input (encoded, {len(encoder.names)})."
            )
        X = dict(zip(encoder.feature_names_in_, np.asarray(X).T, strict=True))
    table = as_table(X)
    encoded = encoder.encode(table, encoder.unknown)
    extra = [name for name in encoder.extra_columns(table.column_names) if name != getattr(estimator, "target_", None)]
    if extra:
        warnings.warn(f"columns that the model does not know are ignored: {', '.join(extra[:5])}.", stacklevel=5)
    return encoded


def _dense(estimator: BaseEstimator, x: Any) -> NDArray[np.floating]:
    dense = x.toarray() if sparse.issparse(x) else x
    encoder = getattr(estimator, "encoder_", None)
    names = getattr(estimator, "feature_names_in_", None) if encoder is None else encoder.names
    check_size(dense, "the inputs", names)
    return dense
