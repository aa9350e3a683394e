"""HIBNN: VCL with a hierarchical Indian buffet process over the neurons of all layers (Kessler et al. 2021, section 3).

The learner is `sequential_bayes.SequentialBayes` with the buffet that the options ask for.
"""

from typing import Any

from hibnn.benchmarks.entry import Traits
from hibnn.learners import ibnn, vcl
from hibnn.learners.bayes_options import HierarchicalOptions
from hibnn.learners.method import VERMILLION, Card, Look, Method


def children(traits: Traits) -> dict[str, Any]:
    """alpha_j in paper and authors' program: 4, and one more with every new data set."""
    return {"child_alpha": 4.0, "child_alpha_step": 1.0 if traits.sources > 1 else 0.0}


LOOK = Look("HIBNN", VERMILLION, "-", "s", "///")
METHOD = Method(
    "hibnn",
    "VCL with a hierarchical IBP over all layers",
    HierarchicalOptions,
    ibnn.new_learner,
    Card(
        f"{vcl.STORES}, two numbers for each of the K shared sticks",
        "Kessler, Nguyen, Zohren, Roberts 2021, section 3",
    ),
    LOOK,
    ibnn.default,
    lambda traits, scenario: ibnn.paper(traits, scenario) | children(traits),
    lambda traits, scenario: ibnn.authors(traits, scenario) | children(traits),
    vcl.PAPER_PROTOCOL,
    vcl.AUTHORS_PROTOCOL,
    prunable=True,
    regression=True,
    variants=ibnn.stamped(LOOK, "p", "H"),
)
