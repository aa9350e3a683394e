"""One experience of data: a model that has seen it, made from one that has not, which stays as it is."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from hibnn.benchmarks.base import LazySplit, Split
from hibnn.estimators.drift import KEEPS, Change, Drift, FileScore, expectation, has_changed
from hibnn.estimators.model import Model, TaskName, TaskRecord
from hibnn.estimators.predictive import PredictionMode
from hibnn.estimators.stopping import Stopping, train
from hibnn.estimators.telling import BAR, tell_epoch, tell_experience
from hibnn.learners.options import MethodOptions
from hibnn.progress import Bar
from hibnn.tasks import held_out_count

ENOUGH_ROWS = 250
"""The network does without the rows that calibrate where an experience has so many."""
MOST_SCORED, MOST_HELD_OUT = 2_000, 2_000
"""Rows of a file that are answered before it is learned, and rows that say how much of the past counts."""
SMALLEST = 1e-12
STEPS, LONGEST, SHORTEST = 1200, 120, 4
"""Steps of an experience, most and fewest epochs, for methods whose epochs are fixed."""
MOST_STEPS, MOST_EPOCHS = 400, 400
"""The same for methods that stop early."""
BATCH, LARGEST_BATCH, BATCHES = 160, 1024, 25
"""Rows of a minibatch at least, where there are so many, and at most; between them, so many minibatches an epoch."""
SMALLEST_BATCH, FEWEST_STEPS = 32, 150
"""If the user wants few epochs, minibatches are smaller, for so many steps in all."""


def learn_experience(
    model: Model,
    split: Split,
    task: TaskRecord,
    epochs: int | None,
    batch_size: int | None,
    verbose: int,
    drift: Drift,
    stopping: Stopping,
) -> Model:
    """The model after one more experience of a task, new or known.

    With `drift` followed, rows of a known task are first answered by the model as it stands; if they look different,
    held-out ones of them say how much of what was learned still counts.
    """

    def learn(begun: Model, rows: Split, verbose: int) -> Model:
        return _learn(begun, rows, task, epochs, batch_size, verbose, stopping)

    if drift == "off" or task.name not in model.head_of or not model.learner.can_temper:
        return learn(replace(calibrated_ahead(model, split, task.name), change=None), split, verbose)
    found, expected = score_file(model, split, task.name), expectation(task.scores)
    change = None
    if found is None:
        return learn(replace(model, change=None), split, verbose)
    if expected is not None and has_changed(found, expected):
        keep = how_much_counts(model, split, task.name, lambda begun, rows: learn(begun, rows, verbose=-1))
        change = Change(found, expected, keep)
    task = task.scored(found, changed=change is not None and change.keep < 1)
    # rows of changed classes would say that nothing is to be trusted; intervals are to allow for change
    if change is None or (model.regression and change.keep == 1):
        begun = calibrated_ahead(model, split, task.name)
    else:
        begun = model.tempered(task.name, change.keep)
    return learn(replace(begun, change=change), split, verbose)


def how_much_counts(model: Model, split: Split, task: TaskName, learn: Callable[[Model, Split], Model]) -> float:
    """Learn most rows from models that keep all, some or nothing of the task; the one that answers the others best.

    Less is kept only if that is better by more than one standard error of the paired difference.
    """
    held = np.random.default_rng(0).permutation(len(split)) < max(1, min(MOST_HELD_OUT, len(split) // 5))
    rest, judged = split.take(~held), split.take(held)
    best, chosen = None, KEEPS[0]
    for keep in KEEPS:
        losses, _ = answered(learn(model.tempered(task, keep), rest), judged, task)
        gain = None if best is None else best - losses
        if gain is None or gain.mean() > gain.std() / math.sqrt(len(gain)):
            best, chosen = losses, keep
    return chosen


def score_file(model: Model, split: Split, task: TaskName) -> FileScore | None:
    """How the model answers rows that it has not learned; of many, some. None if all are of classes new to the task."""
    rows = known_rows(model, split, task)
    return FileScore.of(*answered(model, rows, task)) if len(rows) else None


def known_rows(model: Model, split: Split, task: TaskName) -> Split:
    """Rows of classes that a known task has, in random order; of many, some."""
    rows = np.random.default_rng(0).permutation(len(split))
    if not model.regression:
        rows = rows[split.y[rows] < model.learner.head_sizes[model.head(task)]]
    return split.take(rows[:MOST_SCORED])


def calibrated_ahead(model: Model, split: Split, task: TaskName) -> Model:
    """The model that has weighed network and densities by rows it has not learned, where it could spare none later.

    Of real targets, rows are counted for the intervals: all of a short file, of others as many as they spare.
    Classes are weighed only as long as there is one task: what a task answers when it is told must not change with the
    rows of another.
    """
    enough = len(split) >= ENOUGH_ROWS
    if model.regression and task in model.head_of:
        continual = model.continual.copy(model.method, model.options)
        rows = known_rows(model, split, task)
        counted = rows.take(np.arange(held_out_count(len(split)))) if enough else rows
        continual.count_ahead(counted, model.head(task), PredictionMode().reals)
        return replace(model, continual=continual)
    if model.regression or enough or list(model.head_of) != [task]:
        return model
    continual = model.continual.copy(model.method, model.options)
    continual.calibrate_ahead(known_rows(model, split, task), model.head(task), PredictionMode().classes)
    return replace(model, continual=continual)


def answered(model: Model, split: Split, task: TaskName) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """The loss of each row in nats, and whether its answer is right (None for real targets); the task is told."""
    mode, head = PredictionMode(), model.head(task)
    if model.regression:
        reals = model.continual.predict_reals(split.x, head, mode.reals)
        variance = (reals.epistemic + reals.aleatoric).numpy()
        losses = 0.5 * (np.log(2 * np.pi * variance) + (split.y[:, 0] - reals.mean.numpy()) ** 2 / variance)
        return losses, None
    outputs = [torch.eye(size) for size in model.learner.head_sizes]
    probabilities = model.continual.predict(split.x, head, places=outputs, predictor=mode.classes).probabilities.numpy()
    own = probabilities[np.arange(len(split)), split.y]
    return -np.log(np.maximum(own, SMALLEST)), probabilities.argmax(1) == split.y


def _learn(
    model: Model,
    split: Split,
    task: TaskRecord,
    epochs: int | None,
    batch_size: int | None,
    verbose: int,
    stopping: Stopping,
) -> Model:
    """The model after one more experience, as it is."""
    sensible = training_length(len(split), model.learner.can_stop, epochs)
    length = {"epochs": sensible[0], "batch_size": batch_size or sensible[1]}
    options = with_length(model.options, length)
    continual, classes = model.continual.copy(model.method, options), len(task.classes) or 1
    continual.learner.watched = stopping.early and continual.learner.can_stop
    densities = classes if continual.density_of else 0
    outputs = 2 if model.regression else classes
    labels = np.zeros(len(split), np.int64) if model.regression else split.y
    with Bar(f"task {task.name}", lambda: continual.learner.epochs + densities, show=verbose >= BAR) as bar:
        continual.begin(
            LazySplit(split.x, np.arange(len(split)), labels, weights=split.weights),
            outputs,
            head=model.head_of.get(task.name),
            targets=split.y if model.regression else None,
            spare=len(split) >= ENOUGH_ROWS,
            on_class=lambda terms: bar.advance(),
        )
        history = train(
            continual, len(split), stopping.patience, lambda epoch: tell_epoch(bar, verbose, task.name, epoch)
        )
        continual.end(PredictionMode().reals if model.regression else PredictionMode().classes)
        noted = [{"experience": continual.learner.experience + 1, "task": task.name, **epoch} for epoch in history]
        learned = replace(
            model,
            options=options,
            continual=continual,
            tasks=model.with_task(task.after(len(split))),
            history=tuple(noted),
        )
        tell_experience(bar, verbose, learned, task.name, len(split))
    return learned


def with_length(options: MethodOptions, length: Mapping[str, int]) -> MethodOptions:
    """Options with other epochs and another size of minibatches, for methods that have them."""
    return replace(options, **{name: value for name, value in length.items() if hasattr(options, name)})


def training_length(rows: int, can_stop: bool = False, epochs: int | None = None) -> tuple[int, int]:
    """Epochs and minibatch size for so many rows; `epochs` are what the user wants, if anything.

    Where held-out rows say when to stop, there are 400 steps at most (more only if these are fewer than 4 epochs), of
    minibatches that are all of about the same size; they are smaller where few epochs are wanted. Otherwise there are
    about 1,200 steps, within 4 to 120 epochs: small data get enough steps, large data few passes.
    """
    if can_stop:
        batch_size = min(LARGEST_BATCH, max(BATCH, rows / BATCHES))
        if epochs is not None:
            batch_size = max(SMALLEST_BATCH, min(batch_size, rows * epochs / FEWEST_STEPS))
        batches = max(1, round(rows / batch_size))
        return epochs or min(MOST_EPOCHS, max(SHORTEST, round(MOST_STEPS / batches))), math.ceil(rows / batches)
    batch_size = 32 if rows < 4_000 else 128 if rows < 20_000 else 256
    return epochs or min(LONGEST, max(SHORTEST, round(STEPS / math.ceil(rows / batch_size)))), batch_size
