"""Learners by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hibnn.errors import unknown
from hibnn.learners import agem, derpp, er, lwf, mas
from hibnn.learners.base import Learner, Prediction, Setting, State
from hibnn.learners.bayes_options import BayesOptions, BuffetOptions, HierarchicalOptions
from hibnn.learners.bscl import BSCL, BSCLOptions
from hibnn.learners.coreset import CoresetBayes, CoresetOptions
from hibnn.learners.den import Den
from hibnn.learners.den_options import DenOptions
from hibnn.learners.ewc import EWC, EWCOptions
from hibnn.learners.finetune import Finetune
from hibnn.learners.gem import GEM, GEMOptions
from hibnn.learners.joint import Joint
from hibnn.learners.network import NetworkOptions
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.learners.si import SI, SIOptions
from hibnn.learners.svd import SVD, SVDOptions

__all__ = ["METHODS", "Learner", "Method", "Prediction", "Setting", "State", "find_method"]


@dataclass(frozen=True)
class Method:
    """A learner's name, what it is, its options, and whether one head serves it where the scenario allows one."""

    name: str
    summary: str
    options: type[NetworkOptions]
    learner: Callable[[Any, Setting], Learner]
    prefers_single_head: bool


DESCRIBED = {module.METHOD.name: module.METHOD for module in (er, agem, derpp, lwf, mas)}
"""Methods whose files also hold their card, look and presets."""
METHODS = {
    method.name: method
    for method in (
        Method("finetune", "trains on each task in turn; the lower bound", NetworkOptions, Finetune, True),
        Method("vcl", "Gaussian weights, sequential variational Bayes", BayesOptions, SequentialBayes, False),
        Method("mfvi", "the same as vcl, under its name for a single task", BayesOptions, SequentialBayes, False),
        Method("ibnn", "vcl with an IBP over each layer's neurons", BuffetOptions, SequentialBayes, False),
        Method("hibnn", "vcl with a hierarchical IBP over all layers", HierarchicalOptions, SequentialBayes, False),
        Method("vcl-coreset", "vcl refreshed by kept examples before it answers", CoresetOptions, CoresetBayes, False),
        Method("bscl", "masks over single weights, one stored for each task", BSCLOptions, BSCL, False),
        Method("svd", "sparse variational dropout, for a single task", SVDOptions, SVD, False),
        Method("den", "retrains, expands and splits a network as tasks call for it", DenOptions, Den, False),
        Method("ewc", "holds weights by the Fisher information of earlier tasks", EWCOptions, EWC, True),
        Method("si", "holds weights by their part in lowering earlier losses", SIOptions, SI, True),
        Method("gem", "remembers examples; no step may raise their loss", GEMOptions, GEM, True),
        *(
            Method(new.name, new.summary, new.options, new.learner, new.prefers_single_head)
            for new in DESCRIBED.values()
        ),
        Method("joint", "keeps all data and trains on all tasks so far; the upper bound", NetworkOptions, Joint, True),
    )
}


def find_method(name: str) -> Method:
    """A method by its name."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]
