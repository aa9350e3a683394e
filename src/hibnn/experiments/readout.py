"""Judging a finished run again: another scenario, granularity or score, without training anew."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.evaluation import Granularity, evaluate
from hibnn.experiments.checkpoint import read_state
from hibnn.experiments.experiment import Experiment
from hibnn.experiments.result import last_row_metrics
from hibnn.experiments.run import load_tasks, new_learner
from hibnn.files import read_json, write_json
from hibnn.learners import Learner
from hibnn.networks.heads import Layout
from hibnn.scenarios import Benchmark, Scenario


def load_run(
    folder: Path, device: str = "cpu", prediction_draws: int | None = None
) -> tuple[Experiment, Benchmark, Learner]:
    """What was run, on which tasks, and the learner as it was at the end.

    `prediction_draws` replaces the posterior draws of its predictions, where the method has any.
    """
    if not (folder / "result.json").exists():
        raise UserError(f"{folder} holds no finished run: give a folder with a result.json.")
    experiment = Experiment.from_json(read_json(folder / "config.json"))
    tasks = load_tasks(experiment)
    if prediction_draws is not None and hasattr(experiment.options, "prediction_draws"):
        options: Any = experiment.options
        experiment = replace(experiment, options=replace(options, prediction_draws=prediction_draws))
    learner = new_learner(experiment, tasks, device)
    learner.restore(read_state(folder / "model.safetensors"))
    return experiment, tasks, learner


READ_OUT = re.compile(r"(task|domain|class)-(sample|task|batch-\d+)\.json")
"""Names of stored read-outs: scenario and inference."""


def stored_read_out(folder: Path, scenario: Scenario, inference: str) -> dict[str, Any]:
    """The read-out of a run in another scenario, computed once and kept beside its result."""
    path = folder / f"{scenario}-{inference.replace(':', '-')}.json"
    if not path.exists():
        write_json(path, read_out(folder, scenario, inference))
    return read_json(path)


def stored_read_outs(folder: Path) -> list[dict[str, Any]]:
    """Every read-out kept beside a run's result."""
    return [read_json(path) for path in sorted(folder.glob("*.json")) if READ_OUT.fullmatch(path.name)]


def read_out(folder: Path, scenario: Scenario, inference: str, score: str = "predictive") -> dict[str, Any]:
    """Accuracy after the last task in another scenario; only a head a task can serve every scenario."""
    experiment, tasks, learner = load_run(folder)
    if learner.setting.layout is not Layout.MULTI and scenario is not experiment.scenario:
        raise UserError(f"{folder} has a single head made for the {experiment.scenario} scenario: run it anew.")
    experiment = replace(experiment, scenario=scenario, inference=inference, score=score)
    tasks = replace(tasks, scenario=scenario)
    row = evaluate(learner, tasks, Granularity.parse(inference), experiment.score)
    return {
        "method": experiment.method,
        "dataset": experiment.dataset,
        "scenario": str(scenario),
        "inference": inference,
        "score": score,
        "seed": experiment.seed,
        **last_row_metrics(tasks, row),
    }
