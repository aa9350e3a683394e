"""Trackers: what a run shows, kept for a dashboard as well. Off unless asked for, and never in the way of a run."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hibnn.errors import UserError
from hibnn.runs.progress import Progress

TrackerName = Literal["tensorboard"]


class TensorBoard:
    """Passes everything on to a display and writes it for TensorBoard; after a first failure it only passes on.

    Terms of the objective are `objective/task 1/nll` over epochs; accuracies `accuracy/task 1` and neurons in use
    `neurons/layer 1` over tasks. The writer is made when the first task begins.
    """

    def __init__(self, shown: Progress, new_writer: Callable[[], Any]) -> None:
        self.shown, self.new_writer = shown, new_writer
        self.writer: Any = None
        self.failed = False
        self.task, self.step = 0, 0

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None:
        self.shown.begin(number, count, name, epochs, done)
        self.task, self.step = number + 1, done

    def epoch(self, terms: dict[str, float]) -> None:
        self.shown.epoch(terms)
        self.step += 1
        values = {f"objective/task {self.task}/{name}": value for name, value in terms.items()}
        self._try(lambda: self._add(values, self.step))

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None:
        self.shown.end(accuracies, active_units)
        values = {f"accuracy/task {task}": float(value) for task, value in enumerate(accuracies, start=1)}
        values |= {f"neurons/layer {layer}": units for layer, units in enumerate(active_units or (), start=1)}
        self._try(lambda: self._add(values, self.task))

    def close(self) -> None:
        """Write what is left."""
        if self.writer is not None:
            self._try(self.writer.close)

    def _add(self, values: dict[str, float], step: int) -> None:
        self.writer = self.writer or self.new_writer()
        for name, value in values.items():
            if np.isfinite(value):
                self.writer.add_scalar(name, value, step)
        self.writer.flush()

    def _try(self, action: Callable[[], object]) -> None:
        if self.failed:
            return
        try:
            action()
        except Exception as error:  # whatever is wrong with a tracker, the run must go on
            self.failed = True
            warnings.warn(f"tracking has stopped, the run goes on ({type(error).__name__}: {error}).", stacklevel=2)


@contextmanager
def tracking(name: TrackerName | None, shown: Progress, folder: Path | None) -> Iterator[Progress]:
    """The display, watched by a tracker that writes below the run's folder; without a name, the display itself."""
    if name is None:
        yield shown
        return
    if folder is None:
        raise UserError(f"--track {name} writes below the run's folder: add --out FOLDER.")
    writer = _summary_writer()
    tracker = TensorBoard(shown, lambda: writer(str(folder / name)))
    try:
        yield tracker
    finally:
        tracker.close()


def _summary_writer() -> Callable[[str], Any]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError("tracking needs tensorboard: pip install 'hibnn[tensorboard]'.") from None
    return SummaryWriter
