"""Learners by name."""

from hibnn.learners.base import Learner, Prediction, Setting, State
from hibnn.learners.method import Method
from hibnn.learners.registry import find_method, methods

__all__ = ["Learner", "Method", "Prediction", "Setting", "State", "find_method", "methods"]
