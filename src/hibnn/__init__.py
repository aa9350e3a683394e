"""Neural networks that size themselves: Bayesian continual learning with Indian Buffet Process priors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hibnn.errors import UserError as UserError
    from hibnn.estimators import ContinualClassifier as ContinualClassifier
    from hibnn.estimators import ContinualRegressor as ContinualRegressor
    from hibnn.estimators import load_model as load_model
    from hibnn.experiments import Experiment as Experiment
    from hibnn.experiments import run as run
    from hibnn.factorisation import factorise as factorise
    from hibnn.lookup import results as results
    from hibnn.presets import options_for as options_for
    from hibnn.scenarios import Scenario as Scenario
    from hibnn.scenarios import benchmark as benchmark

_HOMES = {
    "ContinualClassifier": "hibnn.estimators",
    "ContinualRegressor": "hibnn.estimators",
    "Experiment": "hibnn.experiments",
    "Scenario": "hibnn.scenarios",
    "UserError": "hibnn.errors",
    "benchmark": "hibnn.scenarios",
    "factorise": "hibnn.factorisation",
    "load_model": "hibnn.estimators",
    "options_for": "hibnn.presets",
    "results": "hibnn.lookup",
    "run": "hibnn.experiments",
}
__all__ = [
    "ContinualClassifier",
    "ContinualRegressor",
    "Experiment",
    "Scenario",
    "UserError",
    "benchmark",
    "factorise",
    "load_model",
    "options_for",
    "results",
    "run",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that `hibnn --help` need not wait for torch."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'hibnn' has no attribute '{name}'")
