"""Six months of data whose rule drifts: a model that goes on each month beside one that stopped after the first.

python examples/drift.py
"""

import copy
import math

import numpy as np
from numpy.typing import NDArray

from hibnn import ContinualClassifier

MONTHS, ROWS, TURN = 6, 400, 15.0


def month(number: int, rows: int, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Points that a line divides; the line turns by some degrees each month, and one label in twenty is wrong."""
    x = random.normal(size=(rows, 5))
    angle = math.radians(TURN * number)
    above = x[:, 0] * math.cos(angle) + x[:, 1] * math.sin(angle) > 0
    wrong = random.random(rows) < 0.05
    return x, np.where(above ^ wrong, "accept", "reject")


def main() -> None:
    """Accuracy on each month's new data, before and after learning that month."""
    random = np.random.default_rng(0)
    going_on = ContinualClassifier(epochs=20, verbose=False, random_state=0)
    going_on.fit(*month(0, ROWS, random))
    stopped = copy.deepcopy(going_on)
    print("month  stopped after the first  went on until the month before  went on")
    for number in range(1, MONTHS):
        test = month(number, 1000, random)
        before = going_on.score(*test)
        going_on.partial_fit(*month(number, ROWS, random))
        print(f"{number + 1:5d}  {stopped.score(*test):23.2f}  {before:30.2f}  {going_on.score(*test):7.2f}")
    print(f"the model that went on has {len(going_on.tasks_)} task and learned {MONTHS} experiences of it")


if __name__ == "__main__":
    main()
