"""VCL: Gaussian weights by sequential variational Bayes (Nguyen et al. 2018); for a single task it is called MFVI.

The learner is `sequential_bayes.SequentialBayes` without a buffet. The presets are shared by every method on top of it.
"""

from dataclasses import replace
from typing import Any

from hibnn.benchmarks.base import Scenario
from hibnn.benchmarks.entry import Traits
from hibnn.learners.bayes_options import BayesOptions
from hibnn.learners.method import BLACK, Card, Look, Method, smaller_batches
from hibnn.learners.schedule import Schedule
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layers.linear import WeightNoise

STORES = "mean and variance of every weight"
NGUYEN = "Nguyen, Li, Bui, Turner 2018, Variational Continual Learning"


def default(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Ours, found on validation data."""
    if traits.few_rows:
        return smaller_batches(traits, scenario) | {"epochs": 40, "learning_rate": 1e-2, "input_std": 1.0}
    if traits.same_classes:
        return {"width": 200, "learning_rate": 3e-3, "input_std": 1.0, "init_std": 0.03}
    return {}


PAPER_PROTOCOL = {"granularity": "task", "mixing": "hard", "class_outputs": "all"}
"""The head of lowest predictive entropy answers; where the text is silent, as the authors' program has it."""
AUTHORS_PROTOCOL = PAPER_PROTOCOL | {"score": "expected"}
"""One head for a whole test set, by the entropy of a draw on average; ten outputs a head in the class scenario."""


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """The text: its sections "Experimental details" and, for a whole data set, "Comparison of HIBNN and SVD".

    Where it is silent, as its authors' program: batches (but for a whole data set), draws, widths, the prior of
    permuted images, how heads and biases begin.
    """
    options = published(traits) | {"likelihood_epochs": 100}
    if is_whole(traits):
        return options | {"batch_size": 128, "weight_noise": WeightNoise.EXAMPLE}
    return options if traits.same_classes else options | {"epochs": 600, "prior_variance": 0.7}


def authors(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """What the authors' program does."""
    options = published(traits)
    return options | {"schedule": Schedule.HALVING} if is_whole(traits) else options


def published(traits: Traits) -> dict[str, Any]:
    """What paper and authors' program agree on, or the program where the paper is silent."""
    options = {
        "epochs": 200 if traits.same_classes else 1000,
        "batch_size": 128 if traits.same_classes else 512,
        "learning_rate": 1e-3,
        "variance_rate": 1e-3,
        "schedule": Schedule.EXPONENTIAL,
        "prior_variance": 1.0,
        "log_variance": -6.0,
        "init_std": 0.1,
        "head_init_std": 0.1,
        "bias_init_std": 0.1,
        "weight_noise": WeightNoise.WEIGHTS,
        "input_std": 0.0,
        "draws": 10,
        "prediction_draws": 100,
        "likelihood_epochs": 200,
    }
    if traits.sources > 1:
        return options | {"depth": 2}
    if is_whole(traits):
        return options | {"epochs": 200, "prior_variance": 0.7, "likelihood_epochs": 100, "width": 200, "depth": 2}
    return options


def is_whole(traits: Traits) -> bool:
    """Whether a data set is learned as one task, as the paper does before it prunes."""
    return traits.tasks == 1


METHOD = Method(
    "vcl",
    "Gaussian weights, sequential variational Bayes",
    BayesOptions,
    SequentialBayes,
    Card(STORES, NGUYEN),
    Look("VCL", BLACK, "--", "^", "..."),
    default,
    paper,
    authors,
    PAPER_PROTOCOL,
    AUTHORS_PROTOCOL,
    chosen_width=True,
    prunable=True,
    regression=True,
)
MFVI = replace(
    METHOD,
    name="mfvi",
    summary="the same as vcl, under its name for a single task",
    card=Card(STORES, "Blundell et al. 2015, Weight Uncertainty in Neural Networks"),
    look=replace(METHOD.look, name="MFVI"),
    chosen_width=False,
)
