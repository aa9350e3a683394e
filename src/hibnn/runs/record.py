"""A run folder as one flat record: what was run, how far it came and why no further, and what came out.

A record holds plain values under plain names: `run` (the folder), `status` with its `reason`, the settings,
the options of the method, every number of the result, `changed` (what differs from the defaults) and `setting` (a hash
of everything but the seed). What is not known is None, never zero.

    status    done, running, pending, diverged, failed: as the run says; unfinished: it says nothing and has no result;
              damaged: a file cannot be read, or belongs to another run
"""

import hashlib
import json
import math
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.files.atomic import read_json

Record = dict[str, Any]

FILES = ("config.json", "result.json", "status.json")
SETTINGS = ("method", "dataset", "scenario", "granularity", "seed", "score", "heads", "tasks", "evaluate_on", "ood")
USUAL = {"score": "predictive", "heads": "auto", "tasks": None, "evaluate_on": "test", "ood": None}
METRICS = (
    *("acc", "bwt", "fwt", "forgetting", "average_incremental_accuracy", "task_inference_accuracy", "ece", "nll"),
    *("gibbs_accuracy", "ood_auroc", "acc_label", "acc_label_and_task", "parameters", "seconds"),
)


class Defaults:
    """Default options by method, data set and scenario; kept as plain values, because looking them up needs torch."""

    def __init__(self, known: dict[str, dict[str, Any]] | None = None) -> None:
        self.known = known or {}

    def of(self, config: Record) -> dict[str, Any]:
        """The default options of what a configuration runs; nothing for methods and data sets we do not know."""
        key = "/".join(str(config.get(name)) for name in ("method", "dataset", "scenario"))
        if key not in self.known:
            self.known[key] = _default_options(config)
        return self.known[key]


def read_record(folder: Path, present: Collection[str] = FILES, defaults: Defaults | None = None) -> Record | None:
    """The record of a run folder, given which of its files may be there; None if it is none of ours."""
    contents: dict[str, dict[str, Any]] = {}
    broken: list[str] = []
    for name in present:
        try:
            contents[name] = _dictionary(read_json(folder / name))
        except FileNotFoundError:
            continue
        except (ValueError, OSError) as error:
            broken.append(f"{name} cannot be read ({error})")
    config, result, status = (contents.get(name, {}) for name in FILES)
    if not broken and not result and not status and "method" not in config:
        return None
    if "config.json" not in contents and not broken:
        broken.append("there is no config.json")
    options = config.get("options")
    if config and not isinstance(options, dict):
        broken.append("config.json has no options")
    config["options"] = options if isinstance(options, dict) else {}
    word, reason = _status(config, result, status, broken)
    numbers = result if word == "done" else {}
    return {
        "status": word,
        "reason": reason,
        **{name: config.get(name, result.get(name)) for name in SETTINGS},
        **{name: _plain(value) for name, value in config["options"].items()},
        **{name: finite(numbers.get(name)) for name in METRICS},
        "active_units": finite(sum(numbers["active_units"])) if numbers.get("active_units") else None,
        "changed": changed(config, defaults or Defaults()),
        "setting": setting_of(config),
    }


def changed(config: Record, defaults: Defaults) -> str:
    """What a configuration changes: options against the defaults, and settings against the usual ones."""
    settings = {name: config[name] for name, usual in USUAL.items() if config.get(name, usual) != usual}
    usual_options = defaults.of(config)
    different = {name: value for name, value in config["options"].items() if value != usual_options.get(name, value)}
    return " ".join(f"{name}={_plain(value)}" for name, value in (settings | different).items())


def setting_of(config: Record) -> str:
    """A hash of all that decides the numbers except the seed: runs that share it differ by their seed alone."""
    content = {name: value for name, value in config.items() if name not in ("seed", "hibnn", "experiment")}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def _status(config: Record, result: Record, status: Record, broken: list[str]) -> tuple[str, str | None]:
    if broken:
        return "damaged", "; ".join(broken)
    if result and result.get("experiment") != config.get("experiment"):
        return "damaged", "result.json belongs to another experiment than config.json"
    if result:  # it is written last, so that it is there only if the run came to its end
        known = finite(result.get("acc")) is not None
        return ("done", None) if known else ("damaged", "result.json has no accuracy")
    word = str(status.get("status") or "unfinished")
    if word == "done":
        return "damaged", "status.json says done, but there is no result.json"
    return word, status.get("message") or ("there is no result.json" if word == "unfinished" else None)


def _default_options(config: Record) -> dict[str, Any]:
    from hibnn.benchmarks import Scenario
    from hibnn.learners.presets import options_for

    try:
        options = options_for(config["method"], config["dataset"], scenario=Scenario.parse(config["scenario"]))
    except (UserError, KeyError, AttributeError):
        return {}
    return json.loads(json.dumps(asdict(options)))


def _dictionary(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"it holds a {type(value).__name__}, not a table")
    return value


def finite(value: Any) -> float | None:
    """A finite number, or None in the place of anything else."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if good else None


def _plain(value: Any) -> Any:
    """A list as a word, so that every value of a record is a single one."""
    return "x".join(str(one) for one in value) or None if isinstance(value, list) else value
