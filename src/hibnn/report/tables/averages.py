"""Numbers of several seeds in a cell."""

import statistics
from collections.abc import Sequence


def percent(values: Sequence[float]) -> str:
    """Mean ± standard error of fractions, in percent; one value has no error."""
    scaled = [100 * value for value in values]
    if len(scaled) == 1:
        return f"{scaled[0]:.2f}"
    return f"{statistics.mean(scaled):.2f} ± {statistics.stdev(scaled) / len(scaled) ** 0.5:.2f}"
