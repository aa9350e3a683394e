"""The epochs of an experience, what is noted of them, and early stopping.

Held-out rows are asked every `CHECK` steps of the optimiser, or every epoch, at the means of the weights. Where their
loss has not fallen by `GAIN` nats in `patience` checks, the learner is told (`Learner.plateau`): from exploring it goes
on to cutting, from cutting to its last epochs, in which learning rates fall. `training` calls this; it concerns methods
that size their layers, which hold rows out anyway, and other methods have a fixed number of epochs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hibnn.continual import ContinualModel

CHECK = 10
GAIN = 0.003
Epoch = dict[str, Any]
"""An entry of `history_`: epoch (from 1), loss, held_out_loss (None between checks) and neurons of each layer."""


@dataclass(frozen=True)
class Stopping:
    """Whether an experience may end early, and after how many checks without a gain each of its parts does."""

    early: bool = True
    patience: int = 2


@dataclass
class Plateau:
    """Whether losses have stopped falling."""

    patience: int
    best: float = math.inf
    checks: int = 0
    """since the best"""

    def reached(self, loss: float) -> bool:
        """Whether none of the last `patience` losses, this one among them, was below the best before by `GAIN`."""
        better = loss < self.best - GAIN
        self.best, self.checks = (loss, 0) if better else (self.best, self.checks + 1)
        return self.checks >= self.patience


def train(continual: ContinualModel, rows: int, patience: int, on_epoch: Callable[[Epoch], None]) -> list[Epoch]:
    """All epochs of an experience of so many rows; what was noted of each is returned, and told to `on_epoch`.

    Held-out rows decide about the end if the learner is `watched`.
    """
    learner, history = continual.learner, list[Epoch]()
    plateau = Plateau(patience)
    every = math.ceil(CHECK / math.ceil(rows / getattr(learner, "batch_size", rows)))
    while len(history) < learner.epochs:
        terms = continual.epoch(len(history))
        number = len(history) + 1
        loss = learner.held_out_loss() if number % every == 0 or number == learner.epochs else None
        neurons = learner.active_units()
        history.append(
            {"epoch": number, "loss": sum(terms.values()) if terms else None, "held_out_loss": loss, "neurons": neurons}
        )
        on_epoch(history[-1])
        if learner.watched and loss is not None and plateau.reached(loss):
            learner.plateau(number)
            plateau = Plateau(patience)
    return history
