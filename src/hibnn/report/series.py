"""Which groups stand in a figure, and how each looks there: several settings of a method are series of their own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from hibnn.evaluation.pruning.study import Study, from_json
from hibnn.learners.method import Look
from hibnn.report.names import method_order, shown_method
from hibnn.report.style import look
from hibnn.runs.groups import Group, group_by_setting, tell_apart
from hibnn.runs.record import RunRecord

MARKERS = ("^", "v", "<", ">", "8", "p")


def series(groups: Iterable[Group], besides: Sequence[str] = ()) -> Iterator[tuple[Look, Group]]:
    """Each group with its look: those of a method share its colour in shades, and differ in marker and name."""
    by_method: dict[str, list[Group]] = {}
    for group in sorted(groups, key=lambda group: (method_order(group), group.widths)):
        by_method.setdefault(shown_method(group), []).append(group)
    for method, same in by_method.items():
        told = tell_apart(same, besides)
        names = list(dict.fromkeys(told))
        for group, words in zip(same, told, strict=True):
            yield _variant(look(method), words, names.index(words), len(names)), group


def keep(groups: Iterable[Group], test: Callable[[RunRecord], object]) -> list[Group]:
    """The groups with their finished runs that pass a test; those without any are left out."""
    kept = [
        replace(group, members=tuple(run for run in group.members if run.numbers is not None and test(run.record)))
        for group in groups
    ]
    return [group for group in kept if group.members]


def pruning_studies(records: Iterable[RunRecord]) -> dict[Look, list[Study]]:
    """The studies of pruned runs by series; networks of several depths are one series."""
    studies: dict[Look, list[Study]] = {}
    for style, group in series(keep(group_by_setting(records), study_of), besides=("depth",)):
        studies.setdefault(style, []).extend(study for record in group.records if (study := study_of(record)))
    return studies


def study_of(record: RunRecord) -> Study | None:
    """The pruning of a run, or None where it was not pruned or the file makes no sense."""
    try:
        return from_json(record.pruning) if record.pruning else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _variant(style: Look, words: str, place: int, count: int) -> Look:
    if count == 1:
        return style
    fade = 0.75 * (1 - (place + 1) / count)
    channels = [int(style.colour[start : start + 2], 16) for start in (1, 3, 5)]
    colour = "#" + "".join(f"{round(channel + fade * (255 - channel)):02x}" for channel in channels)
    return replace(style, name=f"{style.name}, {words}", colour=colour, marker=MARKERS[place % len(MARKERS)])
