"""Charts of the page: bands over seeds, labelled axes that begin at zero or say that they do not, reliability."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from safetensors.numpy import save_file

from fabricated import fabricate, rewrite
from hibnn.report.names import in_order
from hibnn.report.page.charts import Dot, Row, Series, lines, rows
from hibnn.report.page.figures import growth_figures, reliability_figures, sequence_figures
from hibnn.report.page.reliability import bins_of
from hibnn.report.page.svg import style_of
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below


def groups_of(folder):
    return in_order(group_by_setting(records_below([folder])))


def elements(chart, name):
    return [one for one in ElementTree.fromstring(str(chart)).iter() if one.get("class") == name]


def texts(chart):
    return [one.text for one in ElementTree.fromstring(str(chart)).iter("text")]


def points(element):
    return np.array([[float(number) for number in point.split(",")] for point in element.get("points").split()])


def test_a_band_is_one_standard_error_to_either_side_of_the_line():
    chart = lines([Series(style_of("ibnn"), "IBNN", [50.0, 80.0], [10.0, 20.0])], " %", "accuracy in %", "words", True)
    (band,), (line,) = elements(chart, "band"), elements(chart, "line")
    low, high = points(band)[:2], points(band)[:1:-1]
    middle = points(line)
    assert (low[:, 1] + high[:, 1]) / 2 == pytest.approx(middle[:, 1], abs=0.2)
    zero, hundred = (
        float(elements(chart, "zero")[0].get("d").split()[1].split("L")[0]),
        min(p[1] for p in points(band)),
    )
    scale = (zero - middle[0, 1]) / 50.0
    assert (low[:, 1] - middle[:, 1]) / scale == pytest.approx([10, 20], abs=0.3)
    assert (zero - hundred) / scale == pytest.approx(100, abs=0.3)
    assert "IBNN, after task 2: 80 ± 20 %" in chart


def test_one_seed_has_no_band():
    chart = lines([Series(style_of("ibnn"), "IBNN", [50.0, 80.0])], " %", "accuracy in %", "words")
    assert elements(chart, "band") == []
    assert "IBNN, after task 2: 80 %" in chart


def test_every_axis_says_what_it_measures(tmp_path):
    for seed in range(2):
        fabricate(tmp_path / str(seed), 0.9 + seed / 100, seed=seed)
    groups = groups_of(tmp_path)
    (sequence,), (growth,) = sequence_figures(groups), growth_figures(groups)
    assert {"accuracy in %", "after task"} <= set(texts(sequence.chart))
    assert {"neurons", "after task"} <= set(texts(growth.chart))
    assert elements(sequence.chart, "band")


@pytest.mark.parametrize(("values", "broken"), [([90.0, 95.0], True), ([3.0, 95.0], False)])
def test_an_axis_begins_at_a_line_at_zero_or_is_marked_as_cut(values, broken):
    charts = (
        lines([Series(style_of("ibnn"), "IBNN", values)], " %", "accuracy in %", "words"),
        rows([Row("ibnn", "IBNN", [Dot(value, None, [], "") for value in values])], "words"),
    )
    for chart in charts:
        assert bool(elements(chart, "cut")) == broken
        assert bool(elements(chart, "zero")) != broken
        lowest = min(float(word) for word in texts(chart) if re.fullmatch(r"\d+", word or "") and word not in "12")
        assert (f"this axis begins at {lowest:g}, not at 0" in chart) == broken
    growth = lines([Series(style_of("ibnn"), "IBNN", values)], "", "neurons", "words", from_zero=True)
    assert elements(growth, "zero")
    assert not elements(growth, "cut")


def test_a_long_name_is_wrapped_and_nothing_of_it_lost():
    name = "IBNN, task inference density, init alpha 30.0, size evidence, timestamps auto"
    chart = rows([Row("ibnn", name, [Dot(90.0, None, [], "")]), Row("vcl", "VCL", [Dot(80.0, None, [], "")])], "words")
    parts = [one.text for one in elements(chart, "name")]
    assert " ".join(parts[:-1]) == name
    assert max(map(len, parts)) <= 30


def predictions(folder, sure, right, count=200):
    """Stored predictions of two classes: the first has probability `sure`, and is the answer in a share of rows."""
    probabilities = np.tile(np.array([sure, 1 - sure], np.float16), (count, 1))
    targets = (np.arange(count) >= right * count).astype(np.int16)
    save_file({"task0.probabilities": probabilities, "task0.targets": targets}, folder / "predictions.safetensors")


def test_the_reliability_diagram_has_accuracy_and_confidence_of_all_seeds(tmp_path):
    for seed, right in enumerate((0.5, 0.7)):
        predictions(fabricate(tmp_path / str(seed), 0.9, seed=seed), 0.95, right)
    (group,) = groups_of(tmp_path)
    ((sure, accuracy, count),) = bins_of(group)
    assert (sure, accuracy, count) == (pytest.approx(95, abs=0.1), pytest.approx(60), 400)
    (figure,) = reliability_figures([group])
    assert "IBNN: ECE 1.0 %: 400 examples, 95.0 % sure on average, 60.0 % right" in figure.chart
    assert {"accuracy in %", "confidence in %"} <= set(texts(figure.chart))
    assert elements(figure.chart, "equal")


def test_predictions_that_make_no_sense_cost_the_page_nothing(tmp_path):
    foul = fabricate(tmp_path / "foul", 0.9)
    for probabilities in (np.zeros((5, 2), np.float16), np.full((3, 2), 0.5, np.float16), np.ones(5, np.float16)):
        wrong = {"task0.probabilities": probabilities, "task0.targets": np.zeros(5, np.int16)}
        save_file(wrong, foul / "predictions.safetensors")
        (group,) = groups_of(tmp_path)
        assert bins_of(group) == []
        assert reliability_figures([group]) == []


def test_a_chosen_width_is_counted_as_neurons_but_does_not_grow(tmp_path):
    run = fabricate(tmp_path / "vcl", 0.9, method="vcl", hidden=(30, 20))
    rewrite(run, "result.json", active_units=None, active_units_per_task=[None] * 3)
    assert growth_figures(groups_of(tmp_path)) == []
