"""The way of a model through the tasks: an evaluation after each, and checkpoints from which it goes on exactly.

All random numbers come from streams named by task and epoch, so a checkpoint holds no generator. One is written after
every epoch, unless epochs are so short that this would take more than a twentieth of the time; then less often.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hibnn.benchmarks import Benchmark, Scenario
from hibnn.benchmarks.layout import layout_for
from hibnn.continual import ContinualModel, new_learner
from hibnn.errors import Interruption
from hibnn.evaluation.evaluate import Granularity, TaskEvaluation, evaluate
from hibnn.files.atomic import writing_to
from hibnn.learners import Setting, State, find_method
from hibnn.learners.training import check_finite
from hibnn.nn.layout import Layout
from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import RunFolder
from hibnn.runs.predictions import check_predictions
from hibnn.runs.progress import Progress
from hibnn.runs.result import Record
from hibnn.runs.structure import median_active, structure_of
from hibnn.tasks import TaskInference

CHECKPOINT_SHARE = 0.05
STRUCTURE = "structure."
Stop = Callable[[], int | None]
AfterTask = Callable[[int, Sequence[float]], None]


def new_model(experiment: Experiment, benchmark: Benchmark, device: str = "cpu") -> ContinualModel:
    """The experiment's method and its inference of tasks, ready for the first task."""
    method = find_method(experiment.method)
    wish = "multi" if experiment.task_inference == "density" else experiment.heads
    layout = layout_for(benchmark, wish, method.prefers_single_head)
    setting = Setting(
        benchmark.inputs,
        layout,
        experiment.seed,
        torch.device(device),
        example_bytes=benchmark.bytes_an_example,
        common_outputs=benchmark.common_outputs,
    )
    learner = new_learner(experiment.method, experiment.options, setting)
    return ContinualModel(learner, new_inference(experiment, setting))


def new_inference(experiment: Experiment, setting: Setting) -> TaskInference | None:
    """The experiment's inference of tasks, or None where nothing is inferred and no density asked for."""
    told = experiment.scenario is Scenario.TASK or setting.layout is not Layout.MULTI
    if told and experiment.task_inference != "density":
        return None
    options = experiment.density_options()
    return TaskInference(
        experiment.task_inference, setting, mixing=experiment.mixing, score=experiment.score, options=options
    )


