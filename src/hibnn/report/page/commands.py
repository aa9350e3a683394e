"""The commands that make runs again: `hibnn run` with every option that differs from the defaults."""

import json
import shlex
from dataclasses import asdict
from functools import cache
from typing import Any

from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.presets import options_for
from hibnn.report.page.groups import Group

USUAL: dict[str, Any] = {
    "granularity": "sample",
    "score": "predictive",
    "heads": "auto",
    "tasks": None,
    "evaluate_on": "test",
    "ood": None,
}
"""What `hibnn run` takes when it is not told."""


def command_for(group: Group) -> str:
    """One command for all seeds of a group; a read-out has the command of its runs and that of the evaluation."""
    record = group.members[0].record
    config = record.run.config
    seeds = sorted({member.record.run.seed for member in group.members})
    words = ["hibnn", "run"]
    for name in ("dataset", "scenario", "method"):
        words += [f"--{name}", config[name]]
    words += ["--seeds", *map(str, seeds)] if len(seeds) > 1 else ["--seed", str(seeds[0])]
    for name, usual in USUAL.items():
        if config.get(name, usual) != usual:
            words += _flag(name, config[name])
    defaults = default_options(config["method"], config["dataset"], config["scenario"])
    for name, value in config["options"].items():
        if name not in defaults or defaults[name] != value:
            words += _flag(name, value)
    return shlex.join(words)


@cache
def default_options(method: str, dataset: str, scenario: str) -> dict[str, Any]:
    """Options as plain values; none for methods and scenarios that this version does not know."""
    try:
        options = options_for(method, dataset, scenario=Scenario.parse(scenario))
    except UserError:
        return {}
    return json.loads(json.dumps(asdict(options)))


def _flag(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, list):
        return [f"--{flag}", *map(str, value)]
    return [f"--{flag}", str(value)]
