"""Run folders as the engine writes them, from real experiments, without running anything."""

import json
from pathlib import Path

from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import RunFolder
from hibnn.sweeps.grid import new_experiment

USUAL = {"method": "finetune", "dataset": "split-digits", "scenario": "task"}


def experiment_of(seed: int = 0, **changes) -> Experiment:
    """An experiment, named like the keys of a sweep's grid."""
    return new_experiment(USUAL | changes, seed)


def write_run(folder: Path, acc: float | None = None, status: dict | None = None, seed: int = 0, **changes) -> Path:
    """The folder of a run; without an accuracy it is unfinished. Its three tasks: the first one loses a tenth."""
    experiment = experiment_of(seed, **changes)
    folder.mkdir(parents=True, exist_ok=True)
    RunFolder(folder)._write_config(experiment)
    if acc is not None:
        (folder / "result.json").write_text(json.dumps(result_of(experiment, acc)))
    if status is not None:
        (folder / "status.json").write_text(json.dumps(status))
    return folder


def result_of(experiment: Experiment, acc: float) -> dict:
    """What the run of an experiment could have come to."""
    best = min(1.0, acc + 0.05)
    return {
        "acc": acc,
        "forgetting": 0.05,
        "task_inference_accuracy": None if experiment.scenario == "task" else 0.9,
        "ece": 0.01,
        "accuracy_matrix": [[best, None, None], [acc, acc, None], [acc - 0.05, acc, best]],
        "active_units": [70.0],
        "active_units_per_task": [[40.0], [60.0], [70.0]],
        "parameters": 1000,
        "seconds": 12.0,
        "experiment": experiment.digest,
    }
