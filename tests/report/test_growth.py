"""Figures and tables hold what they claim."""

import json

import pytest

from hibnn.report.figures import growth_figure, save_figure
from hibnn.report.tables import group, markdown, percent, results_below

RESULT = {
    "method": "ibnn",
    "scenario": "task",
    "acc": 0.85,
    "accuracy_matrix": [[1.0, None], [0.9, 0.8]],
    "active_units_per_task": [[10.0, 5.0], [20.0, 6.0]],
}


def test_the_growth_figure_shows_the_matrix_and_the_neurons(tmp_path):
    figure = growth_figure(RESULT)
    matrix, neurons = figure.axes
    assert [text.get_text() for text in matrix.texts] == ["100", "90", "80"]
    assert matrix.images[0].get_array().filled(-1).tolist() == [[1.0, -1], [0.9, 0.8]]
    assert [bar.get_height() for bar in neurons.patches] == [15.0, 26.0]
    save_figure(figure, tmp_path / "figure.svg")
    assert "<svg" in (tmp_path / "figure.svg").read_text()


def test_results_are_found_grouped_and_averaged(tmp_path):
    for seed, acc in enumerate((0.9, 0.8)):
        (tmp_path / f"run-{seed}").mkdir()
        (tmp_path / f"run-{seed}" / "result.json").write_text(json.dumps({"method": "x", "acc": acc}))
    found = results_below(tmp_path)
    assert [path.name for path, _ in found] == ["run-0", "run-1"]
    assert group([result for _, result in found], lambda one: one["method"]).keys() == {"x"}
    assert percent([0.9, 0.8]) == "85.00 ± 5.00"
    assert percent([0.5]) == "50.00"


def test_a_markdown_table_has_a_row_a_result():
    assert markdown(("a", "b"), [(1, 2)]) == "| a | b |\n|---|---|\n| 1 | 2 |\n"
    with pytest.raises(TypeError):
        markdown(("a",), [1])
