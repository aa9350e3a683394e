"""The picture of one run holds what it claims."""

import numpy as np

from hibnn.report.figures import growth_figure, save_figure

RESULT = {
    "method": "ibnn",
    "scenario": "task",
    "acc": 0.85,
    "accuracy_matrix": [[1.0, None], [0.9, 0.8]],
    "active_units_per_task": [[10.0, 5.0], [20.0, 6.0]],
}


def test_the_growth_figure_shows_the_matrix_the_neurons_beside_the_controls_and_the_curve(tmp_path):
    curve = np.array([[0, 1, 2, 4], [0.7, 0.3, 0.1, 0.09]])
    figure = growth_figure(RESULT, [1.0, 2.0], curve, 2.0, 1)
    matrix, neurons, losses = figure.axes
    assert [text.get_text() for text in matrix.texts] == ["100", "90", "80"]
    assert matrix.images[0].get_array().filled(-1).tolist() == [[1.0, -1], [0.9, 0.8]]
    assert [bar.get_height() for bar in neurons.patches] == [15.0, 26.0, 1.0, 2.0]
    assert losses.lines[0].get_ydata().tolist() == [0.7, 0.3, 0.1, 0.09]
    assert losses.lines[1].get_xdata() == [2.0, 2.0]
    save_figure(figure, tmp_path / "figure.svg")
    assert "<svg" in (tmp_path / "figure.svg").read_text()
