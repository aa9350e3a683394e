"""Continual learning on one's own data, in scikit-learn's conventions."""

from hibnn.estimators.classifier import ContinualClassifier
from hibnn.estimators.persistence import load_model
from hibnn.estimators.regressor import ContinualRegressor

__all__ = ["ContinualClassifier", "ContinualRegressor", "load_model"]
