"""Judge a finished run again: another scenario, granularity or score, without training anew."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hibnn.benchmarks import Benchmark, Scenario
from hibnn.continual import ContinualModel
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity, evaluate
from hibnn.files.atomic import write_json
from hibnn.files.container import undamaged
from hibnn.files.reading import read_object
from hibnn.nn.layout import Layout
from hibnn.runs.checkpoint import read_state
from hibnn.runs.experiment import Experiment
from hibnn.runs.result import Kept, last_row_metrics
from hibnn.runs.run import load_tasks
from hibnn.runs.trainer import new_inference, new_model

AGAIN = "use an intact copy, or run it again with --force"


def load_run(
    folder: Path, device: str = "cpu", prediction_draws: int | None = None
) -> tuple[Experiment, Benchmark, ContinualModel]:
    """What was run, on which tasks, and the model as it was at the end.

    `prediction_draws` replaces the posterior draws of its predictions, where the method has any.
    """
    experiment, _ = read_finished(folder)
    tasks = load_tasks(experiment)
    if prediction_draws is not None and hasattr(experiment.options, "prediction_draws"):
        options: Any = experiment.options
        experiment = replace(experiment, options=replace(options, prediction_draws=prediction_draws))
    model = new_model(experiment, tasks, device)
    state = read_state(folder / "model.safetensors")
    with undamaged(folder / "model.safetensors", AGAIN):
        model.restore(state)
    return experiment, tasks, model


def read_finished(folder: Path) -> tuple[Experiment, dict[str, Any]]:
    """What was run and what came out; a folder without a finished run, or with damaged files, is refused."""
    if not (folder / "result.json").exists():
        raise UserError(f"{folder} holds no finished run: give a folder with a result.json.")
    with undamaged(folder / "config.json", AGAIN):
        experiment = Experiment.from_json(read_object(folder / "config.json"))
    with undamaged(folder / "result.json", AGAIN):
        result = read_object(folder / "result.json")
        result["experiment"]
    return experiment, result


def stored_read_out(
    folder: Path, scenario: Scenario, granularity: str, task_inference: str = "entropy"
) -> dict[str, Any]:
    """The read-out of a run in another scenario, computed once and kept beside its result."""
    told_by = "" if task_inference == "entropy" else f"-{task_inference}"
    path = folder / f"{scenario}-{granularity.replace(':', '-')}{told_by}.json"
    if not path.exists():
        write_json(path, read_out(folder, scenario, granularity, task_inference=task_inference))
    with undamaged(path, "delete it, and it is made again"):
        return read_object(path)


def read_out(
    folder: Path,
    scenario: Scenario,
    granularity: str,
    score: str = "predictive",
    task_inference: str = "auto",
    mixing: str | None = None,
) -> dict[str, Any]:
    """Accuracy after the last task in another scenario; only a head a task can serve every scenario.

    `mixing` is the run's own unless given. With `hard` nothing is calibrated: the head of highest evidence answers.

    A run that learned this inference of tasks uses it. Another one is learned now, from the training data; the network
    has seen the rows that then calibrate it.
    """
    before, tasks, model = load_run(folder)
    setting = model.learner.setting
    _check_serves(folder, before, tasks, setting.layout, scenario)
    way = {"scenario": str(scenario), "granularity": granularity, "score": score, "task_inference": task_inference}
    way |= {} if mixing is None else {"mixing": mixing}
    if before.density_scores == before.usual_scores():  # chosen by nobody, and perhaps for want of a density
        way["density_scores"] = "auto"
    experiment = Experiment.from_json(before.as_json() | way)
    tasks = tasks.in_scenario(scenario)
    learned = model.inference
    model.inference = new_inference(experiment, setting)
    if model.inference is not None:
        if learned is not None and learned.kind == experiment.task_inference:
            model.inference.restore(learned.state())
        elif learned is not None and learned.has_density and experiment.task_inference == "entropy":
            model.inference.temperature = learned.temperature  # of the network alone, as the ledger has it
        elif model.inference.holds_out:
            learn_inference(model, tasks)
    row = evaluate(model, tasks, Granularity.parse(granularity))
    return {
        "method": experiment.method,
        "dataset": experiment.dataset,
        "scenario": str(scenario),
        "granularity": granularity,
        "task_inference": experiment.task_inference,
        "score": score,
        "seed": experiment.seed,
        **Kept.of(model).as_json(),
        **last_row_metrics(tasks, row),
    }


def _check_serves(folder: Path, run: Experiment, tasks: Benchmark, layout: Layout, scenario: Scenario) -> None:
    """Refuse a scenario for which the heads of a run were not made."""
    if layout is not Layout.MULTI and scenario is not run.scenario:
        raise UserError(f"{folder} has a single head made for the {run.scenario} scenario: run it anew.")
    if tasks.common_outputs and not tasks.single_domain_head and scenario is Scenario.DOMAIN:
        raise UserError(
            f"the heads of {folder} answer with classes of all tasks (--class-outputs all), and the domain scenario "
            "asks for labels that tasks share: run it anew."
        )


def learn_inference(model: ContinualModel, benchmark: Benchmark) -> None:
    """Learn and calibrate an inference of tasks for a network that has learned them all."""
    learner = model.learner
    sizes, experiences = learner.head_sizes, learner.experiences
    for number, task in enumerate(benchmark.tasks[: len(sizes)]):
        learner.head_sizes, learner.experiences = sizes[: number + 1], experiences[: number + 1]  # as it then stood
        model.learn_inference(task.train)
    learner.head_sizes, learner.experiences = sizes, experiences
