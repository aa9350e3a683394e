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


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
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

    def __str__(self) -> str:
        if self.found is None:
            return f"{self.name}: not run yet"
        word = {True: "", False: " ✗", None: " (open)"}[self.holds]
        return f"{self.name} {self.found}{word}"


@dataclass(frozen=True)
class Finding:
    """What our numbers say of a claim: the verdict, the numbers in words, and the runs behind them.

    `whole` is false where some of its cases were not run: the verdict is one so far.
    """

    verdict: Verdict
    numbers: str
    records: tuple[Recorded, ...] = ()
    whole: bool = True

    @property
    def words(self) -> str:
        return str(self.verdict) if self.whole else f"{self.verdict} so far"


def judged(cases: Iterable[Case], records: Iterable[Recorded] = (), note: str = "") -> Finding:
    """Reproduced if every case that was run holds, not if none does, partly otherwise; a single seed is no verdict."""
    listed = list(cases)
    run = [case for case in listed if case.found is not None and case.found.half_width is not None]
    if not run:
        begun = "; ".join(str(case) for case in listed if case.found is not None)
        return Finding(Verdict.NOT_RUN, f"a single seed decides nothing: {begun}" if begun else "-", tuple(records))
    holding = sum(case.holds is True for case in run)
    verdict = Verdict.REPRODUCED if holding == len(run) else Verdict.PARTLY if holding else Verdict.NOT
    missing = f", {len(listed) - len(run)} not run yet" if len(run) < len(listed) else ""
    words = f"{holding} of {len(run)} hold{missing}: " + "; ".join(map(str, run))
    return Finding(verdict, f"{words}. {note}" if note else words, tuple(records), len(run) == len(listed))
