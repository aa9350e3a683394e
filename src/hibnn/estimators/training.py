"""One experience of data: a model that has seen it, made from one that has not, which stays as it is."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hibnn.benchmarks.base import LazySplit, Split
from hibnn.estimators.model import Model, TaskRecord
from hibnn.estimators.predictive import PredictionMode
from hibnn.learners.options import MethodOptions
from hibnn.progress import Bar

ENOUGH_ROWS = 250
"""The network of a classifier does without the rows that calibrate where an experience has so many."""
STEPS = 1200
LONGEST, SHORTEST = 120, 4


def learn_experience(
    model: Model, split: Split, task: TaskRecord, epochs: int | None, batch_size: int | None, show: bool
) -> Model:
    """The model after one more experience of a task, new or known."""
    sensible = training_length(len(split))
    length = {"epochs": epochs or sensible[0], "batch_size": batch_size or sensible[1]}
    options = with_length(model.options, length)
    continual, classes = model.continual.copy(model.method, options), len(task.classes) or 1
    densities = classes if continual.density_of else 0
    labels = np.zeros(len(split), np.int64) if model.regression else split.y
    with Bar(f"task {task.name}", lambda: continual.learner.epochs + densities, show=show) as bar:
        continual.begin(
            LazySplit(split.x, np.arange(len(split)), labels),
            classes,
            head=model.head_of.get(task.name),
            targets=split.y if model.regression else None,
            spare=len(split) >= ENOUGH_ROWS,
            on_class=lambda terms: bar.advance(),
        )
        for number in range(continual.learner.epochs):
            continual.epoch(number)
            bar.advance()
    continual.end(PredictionMode().reals if model.regression else PredictionMode().classes)
    return replace(
        model,
        options=options,
        continual=continual,
        tasks=model.with_task(task.after(len(split))),
    )


def with_length(options: MethodOptions, length: Mapping[str, int]) -> MethodOptions:
    """Options with other epochs and another size of minibatches, for methods that have them."""
    return replace(options, **{name: value for name, value in length.items() if hasattr(options, name)})


def training_length(rows: int) -> tuple[int, int]:
    """Epochs and minibatch size for so many rows: about 1,200 steps, within 4 to 120 epochs.

    Small data get enough steps, large data few passes.
    """
    batch_size = 32 if rows < 4_000 else 128 if rows < 20_000 else 256
    epochs = round(STEPS / math.ceil(rows / batch_size))
    return min(LONGEST, max(SHORTEST, epochs)), batch_size