class Trainer:
    """A model on its way: where it stands, and what has been recorded.

    `stop` gives the signal to end, or None. `after_task` is called with the number of every task once it was evaluated
    and with the accuracies on all so far, and may raise to give the run up. `forced` is a run that would start anew.
    """

    def __init__(
        self,
        experiment: Experiment,
        benchmark: Benchmark,
        model: ContinualModel,
        store: RunFolder | None,
        stop: Stop,
        after_task: AfterTask | None = None,
        forced: bool = False,
    ) -> None:
        self.experiment, self.benchmark, self.model = experiment, benchmark, model
        self.store, self.stop, self.after_task, self.forced = store, stop, after_task, forced
        self.record = Record()
        self.structure: dict[str, Tensor] = {}
        self.number, self.epoch = 0, 0
        self.saved, self.cost = time.perf_counter(), 0.0

    def resume(self, state: State) -> None:
        """Stand where the checkpoint was written."""
        progress = state.metadata["run"]
        self.number, self.epoch = progress["task"], progress["epoch"]
        self.record = Record(**progress["record"])
        if not (0 <= self.number <= len(self.benchmark.tasks) and self.epoch >= 0 and self.record.fits(self.number)):
            raise ValueError("its record is not one of so many tasks")
        self.structure = state.below(STRUCTURE)
        self.model.restore(state)
        learner = self.model.learner
        used = range(learner.task + 1) if learner.keeps_data else [self.number] if self.epoch else []
        for number in used:
            self.model.attach(self.benchmark.tasks[number].train, number)

    def learn_all(self, progress: Progress) -> list[TaskEvaluation]:
        """Every task in turn, with an evaluation on all of them after each; returns the last evaluation."""
        evaluations: list[TaskEvaluation] = []
        while self.number < len(self.benchmark.tasks):
            self.learn_task(progress)
            evaluations = self.evaluate()
            self.note_task(evaluations)
            self.number, self.epoch = self.number + 1, 0
            self.save()
            progress.end(np.array(self.record.accuracies[-1]), self.model.learner.active_units())
            if self.after_task is not None:
                self.after_task(self.number - 1, self.record.accuracies[-1])
            self.end_if_asked()
        return evaluations or self.evaluate()

    def evaluate(self) -> list[TaskEvaluation]:
        """How the model does on all tasks so far."""
        cpu = time.process_time()
        evaluations = evaluate(self.model, self.benchmark, Granularity.parse(self.experiment.granularity))
        self.record.evaluation_cpu_seconds += time.process_time() - cpu
        check_predictions(evaluations)
        return evaluations

    def learn_task(self, progress: Progress) -> None:
        """The current task, from its start or from where the checkpoint stood."""
        model, task, count = self.model, self.benchmark.tasks[self.number], len(self.benchmark.tasks)
        if self.epoch == 0:
            self.record.seconds.append(0.0)
            self.announce_densities("inputs", progress)
            self.timed(lambda: model.begin(task.train, len(task.classes), on_class=progress.epoch))
        epochs = model.learner.epochs
        progress.begin(self.number, count, task.name, epochs, self.epoch)
        while self.epoch < epochs:
            seconds, terms = self.timed(lambda: model.epoch(self.epoch))
            check_finite(terms, f"epoch {self.epoch + 1} of task {self.number + 1}")
            self.note_epoch(terms, seconds)
            self.epoch += 1
            progress.epoch(terms)
            if time.perf_counter() - self.saved > self.cost / CHECKPOINT_SHARE:
                self.save()
            self.end_if_asked()
        self.announce_densities("features", progress)
        self.timed(lambda: model.end(on_class=progress.epoch))

    def announce_densities(self, of: str, progress: Progress) -> None:
        """Those of inputs are learned before the network, those of its features after it."""
        task = self.benchmark.tasks[self.number]
        if self.model.density_of == of:
            progress.begin(self.number, len(self.benchmark.tasks), f"{task.name}, density", len(task.classes))

    def timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """Work that counts as training."""
        start, cpu = time.perf_counter(), time.process_time()
        value = work()
        seconds = time.perf_counter() - start
        self.record.seconds[-1] += seconds
        self.record.add_cpu(len(self.record.seconds), time.process_time() - cpu)
        return seconds, value

    def note_epoch(self, terms: dict[str, float], seconds: float) -> None:
        """The epoch's line in metrics.jsonl."""
        learner = self.model.learner
        rates = {"learning_rates": learner.learning_rates(), "active_units": learner.active_units()}
        self.log({"task": self.number, "epoch": self.epoch, **terms, **rates, "seconds": seconds})

    def note_task(self, evaluations: list[TaskEvaluation]) -> None:
        """What the task left: its row of the matrix, the neurons in use, the structure."""
        record = self.record
        record.accuracies.append([task.accuracy(self.benchmark.scenario) for task in evaluations])
        record.active_units.append(self.model.learner.active_units())
        structure = structure_of(self.model.learner)
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
        progress = {"task": self.number, "epoch": self.epoch, "record": asdict(self.record)}
        structure = {STRUCTURE + name: tensor for name, tensor in self.structure.items()}
        self.store.save(self.experiment, self.model.state() | State(structure, {"run": progress}))
        self.saved = time.perf_counter()
        self.cost = self.saved - start

    def end_if_asked(self) -> None:
        """After a signal: write a checkpoint and stop."""
        signal = self.stop()
        if signal is None:
            return
        self.save()
        where = f"task {self.number + 1}, epoch {self.epoch + 1}"
        command = "the same command without --force" if self.forced else "the same command"
        goes_on = "" if self.store is None else f"; {command} goes on with {where}"
        raise Interruption(f"interrupted{goes_on}.", signal)
