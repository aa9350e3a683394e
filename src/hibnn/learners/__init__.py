"""Learners by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hibnn.errors import unknown
from hibnn.learners.base import Learner, Prediction, Setting, State
from hibnn.learners.finetune import Finetune
from hibnn.learners.gradient import NetworkOptions
from hibnn.learners.joint import Joint

__all__ = ["METHODS", "Learner", "Method", "Prediction", "Setting", "State", "find_method"]


@dataclass(frozen=True)
class Method:
    """A learner's name, what it is, its options, and whether one head serves it where the scenario allows one."""

    name: str
    summary: str
    options: type[NetworkOptions]
    learner: Callable[[Any, Setting], Learner]
    prefers_single_head: bool


METHODS = {
    method.name: method
    for method in (
        Method("finetune", "trains on each task in turn; the lower bound", NetworkOptions, Finetune, True),
        Method("joint", "keeps all data and trains on all tasks so far; the upper bound", NetworkOptions, Joint, True),
    )
}


def find_method(name: str) -> Method:
    """A method by its name."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]
