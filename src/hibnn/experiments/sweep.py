"""Many runs from one file: the product of the lists in a TOML file, through any `concurrent.futures.Executor`.

    seeds = [0, 1, 2]
    [[grid]]                       # as many as needed
    method = ["vcl", "ibnn"]       # every list multiplies
    dataset = "split-mnist"
    scenario = "task"
    width = [50, 100]              # anything else is an option of the method

Each run has a folder named after its content, so a sweep that is started again goes on where it stopped.
"""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import torch

from hibnn.errors import UserError
from hibnn.experiments.experiment import Experiment
from hibnn.experiments.run import run
from hibnn.learners import find_method
from hibnn.presets import options_for
from hibnn.scenarios import Scenario

KEYS = {field.name for field in fields(Experiment)} - {"options", "seed"}


@dataclass(frozen=True)
class Outcome:
    """What became of one run: its result, or the sentence that says why there is none."""

    experiment: Experiment
    folder: Path
    result: dict[str, Any] | None
    error: str | None


def read_sweep(path: Path, seeds: Sequence[int] = ()) -> list[Experiment]:
    """The experiments a file describes; `seeds` replaces its own."""
    try:
        content = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise UserError(f"there is no file {path}.") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not valid TOML: {error}.") from None
    grids = content.get("grid", [])
    if not grids:
        raise UserError(f"{path} describes no runs: it needs at least one [[grid]] table.")
    chosen = list(seeds) or content.get("seeds", [0])
    return [make for grid in grids for make in _product(grid, chosen)]


def _product(grid: dict[str, Any], seeds: Iterable[int]) -> list[Experiment]:
    lists = {name: value if isinstance(value, list) else [value] for name, value in grid.items()}
    cells = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    return [new_experiment(cell, seed) for cell in cells for seed in seeds]


def new_experiment(cell: dict[str, Any], seed: int) -> Experiment:
    """One experiment from plain values: a preset's options, changed by every name that is not the experiment's own."""
    for required in ("method", "dataset", "scenario"):
        if required not in cell:
            raise UserError(f"a grid must name its {required}.")
    method = find_method(cell["method"])
    own = {field.name for field in fields(method.options)}
    changes = {
        name: tuple(v) if isinstance(v, list) else v for name, v in cell.items() if name not in KEYS | {"preset"}
    }
    for name in changes:
        if name not in own:
            raise UserError(f"{method.name} has no option '{name}'; its options are {', '.join(sorted(own))}.")
    known: dict[str, Any] = {name: value for name, value in cell.items() if name in KEYS}
    known["scenario"] = Scenario.parse(cell["scenario"])
    options = options_for(method.name, cell["dataset"], cell.get("preset", "default"), known["scenario"], **changes)
    return Experiment(**known, options=options, seed=seed)


def folder_of(experiment: Experiment, out: Path) -> Path:
    """A readable name that no other experiment has."""
    name = f"{experiment.method}-{experiment.dataset}-{experiment.scenario}-s{experiment.seed}-{experiment.digest[:8]}"
    return out / name


def sweep(
    experiments: Sequence[Experiment], out: Path, executor: Executor, on_done: Callable[[Outcome], None]
) -> list[Outcome]:
    """Run all experiments; one that fails is tried once more and does not stop the others."""
    outcomes: list[Outcome] = []
    pending = {executor.submit(run_one, one, folder_of(one, out)): (one, 1) for one in experiments}
    while pending:
        for future in as_completed(list(pending)):
            experiment, attempts = pending.pop(future)
            outcome = future.result()
            if outcome.error is not None and attempts == 1:
                pending[executor.submit(run_one, experiment, outcome.folder)] = (experiment, 2)
                continue
            outcomes.append(outcome)
            on_done(outcome)
    return outcomes


def run_one(experiment: Experiment, folder: Path) -> Outcome:
    """One run in a worker, on one thread; what goes wrong comes back as a sentence."""
    torch.set_num_threads(1)
    try:
        return Outcome(experiment, folder, run(experiment, folder), None)
    except Exception as error:  # a worker must survive whatever a run does
        return Outcome(experiment, folder, None, f"{type(error).__name__}: {error}")
