"""Learning-rate schedules within a task: a factor for every moment, so that nothing needs to be stored."""

import math
from enum import StrEnum


class Schedule(StrEnum):
    """`cosine` falls to 5 % over the task; `exponential` by 0.87 in 1,000 steps, as in the paper; `constant` stays.

    `halving` falls by 0.5 in 1,000 steps: the authors' program has it for the MFVI networks that it prunes.
    """

    COSINE = "cosine"
    EXPONENTIAL = "exponential"
    HALVING = "halving"
    CONSTANT = "constant"

    def factor(self, step: int, steps: int) -> float:
        """The factor on every learning rate at `step` of `steps`."""
        if self is Schedule.COSINE:
            return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps))
        decay = {Schedule.EXPONENTIAL: 0.87, Schedule.HALVING: 0.5}.get(self, 1.0)
        return decay ** (step / 1000)
