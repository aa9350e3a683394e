"""The picture of the demonstration holds what was measured, from zero on."""

import numpy as np
import pytest

from hibnn.report.figures import incremental_figure, save_figure
from hibnn.report.incremental import Story, sentences

STORY = Story(
    method="ibnn",
    seeds=(0, 1),
    ours=np.array([[100.0, 90.0], [98.0, 94.0]]),
    finetune=np.array([[100.0, 45.0], [96.0, 55.0]]),
    network=np.array([60.0, 70.0]),
    density=np.array([91.0, 92.0]),
    both=np.array([90.0, 94.0]),
    neurons=np.array([[10.0, 20.0], [14.0, 22.0]]),
    nothing=np.array([0.0, 1.0]),
    curve=np.array([[0, 1, 2, 4], [0.7, 0.3, 0.1, 0.09]]),
    kept=2.0,
    bytes=12_345.0,
    examples=0,
)


def test_the_picture_shows_both_methods_the_ledger_the_neurons_and_the_curve(tmp_path):
    figure = incremental_figure(STORY)
    accuracies, ledger, neurons, losses = figure.axes
    assert [line.get_ydata().tolist() for line in accuracies.lines] == [[99.0, 92.0], [98.0, 50.0]]
    low, high = accuracies.collections[0].get_paths()[0].get_extents().get_points()[:, 1]
    assert (low, high) == (pytest.approx(90.0), pytest.approx(100.0))  # one standard error: 1, then 2
    assert [bar.get_height() for bar in ledger.patches] == [92.0, 91.5, 65.0, 50.0]
    assert [bar.get_height() for bar in neurons.patches] == [12.0, 21.0, 0.0, 1.0]
    assert losses.lines[0].get_ydata().tolist() == [0.7, 0.3, 0.1, 0.09]
    assert losses.lines[1].get_xdata() == [2.0, 2.0]
    for axis in figure.axes:
        assert axis.get_ylim()[0] == 0
        assert axis.get_ylabel()
    save_figure(figure, tmp_path / "figure.svg", "what it is made of")
    assert "what it is made of" in (tmp_path / "figure.svg").read_text()


def test_the_sentences_are_made_of_the_values():
    knows, bound, size, keeps = sentences(STORY, "IBNN")
    assert (
        "IBNN is right in 92.0 ± 2.0 % of the test examples; its densities alone in 91.5 ± 0.5 %, its network" in knows
    )
    assert "its network alone in 65.0 ± 5.0 %." in knows
    assert "is right in 50.0 ± 5.0 %, 42 points less." in bound
    assert size.startswith("Neurons after each task: 12, 21; nobody chose them.")
    assert size.endswith("0, 1.")
    assert keeps == "IBNN and its densities keep 12.3 kB and no examples of earlier tasks."
