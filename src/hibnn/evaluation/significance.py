"""What a few seeds can say: mean, standard error, an interval, and whether two methods differ.

    standard error   s / sqrt(n)
    interval         mean +- t standard errors, with t of Student's distribution for n - 1 degrees of freedom
    p                two-sided: of the mean difference over shared seeds (paired t-test) or, where two methods share
                     fewer than two seeds, of the difference of their means (Welch's test)
    Holm             of several p-values, ordered: p_(i) becomes max over j <= i of (m - j + 1) p_(j), at most one

Student's t holds its 95 % at any number of seeds if the numbers are normal; of five values a bootstrap interval would
hold the mean in 84 %. One seed has no error, no interval and no p: nothing follows from it. Called by `hibnn compare`,
the report and the tables; scipy is imported when it is needed, because `hibnn runs` wants means and errors alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hibnn.errors import UserError

LEVEL = 0.05


@dataclass(frozen=True)
class Summary:
    """Values of one method over seeds, or their differences; one value has neither error nor interval."""

    mean: float
    standard_error: float | None
    count: int
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Comparison:
    """First minus second: the difference with its interval, p (None from one seed), and the test it comes from."""

    difference: Summary
    p: float | None
    paired: bool

    @property
    def test(self) -> str:
        return "paired t-test" if self.paired else "Welch's t-test"


def mean_and_error(values: Any) -> tuple[Any, Any]:
    """Mean and standard error of numbers or, place by place, of arrays; one value has no error (None)."""
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return mean, None
    return mean, (sum((value - mean) ** 2 for value in values) / (count - 1) / count) ** 0.5


def summarise(values: Sequence[float], confidence: float = 1 - LEVEL) -> Summary:
    """Mean, standard error and Student's interval of a few values."""
    values = [float(value) for value in values]
    if not values or not all(map(math.isfinite, values)):
        raise UserError("a summary needs at least one value, and finite ones.")
    mean, error = mean_and_error(values)
    return Summary(mean, error, len(values), interval(mean, error, len(values) - 1, confidence))


def interval(
    mean: float, error: float | None, degrees: float, confidence: float = 1 - LEVEL
) -> tuple[float, float] | None:
    """Student's interval of a mean, None where the error is unknown."""
    if error is None:
        return None
    margin = student_quantile(degrees, confidence) * error
    return mean - margin, mean + margin


def student_quantile(degrees: float, confidence: float = 1 - LEVEL) -> float:
    """How many standard errors reach to either side: 12.7 for one degree of freedom, 2.78 for four, 1.96 for many."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def two_sided_p(difference: float, error: float, degrees: float) -> float:
    """How often Student's t is at least as far from zero; without any spread every difference counts."""
    from scipy.special import stdtr

    if error == 0:
        return float(difference == 0)
    return float(2 * stdtr(degrees, -abs(difference) / error))


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison:
    """Two methods, given each one's value for every seed: paired where they share at least two seeds, else Welch."""
    if not first or not second:
        raise UserError("a comparison needs at least one value of each.")
    shared = sorted(first.keys() & second.keys())
    if len(shared) >= 2 or (shared and min(len(first), len(second)) == 1):
        found = summarise([first[seed] - second[seed] for seed in shared])
        error = found.standard_error
        return Comparison(found, None if error is None else two_sided_p(found.mean, error, found.count - 1), True)
    return welch(summarise(list(first.values())), summarise(list(second.values())))


def welch(first: Summary, second: Summary) -> Comparison:
    """The difference of two independent means, whose variances need not be equal."""
    difference, count = first.mean - second.mean, min(first.count, second.count)
    if first.standard_error is None or second.standard_error is None:
        return Comparison(Summary(difference, None, count, None), None, False)
    parts = first.standard_error**2, second.standard_error**2
    error = sum(parts) ** 0.5
    shares = parts[0] ** 2 / (first.count - 1) + parts[1] ** 2 / (second.count - 1)
    degrees = error**4 / shares if shares > 0 else first.count + second.count - 2  # Welch and Satterthwaite
    found = Summary(difference, error, count, interval(difference, error, degrees))
    return Comparison(found, two_sided_p(difference, error, degrees), False)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """p-values of several comparisons, corrected so that all verdicts together are wrong in 5 % (Holm 1979).

    None, of a comparison that could not be made, stays None and is not counted.
    """
    known = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        corrected[place] = largest
    return corrected


def sentence(
    first: str, second: str, comparison: Comparison, unit: str = "", scale: float = 1.0, corrected: float | None = None
) -> str:
    """The comparison in words; `corrected` is the p that decides where several comparisons are made at once."""
    found = comparison.difference
    seeds = f"{found.count} shared seeds" if comparison.paired else f"seeds of their own (at least {found.count} each)"
    if found.count == 1:
        seeds = "one shared seed" if comparison.paired else "one seed"
    direction = "above" if found.mean > 0 else "below"
    start = f"{first} is {scale * abs(found.mean):.2f}{unit} {direction} {second} over {seeds}"
    if found.mean == 0:
        start = f"{first} and {second} have the same mean over {seeds}"
    if comparison.p is None or found.interval is None:
        return f"{start}: one seed decides nothing; run more."
    low, high = (scale * end for end in found.interval)
    deciding = comparison.p if corrected is None else corrected
    verdict = "significant" if deciding <= LEVEL else "not significant"
    told = f"p = {comparison.p:.2g}" + ("" if corrected is None else f", {corrected:.2g} after Holm's correction")
    return (
        f"{start} (95 % interval of the difference {low:+.2f} to {high:+.2f}): {verdict}, {told} ({comparison.test})."
    )
