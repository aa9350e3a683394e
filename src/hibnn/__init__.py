"""Neural networks that size themselves: Bayesian continual learning with Indian Buffet Process priors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hibnn.benchmarks import Benchmark as Benchmark
    from hibnn.benchmarks import Scenario as Scenario
    from hibnn.benchmarks import benchmark as benchmark
    from hibnn.errors import UserError as UserError
    from hibnn.estimators import ContinualClassifier as ContinualClassifier
    from hibnn.estimators import ContinualRegressor as ContinualRegressor
    from hibnn.estimators import TableEncoder as TableEncoder
    from hibnn.estimators import load_model as load_model
    from hibnn.factorisation import factorise as factorise
    from hibnn.learners.presets import options_for as options_for
    from hibnn.runs.experiment import Experiment as Experiment
    from hibnn.runs.index import results as results
    from hibnn.runs.run import run as run

_HOMES = {
    "Benchmark": "hibnn.benchmarks",
    "ContinualClassifier": "hibnn.estimators",
    "ContinualRegressor": "hibnn.estimators",
    "Experiment": "hibnn.runs.experiment",
    "Scenario": "hibnn.benchmarks",
    "TableEncoder": "hibnn.estimators",
    "UserError": "hibnn.errors",
    "benchmark": "hibnn.benchmarks",
    "factorise": "hibnn.factorisation",
    "load_model": "hibnn.estimators",
    "options_for": "hibnn.learners.presets",
    "results": "hibnn.runs.index",
    "run": "hibnn.runs.run",
}
__all__ = [
    "Benchmark",
    "ContinualClassifier",
    "ContinualRegressor",
    "Experiment",
    "Scenario",
    "TableEncoder",
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
