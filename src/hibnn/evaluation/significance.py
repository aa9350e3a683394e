"""What a few seeds can say: mean, standard error, an interval, and whether two methods differ.

    standard error   s / sqrt(n)
    interval         percentile bootstrap of the mean: resample the n values with replacement, take the central 95 %
    p                two-sided, exact: under the null each seed's difference is as likely to have the other sign, so
                     of the 2^n ways to sign them, what share has a mean at least as far from zero?

With n seeds p cannot be below 2 / 2^n: five seeds never reach 5 %, six do if all agree. Numpy and scipy are imported
when they are needed, because `hibnn runs` wants means and errors alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hibnn.errors import UserError

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 9999
EXACT_UP_TO = 16
"""Above so many seeds the permutations are drawn instead of listed."""
LEVEL = 0.05


@dataclass(frozen=True)
class Summary:
    """Values of one method over seeds; one value has neither error nor interval."""

    mean: float
    standard_error: float | None
    count: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Comparison:
    """Differences (first minus second) over the seeds that two methods share."""

    difference: Summary
    p: float
    least_p: float

    @property
    def decidable(self) -> bool:
        """Whether so many seeds could show a difference at all."""
        return self.least_p <= LEVEL


def mean_and_error(values: "Sequence[Any] | np.ndarray") -> tuple[Any, Any]:
    """Mean and standard error of numbers or, place by place, of arrays; one value has no error (None)."""
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return mean, None
    return mean, (sum((value - mean) ** 2 for value in values) / (count - 1) / count) ** 0.5


def summarise(values: "Sequence[float] | np.ndarray", confidence: float = 1 - LEVEL) -> Summary:
    """Mean, standard error and bootstrap interval of a few values."""
    import numpy as np

    array = np.asarray(values, dtype=float)
    if array.size == 0 or not np.isfinite(array).all():
        raise UserError("a summary needs at least one value, and finite ones.")
    mean, error = mean_and_error(array.tolist())
    return Summary(mean, error, array.size, None if error is None else bootstrap_interval(array, confidence))


def bootstrap_interval(values: "np.ndarray", confidence: float = 1 - LEVEL) -> tuple[float, float]:
    """Percentile bootstrap of the mean, the same for the same values.

    With five seeds BCa is no better (its acceleration comes from five jackknife values) and it has no answer when all
    values are equal. Either is too narrow: of 400 samples of five normal values the percentile interval held the mean
    in 84 %, BCa in 84 %, Student's t in 94 %; of ten values in 88, 89 and 93 % (test_significance.py, slow).
    """
    import numpy as np
    from scipy import stats

    found = stats.bootstrap(
        (values,), np.mean, n_resamples=RESAMPLES, confidence_level=confidence, method="percentile", rng=0
    ).confidence_interval
    return float(found.low), float(found.high)


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison:
    """A paired permutation test between two methods, given each one's value for every seed."""
    import numpy as np

    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        raise UserError("the two have no seed in common, so they cannot be compared seed by seed.")
    pairs = (np.array([values[seed] for seed in seeds], dtype=float) for values in (first, second))
    left, right = pairs
    return Comparison(summarise(left - right), paired_p(left, right), 2 / 2 ** len(seeds))


def paired_p(left: "np.ndarray", right: "np.ndarray") -> float:
    """Two-sided p of the mean difference when each pair may be swapped."""
    from scipy import stats

    if len(left) == 1:
        return 1.0  # 2 / 2^1; scipy asks for at least two
    test = stats.permutation_test(
        (left, right),
        _mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2 ** len(left) if len(left) <= EXACT_UP_TO else RESAMPLES,
        alternative="two-sided",
        rng=0,
    )
    return float(test.pvalue)


def sentence(first: str, second: str, comparison: Comparison, unit: str = "", scale: float = 1.0) -> str:
    """The comparison in words, with what cannot be decided said so."""
    found = comparison.difference
    count, size = found.count, scale * abs(found.mean)
    seeds = f"{count} shared seed" + ("s" if count > 1 else "")
    direction = "above" if found.mean > 0 else "below"
    start = f"{first} is {size:.2f}{unit} {direction} {second} over {seeds}"
    if found.mean == 0:
        start = f"{first} and {second} have the same mean over {seeds}"
    if found.interval is not None:
        low, high = (scale * end for end in found.interval)
        start += f" (95 % bootstrap interval of the difference {low:+.2f} to {high:+.2f})"
    if not comparison.decidable:
        return (
            f"{start}: too few seeds to decide, since p cannot be below 2/2^{count} = {comparison.least_p:.2g} "
            f"(here {comparison.p:.2g}); at least 6 can reach 5 %."
        )
    verdict = "more than" if comparison.p <= LEVEL else "not more than"
    return f"{start}: {verdict} chance would do, p = {comparison.p:.2g} (paired permutation test)."


def _mean_difference(left: "np.ndarray", right: "np.ndarray", axis: int = -1) -> "np.ndarray":
    return left.mean(axis=axis) - right.mean(axis=axis)
