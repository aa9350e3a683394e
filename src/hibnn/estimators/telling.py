"""What an estimator says while it learns, on standard error: a bar, a line for an experience, a line for an epoch.

`verbose` decides: -1 nothing, 0 a bar where standard error is a terminal and the work takes longer than two seconds, 1
also a line for each experience, 2 also one for each epoch.
"""

from typing import Any

from hibnn.estimators.model import Model, TaskName
from hibnn.neurons import neurons_text
from hibnn.progress import Bar
from hibnn.visible import visible

BAR, EXPERIENCES, EPOCHS = 0, 1, 2


def tell_epoch(bar: Bar, verbose: int, task: TaskName, epoch: dict[str, Any]) -> None:
    """A step of the bar, and perhaps a line."""
    bar.advance()
    if verbose >= EPOCHS:
        bar.print(visible(f"task {task}, epoch {epoch['epoch']}: {_scores(epoch)}"))


def tell_experience(bar: Bar, verbose: int, model: Model, task: TaskName, rows: int) -> None:
    """A line for an experience that has been learned."""
    if verbose >= EXPERIENCES:
        last = model.history[-1] if model.history else {}
        epochs = f"{len(model.history)} epoch{'' if len(model.history) == 1 else 's'}"
        bar.print(visible(f"task {task}: {rows} rows learned in {epochs}{', ' if last else ''}{_scores(last)}"))


def _scores(epoch: dict[str, Any]) -> str:
    words = []
    if epoch.get("loss") is not None:
        words.append(f"loss {epoch['loss']:.4f}")
    if epoch.get("held_out_loss") is not None:
        words.append(f"held out {epoch['held_out_loss']:.4f}")
    if epoch.get("neurons") is not None:
        words.append(f"{neurons_text(epoch['neurons'])} neurons")
    return ", ".join(words)
