"""The commands that make runs again: `hibnn run` with every field and option that differs from the defaults."""

import shlex
from collections.abc import Sequence
from typing import Any

from hibnn.errors import UserError
from hibnn.runs.changes import changed_fields
from hibnn.runs.experiment import Experiment
from hibnn.runs.groups import Group


def command_for(group: Group) -> str:
    """One command for all seeds of a group's runs; nothing where none can make them: tasks from Python, old options."""
    record = group.members[0].record
    try:
        experiment = Experiment.from_json(record.config)
        return command(experiment, sorted(member.record.seed for member in group.members))
    except (
        UserError,
        LookupError,
        TypeError,
        AttributeError,
        ValueError,
        ArithmeticError,
    ):  # options of another version, or no options at all
        return ""


def command(experiment: Experiment, seeds: Sequence[int]) -> str:
    """The command that makes an experiment, with these seeds in the place of its own."""
    if experiment.data and not experiment.dataset.endswith(".toml"):
        raise UserError("tasks made from arrays are known to the program that made them, not to a command.")
    words = ["hibnn", "run"]
    for plugin in experiment.plugins:
        words += ["--plugin", plugin.file]
    for name in ("dataset", "scenario", "method"):
        words += [f"--{name}", str(getattr(experiment, name))]
    words += ["--seeds", *map(str, seeds)] if len(seeds) > 1 else ["--seed", str(seeds[0])]
    for name, value in changed_fields(experiment).items():
        words += _flag(name.replace("_", "-"), value)
    return shlex.join(words)


def _flag(flag: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, list):
        return [f"--{flag}", *map(str, value)]
    return [f"--{flag}", str(value)]
