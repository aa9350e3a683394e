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

STORES = "mean and variance of every weight"
NGUYEN = "Nguyen, Li, Bui, Turner 2018, Variational Continual Learning"


def default(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """Ours, found on validation data."""
    if traits.few_rows:
        return smaller_batches(traits, scenario) | {"epochs": 40, "learning_rate": 1e-2, "input_std": 1.0}
    if traits.same_classes:
        return {"width": 200, "learning_rate": 3e-3, "input_std": 1.0, "init_std": 0.03}
    return {}


def paper(traits: Traits, scenario: Scenario) -> dict[str, Any]:
    """The paper's section "Experimental details" and, where it is silent, its authors' program."""
    permuted = traits.same_classes
    return {
        "epochs": 200 if permuted else 600,
        "batch_size": 128 if permuted else 512,
        "learning_rate": 1e-3,
        "variance_rate": 1e-3,
        "schedule": Schedule.EXPONENTIAL,
        "prior_variance": 1.0,
        "log_variance": -6.0,
        "init_std": 0.1,
        "head_init_std": 0.1,
        "input_std": 0.0,
        "draws": 10,
        "prediction_draws": 100,
        "likelihood_epochs": 100,
        "first_task_factor": 1.0 if permuted else 1.2,
    }


METHOD = Method(
    "vcl",
    "Gaussian weights, sequential variational Bayes",
    BayesOptions,
    SequentialBayes,
    Card(STORES, NGUYEN),
    Look("VCL", BLACK, "--", "^", "..."),
    default,
    paper,
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
