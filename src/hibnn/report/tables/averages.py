"""Numbers of several seeds in a cell."""

from collections.abc import Sequence

from hibnn.evaluation.significance import mean_and_error


def percent(values: Sequence[float]) -> str:
    """Mean ± standard error of fractions, in percent; one value has no error."""
    mean, error = mean_and_error([100 * value for value in values])
    return f"{mean:.2f}" if error is None else f"{mean:.2f} ± {error:.2f}"
