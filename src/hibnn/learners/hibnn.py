"""HIBNN: VCL with a hierarchical Indian buffet process over the neurons of all layers (Kessler et al. 2021, section 3).

The learner is `sequential_bayes.SequentialBayes` with the buffet that the options ask for.
"""

from hibnn.learners import ibnn, vcl
from hibnn.learners.bayes_options import HierarchicalOptions
from hibnn.learners.method import VERMILLION, Card, Look, Method

LOOK = Look("HIBNN", VERMILLION, "-", "s", "///")
METHOD = Method(
    "hibnn",
    "vcl with a hierarchical IBP over all layers",
    HierarchicalOptions,
    ibnn.new_learner,
    Card(
        f"{vcl.STORES}, two numbers for each of the K shared sticks",
        "Kessler, Nguyen, Zohren, Roberts 2021, section 3",
    ),
    LOOK,
    ibnn.default,
    ibnn.paper,
    prunable=True,
    regression=True,
    variants=ibnn.stamped(LOOK, "p", "H"),
)
