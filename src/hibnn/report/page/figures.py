"""The page's figures: accuracy by method, as tasks arrive, how the network grew, and how reliable its answers are."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from hibnn.evaluation.metrics import accuracies_so_far
from hibnn.evaluation.significance import mean_and_error
from hibnn.report.contenders import accuracy_text
from hibnn.report.names import benchmark_title, label, method_title, shown_method, widths_text
from hibnn.report.page.charts import Dot, Reliability, Row, Series, lines, reliabilities, rows
from hibnn.report.page.groups import grows, matrices_of, neurons_of_runs
from hibnn.report.page.reliability import FEW, bins_of
from hibnn.report.page.svg import Style, style_of
from hibnn.report.tables.published import published_at
from hibnn.runs.groups import Group

BROKEN = "An axis that is broken does not begin at zero."
RELIABLE = (
    "How often answers were right against how sure they were, after the last task, tasks and seeds together. Above the "
    f"dashed line a method is right more often than it claims. Marks of fewer than {FEW} examples are pale."
)
BANDS = f"Bands are one standard error over seeds. {BROKEN}"


@dataclass(frozen=True)
class Figure:
    """A chart with its title, what to read in it, and its legend."""

    title: str
    caption: str
    chart: Markup
    legend: tuple[tuple[Style, str], ...] = ()


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
        caption = f"Mean and standard error over seeds, single seeds pale; one mark a width. {BROKEN}{paper}"
        figures.append(Figure(title, caption, rows(entries, f"Accuracy on {title}: {said}.")))
    return figures


def sequence_figures(groups: Sequence[Group]) -> list[Figure]:
    """Mean accuracy on the tasks so far, after each task."""
    figures = []
    for place, same in _by_place(groups):
        series = _series((group, _so_far(group)) for group in _widest(same))
        if series:
            title = _title(place)
            said = "; ".join(f"{line.name} from {line.values[0]:.2f} to {line.values[-1]:.2f} %" for line in series)
            caption = f"Mean accuracy in % on the tasks learned so far; of several widths the widest. {BANDS}"
            chart = lines(series, " %", "accuracy in %", f"Accuracy as tasks arrive, {title}: {said}.")
            figures.append(Figure(title, caption, chart, _legend(series)))
    return figures


def growth_figures(groups: Sequence[Group]) -> list[Figure]:
    """Neurons after each task, for networks that size themselves."""
    figures = []
    for place, same in _by_place(groups):
        growing = [group for group in same if not group.read_out and grows(group)]
        series = [
            line for line in _series((group, neurons_of_runs(group)) for group in growing) if len(line.values) > 1
        ]
        if series:
            title = _title(place)
            said = "; ".join(f"{line.name} from {line.values[0]:.0f} to {line.values[-1]:.0f}" for line in series)
            description = f"Neurons after each task, {title}: {said}."
            chart = lines(series, " neurons", "neurons", description, from_zero=True)
            caption = f"Neurons of all layers together. {BANDS}"
            figures.append(Figure(title, caption, chart, _legend(series)))
    return figures


def reliability_figures(groups: Sequence[Group]) -> list[Figure]:
    """Accuracy against confidence, for runs that stored their predictions."""
    figures = []
    for place, same in _by_place(groups):
        binned = [(group, bins) for group in _widest(same) if (bins := bins_of(group))]
        styles = _styles([group for group, _ in binned])
        series = [
            Reliability(style, _calibration(name, group), bins)
            for (style, name), (group, bins) in zip(styles, binned, strict=True)
        ]
        if series:
            title, legend = _title(place), tuple((line.style, line.name) for line in series)
            chart = reliabilities(series, f"Reliability, {title}: {'; '.join(line.name for line in series)}.")
            figures.append(Figure(title, RELIABLE, chart, legend))
    return figures


def _calibration(name: str, group: Group) -> str:
    error = group.mean("ece")
    return name if error is None else f"{name}: ECE {100 * error:.1f} %"


def _series(found: Iterable[tuple[Group, np.ndarray | None]]) -> list[Series]:
    """A line for each group that has values: their mean over runs and, of several runs, its standard error."""
    known = [(group, values) for group, values in found if values is not None]
    styles = _styles([group for group, _ in known])
    series = []
    for (style, name), (_, values) in zip(styles, known, strict=True):
        mean, error = mean_and_error(values)
        series.append(Series(style, name, mean.tolist(), None if error is None else error.tolist()))
    return series


def _styles(groups: Sequence[Group]) -> list[tuple[Style, str]]:
    """How each group of a chart looks and what it is called: settings of one method share its colour."""
    methods = [shown_method(group) for group in groups]
    found = []
    for number, (method, group) in enumerate(zip(methods, groups, strict=True)):
        count = methods.count(method)
        name = method_title(method) if count == 1 else _name(method, group.granularity, group.variant, group.widths)
        found.append((style_of(method, methods[:number].count(method), count), name))
    return found


def _name(method: str, granularity: str, variant: str, widths: Sequence[int] = ()) -> str:
    way = "" if granularity == "-" else f"by {granularity}"
    return ", ".join(
        part for part in (method_title(method), way, variant or (widths_text(widths) if widths else "")) if part
    )


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
    dots = [_dot(group) for group in groups]
    return Row(method, _name(method, granularity, variant), dots, *_published(groups[0]))


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


def _so_far(group: Group) -> np.ndarray | None:
    """The mean of R[i, 0..i] for each i, in percent, a row a run; None for one task or where a value is missing."""
    matrices = matrices_of(group)
    if matrices is None or matrices.shape[-1] < 2:
        return None
    values = 100 * np.stack([accuracies_so_far(matrix) for matrix in matrices])
    return None if np.isnan(values).any() else values


def _legend(series: Sequence[Series]) -> tuple[tuple[Style, str], ...]:
    return tuple((line.style, line.name) for line in series)


def _title(place: tuple[str, str]) -> str:
    return f"{benchmark_title(place[0])}, {place[1]}"
