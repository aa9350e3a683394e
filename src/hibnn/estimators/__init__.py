"""Continual learning on one's own data, in scikit-learn's conventions."""

from hibnn.estimators.classifier import ContinualClassifier
from hibnn.estimators.persistence import load_model
from hibnn.estimators.regressor import ContinualRegressor
from hibnn.estimators.tables.encoding import TableEncoder

__all__ = ["ContinualClassifier", "ContinualRegressor", "TableEncoder", "load_model"]
