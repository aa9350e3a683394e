"""What a run says of itself as it goes on; who shows or keeps it (`hibnn.cli.display`, `trackers`) implements this."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Progress(Protocol):
    """Told when a task begins, after each epoch, and when the task has been evaluated."""

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None: ...

    def epoch(self, terms: dict[str, float]) -> None: ...

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None: ...


class Silent:
    """Passes nothing on."""

    def begin(self, number: int, count: int, name: str, epochs: int, done: int = 0) -> None:
        pass

    def epoch(self, terms: dict[str, float]) -> None:
        pass

    def end(self, accuracies: np.ndarray, active_units: Sequence[float] | None) -> None:
        pass
