"""Runs that differ by their seed alone, judged in one way: what a row of a table and a line of a figure stand for.

Unfinished runs belong to their group without numbers, so that means are over finished runs and the others are counted.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hibnn.report.page.collect import Record, is_number
from hibnn.report.runs import StoredRun
from hibnn.report.style import look, looks
from hibnn.report.tables.averages import percent
from hibnn.report.tables.comparison import BENCHMARKS

NAMES = BENCHMARKS | {"split-digits": "Split digits", "mnist": "Whole MNIST", "fashion-mnist": "Fashion MNIST"}
"""What benchmarks are called; any other keeps its own name."""
SCENARIOS: tuple[str, ...] = ("task", "domain", "class")


@dataclass(frozen=True)
class Member:
    """A run within a group, and the numbers it has there; none if it is unfinished."""

    record: Record
    numbers: dict[str, Any] | None


@dataclass(frozen=True)
class Group:
    """Runs of one setting over seeds; `variant` says what sets it apart from others of its method and benchmark."""

    number: int
    method: str
    dataset: str
    scenario: str
    granularity: str
    evaluated_on: str
    widths: tuple[int, ...]
    members: tuple[Member, ...]
    read_out: bool = False
    variant: str = ""

    @property
    def place(self) -> tuple[str, str]:
        return self.dataset, self.scenario

    @property
    def finished(self) -> list[dict[str, Any]]:
        return [member.numbers for member in self.members if member.numbers is not None]

    @property
    def waiting(self) -> list[Member]:
        return [member for member in self.members if member.numbers is None]

    @property
    def method_name(self) -> str:
        return look(self.method).name

    @property
    def benchmark_name(self) -> str:
        return NAMES.get(self.dataset, self.dataset)

    @property
    def widths_text(self) -> str:
        return "×".join(map(str, self.widths)) or "-"

    @property
    def shown_granularity(self) -> str:
        """How a head is inferred; "-" where none is: the task is told, or one head serves all."""
        inferred = [one.get("task_inference_accuracy") is not None for one in self.finished]
        return self.granularity if (any(inferred) if inferred else self.scenario != "task") else "-"

    @property
    def label(self) -> str:
        """The group within its benchmark and scenario, in words."""
        return ", ".join(part for part in (self.method_name, self.widths_text, self._way, self.variant) if part)

    @property
    def _way(self) -> str:
        parts = [] if self.shown_granularity == "-" else [f"head inferred by {self.granularity}"]
        return ", ".join(parts + ["validation data"] * (self.evaluated_on != "test"))

    def values(self, name: str) -> list[float]:
        """A number of every finished run that has it."""
        return [one[name] for one in self.finished if is_number(one.get(name))]

    def mean(self, name: str) -> float | None:
        values = self.values(name)
        return statistics.mean(values) if values else None

    @property
    def error(self) -> float | None:
        """The standard error of the accuracy; None from fewer than two runs."""
        values = self.values("acc")
        return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None

    @property
    def accuracy_text(self) -> str:
        return percent(self.values("acc")) if self.values("acc") else "unfinished"

    @property
    def matrix(self) -> np.ndarray | None:
        """The mean accuracy matrix, NaN where nothing was measured; None without results of equal length."""
        found = [np.array(one["accuracy_matrix"], dtype=float) for one in self.finished if "accuracy_matrix" in one]
        return np.mean(found, axis=0) if found and len({one.shape for one in found}) == 1 else None

    @property
    def neurons(self) -> list[float] | None:
        """Neurons in use after each task, all layers together, averaged over runs; None for methods of fixed width."""
        found = [one.get("active_units_per_task") for one in self.finished]
        totals = [[sum(units) for units in tasks] for tasks in found if tasks and all(tasks)]
        if not totals or len({len(one) for one in totals}) > 1:
            return None
        return [statistics.mean(values) for values in zip(*totals, strict=True)]


def group_records(records: Iterable[Record]) -> list[Group]:
    """Groups in the order of benchmarks, scenarios, methods and widths, numbered from 0."""
    found: dict[tuple[str, ...], list[Member]] = {}
    for record in records:
        config = record.run.config
        own = (record.run.setting, record.run.scenario, str(config.get("granularity", "")), "")
        found.setdefault(own, []).append(Member(record, record.run.result))
        for one in record.read_outs:
            key = (own[0], str(one["scenario"]), str(one["granularity"]), str(one.get("score", "predictive")))
            found.setdefault(key, []).append(Member(record, one))
    groups = sorted((_group(key, members) for key, members in found.items()), key=_order)
    return [replace(one, number=number) for number, one in enumerate(_with_variants(groups))]


def _group(key: tuple[str, ...], members: list[Member]) -> Group:
    run = members[0].record.run
    ordered = tuple(sorted(members, key=lambda member: (member.record.run.seed, member.record.name)))
    judged = str(run.config.get("evaluate_on", "test"))
    return Group(0, run.method, run.dataset, key[1], key[2], judged, _widths(run), ordered, read_out=bool(key[3]))


def _widths(run: StoredRun) -> tuple[int, ...]:
    try:
        widths = run.widths
    except (KeyError, TypeError):
        return ()
    return widths if all(isinstance(width, int) for width in widths) else ()


def _order(group: Group) -> tuple[Any, ...]:
    datasets, methods, scenarios = list(NAMES), list(looks()), list(SCENARIOS)
    places = [
        names.index(name) if name in names else len(names)
        for names, name in ((datasets, group.dataset), (scenarios, group.scenario), (methods, group.method))
    ]
    return (places[0], group.dataset, places[1], places[2], group.method, group.widths, group.granularity)


def _with_variants(groups: Sequence[Group]) -> list[Group]:
    """Groups that would look the same, told apart by the options in which they differ."""
    alike: dict[tuple[Any, ...], list[Group]] = {}
    for one in groups:
        key = (one.method, one.place, one.granularity, one.evaluated_on, one.widths, one.read_out)
        alike.setdefault(key, []).append(one)
    variants: dict[int, str] = {}
    for same in alike.values():
        settings = [_flat(one.members[0].record.run.config) for one in same]
        names = sorted({name for one in settings for name in one})
        telling = [name for name in names if len({str(one.get(name)) for one in settings}) > 1]
        for one, setting in zip(same, settings, strict=True):
            variants[id(one)] = ", ".join(f"{name} {setting.get(name)}" for name in telling)
    return [replace(one, variant=variants[id(one)]) for one in groups]


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in config.items() if name not in ("seed", "experiment", "hibnn", "options")}
    return own | config["options"]
