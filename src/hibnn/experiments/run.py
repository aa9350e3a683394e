"""One run: learn the tasks of a benchmark in turn, evaluate after each, write what came out.

A run with a folder leaves a checkpoint there every few seconds. Started again with the same experiment it goes on from
there and ends with the same numbers, because all random numbers come from streams named by task and epoch.
"""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hibnn import __version__, metrics
from hibnn.datasets import load
from hibnn.display import Display, Silent
from hibnn.errors import UserError
from hibnn.evaluation import Granularity, TaskEvaluation, evaluate
from hibnn.experiments.checkpoint import read_state, write_state
from hibnn.experiments.experiment import Experiment
from hibnn.experiments.result import Record, summarise
from hibnn.experiments.structure import append_structure, median_active, structure_of
from hibnn.files import read_json, replacing, write_json
from hibnn.inference.companion import TaskInference, held_out_part
from hibnn.inference.predict import outlier_scores
from hibnn.learners import Learner, Setting, State, find_method
from hibnn.metrics import Metric, Undefined
from hibnn.networks.heads import Layout, layout_for
from hibnn.scenarios import Benchmark, Scenario, Split, Task, benchmark

FOREIGN_EXAMPLES = 2000
SECONDS_BETWEEN_CHECKPOINTS = 5.0


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
    tasks = benchmark(
        experiment.dataset,
        experiment.scenario,
        seed=experiment.seed,
        tasks=experiment.tasks,
        evaluate_on=experiment.evaluate_on,
    )
    foreign = foreign_inputs(experiment.foreign, tasks)
    current = Run(experiment, tasks, folder, device)
    if folder is not None:
        current.open_folder(force)
    last = current.learn_all(display or Silent())
    learner = current.learner
    auroc = foreign_auroc(learner, current.inference, last, foreign)
    stored = current.inference.numbers() if current.inference else 0
    result = summarise(experiment, tasks, current.record, last, learner.parameter_count(), stored, auroc)
    if folder is not None:
        write_state(folder / "model.safetensors", current.state())
        write_json(folder / "result.json", result)
        current.checkpoint.unlink(missing_ok=True)
    return result


def new_learner(experiment: Experiment, tasks: Benchmark, device: str = "cpu") -> Learner:
    """The experiment's method, ready for its first task."""
    method = find_method(experiment.method)
    wish = "multi" if experiment.infer == "density" else experiment.heads
    layout = layout_for(tasks, wish, method.prefers_single_head)
    setting = Setting(tasks.inputs, layout, experiment.seed, torch.device(device))
    return method.learner(experiment.options, setting)


def new_inference(experiment: Experiment, setting: Setting) -> TaskInference | None:
    """The experiment's inference of tasks, or None where nothing is inferred and no density asked for."""
    told = experiment.scenario is Scenario.TASK or setting.layout is not Layout.MULTI
    if told and experiment.infer != "density":
        return None
    return TaskInference(
        experiment.infer,
        setting,
        mixing=experiment.mixing,
        score=experiment.score,
        options=experiment.density_options(),
    )


