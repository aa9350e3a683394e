"""Runs over seeds: what a row of a table and a line of a figure stand for.

Runs that differ in anything but their seed are never averaged; they are groups of their own, and `tell_apart` says in
words what sets them apart. Unfinished runs belong to their group without numbers.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hibnn.evaluation.significance import mean_and_error
from hibnn.neurons import chosen_widths
from hibnn.runs.record import RunRecord, finite
from hibnn.runs.setting import flat, plain
from hibnn.runs.status import Status

WAY = ("scenario", "granularity", "task_inference", "score")
"""The fields in which a read-out may differ from its run."""


@dataclass(frozen=True)
class Member:
    """A run within a group, and the numbers it has there; None if it is unfinished."""

    record: RunRecord
    numbers: dict[str, Any] | None


@dataclass(frozen=True)
class Group:
    """Runs of one setting, one a seed, judged in one way: by their own results, or by read-outs of one kind.

    `config` is that of its runs with what the read-outs changed, `read_out_of` the scenario these runs learned in;
    `variant` says, where somebody asked for it, what sets the group apart from others of its method; `number` is its
    place on a page.
    """

    config: dict[str, Any]
    members: tuple[Member, ...]
    read_out_of: str = ""
    variant: str = ""
    number: int = 0

    @property
    def method(self) -> str:
        return self.config["method"]

    @property
    def dataset(self) -> str:
        return self.config["dataset"]

    @property
    def scenario(self) -> str:
        return self.config["scenario"]

    @property
    def read_out(self) -> bool:
        return bool(self.read_out_of)

    @property
    def place(self) -> tuple[str, str]:
        return self.dataset, self.scenario

    @property
    def evaluated_on(self) -> str:
        return str(self.config.get("evaluate_on"))

    @property
    def granularity(self) -> str:
        """How a head is inferred; "-" where none is: the task is told, or one head serves all."""
        inferred = [numbers.get("task_inference_accuracy") is not None for numbers in self.finished]
        shown = any(inferred) if inferred else self.scenario != "task"
        return str(self.config.get("granularity")) if shown else "-"

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the hidden layers, as they were asked for; empty where the options do not say."""
        return chosen_widths(self.config["options"])

    @property
    def records(self) -> list[RunRecord]:
        """Its finished runs."""
        return [member.record for member in self.members if member.numbers is not None]

    @property
    def finished(self) -> list[dict[str, Any]]:
        """The numbers of its finished runs."""
        return [member.numbers for member in self.members if member.numbers is not None]

    @property
    def waiting(self) -> list[Member]:
        return [member for member in self.members if member.numbers is None]

    def by_seed(self, name: str) -> dict[int, float]:
        """A number of every finished run that has it."""
        found = {
            member.record.seed: finite((member.numbers or {}).get(name)) for member in self.members if member.numbers
        }
        return {seed: value for seed, value in found.items() if value is not None}

    def values(self, name: str) -> list[float]:
        return list(self.by_seed(name).values())

    def mean(self, name: str) -> float | None:
        values = self.values(name)
        return mean_and_error(values)[0] if values else None

    def error(self, name: str) -> float | None:
        """The standard error of the mean; None from fewer than two runs."""
        values = self.values(name)
        return mean_and_error(values)[1] if values else None


def group_by_setting(records: Iterable[RunRecord], read_outs: bool = False) -> list[Group]:
    """Records by setting, in the order in which settings are first met; with `read_outs` these are groups too."""
    found: dict[tuple[str, ...], dict[Any, Member]] = {}
    for record in records:
        _add(found, (record.setting,), Member(record, record.result))
        for numbers in record.read_outs if read_outs else ():
            _add(found, (record.setting, *(str(numbers.get(name)) for name in WAY)), Member(record, numbers))
    return [_group(key, list(members.values())) for key, members in found.items()]


def tell_apart(groups: Sequence[Group], besides: Sequence[str] = ()) -> list[str]:
    """What sets each group apart from the others, in words; `besides` are fields that are shown in another way."""
    if len(groups) == 1:
        return [""]
    settings = [flat(group.config) | _origin(group) for group in groups]
    hidden = [json.dumps([setting.get(name) for name in besides]) for setting in settings]
    # fields that only some have (bounds of densities) tell nothing, unless nothing else does (another version's)
    few, many = (_words(settings, besides, absent) for absent in (False, True))
    return few if len(set(zip(few, hidden, strict=True))) == len(groups) else many


def _origin(group: Group) -> dict[str, str]:
    return {"read out of": f"{group.read_out_of} runs" if group.read_out else ""}


def _words(settings: Sequence[dict[str, Any]], besides: Sequence[str], absent: bool) -> list[str]:
    """The fields in which settings differ, in words; with `absent` also those that one has and another has not."""
    telling = []
    for name in dict.fromkeys(name for setting in settings for name in setting if name not in besides):
        values = {json.dumps(setting.get(name)) for setting in settings if absent or name in setting}
        telling += [name] * (len(values) > 1)
    shown = [{name: plain(setting[name]) for name in telling if setting.get(name, "") != ""} for setting in settings]
    return [", ".join(f"{name.replace('_', ' ')} {value}" for name, value in each.items()) for each in shown]


def _add(found: dict[tuple[str, ...], dict[Any, Member]], key: tuple[str, ...], member: Member) -> None:
    """Add a run to its group; of a seed that is stored twice the finished run counts, once."""
    members, record = found.setdefault(key, {}), member.record
    seed = record.folder if record.status is Status.DAMAGED else record.seed
    if seed not in members or members[seed].numbers is None:
        members[seed] = member


def _group(key: tuple[str, ...], members: list[Member]) -> Group:
    config = members[0].record.config
    members.sort(key=lambda member: (member.record.config.get("seed") or 0, member.record.folder))
    if len(key) == 1:
        return Group(config, tuple(members))
    numbers = members[0].numbers or {}
    way = {name: numbers[name] for name in WAY if name in numbers}
    return Group(config | way, tuple(members), read_out_of=config["scenario"])
