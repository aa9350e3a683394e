"""Learning-rate schedules within a task: a factor for every moment, so that nothing needs to be stored."""

import math
from enum import StrEnum


class Schedule(StrEnum):
    """`cosine` falls to 5 % over the task; `exponential` by 0.87 in 1,000 steps, as in the paper; `constant` stays."""

    COSINE = "cosine"
    EXPONENTIAL = "exponential"
    CONSTANT = "constant"

    def factor(self, step: int, steps: int) -> float:
        """The factor on every learning rate at `step` of `steps`."""
        if self is Schedule.COSINE:
            return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps))
        return 0.87 ** (step / 1000) if self is Schedule.EXPONENTIAL else 1.0
