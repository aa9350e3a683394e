"""The way of a learner through the tasks: an evaluation after each, and checkpoints from which it goes on exactly.

All random numbers come from streams named by task and epoch, so a checkpoint holds no generator. One is written after
every epoch, unless epochs are so short that this would take more than a twentieth of the time; then less often.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hibnn.benchmarks import Benchmark, Scenario, Split, Task
from hibnn.cli.display import Display
from hibnn.errors import Interruption
from hibnn.evaluation.evaluate import Granularity, TaskEvaluation, evaluate
from hibnn.files.atomic import writing_to
from hibnn.learners import Learner, Setting, State, find_method
from hibnn.learners.training import check_finite
from hibnn.nn.networks.heads import Layout, layout_for
from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import RunFolder
from hibnn.runs.predictions import check_predictions
from hibnn.runs.result import Record
from hibnn.runs.structure import median_active, structure_of
from hibnn.tasks.density.density import Of
from hibnn.tasks.task_inference import TaskInference, held_out_part

CHECKPOINT_SHARE = 0.05
STRUCTURE = "structure."
Stop = Callable[[], int | None]


def new_learner(experiment: Experiment, benchmark: Benchmark, device: str = "cpu") -> Learner:
    """The experiment's method, ready for its first task."""
    method = find_method(experiment.method)
    wish = "multi" if experiment.task_inference == "density" else experiment.heads
    layout = layout_for(benchmark, wish, method.prefers_single_head)
    setting = Setting(benchmark.inputs, layout, experiment.seed, torch.device(device))
    return method.learner(experiment.options, setting)


def new_inference(experiment: Experiment, setting: Setting) -> TaskInference | None:
    """The experiment's inference of tasks, or None where nothing is inferred and no density asked for."""
    told = experiment.scenario is Scenario.TASK or setting.layout is not Layout.MULTI
    if told and experiment.task_inference != "density":
        return None
    return TaskInference(
        experiment.task_inference,
        setting,
        mixing=experiment.mixing,
        score=experiment.score,
        options=experiment.density_options(),
    )


