"""Judging a finished run again: another scenario, granularity or score, without training anew."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.evaluation import Granularity, evaluate
from hibnn.experiments.checkpoint import read_state
from hibnn.experiments.experiment import Experiment
from hibnn.experiments.learning import new_inference, new_learner
from hibnn.experiments.result import last_row_metrics
from hibnn.experiments.run import load_tasks
from hibnn.files import read_json, write_json
from hibnn.inference.companion import TaskInference, held_out_part
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


def stored_read_out(folder: Path, scenario: Scenario, inference: str, infer: str = "entropy") -> dict[str, Any]:
    """The read-out of a run in another scenario, computed once and kept beside its result."""
    told_by = "" if infer == "entropy" else f"-{infer}"
    path = folder / f"{scenario}-{inference.replace(':', '-')}{told_by}.json"
    if not path.exists():
        write_json(path, read_out(folder, scenario, inference, infer=infer))
    return read_json(path)


def stored_read_outs(folder: Path) -> list[dict[str, Any]]:
    """Every read-out by entropy, as the paper has it, kept beside a run's result."""
    return [read_json(path) for path in sorted(folder.glob("*.json")) if READ_OUT.fullmatch(path.name)]


def read_out(
    folder: Path, scenario: Scenario, inference: str, score: str = "predictive", infer: str = "entropy"
) -> dict[str, Any]:
    """Accuracy after the last task in another scenario; only a head a task can serve every scenario.

    A run that learned this inference of tasks uses it. Another one is learned now, from the training data; the network
    has seen the rows that then calibrate it.
    """
    before, tasks, learner = load_run(folder)
    if learner.setting.layout is not Layout.MULTI and scenario is not before.scenario:
        raise UserError(f"{folder} has a single head made for the {before.scenario} scenario: run it anew.")
    experiment = Experiment.from_json(
        before.as_json() | {"scenario": str(scenario), "inference": inference, "score": score, "infer": infer}
    )
    tasks = replace(tasks, scenario=scenario)
    companion = new_inference(experiment, learner.setting)
    if companion is not None:
        state = read_state(folder / "model.safetensors")
        if before.infer == infer and "inference" in state.facts:
            companion.restore(state)
        elif companion.holds_out:
            learn_inference(companion, tasks, learner)
    row = evaluate(learner, tasks, Granularity.parse(inference), experiment.score, companion)
    return {
        "method": experiment.method,
        "dataset": experiment.dataset,
        "scenario": str(scenario),
        "inference": inference,
        "infer": infer,
        "score": score,
        "seed": experiment.seed,
        "inference_parameters": companion.numbers() if companion else 0,
        **last_row_metrics(tasks, row),
    }


def learn_inference(companion: TaskInference, tasks: Benchmark, learner: Learner) -> None:
    """Learn and calibrate an inference of tasks for a network that has learned them all."""
    sizes, portions = list(learner.head_sizes), list(learner.portions)
    for number, task in enumerate(tasks.tasks[: len(sizes)]):
        part, held = held_out_part(task, learner.setting.seed)
        learner.head_sizes, learner.portions = sizes[: number + 1], portions[: number + 1]  # as when it was learned
        if companion.has_density:
            companion.densities.learn(part.train.load(), held, learner=learner)
        companion.end(learner, held)
    learner.head_sizes, learner.portions = sizes, portions
