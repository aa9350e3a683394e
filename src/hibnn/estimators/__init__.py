"""Continual learning on one's own data, in scikit-learn's conventions.

Importing an estimator imports scikit-learn, which it derives from, but not torch, which takes as long again: modules
that need torch are imported by the functions that call them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hibnn.estimators.classifier import ContinualClassifier
    from hibnn.estimators.persistence import load_model
    from hibnn.estimators.regressor import ContinualRegressor
    from hibnn.estimators.tables.encoding import TableEncoder

_HOMES = {
    "ContinualClassifier": "hibnn.estimators.classifier",
    "ContinualRegressor": "hibnn.estimators.regressor",
    "TableEncoder": "hibnn.estimators.tables.encoding",
    "load_model": "hibnn.estimators.persistence",
}
__all__ = ["ContinualClassifier", "ContinualRegressor", "TableEncoder", "load_model"]


def __getattr__(name: str) -> Any:
    """Public names are imported when first used."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'hibnn.estimators' has no attribute '{name}'")
