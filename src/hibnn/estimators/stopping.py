"""The epochs of an experience, what is noted of them, and early stopping.

Held-out rows are asked every `CHECK` steps of the optimiser, or every epoch, at the means of the weights. Where the
mean loss of `patience` checks is not below that of the `patience` checks before them by `GAIN` nats, the learner is
told (`Learner.plateau`): from exploring it goes on to cutting, from cutting to its last epochs, in which learning rates
fall. `training` calls this; it concerns methods that size their layers, which hold rows out anyway. Other methods have
a fixed number of epochs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from hibnn.continual import ContinualModel

CHECK = 8
GAIN = 0.003
Epoch = dict[str, Any]
"""An entry of `history_`: epoch (from 1), loss, held_out_loss (None between checks) and neurons of each layer."""


@dataclass(frozen=True)
class Stopping:
    """Whether an experience may end early, and how many checks without a gain end each of its parts."""

    early: bool = True
    patience: int = 2


@dataclass
class Plateau:
    """Whether losses have stopped falling, by means over `patience` of them: single ones go up and down."""

    patience: int
    losses: list[float] = field(default_factory=list)
    checks: int = 0
    """since the last plateau"""

    def reached(self, loss: float) -> bool:
        """Whether the last `patience` losses, this one among them, gain less than `GAIN` on those before them."""
        self.losses.append(loss)
        self.checks += 1
        last, before = self.losses[-self.patience :], self.losses[-2 * self.patience : -self.patience]
        if len(before) < self.patience or self.checks < self.patience or fmean(before) - fmean(last) >= GAIN:
            return False
        self.checks = 0
        return True


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
    return history
