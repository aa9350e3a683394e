"""Presets: options for a method on a benchmark, ours or the paper's.

Ours were searched on validation data (`paper/search.md`). The paper's follow its section "Experimental details" and,
where it is silent, its authors' program. Further ones are files, as `hibnn search` writes them:

    method = "ibnn"
    preset = "default"       # what the options are changes of
    [options]
    alpha = 12.5
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

from hibnn.benchmarks import Scenario
from hibnn.errors import UserError, unknown
from hibnn.files.toml import read_toml
from hibnn.learners import DESCRIBED, ewc, find_method, gem, si
from hibnn.learners.network import NetworkOptions
from hibnn.learners.objective import MaskKL
from hibnn.learners.schedule import Schedule
from hibnn.nn.layers.masks import Relaxation

BAYESIAN = ("vcl", "mfvi", "ibnn", "hibnn")
BUFFETS = ("ibnn", "hibnn")
PUBLISHED = {"ewc": ewc.published, "si": si.published, "gem": gem.published}
PUBLISHED |= {name: method.default for name, method in DESCRIBED.items()}


def preset(name: str, method: str, dataset: str, scenario: Scenario = Scenario.TASK) -> dict[str, Any]:
    """The options in which a preset differs from the method's own defaults.

    `name` is "default", "paper", or the path of a preset file. EWC, SI and GEM have their published strengths, which
    depend on the scenario, in either.
    """
    if name.endswith(".toml"):
        return _from_file(Path(name), method, dataset, scenario)
    if name not in ("default", "paper"):
        raise unknown("preset", name, ("default", "paper"))
    settings = PUBLISHED[method](dataset, scenario) if method in PUBLISHED else {}
    if name == "paper":
        return settings | _paper(method, dataset)
    return settings | _default(method, dataset)


def options_for(
    method: str, dataset: str, name: str = "default", scenario: Scenario = Scenario.TASK, **changes: Any
) -> NetworkOptions:
    """A method's options on a benchmark: a preset, with changes."""
    return find_method(method).options(**(preset(name, method, dataset, scenario) | changes))


def _from_file(path: Path, method: str, dataset: str, scenario: Scenario) -> dict[str, Any]:
    content = read_toml(path)
    if content.get("method") != method:
        raise UserError(f"{path} is a preset for {content.get('method', 'no method')}, not for {method}.")
    values = content.get("options", {})
    own = {field.name for field in fields(find_method(method).options)}
    for option in values:
        if option not in own:
            raise unknown(f"option of {method} in {path}:", option, own)
    find_method(method).options(**values)  # is_ood_under wrong values before anything runs
    return preset(content.get("preset", "default"), method, dataset, scenario) | values


def _default(method: str, dataset: str) -> dict[str, Any]:
    if dataset == "split-digits":
        few_examples = {"batch_size": 32, "epochs": 20}
        return few_examples | ({"epochs": 40, "learning_rate": 1e-2, "input_std": 1.0} if method in BAYESIAN else {})
    if dataset == "permuted-mnist" and method in BAYESIAN:
        return {"width": 200, "learning_rate": 3e-3, "input_std": 1.0, "init_std": 0.03}
    return {}


def _paper(method: str, dataset: str) -> dict[str, Any]:
    if method not in BAYESIAN:
        return {}
    permuted = dataset == "permuted-mnist"
    options: dict[str, Any] = {
        "epochs": 200 if permuted else 600,
        "batch_size": 128 if permuted else 512,
        "learning_rate": 1e-3,
        "variance_rate": 1e-3,
        "schedule": Schedule.EXPONENTIAL,
        "prior_variance": 0.7 if method in BUFFETS and not permuted else 1.0,
        "log_variance": -6.0,
        "init_std": 0.1,
        "head_init_std": 0.1,
        "input_std": 0.0,
        "draws": 10,
        "prediction_draws": 100,
        "likelihood_epochs": 100,
        "first_task_factor": 1.0 if permuted else 1.2,
    }
    if method in BUFFETS:
        temperature = 1.0 if permuted else 0.7
        options |= {
            "alpha": 5.0,
            "init_alpha": 5.0,
            "stick_rate": 1e-3,
            "temperature": temperature,
            "prior_temperature": temperature,
            "stick_sets": options["batch_size"],
            "relaxation": Relaxation.PAPER,
            "mask_kl": MaskKL.AUTHORS,
            "averaged_masks": 10,
            "prediction_masks": "soft",
        }
    return options
