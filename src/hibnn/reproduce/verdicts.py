"""From numbers to a verdict: differences over shared seeds with Student's t, and how many of a claim's cases hold.

    difference   mean of d_i = first_i - second_i over shared seeds,  interval  mean ± t(0.975, n - 1) s / sqrt(n)

A case holds if its interval lies on the claimed side, fails if it lies on the other or the mean does, and is open where
the mean agrees but the interval does not exclude zero. Nothing here imports torch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hibnn.evaluation.significance import mean_and_error, student_quantile
from hibnn.reproduce.records import Recorded

FEW = 2
"""Cases that fit into a line."""


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    UNDECIDED = "undecided"
    NOT = "not reproduced"
    NOT_RUN = "not run yet"


@dataclass(frozen=True)
class Difference:
    """A mean difference over seeds and the half width of its 95 % interval; None from fewer than two seeds."""

    mean: float
    half_width: float | None
    seeds: int

    @property
    def low(self) -> float:
        return self.mean - (float("inf") if self.half_width is None else self.half_width)

    def __str__(self) -> str:
        around = "one seed" if self.half_width is None else f"± {self.half_width:.2f}"
        return f"{self.mean:+.2f} ({around})"


def difference(first: Mapping[int, float], second: Mapping[int, float]) -> Difference | None:
    """The first minus the second over the seeds that both have; None if they share none."""
    shared = sorted(first.keys() & second.keys())
    return mean_difference([first[seed] - second[seed] for seed in shared]) if shared else None


def mean_difference(values: Sequence[float]) -> Difference:
    """The mean of some differences with Student's interval."""
    mean, error = mean_and_error(list(values))
    reach = None if error is None else student_quantile(len(values) - 1) * error
    return Difference(mean, reach, len(values))


@dataclass(frozen=True)
class Case:
    """One instance of a claim: what is compared, and by how much it holds; `least` is how much it must be."""

    name: str
    found: Difference | None
    least: float = 0.0

    @property
    def holds(self) -> bool | None:
        """True, False, or None where it is open or not run."""
        if self.found is None:
            return None
        if self.found.low > self.least:
            return True
        return None if self.found.mean > self.least else False

    @property
    def word(self) -> str:
        """What became of it, in a word; nothing where it holds."""
        if self.found is None:
            return "not run yet"
        return {True: "", False: "✗", None: "(open)"}[self.holds]

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, str(self.found or ""), self.word)))


@dataclass(frozen=True)
class Finding:
    """What our numbers say of a claim: the verdict, the numbers in words, the runs behind them, and its cases.

    `whole` is false where some of its cases were not run: the verdict is one so far.
    """

    verdict: Verdict
    numbers: str
    records: tuple[Recorded, ...] = ()
    whole: bool = True
    cases: tuple[Case, ...] = ()

    @property
    def words(self) -> str:
        return str(self.verdict) if self.whole else f"{self.verdict} so far"


def judged(cases: Iterable[Case], records: Iterable[Recorded] = (), note: str = "") -> Finding:
    """Reproduced if every case that was run holds, partly if some do; undecided if all are open, otherwise not.

    A single seed is no verdict.
    """
    listed = tuple(cases)
    run = [case for case in listed if case.found is not None and case.found.half_width is not None]
    if not run:
        begun = [case for case in listed if case.found is not None]
        words = f"a single seed decides nothing: {_in_short(begun)}" if begun else "-"
        return Finding(Verdict.NOT_RUN, words, tuple(records), cases=listed)
    holding = sum(case.holds is True for case in run)
    none = Verdict.NOT if any(case.holds is False for case in run) else Verdict.UNDECIDED
    verdict = Verdict.REPRODUCED if holding == len(run) else Verdict.PARTLY if holding else none
    missing = f", {len(listed) - len(run)} not run yet" if len(run) < len(listed) else ""
    words = f"{holding} of {len(run)} hold{missing}: {_in_short(run)}"
    return Finding(verdict, f"{words}. {note}" if note else words, tuple(records), len(run) == len(listed), listed)


def _in_short(cases: Sequence[Case]) -> str:
    """A few cases one by one, of more the least and the largest difference."""
    if len(cases) <= FEW:
        return "; ".join(map(str, cases))
    means = [case.found.mean for case in cases if case.found is not None]
    return f"{min(means):+.2f} to {max(means):+.2f}"