class Trainer:
    """A learner on its way: where it stands, and what has been recorded. `stop` gives the signal to end, or None."""

    def __init__(
        self, experiment: Experiment, benchmark: Benchmark, learner: Learner, store: RunFolder | None, stop: Stop
    ) -> None:
        self.experiment, self.benchmark, self.learner, self.store, self.stop = (
            experiment,
            benchmark,
            learner,
            store,
            stop,
        )
        self.inference = new_inference(experiment, learner.setting)
        self.record = Record()
        self.structure: dict[str, Tensor] = {}
        self.number, self.epoch = 0, 0
        self.saved, self.cost = time.perf_counter(), 0.0

    def resume(self, state: State) -> None:
        """Stand where the checkpoint was written."""
        progress = state.metadata["run"]
        self.number, self.epoch = progress["task"], progress["epoch"]
        self.record = Record(**progress["record"])
        own = {name: tensor for name, tensor in state.tensors.items() if not name.startswith(STRUCTURE)}
        self.structure = {name[len(STRUCTURE) :]: state.tensors[name] for name in state.tensors.keys() - own.keys()}
        self.learner.restore(State(own, state.metadata))
        if self.inference is not None:
            self.inference.restore(state)
        used = range(self.learner.task + 1) if self.learner.keeps_data else [self.number] if self.epoch else []
        for number in used:
            self.learner.attach(self.part(number)[0].train.load(), number)

    def part(self, number: int) -> tuple[Task, Split | None]:
        """A task as the learner sees it, and the rows that are held out to calibrate the inference of tasks."""
        task = self.benchmark.tasks[number]
        if self.inference is None or not self.inference.holds_out:
            return task, None
        return held_out_part(task, self.experiment.seed)

    def learn_all(self, display: Display) -> list[TaskEvaluation]:
        """Every task in turn, with an evaluation on all of them after each; returns the last evaluation."""
        evaluations: list[TaskEvaluation] = []
        while self.number < len(self.benchmark.tasks):
            self.learn_task(display)
            evaluations = self.evaluate()
            self.note_task(evaluations)
            self.number, self.epoch = self.number + 1, 0
            self.save()
            display.end(np.array(self.record.accuracies[-1]), self.learner.active_units())
            self.end_if_asked()
        return evaluations or self.evaluate()

    def evaluate(self) -> list[TaskEvaluation]:
        """How the learner does on all tasks so far."""
        granularity = Granularity.parse(self.experiment.granularity)
        evaluations = evaluate(self.learner, self.benchmark, granularity, self.experiment.score, self.inference)
        check_predictions(evaluations)
        return evaluations

    def learn_task(self, display: Display) -> None:
        """The current task, from its start or from where the checkpoint stood."""
        learner = self.learner
        task, held = self.part(self.number)
        if self.epoch == 0:
            self.record.seconds.append(0.0)
            self.timed(lambda: self.begin_task(task, held, display))
        display.begin(self.number, len(self.benchmark.tasks), task.name, learner.epochs, self.epoch)
        while self.epoch < learner.epochs:
            seconds, terms = self.timed(lambda: learner.epoch(self.epoch))
            check_finite(terms, f"epoch {self.epoch + 1} of task {self.number + 1}")
            self.note_epoch(terms, seconds)
            self.epoch += 1
            display.epoch(terms)
            if time.perf_counter() - self.saved > self.cost / CHECKPOINT_SHARE:
                self.save()
            self.end_if_asked()
        self.timed(lambda: self.end_task(task, held, display))

    def begin_task(self, task: Task, held: Split | None, display: Display) -> None:
        """The densities of a task's classes, then the network's beginning."""
        self.learn_densities("inputs", task, held, display)
        self.learner.begin(task)

    def end_task(self, task: Task, held: Split | None, display: Display) -> None:
        """Consolidate, and calibrate what tells the tasks apart."""
        self.learner.end()
        self.learn_densities("features", task, held, display)
        if self.inference is not None and held is not None:
            self.inference.end(self.learner, held)

    def learn_densities(self, of: Of, task: Task, held: Split | None, display: Display) -> None:
        """Those of inputs are learned before the network, those of its features after it."""
        inference = self.inference
        if inference is None or held is None or not inference.has_density or inference.options.of != of:
            return
        display.begin(self.number, len(self.benchmark.tasks), f"{task.name}, density", len(task.classes))
        inference.densities.learn(task.train.load(), held, display.epoch, learner=self.learner)

    def timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """Work that counts as training."""
        start = time.perf_counter()
        value = work()
        seconds = time.perf_counter() - start
        self.record.seconds[-1] += seconds
        return seconds, value

    def note_epoch(self, terms: dict[str, float], seconds: float) -> None:
        """The epoch's line in metrics.jsonl."""
        rates = {"learning_rates": self.learner.learning_rates(), "active_units": self.learner.active_units()}
        self.log({"task": self.number, "epoch": self.epoch, **terms, **rates, "seconds": seconds})

    def note_task(self, evaluations: list[TaskEvaluation]) -> None:
        """What the task left: its row of the matrix, the neurons in use, the structure."""
        record = self.record
        record.accuracies.append([one.accuracy(self.benchmark.scenario) for one in evaluations])
        record.active_units.append(self.learner.active_units())
        structure = structure_of(self.learner)
        record.active_counts.append(median_active(structure))
        self.structure |= structure
        line = {"accuracies": record.accuracies[-1], "active_units": record.active_units[-1]}
        self.log({"task": self.number, "epoch": None, **line, "seconds": record.seconds[-1]})

    def log(self, line: dict[str, Any]) -> None:
        """A line in metrics.jsonl, if the run has a folder."""
        if self.store is not None:
            with writing_to(self.store.path):
                self.store.log.append(line)

    def save(self) -> None:
        """Write a checkpoint, if the run has a folder."""
        if self.store is None:
            return
        start = time.perf_counter()
        state = self.state()
        progress = {"task": self.number, "epoch": self.epoch, "record": asdict(self.record)}
        structure = {STRUCTURE + name: tensor for name, tensor in self.structure.items()}
        self.store.save(self.experiment, State(state.tensors | structure, state.metadata | {"run": progress}))
        self.saved = time.perf_counter()
        self.cost = self.saved - start

    def state(self) -> State:
        """What learner and inference know."""
        state = self.learner.state()
        if self.inference is None:
            return state
        beside = self.inference.state()
        return State(state.tensors | beside.tensors, state.metadata | beside.metadata)

    def end_if_asked(self) -> None:
        """After a signal: write a checkpoint and stop."""
        signal = self.stop()
        if signal is None:
            return
        self.save()
        where = f"task {self.number + 1}, epoch {self.epoch + 1}"
        goes_on = "" if self.store is None else f"; the same command goes on with {where}"
        raise Interruption(f"interrupted{goes_on}.", signal)
