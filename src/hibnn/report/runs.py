"""Stored runs: what a folder holds of a run, finished or not, and how runs are sorted for figures and tables.

A folder is a run if it has a `config.json`. Without a `result.json` the run is unfinished: it has no numbers, and
figures and tables say so.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors.numpy import load_file

from hibnn.errors import UserError
from hibnn.files.atomic import read_json
from hibnn.report.style import look, looks

Result = dict[str, Any]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class StoredRun:
    """One run: where it lies, what was asked for, and what came out (None: unfinished)."""

    folder: Path
    config: dict[str, Any]
    result: Result | None

    @property
    def method(self) -> str:
        """The method's name; DEN without time stamps, and IBNN with them, are methods of their own."""
        name, stamps = self.config["method"], self.config["options"].get("timestamps")
        return name + {False: "-no-stamps", "soft": "-soft-stamps", "hard": "-hard-stamps"}.get(stamps, "")

    @property
    def dataset(self) -> str:
        return self.config["dataset"]

    @property
    def scenario(self) -> str:
        return str(self.config["scenario"])

    @property
    def seed(self) -> int:
        return self.config["seed"]

    @property
    def widths(self) -> tuple[int, ...]:
        options = self.config["options"]
        return tuple(options["hidden"]) or (options["width"],) * options["depth"]

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def setting(self) -> str:
        """Everything but the seed that decides the numbers of a run, as one text."""
        own = {name: value for name, value in self.config.items() if name not in ("seed", "experiment", "hibnn")}
        return json.dumps(own, sort_keys=True)

    def number(self, name: str) -> Any:
        """A value of the result, which a finished run has."""
        if self.result is None:
            raise UserError(f"{self.folder} is unfinished and has no {name}.")
        return self.result[name]

    @cached_property
    def matrix(self) -> np.ndarray:
        """R[i, j], NaN where nothing was measured."""
        return np.array(self.number("accuracy_matrix"), dtype=float)

    @cached_property
    def structure(self) -> dict[str, np.ndarray]:
        """What is stored of its masks and sticks; nothing for methods of fixed width."""
        path = self.folder / "structure.safetensors"
        return load_file(path) if path.exists() else {}

    def active(self) -> list[list[np.ndarray]]:
        """Active neurons of each example, by task and layer."""
        return self._by_task("layer", "active")

    def masks(self) -> list[list[np.ndarray]]:
        """Z of some examples, by task and layer."""
        return [[z.astype(np.float32) for z in layers] for layers in self._by_task("layer", "z")]

    def alphas(self) -> list[list[np.ndarray]]:
        """a_k of the sticks, by task and set of sticks; empty in runs of versions that did not store it."""
        return self._by_task("sticks", "alpha")

    def _by_task(self, part: str, kind: str) -> list[list[np.ndarray]]:
        found: list[list[np.ndarray]] = []
        while f"task{len(found)}.{part}0.{kind}" in self.structure:
            layers: list[np.ndarray] = []
            while (name := f"task{len(found)}.{part}{len(layers)}.{kind}") in self.structure:
                layers.append(self.structure[name])
            found.append(layers)
        return found


def read_run(folder: Path) -> StoredRun:
    """The run in a folder."""
    result = folder / "result.json"
    return StoredRun(folder, read_json(folder / "config.json"), read_json(result) if result.exists() else None)


def runs_below(folders: Iterable[Path]) -> list[StoredRun]:
    """Every run in or below some folders, each once, in the order of their names."""
    found: dict[Path, StoredRun] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}: name folders with runs.")
        for path in sorted(folder.rglob("config.json")):
            found.setdefault(path.parent.resolve(), read_run(path.parent))
    return list(found.values())


def check_settings(runs: Iterable[StoredRun]) -> None:
    """Refuse to average runs that differ in more than their seeds."""
    kinds = group(runs, lambda run: (run.method, run.dataset, run.scenario, run.config["granularity"], run.widths))
    for (method, dataset, *_), same in kinds.items():
        settings = group(same, lambda run: (run.config["evaluate_on"], run.setting))
        judged = group(same, lambda run: run.config["evaluate_on"])
        if len(settings) > len(judged):
            differing = [str(each[0].folder) for each in settings.values()]
            raise UserError(
                f"runs of {method} on {dataset} have different settings ({differing[0]} and {differing[1]}, for "
                "example) and cannot be averaged: name folders that hold one setting each."
            )


def group(items: Iterable[StoredRun], key: Callable[[StoredRun], Key]) -> dict[Key, list[StoredRun]]:
    """Runs that share a key."""
    groups: dict[Key, list[StoredRun]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def by_method(runs: Iterable[StoredRun]) -> dict[str, list[StoredRun]]:
    """Runs of each method, in the order in which methods are always shown."""
    groups = group(runs, lambda run: run.method)
    order = [name for name in looks() if name in groups]
    return {name: groups[name] for name in [*order, *sorted(set(groups) - set(looks()))]}


def unfinished_note(runs: Sequence[StoredRun]) -> str:
    """Which runs are left out because they are unfinished, or nothing."""
    waiting = by_method(run for run in runs if not run.finished)
    if not waiting:
        return ""
    parts = [f"{look(name).name} seed {', '.join(str(run.seed) for run in each)}" for name, each in waiting.items()]
    return f"unfinished and not shown: {'; '.join(parts)}"
