"""EvaluationProtocol a finished run again: another scenario, granularity or score, without training anew."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hibnn.benchmarks import Benchmark, Scenario
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity, evaluate
from hibnn.files.atomic import read_json, write_json
from hibnn.learners import Learner
from hibnn.nn.networks.heads import Layout
from hibnn.runs.checkpoint import read_state
from hibnn.runs.experiment import Experiment
from hibnn.runs.result import last_row_metrics
from hibnn.runs.run import load_tasks
from hibnn.runs.trainer import new_inference, new_learner
from hibnn.tasks.task_inference import TaskInference, held_out_part


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


def stored_read_out(
    folder: Path, scenario: Scenario, granularity: str, task_inference: str = "entropy"
) -> dict[str, Any]:
    """The read-out of a run in another scenario, computed once and kept beside its result."""
    told_by = "" if task_inference == "entropy" else f"-{task_inference}"
    path = folder / f"{scenario}-{granularity.replace(':', '-')}{told_by}.json"
    if not path.exists():
        write_json(path, read_out(folder, scenario, granularity, task_inference=task_inference))
    return read_json(path)


def read_out(
    folder: Path, scenario: Scenario, granularity: str, score: str = "predictive", task_inference: str = "entropy"
) -> dict[str, Any]:
    """Accuracy after the last task in another scenario; only a head a task can serve every scenario.

    A run that learned this inference of tasks uses it. Another one is learned now, from the training data; the network
    has seen the rows that then calibrate it.
    """
    before, tasks, learner = load_run(folder)
    if learner.setting.layout is not Layout.MULTI and scenario is not before.scenario:
        raise UserError(f"{folder} has a single head made for the {before.scenario} scenario: run it anew.")
    experiment = Experiment.from_json(
        before.as_json()
        | {"scenario": str(scenario), "granularity": granularity, "score": score, "task_inference": task_inference}
    )
    tasks = replace(tasks, scenario=scenario)
    companion = new_inference(experiment, learner.setting)
    if companion is not None:
        state = read_state(folder / "model.safetensors")
        if before.task_inference == task_inference and "inference" in state.metadata:
            companion.restore(state)
        elif companion.holds_out:
            learn_inference(companion, tasks, learner)
    row = evaluate(learner, tasks, Granularity.parse(granularity), experiment.score, companion)
    return {
        "method": experiment.method,
        "dataset": experiment.dataset,
        "scenario": str(scenario),
        "granularity": granularity,
        "task_inference": task_inference,
        "score": score,
        "seed": experiment.seed,
        "inference_parameters": companion.parameter_count() if companion else 0,
        **last_row_metrics(tasks, row),
    }


def learn_inference(companion: TaskInference, tasks: Benchmark, learner: Learner) -> None:
    """Learn and calibrate an inference of tasks for a network that has learned them all."""
    sizes, experiences = list(learner.head_sizes), list(learner.experiences)
    for number, task in enumerate(tasks.tasks[: len(sizes)]):
        part, held = held_out_part(task, learner.setting.seed)
        learner.head_sizes, learner.experiences = (
            sizes[: number + 1],
            experiences[: number + 1],
        )  # as when it was learned
        if companion.has_density:
            companion.densities.learn(part.train.load(), held, learner=learner)
        companion.end(learner, held)
    learner.head_sizes, learner.experiences = sizes, experiences