class Run:
    """A learner on its way through the tasks: where it stands, and what has been recorded."""

    def __init__(self, experiment: Experiment, tasks: Benchmark, folder: Path | None, device: str) -> None:
        self.experiment, self.tasks, self.folder = experiment, tasks, folder
        self.learner = new_learner(experiment, tasks, device)
        self.inference = new_inference(experiment, self.learner.setting)
        self.record = Record()
        self.number, self.epoch = 0, 0
        self.checkpoint = (folder or Path()) / "checkpoint.safetensors"
        self.written = time.perf_counter()

    def open_folder(self, force: bool) -> None:
        """Write what the run is made of, and take up an earlier run that did not finish."""
        assert self.folder is not None
        try:
            earlier = read_json(self.folder / "config.json") if (self.folder / "config.json").exists() else {}
            write_json(
                self.folder / "config.json",
                self.experiment.as_json() | {"hibnn": __version__, "experiment": self.experiment.digest},
            )
        except OSError as error:
            raise UserError(f"cannot write to {self.folder} ({error.strerror}): choose another --out.") from None
        for name, array in self.tasks.arrays.items():
            with replacing(self.folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
                np.save(file, array)
        if force or earlier.get("experiment") != self.experiment.digest:
            for stale in ("checkpoint.safetensors", "structure.safetensors", "result.json"):
                (self.folder / stale).unlink(missing_ok=True)
        elif self.checkpoint.exists():
            self.resume(read_state(self.checkpoint))

    def resume(self, state: State) -> None:
        """Stand where the checkpoint was written."""
        progress = state.facts["run"]
        self.number, self.epoch = progress["task"], progress["epoch"]
        self.record = Record(**progress["record"])
        self.learner.restore(state)
        if self.inference is not None:
            self.inference.restore(state)
        used = range(self.learner.task + 1) if self.learner.keeps_data else [self.number] if self.epoch else []
        for number in used:
            self.learner.attach(self.part(number)[0].train.load(), number)

    def part(self, number: int) -> tuple[Task, Split | None]:
        """A task as the learner sees it, and the rows that are held out to calibrate the inference of tasks."""
        task = self.tasks.tasks[number]
        if self.inference is None or not self.inference.holds_out:
            return task, None
        return held_out_part(task, self.experiment.seed)

    def learn_all(self, display: Display) -> list[TaskEvaluation]:
        """Every task in turn, with an evaluation on all of them after each; returns the last evaluation."""
        granularity = Granularity.parse(self.experiment.inference)
        evaluations: list[TaskEvaluation] = []
        if self.number == len(self.tasks.tasks):
            return evaluate(self.learner, self.tasks, granularity, self.experiment.score, self.inference)
        while self.number < len(self.tasks.tasks):
            self.learn_task(display)
            evaluations = evaluate(self.learner, self.tasks, granularity, self.experiment.score, self.inference)
            accuracies = [one.accuracy(self.tasks.scenario) for one in evaluations]
            self.record.accuracies.append(accuracies)
            self.record.active_units.append(self.learner.active_units())
            structure = structure_of(self.learner)
            self.record.active_counts.append(median_active(structure))
            if self.folder is not None and structure:
                append_structure(self.folder / "structure.safetensors", structure)
            self.number, self.epoch = self.number + 1, 0
            self.save()
            display.end(np.array(accuracies), self.learner.active_units())
        return evaluations

    def learn_task(self, display: Display) -> None:
        """The current task, from its start or from where the checkpoint stood."""
        learner = self.learner
        task, held = self.part(self.number)
        if self.epoch == 0:
            self.record.seconds.append(0.0)
            start = time.perf_counter()
            if self.inference is not None and held is not None:
                if self.inference.has_density:
                    display.begin(self.number, len(self.tasks.tasks), f"{task.name}, density", len(task.classes))
                self.inference.begin(task.train.load(), held, display.epoch)
            learner.begin(task)
            self.record.seconds[-1] += time.perf_counter() - start
        display.begin(self.number, len(self.tasks.tasks), task.name, learner.epochs, self.epoch)
        while self.epoch < learner.epochs:
            start = time.perf_counter()
            display.epoch(learner.epoch(self.epoch))
            self.record.seconds[-1] += time.perf_counter() - start
            self.epoch += 1
            if time.perf_counter() - self.written > SECONDS_BETWEEN_CHECKPOINTS:
                self.save()
        start = time.perf_counter()
        learner.end()
        if self.inference is not None and held is not None:
            self.inference.end(learner, held)
        self.record.seconds[-1] += time.perf_counter() - start

    def save(self) -> None:
        """Write a checkpoint, if the run has a folder."""
        if self.folder is None:
            return
        state = self.state()
        progress = {"task": self.number, "epoch": self.epoch, "record": asdict(self.record)}
        write_state(self.checkpoint, State(state.tensors, state.facts | {"run": progress}))
        self.written = time.perf_counter()

    def state(self) -> State:
        """What learner and inference know."""
        state = self.learner.state()
        if self.inference is None:
            return state
        beside = self.inference.state()
        return State(state.tensors | beside.tensors, state.facts | beside.facts)


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


def foreign_auroc(
    learner: Learner, inference: TaskInference | None, last: list[TaskEvaluation], foreign: np.ndarray | None
) -> Metric:
    """How well a density tells all tasks' own test data from foreign data.

    Without a density: how well predictive entropy tells each task's, under its head.
    """
    if foreign is None:
        return Undefined("no foreign data set was named (--foreign)")
    if inference is not None and inference.has_density:
        known = np.concatenate([one.outlier_scores for one in last if one.outlier_scores is not None])
        return metrics.ood_auroc(known, outlier_scores(inference, inference.joint(torch.from_numpy(foreign))).numpy())
    values = []
    for number, own in enumerate(last):
        head = min(number, learner.task)
        entropy = learner.predict(foreign, head, learner.setting.generator("foreign", number)).entropy
        values.append(metrics.ood_auroc(own.entropy, entropy.cpu().numpy()))
    return float(np.mean(values))


def _finished(experiment: Experiment, folder: Path) -> dict[str, Any] | None:
    if not (folder / "result.json").exists():
        return None
    result = read_json(folder / "result.json")
    if result.get("experiment") != experiment.digest:
        raise UserError(f"{folder} holds the result of another experiment: choose another --out, or add --force.")
    return result
