"""From the folder of a finished run to its line: what else is measured of the model, and what is kept of it.

The domain and class scenarios are read out of runs of the task scenario wherever the model is the same, that is where a
method keeps a head a task: one head is chosen for a whole test set by its entropy, as in the paper. Networks of one task
with Gaussian weights are pruned by |mu| and by |mu| / sigma.
"""

import json
import time
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hibnn import __version__
from hibnn.benchmarks import Scenario, find_benchmark
from hibnn.evaluation.pruning import GRID
from hibnn.evaluation.pruning.study import Study, as_json
from hibnn.learners import find_method
from hibnn.reproduce.structures import packed
from hibnn.runs.changes import changed_fields
from hibnn.runs.environment import source_commit
from hibnn.runs.experiment import Experiment
from hibnn.runs.pruning import prune_run
from hibnn.runs.readout import read_out
from hibnn.runs.record import RunRecord

KEPT = (
    *("acc", "bwt", "fwt", "forgetting", "average_incremental_accuracy", "task_inference_accuracy", "within_task"),
    *("ece", "nll", "gibbs_accuracy", "acc_label", "acc_label_and_task", "ood_auroc", "accuracy_matrix", "accuracies"),
    *("active_units_per_task", "active_counts_per_task", "parameters", "inference_parameters", "seconds"),
    *("seconds_per_task", "cpu_seconds", "cpu_seconds_per_task", "granularity", "scenario", "task_inference", "score"),
    *("mixing", "active_units"),
)
DIGITS = 6


@dataclass(frozen=True)
class Extras:
    """What is measured of a finished model besides its own result."""

    read_outs: tuple[Scenario, ...] = ()
    draws: int | None = None
    """posterior draws of a pruning study; None: it is not pruned"""
    percentages: tuple[float, ...] = GRID


def extras_of(experiment: Experiment, draws: int) -> Extras:
    """The scenarios that the same model can serve, and whether it is pruned, with so many draws."""
    method, entry = find_method(experiment.method), find_benchmark(experiment.dataset)
    tasks = entry.count(experiment.tasks)
    if tasks == 1:
        return Extras(draws=draws if method.prunable else None)
    if experiment.scenario is not Scenario.TASK or method.prefers_single_head:
        return Extras()
    # where every task has the same classes, the domain scenario has one head for all and is a run of its own
    return Extras((Scenario.CLASS,) if entry.same_classes else (Scenario.DOMAIN, Scenario.CLASS))


def line_of(experiment: Experiment, run: RunRecord, regime: str, extras: Extras) -> dict[str, Any]:
    """The record of a finished run."""
    start, result = time.process_time(), run.result or {}
    read_outs = [_read_out(run.folder, scenario) for scenario in extras.read_outs]
    study = None if extras.draws is None else prune_run(run.folder, percentages=extras.percentages, draws=extras.draws)
    line = {
        "digest": experiment.digest,
        "experiment": content_of(experiment),
        "changed": changed_fields(experiment),
        "regime": regime,
        "version": __version__,
        "commit": source_commit(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "result": _kept(result),
        "read_outs": read_outs,
        "structure": packed(run.structure),
        "pruning": None if study is None else _pruning(study),
    }
    training, evaluation = (float(result.get(name) or 0.0) for name in ("cpu_seconds", "evaluation_cpu_seconds"))
    cpu = {"training": training, "evaluation": evaluation, "extras": time.process_time() - start}
    full = line | {"cpu": {name: round(value, 2) for name, value in cpu.items()}}
    return {name: value for name, value in full.items() if value not in (None, {}, [])}


def content_of(experiment: Experiment) -> dict[str, Any]:
    """The experiment as plain values: every option, and the other fields where they are not the defaults."""
    plain = json.loads(json.dumps(experiment.as_json()))
    usual = {field.name: field.default for field in fields(experiment)}
    shown = ("method", "dataset", "scenario", "seed", "options", "granularity", "evaluate_on")
    return {name: value for name, value in plain.items() if name in shown or (value != usual[name] and value != [])}


def _read_out(folder: Path, scenario: Scenario) -> dict[str, Any]:
    return _kept(read_out(folder, scenario, "task", mixing="hard") | {"mixing": "hard"})


def _pruning(study: Study) -> dict[str, Any]:
    """A study without what the experiment says already."""
    content = as_json(study)
    curves = [{name: value for name, value in curve.items() if name != "removed"} for curve in content["curves"]]
    return _kept({"weights": study.weights, "draws": study.draws, "curves": curves}, ("weights", "draws", "curves"))


def _kept(numbers: dict[str, Any], names: tuple[str, ...] = KEPT) -> dict[str, Any]:
    return {name: _rounded(numbers[name]) for name in names if numbers.get(name) is not None}


def _rounded(value: Any) -> Any:
    """Shares of at most some ten thousand examples need no more digits."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return {name: _rounded(item) for name, item in value.items()} if isinstance(value, dict) else value
