"""Many runs from one file: the product of the lists in a TOML file.

seeds = [0, 1, 2]
[[grid]]                       # as many as needed
method = ["vcl", "ibnn"]       # every list multiplies
dataset = "split-mnist"
scenario = "task"
width = [50, 100]              # anything else is an option of the method

[quick]                        # what --quick puts in the place of seeds and settings
seeds = [0]
epochs = 1                     # a method that has no such option does without it
tasks = 2                      # at most
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

from hibnn.benchmarks import Scenario, find_benchmark
from hibnn.benchmarks.registry import traits_of
from hibnn.checking import checked
from hibnn.errors import UserError, unknown
from hibnn.files.toml import read_toml
from hibnn.learners import find_method
from hibnn.learners.presets import new_options, preset
from hibnn.runs.experiment import Experiment
from hibnn.runs.protocol import protocol_of

Seeds = tuple[int, ...]
KEYS = {field.name for field in fields(Experiment)} - {"options", "seed", "data", "plugins"}


def read_sweep(path: Path, seeds: Sequence[int] = (), quick: bool = False) -> list[Experiment]:
    """The experiments a file describes, each once; `seeds` replaces its own, `quick` what its [quick] table names."""
    content = read_toml(path)
    for name in content:
        if name not in ("seeds", "grid", "quick"):
            raise unknown(f"name in {path}:", name, ("seeds", "[[grid]]", "[quick]"))
    grids = content.get("grid")
    if not isinstance(grids, list) or not grids or not all(isinstance(grid, dict) for grid in grids):
        raise UserError(f"{path} describes no runs: it needs at least one [[grid]] table.")
    changes = content.get("quick", {})
    if not isinstance(changes, dict) or (quick and not changes):
        raise UserError(f"{path} has no [quick] table, which --quick needs.")
    own_seeds = checked("seeds", (changes if quick else content).get("seeds", content.get("seeds", [0])), Seeds)
    if not own_seeds:
        raise UserError(f"the seeds of {path} are an empty list: name at least one, or leave them out.")
    cells = [cell for grid in grids for cell in _product(path, grid)]
    _check_quick(path, changes, cells)
    if quick:
        cells = [_quicker(cell, changes) for cell in cells]
    experiments = [new_experiment(cell, seed) for cell in cells for seed in (seeds or own_seeds)]
    return list({experiment.digest: experiment for experiment in experiments}.values())


def new_experiment(cell: dict[str, Any], seed: int) -> Experiment:
    """One experiment from plain values: a preset, changed by every name that is given."""
    _check_whole(cell)
    changes = {name: value for name, value in cell.items() if name not in KEYS | {"preset"}}
    known: dict[str, Any] = {name: value for name, value in cell.items() if name in KEYS}
    method, scenario = find_method(cell["method"]), Scenario.parse(cell["scenario"])
    name = cell.get("preset", "default")
    chosen = preset(name, method, traits_of(cell["dataset"]), scenario)
    return Experiment(**(protocol_of(name, method) | known), options=new_options(method, chosen | changes), seed=seed)


def folder_of(experiment: Experiment, out: Path) -> Path:
    """A readable name that no other experiment has."""
    words = (experiment.method, Path(experiment.dataset).stem, experiment.scenario, f"s{experiment.seed}")
    return out / "-".join((*words, experiment.digest[:8]))


def _product(path: Path, grid: dict[str, Any]) -> Iterable[dict[str, Any]]:
    lists = {name: value if isinstance(value, list) else [value] for name, value in grid.items()}
    for name, values in lists.items():
        if not values:
            raise UserError(f"{name} is an empty list in {path}: give at least one value, or leave it out.")
    return (dict(zip(lists, values, strict=True)) for values in product(*lists.values()))


def _check_whole(cell: dict[str, Any]) -> None:
    for required in ("method", "dataset", "scenario"):
        if required not in cell:
            raise UserError(f"a grid must name its {required}.")
        checked(required, cell[required], str)


def _check_quick(path: Path, changes: dict[str, Any], cells: Sequence[dict[str, Any]]) -> None:
    known = {name for cell in cells for name in _names(cell)}
    for name in changes.keys() - {"seeds"} - known:
        raise unknown(f"name in the [quick] table of {path}:", name, {"seeds", *known})
    checked("tasks", changes.get("tasks"), int | None)


def _names(cell: dict[str, Any]) -> set[str]:
    """What a cell may say: the words of an experiment, and the options of its method."""
    _check_whole(cell)
    return KEYS | {"preset"} | {field.name for field in fields(find_method(cell["method"]).options)}


def _quicker(cell: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A cell with the changes that make sense for its method and data set."""
    known = _names(cell)
    wanted = {name: value for name, value in changes.items() if name in known}
    own = checked("tasks", cell.get("tasks"), int | None) or len(find_benchmark(cell["dataset"]).sizes)
    if "tasks" in wanted and wanted["tasks"] >= own:
        del wanted["tasks"]
    return cell | wanted
