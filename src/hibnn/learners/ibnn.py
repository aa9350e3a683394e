"""IBNN: VCL with an Indian buffet process over the neurons of each layer (Kessler et al. 2021, section 2).

The learner is `sequential_bayes.SequentialBayes` with the buffet that the options ask for.
"""

from typing import Any

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners import vcl
from hibnn.learners.authors import AuthorsBayes
from hibnn.learners.base import Setting
from hibnn.learners.bayes_options import BuffetOptions
from hibnn.learners.method import BLUE, Card, Look, Method, Variant
from hibnn.learners.objective import MaskKL
from hibnn.learners.schedule import Schedule
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.learners.sized import SizedBayes
from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layers.masks import Relaxation
from hibnn.nn.layers.stamps import Timestamps


def new_learner(options: BuffetOptions, setting: Setting) -> SequentialBayes:
    """Sized by evidence, or by the prior as in the paper, or as in the authors' program."""
    if options.mask_kl is MaskKL.AUTHORS:
        return AuthorsBayes(options, setting)
    return SizedBayes(options, setting) if options.size == "evidence" else SequentialBayes(options, setting)


def default(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Ours, found on validation data: the options' own, with more and smaller steps where rows are few.

    Where one head serves all tasks, a small network has no room for those to come: there the prior sizes it.
    """
    if traits.same_classes and scenario is Scenario.DOMAIN:
        sticks = {"size": "prior", "alpha": 30.0, "init_alpha": 50.0, "log_variance": -6.0}
        return vcl.default(traits, scenario) | sticks
    return {"batch_size": 32, "epochs": 60} if traits.few_rows else {}


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """The text: the ELBO of its equations, masks around log pi, global sticks, ten samples of the IBP averaged.

    Masks of predictions are Bernoulli. Split tasks: the first is trained a fifth longer. What was searched for tasks of
    several data sets is not printed: temperatures and alpha are the least of the searched ones.
    """
    split = not traits.same_classes and not vcl.is_whole(traits)
    longer = {"first_task_factor": 1.2} if split else {}
    return vcl.paper(traits, scenario) | published(traits) | longer | {"stick_sets": 1}


def authors(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """What the authors' program does: sticks for every example and sample, another objective, soft masks."""
    options = vcl.authors(traits, scenario) | published(traits)
    options |= {"mask_kl": MaskKL.AUTHORS, "prediction_masks": "soft"}
    if vcl.is_whole(traits) or traits.sources > 1:
        slow = {"learning_rate": 3e-4, "variance_rate": 3e-4, "stick_rate": 3e-4, "schedule": Schedule.CONSTANT}
        options |= slow | ({"weight_noise": WeightNoise.BATCH} if vcl.is_whole(traits) else {})
    return options


def published(traits: Traits) -> dict[str, Any]:
    """What paper and authors' program agree on for the masks."""
    alpha = 4.2 if vcl.is_whole(traits) else 5.0
    temperature = 1.0 if traits.same_classes else 0.75 if traits.sources > 1 else 0.7
    return {
        "prior_variance": 1.0 if traits.same_classes else 0.7,
        "alpha": alpha,
        "init_alpha": alpha,
        "stick_rate": 1e-3,
        "temperature": temperature,
        "prior_temperature": temperature,
        "relaxation": Relaxation.PAPER,
        "averaged_masks": 10,
        "size": "prior",
        "timestamps": Timestamps.NONE,
    }


def stamped(look: Look, soft: str, hard: str) -> tuple[Variant, ...]:
    """Runs with time stamps, shown apart from those without, by markers of their own."""
    return tuple(
        Variant(
            f"{kind}-stamps", {"timestamps": kind}, Look(f"{look.name}, {kind} time stamps", look.colour, line, marker)
        )
        for kind, line, marker in (("soft", "--", soft), ("hard", ":", hard))
    )


LOOK = Look("IBNN", BLUE, "-", "o")
METHOD = Method(
    "ibnn",
    "VCL with an IBP over each layer's neurons",
    BuffetOptions,
    new_learner,
    Card(f"{vcl.STORES}, two numbers a neuron for its stick", "Kessler, Nguyen, Zohren, Roberts 2021, section 2"),
    LOOK,
    default,
    paper,
    authors,
    vcl.PAPER_PROTOCOL,
    vcl.AUTHORS_PROTOCOL,
    prunable=True,
    regression=True,
    variants=stamped(LOOK, "<", ">"),
)
