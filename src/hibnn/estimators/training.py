"""One experience of data: a learner that has seen it, made from one that has not, which stays as it is."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress

from hibnn.benchmarks.base import Split
from hibnn.estimators.inference import ENOUGH_ROWS, divide, joint_densities, real_evidence
from hibnn.estimators.model import Model, TaskRecord, largest, new_learner
from hibnn.estimators.predictive import PredictionMode, class_predictions, moments
from hibnn.estimators.sizing import training_length
from hibnn.learners import Learner
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.networks.ensemble import drawn

SECONDS_BEFORE_A_BAR = 2.0
ACTIVITY_ROWS = 2000
ACTIVITY_DRAWS = 8


def learn_experience(
    model: Model, split: Split, task: TaskRecord, epochs: int | None, batch_size: int | None, show: bool
) -> Model:
    """The model after one more experience of a task, new or known."""
    sensible = training_length(len(split.x))
    options = replace(model.options, epochs=epochs or sensible[0], batch_size=batch_size or sensible[1])
    inputs, classes = len(model.inputs.mean), len(task.classes) or 1
    state = model.learner.state() if model.learner.experiences else None
    learner = new_learner(model.method, options, model.seed, inputs, model.regression, state)
    known = [record.name for record in model.tasks]
    head = known.index(task.name) if task.name in known else None
    labels = np.zeros(len(split), np.int64) if model.regression else split.y
    rest, held = divide(Split(split.x, labels), model.seed)
    spared = len(split) >= ENOUGH_ROWS and not model.regression
    learner.begin_experience(rest if spared else split, classes, head)
    inference = model.inference.copy()
    steps = learner.epochs + (classes if inference.has_density else 0)
    with LateBar(f"task {task.name}", steps, show) as advance:
        if inference.has_density:
            inference.densities.learn(rest, held, lambda terms: advance(), head=head, classes=classes)
        run_epochs(learner, advance)
    learner.end()
    taught = replace(
        model,
        options=options,
        learner=learner,
        inference=inference,
        tasks=model.with_task(task.after(len(split))),
        activity=largest(model.activity, activity_of(learner, split.x)),
    )
    calibrate(taught, held, len(known) if head is None else head, labels_too=spared)
    return taught


def run_epochs(learner: Learner, advance: Callable[[], None]) -> None:
    """All epochs of an experience."""
    for number in range(learner.epochs):
        learner.epoch(number)
        advance()


class LateBar:
    """A bar on standard error that appears only when the work takes long, and only on a terminal."""

    def __init__(self, title: str, total: int, show: bool) -> None:
        self.title, self.total, self.done = title, total, 0
        self.bar: Progress | None = None
        self.show = show and sys.stderr.isatty()
        self.start = time.perf_counter()

    def __enter__(self) -> Callable[[], None]:
        return self.advance

    def advance(self) -> None:
        self.done += 1
        if self.show and self.bar is None and time.perf_counter() - self.start > SECONDS_BEFORE_A_BAR:
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.done)

    def __exit__(self, *failure: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def activity_of(learner: Learner, x: np.ndarray) -> list[torch.Tensor]:
    """sqrt(E[h^2]) of every hidden neuron over the first rows and some draws, for methods that can drop neurons."""
    if type(learner) is not SequentialBayes:
        return []
    relaxation = learner.draws.relaxation
    ensemble = drawn(learner.bayesian, ACTIVITY_DRAWS, relaxation, learner.setting.generator("activity"))
    with torch.no_grad():
        inputs = learner.preprocess(torch.from_numpy(x[:ACTIVITY_ROWS]))
        return [layer.square().mean((0, 1)).sqrt() for layer in ensemble.activations(inputs)]


def calibrate(model: Model, held: Split, head: int, labels_too: bool) -> None:
    """The temperature of the tasks, and how far densities can be trusted with labels, from rows of a known task."""
    inference, heads = model.inference, list(range(len(model.tasks)))
    joint = joint_densities(inference, held.x, heads)
    if model.regression:
        inference.calibrate(real_evidence(inference, moments(model, held.x, heads, PredictionMode()), joint), head)
        return
    predictions = class_predictions(model, held.x, heads, PredictionMode())
    inference.calibrate(inference.evidence(predictions, joint), head)
    if joint and labels_too:
        own = predictions[head].probabilities
        inference.pooling = inference.pooling.update(own, joint[head], torch.from_numpy(held.y))
