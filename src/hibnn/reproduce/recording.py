"""From the folder of a finished run to its line: what else is measured of the model, and what is kept of it.

The domain and class scenarios are read out of runs of the task scenario wherever the model is the same, that is where
a method keeps a head a task: one head is chosen for a whole test set by its entropy, as in the paper. Networks that are
to be pruned lose weights by |mu| and by |mu| / sigma.
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
from hibnn.reproduce.records import READ_OUT_BY
from hibnn.reproduce.structures import packed
from hibnn.runs.changes import changed_fields
from hibnn.runs.environment import source_commit
from hibnn.runs.experiment import Experiment
from hibnn.runs.pruning import prune_run
from hibnn.runs.readout import read_out
from hibnn.runs.record import RunRecord
from hibnn.runs.setting import described

KEPT = (
    *("acc", "bwt", "fwt", "forgetting", "average_incremental_accuracy", "task_inference_accuracy", "within_task"),
    *("ece", "nll", "gibbs_accuracy", "acc_label", "acc_label_and_task", "ood_auroc", "accuracy_matrix", "accuracies"),
    *("active_units_per_task", "active_counts_per_task", "parameters", "inference_parameters", "seconds"),
    *("seconds_per_task", "cpu_seconds", "cpu_seconds_per_task", "granularity", "scenario", "task_inference", "score"),
    *("mixing", "active_units"),
)
DIGITS = 6


@dataclass(frozen=True)
class Pruning:
    """How a network is pruned: posterior draws of a prediction (50 in the paper), and percentages.

    These are half of the paper's 33, every other one: 0, 60 to 90 by 10, 95, and from there to 99.8 by 0.4.
    """

    draws: int = 50
    percentages: tuple[float, ...] = (0.0, 60.0, 70.0, 80.0, 90.0, 95.0, *GRID[10::2])


def read_outs_of(experiment: Experiment) -> tuple[Scenario, ...]:
    """The other scenarios that the same model can serve."""
    method, entry = find_method(experiment.method), find_benchmark(experiment.dataset)
    single = entry.count(experiment.tasks) == 1 or method.prefers_single_head
    if single or experiment.scenario is not Scenario.TASK:
        return ()
    # where every task has the same classes, the domain scenario has one head for all and is a run of its own
    return (Scenario.CLASS,) if entry.same_classes else (Scenario.DOMAIN, Scenario.CLASS)


def line_of(experiment: Experiment, run: RunRecord, regime: str, pruning: Pruning | None) -> dict[str, Any]:
    """The record of a finished run."""
    start, result = time.process_time(), run.result or {}
    read_outs = [_read_out(run.folder, scenario) for scenario in read_outs_of(experiment)]
    study = pruning and prune_run(run.folder, percentages=pruning.percentages, draws=pruning.draws)
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
    plain = described(json.loads(json.dumps(experiment.as_json())))
    usual = {field.name: field.default for field in fields(experiment)}
    shown = ("method", "dataset", "scenario", "seed", "options", "granularity", "evaluate_on")
    return {name: value for name, value in plain.items() if name in shown or (value != usual[name] and value != [])}


def _read_out(folder: Path, scenario: Scenario) -> dict[str, Any]:
    return _kept(read_out(folder, scenario, "task", task_inference=READ_OUT_BY, mixing="hard") | {"mixing": "hard"})


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
