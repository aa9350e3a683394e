"""The page's figures: accuracy by method, accuracy as tasks arrive, and how the network grew."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from hibnn.report.page.charts import Dot, Row, Series, lines, rows
from hibnn.report.page.groups import NAMES, Group
from hibnn.report.page.summary import published_at
from hibnn.report.style import look


@dataclass(frozen=True)
class Figure:
    """A chart with its title, what to read in it, and the methods of its legend."""

    title: str
    caption: str
    chart: Markup
    methods: tuple[str, ...] = ()


def accuracy_figures(groups: Sequence[Group]) -> list[Figure]:
    """Final accuracy of every method, one figure a benchmark and scenario."""
    figures = []
    for place, same in _by_place(groups):
        entries = [_row(key, each) for key, each in _by_kind(same).items()]
        if len(same) == 1 and len(same[0].finished) == 1 and entries[0].paper is None:
            continue  # one number is no comparison
        title = _title(place)
        said = "; ".join(f"{entry.name} {max(dot.value for dot in entry.dots):.2f} %" for entry in entries)
        paper = " Diamonds beneath are the paper's." if any(entry.paper for entry in entries) else ""
        caption = f"Mean and standard error over seeds, single seeds pale; one mark a width.{paper}"
        figures.append(Figure(title, caption, rows(entries, f"Accuracy on {title}: {said}.")))
    return figures


def sequence_figures(groups: Sequence[Group]) -> list[Figure]:
    """Mean accuracy on the tasks so far, after each task."""
    figures = []
    for place, same in _by_place(groups):
        series = [Series(one.method, one.label, values) for one in _widest(same) if (values := _so_far(one))]
        if series:
            title = _title(place)
            said = "; ".join(f"{one.name} from {one.values[0]:.2f} to {one.values[-1]:.2f} %" for one in series)
            caption = "Mean accuracy in % on the tasks learned so far; of several widths the widest."
            chart = lines(series, " %", f"Accuracy as tasks arrive, {title}: {said}.")
            figures.append(Figure(title, caption, chart, _methods(series)))
    return figures


def growth_figures(groups: Sequence[Group]) -> list[Figure]:
    """Neurons in use after each task, for networks that size themselves."""
    figures = []
    for place, same in _by_place(groups):
        sized = [one for one in same if not one.read_out]
        series = [Series(one.method, one.label, one.neurons) for one in sized if one.neurons and len(one.neurons) > 1]
        if series:
            title = _title(place)
            said = "; ".join(f"{one.name} from {one.values[0]:.0f} to {one.values[-1]:.0f}" for one in series)
            chart = lines(series, " neurons", f"Neurons in use after each task, {title}: {said}.", from_zero=True)
            caption = "Neurons in use, all layers together, mean over seeds."
            figures.append(Figure(title, caption, chart, _methods(series)))
    return figures


def _by_place(groups: Iterable[Group]) -> Iterator[tuple[tuple[str, str], list[Group]]]:
    """Finished groups by benchmark and scenario: those on test data, or if there are none those on validation data."""
    finished = [group for group in groups if group.finished]
    for place in dict.fromkeys(group.place for group in finished):
        same = [group for group in finished if group.place == place]
        yield place, [group for group in same if group.evaluated_on == "test"] or same


def _by_kind(groups: Iterable[Group]) -> dict[tuple[str, str], list[Group]]:
    kinds: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        kinds.setdefault((group.method, group.shown_granularity), []).append(group)
    return kinds


def _row(key: tuple[str, str], groups: Sequence[Group]) -> Row:
    method, granularity = key
    name = look(method).name if granularity == "-" else f"{look(method).name}, {granularity}"
    dots = [_dot(group) for group in groups]
    paper, tip = _published(groups[0])
    return Row(method, name[:24], dots, paper, tip)


def _dot(group: Group) -> Dot:
    values = [100 * value for value in group.values("acc")]
    error = None if group.error is None else 100 * group.error
    seeds = f"{len(values)} seed{'s' * (len(values) != 1)}"
    return Dot(float(np.mean(values)), error, values, f"{group.label}: {group.accuracy_text} % ({seeds})")


def _published(group: Group) -> tuple[tuple[float, float, float] | None, str]:
    """The paper's number with its range (two standard errors, or minimum to maximum over widths)."""
    cell, printed = published_at(*group.place, group.method)
    if cell is None or group.evaluated_on != "test":
        return None, ""
    tip = f"{group.method_name} in the paper: {printed} %"
    if "mean" in cell:
        mean, error = float(cell["mean"]), float(cell["standard error"])
        return (mean, mean - 2 * error, mean + 2 * error), tip
    return (float(cell["median"]), float(cell["minimum"]), float(cell["maximum"])), tip


def _widest(groups: Sequence[Group]) -> list[Group]:
    """Of each method and way of inferring only the widest network."""
    found = []
    for same in _by_kind(group for group in groups if not group.read_out).values():
        widest = max(group.widths for group in same)
        found += [group for group in same if group.widths == widest]
    return found


def _so_far(group: Group) -> list[float]:
    """The mean of R[i, 0..i] for each i, in percent; nothing for one task or where a value is missing."""
    if group.matrix is None or len(group.matrix) < 2:
        return []
    values = [100 * float(np.mean(row[: number + 1])) for number, row in enumerate(group.matrix)]
    return [] if np.isnan(values).any() else values


def _methods(series: Sequence[Series]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.method for one in series))


def _title(place: tuple[str, str]) -> str:
    return f"{NAMES.get(place[0], place[0])}, {place[1]}"
