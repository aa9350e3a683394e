"""The numbers that tables and pages print: a group's mean, or the median over the widths of a method.

Methods without a width of their own (EWC, SI, GEM, VCL) that were run with several have, as in the paper, the median
(maximum, minimum) over widths of the mean over seeds, with the standard error of each seed's median over widths; all
others mean ± standard error over seeds, for each setting.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hibnn.evaluation.significance import mean_and_error
from hibnn.report.names import examples_kept, has_chosen_width, method_title, shown_method, widths_text
from hibnn.report.tables.averages import percent
from hibnn.runs.groups import Group


@dataclass(frozen=True)
class Contender:
    """A number that competes: one group, or several of a method that differ in their widths alone.

    `setting` tells it from others of its method, if there are any; `value`, its standard error `error` and `by_seed`,
    the numbers it is the mean of, are in percent.
    """

    setting: str
    groups: tuple[Group, ...]
    text: str
    value: float | None = None
    error: float | None = None
    by_seed: Mapping[int, float] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The name it is shown under."""
        return shown_method(self.groups[0])

    @property
    def granularity(self) -> str:
        return self.groups[0].granularity

    @property
    def label(self) -> str:
        name = method_title(self.method)
        return f"{name}, {self.setting}" if self.setting else name

    @property
    def link(self) -> int:
        return self.groups[0].number

    @property
    def waiting(self) -> int:
        return sum(len(group.waiting) for group in self.groups)

    @property
    def seeds(self) -> int:
        return len({record.seed for group in self.groups for record in group.records})

    @property
    def widths(self) -> str:
        return ", ".join(map(widths_text, sorted({group.widths for group in self.groups})))

    @property
    def memory(self) -> str:
        """How many numbers the finished runs keep, from the least to the most, and which of them are examples."""
        counts = sorted(int(value) for group in self.groups for value in group.values("parameters"))
        if not counts:
            return "-"
        span = f"{counts[0]:,}" if counts[0] == counts[-1] else f"{counts[0]:,} – {counts[-1]:,}"
        return f"{span} {examples_kept(self.groups[0])}".strip()


def contenders(groups: Iterable[Group]) -> list[Contender]:
    """The competing numbers of groups that know their variants; runs judged on validation data do not compete."""
    found: list[Contender] = []
    kinds: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        if group.evaluated_on == "test":
            kinds.setdefault((*group.place, shown_method(group), group.granularity, group.variant), []).append(group)
    for same in kinds.values():
        several = len({group.widths for group in same}) > 1
        if several and has_chosen_width(same[0].method):
            found.append(_over_widths(same))
        else:
            found += [_single(group, several) for group in same]
    return found


def accuracy_text(group: Group) -> str:
    """A group's accuracy in percent, with its standard error."""
    return percent(group.values("acc")) if group.finished else "unfinished"


def _single(group: Group, several: bool) -> Contender:
    setting = ", ".join(filter(None, (widths_text(group.widths) if several else "", group.variant)))
    return Contender(setting, (group,), accuracy_text(group), *_numbers(_by_seed(group)))


def _over_widths(same: Sequence[Group]) -> Contender:
    """Median (maximum, minimum) over widths of the mean over seeds."""
    variant = same[0].variant
    finished = sorted((group for group in same if group.finished), key=lambda group: group.mean("acc") or 0)
    if len(finished) < 2:
        first = (finished or same)[0]
        ordered = (first, *(group for group in same if group is not first))
        return Contender(variant, ordered, accuracy_text(first), *_numbers(_by_seed(first)))
    means = [100 * (group.mean("acc") or 0) for group in finished]
    middle = finished[(len(finished) - 1) // 2]
    ordered = (middle, *(group for group in same if group is not middle))
    by_seed = _median_by_seed(finished)
    median, (_, error, _) = statistics.median(means), _numbers(by_seed)
    spread = "" if error is None else f" ± {error:.2f}"
    text = f"{median:.2f}{spread} ({means[-1]:.2f}, {means[0]:.2f})"
    return Contender(variant, ordered, text, median, error, by_seed)


def _by_seed(group: Group) -> dict[int, float]:
    return {seed: 100 * value for seed, value in group.by_seed("acc").items()}


def _median_by_seed(groups: Sequence[Group]) -> dict[int, float]:
    """The median over widths for every seed that all widths have."""
    values = [_by_seed(group) for group in groups]
    shared = [seed for seed in values[0] if all(seed in each for each in values)]
    return {seed: statistics.median(each[seed] for each in values) for seed in shared}


def _numbers(by_seed: dict[int, float]) -> tuple[float | None, float | None, dict[int, float]]:
    """Mean, standard error, and what they are made of."""
    return (*mean_and_error(list(by_seed.values())), by_seed) if by_seed else (None, None, by_seed)
