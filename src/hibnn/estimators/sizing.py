"""How long to train: enough steps for small data, few passes over large data."""

import math

STEPS = 1200
LONGEST, SHORTEST = 60, 4


def training_length(rows: int) -> tuple[int, int]:
    """Epochs and minibatch size for so many rows: about 1,200 steps, within 4 to 60 epochs."""
    batch_size = 32 if rows < 4_000 else 128 if rows < 20_000 else 256
    epochs = round(STEPS / math.ceil(rows / batch_size))
    return min(LONGEST, max(SHORTEST, epochs)), batch_size
