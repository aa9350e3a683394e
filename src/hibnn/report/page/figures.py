"""The page's figures: accuracy by method, accuracy as tasks arrive, and how the network grew."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from hibnn.evaluation.significance import mean_and_error
from hibnn.report.contenders import accuracy_text
from hibnn.report.names import benchmark_title, label, method_title, shown_method
from hibnn.report.page.charts import Dot, Row, Series, lines, rows
from hibnn.report.page.groups import mean_matrix, neurons
from hibnn.report.tables.published import published_at
from hibnn.runs.groups import Group

NAME = 32
"""A row's name is cut after so many letters; its marks say the whole of it."""


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
        series = [
            Series(shown_method(group), label(group), values) for group in _widest(same) if (values := _so_far(group))
        ]
        if series:
            title = _title(place)
            said = "; ".join(f"{line.name} from {line.values[0]:.2f} to {line.values[-1]:.2f} %" for line in series)
            caption = "Mean accuracy in % on the tasks learned so far; of several widths the widest."
            chart = lines(series, " %", f"Accuracy as tasks arrive, {title}: {said}.")
            figures.append(Figure(title, caption, chart, _methods(series)))
    return figures


def growth_figures(groups: Sequence[Group]) -> list[Figure]:
    """Neurons in use after each task, for networks that size themselves."""
    figures = []
    for place, same in _by_place(groups):
        sized = [(group, used) for group in same if not group.read_out and (used := neurons(group))]
        series = [Series(shown_method(group), label(group), used) for group, used in sized if len(used) > 1]
        if series:
            title = _title(place)
            said = "; ".join(f"{line.name} from {line.values[0]:.0f} to {line.values[-1]:.0f}" for line in series)
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


def _by_kind(groups: Iterable[Group]) -> dict[tuple[str, ...], list[Group]]:
    """Groups that differ in their widths alone."""
    kinds: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        kinds.setdefault((shown_method(group), group.granularity, group.variant), []).append(group)
    return kinds


def _row(key: tuple[str, ...], groups: Sequence[Group]) -> Row:
    method, granularity, variant = key
    name = ", ".join(part for part in (method_title(method), granularity, variant) if part not in ("", "-"))
    dots = [_dot(group) for group in groups]
    paper, tip = _published(groups[0])
    return Row(method, name if len(name) <= NAME else f"{name[: NAME - 1]}…", dots, paper, tip)


def _dot(group: Group) -> Dot:
    values = [100 * value for value in group.values("acc")]
    seeds = f"{len(values)} seed{'s' * (len(values) != 1)}"
    return Dot(*mean_and_error(values), values, f"{label(group)}: {accuracy_text(group)} % ({seeds})")


def _published(group: Group) -> tuple[tuple[float, float, float] | None, str]:
    """The paper's number with its range (two standard errors, or minimum to maximum over widths)."""
    method = shown_method(group)
    cell, printed = published_at(*group.place, method)
    if cell is None or group.evaluated_on != "test":
        return None, ""
    tip = f"{method_title(method)} in the paper: {printed} %"
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
    matrix = mean_matrix(group)
    if matrix is None or len(matrix) < 2:
        return []
    values = [100 * float(np.mean(row[: number + 1])) for number, row in enumerate(matrix)]
    return [] if np.isnan(values).any() else values


def _methods(series: Sequence[Series]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.method for line in series))


def _title(place: tuple[str, str]) -> str:
    return f"{benchmark_title(place[0])}, {place[1]}"
