"""One run: learn the tasks of a benchmark in turn, evaluate after each, write what came out."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hibnn import __version__, metrics
from hibnn.datasets import load
from hibnn.display import Display, Silent
from hibnn.errors import UserError
from hibnn.evaluation import Granularity, evaluate
from hibnn.experiments.checkpoint import write_state
from hibnn.experiments.experiment import Experiment
from hibnn.experiments.result import Record, accuracy_matrix, summarise
from hibnn.files import read_json, replacing, write_json
from hibnn.learners import Learner, Setting, find_method
from hibnn.metrics import Metric, Undefined
from hibnn.networks.heads import layout_for
from hibnn.scenarios import Benchmark, benchmark

FOREIGN_EXAMPLES = 2000


def run(
    experiment: Experiment,
    folder: Path | None = None,
    *,
    display: Display | None = None,
    device: str = "cpu",
    force: bool = False,
) -> dict[str, Any]:
    """Run an experiment and return its result; with a folder, write it there, or read it if it is there already."""
    if folder is not None and not force:
        finished = _finished(experiment, folder)
        if finished is not None:
            return finished
    display = display or Silent()
    tasks = benchmark(
        experiment.dataset,
        experiment.scenario,
        seed=experiment.seed,
        tasks=experiment.tasks,
        evaluate_on=experiment.evaluate_on,
    )
    learner = new_learner(experiment, tasks, device)
    foreign = foreign_inputs(experiment.foreign, tasks)
    if folder is not None:
        _open_folder(folder, experiment, tasks)
    record = learn_all(learner, tasks, Granularity.parse(experiment.inference), display)
    auroc = foreign_auroc(learner, record, foreign)
    result = summarise(experiment, tasks, record, learner.parameter_count(), auroc)
    if folder is not None:
        write_state(folder / "model.safetensors", learner.state())
        write_json(folder / "result.json", result)
    return result


def new_learner(experiment: Experiment, tasks: Benchmark, device: str = "cpu") -> Learner:
    """The experiment's method, ready for its first task."""
    method = find_method(experiment.method)
    layout = layout_for(tasks, experiment.heads, method.prefers_single_head)
    setting = Setting(tasks.inputs, layout, experiment.seed, torch.device(device))
    return method.learner(experiment.options, setting)


def learn_all(learner: Learner, tasks: Benchmark, granularity: Granularity, display: Display) -> Record:
    """Every task in turn, with an evaluation on all of them after each."""
    record = Record()
    for number, task in enumerate(tasks.tasks):
        start = time.perf_counter()
        learner.begin(task)
        display.begin(number, len(tasks.tasks), task.name, learner.epochs)
        for epoch in range(learner.epochs):
            display.epoch(learner.epoch(epoch))
        learner.end()
        record.seconds.append(time.perf_counter() - start)
        record.rows.append(evaluate(learner, tasks, granularity))
        record.active_units.append(learner.active_units())
        display.end(accuracy_matrix(record.rows, tasks)[number], learner.active_units())
        if number + 1 < len(tasks.tasks):
            record.rows[-1] = [_forget_details(one) for one in record.rows[-1]]
    return record


def foreign_inputs(name: str | None, tasks: Benchmark) -> np.ndarray | None:
    """The first test inputs of a foreign data set, which must have the benchmark's size."""
    if name is None:
        return None
    dataset = load(name)
    if dataset.test_x.shape[1] != tasks.inputs:
        raise UserError(
            f"{name} has {dataset.test_x.shape[1]} numbers an example and {tasks.name} has {tasks.inputs}: "
            "choose a foreign data set of the same size."
        )
    return np.divide(dataset.test_x[:FOREIGN_EXAMPLES], dataset.scale, dtype=np.float32)


def foreign_auroc(learner: Learner, record: Record, foreign: np.ndarray | None) -> Metric:
    """How well predictive entropy tells each task's own test data from foreign data, under the task's head."""
    if foreign is None:
        return Undefined("no foreign data set was named (--foreign)")
    values = []
    for number, own in enumerate(record.rows[-1]):
        head = min(number, learner.task)
        entropy = learner.predict(foreign, head, learner.setting.generator("foreign", number)).entropy
        values.append(metrics.ood_auroc(own.entropy, entropy.cpu().numpy()))
    return float(np.mean(values))


def _forget_details(one: Any) -> Any:
    empty = np.empty((0,))
    return replace(one, probabilities=empty, entropy=empty, targets=empty)


def _finished(experiment: Experiment, folder: Path) -> dict[str, Any] | None:
    if not (folder / "result.json").exists():
        return None
    result = read_json(folder / "result.json")
    if result.get("experiment") != experiment.digest:
        raise UserError(f"{folder} holds the result of another experiment: choose another --out, or add --force.")
    return result


def _open_folder(folder: Path, experiment: Experiment, tasks: Benchmark) -> None:
    try:
        write_json(folder / "config.json", experiment.as_json() | {"hibnn": __version__})
    except OSError as error:
        raise UserError(f"cannot write to {folder} ({error.strerror}): choose another --out.") from None
    for name, array in tasks.arrays.items():
        with replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
            np.save(file, array)
