"""Figures contain what they claim: the data are read back from the axes."""

import matplotlib as mpl
import numpy as np
import pytest

from hibnn.errors import UserError
from hibnn.evaluation import metrics
from hibnn.evaluation.pruning import Curve, Ranking, Removal
from hibnn.evaluation.pruning.study import Study
from hibnn.report import figures
from hibnn.report.style import look, looks, save_figure

RANDOM = np.random.default_rng(0)
PERCENTAGES = (0.0, 60.0, 95.0, 99.0)


def study(method, seed, accuracies, depth=2, removal=Removal.ENTIRELY):
    curves = tuple(
        Curve(ranking, removal, PERCENTAGES, (0, 6, 9, 10), tuple(accuracies[ranking]))
        for ranking in (Ranking.MAGNITUDE, Ranking.SNR)
    )
    return Study(method, "mnist", "task", seed, (20,) * depth, 10, 5, "test", "abc", curves)


def two_rankings(*accuracies):
    return {Ranking.MAGNITUDE: [0.98, 0.5, 0.2, 0.1], Ranking.SNR: list(accuracies)}


IBNN, HIBNN, MFVI, VCL, BSCL = (look(name) for name in ("ibnn", "hibnn", "mfvi", "vcl", "bscl"))
STUDIES = {
    IBNN: [
        study("ibnn", 0, two_rankings(0.98, 0.97, 0.90, 0.5)),
        study("ibnn", 1, two_rankings(0.96, 0.97, 0.94, 0.3)),
    ],
    MFVI: [study("mfvi", 0, two_rankings(0.99, 0.98, 0.6, 0.1))],
}


def line(axis, name):
    return next(one for one in axis.lines if one.get_label().startswith(name))


def boxes(axis):
    """The median of every box, by its place."""
    lines = [one for one in axis.lines if one.get_linewidth() == 1.6]
    return {round(float(one.get_xdata().mean()), 3): float(one.get_ydata()[0]) for one in lines}


def test_pruning_curves_show_mean_test_error_and_one_standard_error():
    magnitude, snr = figures.pruning_curves(STUDIES).axes
    assert [magnitude.get_title(), snr.get_title()] == ["by magnitude |μ|", "by signal-to-noise |μ|/σ"]
    curve = line(snr, "IBNN (2 seeds)")
    assert curve.get_xdata().tolist() == list(PERCENTAGES)
    assert curve.get_ydata() == pytest.approx([3, 3, 8, 60])
    assert line(magnitude, "MFVI (1 seed)").get_ydata() == pytest.approx([2, 50, 80, 90])
    (band,) = snr.collections
    at_95 = [y for x, y in band.get_paths()[0].vertices if x == 95]
    assert (min(at_95), max(at_95)) == pytest.approx((6, 10))


def test_pruning_curves_of_several_depths_have_a_row_each():
    figure = figures.pruning_curves(
        STUDIES | {IBNN: [*STUDIES[IBNN], study("ibnn", 0, two_rankings(0.9, 0.9, 0.9, 0.9), depth=3)]}
    )
    assert len(figure.axes) == 4
    assert figure.axes[2].get_ylabel().startswith("depth 3")
    assert line(figure.axes[3], "IBNN").get_ydata() == pytest.approx([10, 10, 10, 10])


def test_a_method_of_the_deeper_networks_alone_is_in_the_legend():
    figure = figures.pruning_curves(STUDIES | {HIBNN: [study("hibnn", 0, two_rankings(0.9, 0.9, 0.9, 0.9), depth=3)]})
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["IBNN (2 seeds)", "MFVI (1 seed)", "HIBNN (1 seed)"]


def test_curves_that_cannot_be_compared_are_refused():
    other = study("mfvi", 1, two_rankings(0.9, 0.9, 0.9, 0.9), removal=Removal.MEANS)
    with pytest.raises(UserError, match="one removal"):
        figures.pruning_curves(STUDIES | {MFVI: [other]})
    with pytest.raises(UserError, match="hibnn prune"):
        figures.pruning_curves({})


def test_the_depth_study_shows_sparsity_and_accuracy_before_and_after():
    deeper = study("ibnn", 0, two_rankings(0.97, 0.97, 0.95, 0.94), depth=3)
    sparsity, before, after = figures.depth_study(STUDIES | {IBNN: [*STUDIES[IBNN], deeper]}).axes
    assert line(sparsity, "_").get_xdata().tolist() == [2], "never 10 points down at depth 3: no point, not a zero"
    assert line(sparsity, "_").get_ydata().tolist() == [99]
    assert sparsity.get_title() == "no value: IBNN depth 3 seed 0"
    assert before.lines[0].get_xdata().tolist() == [2, 3]
    assert before.lines[0].get_ydata() == pytest.approx([97, 97])
    assert after.lines[0].get_ydata() == pytest.approx([92, 95])


def test_boxes_are_drawn_for_each_layer_and_method():
    counts = {style: [RANDOM.poisson(rate, 99) for rate in (20, 30)] for style in (IBNN, HIBNN)}
    (axis,) = figures.active_neurons_by_layer(counts).axes
    expected = {
        round(1 + layer + shift, 3): np.median(counts[style][layer])
        for style, shift in ((IBNN, -0.18), (HIBNN, 0.18))
        for layer in (0, 1)
    }
    assert boxes(axis) == expected
    assert axis.get_ylim()[0] == 0


def test_mask_matrices_are_the_masks():
    masks = {IBNN: [RANDOM.random((10, 5)), RANDOM.random((10, 7))], HIBNN: [RANDOM.random((10, 6))]}
    first, second, third, empty, _ = figures.mask_matrices(masks).axes
    shown = [axis.images[0].get_array().data for axis in (first, second, third)]
    assert all(np.array_equal(a, b) for a, b in zip(shown, [*masks[IBNN], *masks[HIBNN]], strict=True))
    assert not empty.images


def test_active_neurons_by_task_has_a_panel_for_each_benchmark():
    counts = {"split": [RANDOM.poisson(9, 50) for _ in range(3)], "noise": [RANDOM.poisson(5, 50) for _ in range(2)]}
    axes = figures.active_neurons_by_task(counts, IBNN).axes
    assert [axis.get_title() for axis in axes] == ["split", "noise"]
    for axis, tasks in zip(axes, counts.values(), strict=True):
        assert boxes(axis) == {task + 1: np.median(one) for task, one in enumerate(tasks)}


def test_inferred_structure_has_a_box_for_each_task_and_layer():
    counts = {IBNN: [[RANDOM.poisson(10 * task + layer, 50) for layer in (1, 2)] for task in range(3)]}
    (axis,) = figures.inferred_structure(counts, ["a", "b", "c"]).axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["a", "b", "c"]
    places = {(task, layer): round(task + 1 + 0.35 * (layer - 0.5), 3) for task in range(3) for layer in (0, 1)}
    assert boxes(axis) == {place: np.median(counts[IBNN][task][layer]) for (task, layer), place in places.items()}


def test_alpha_stands_above_the_neurons_of_the_same_method():
    alphas = {style: [RANDOM.gamma(5, size=9) for _ in range(2)] for style in (IBNN, BSCL)}
    active = {style: [RANDOM.poisson(5, size=9) for _ in range(2)] for style in (IBNN, BSCL)}
    axes = figures.alpha_and_masks(alphas, active).axes
    shown = [alphas[IBNN], alphas[BSCL], active[IBNN], active[BSCL]]
    for axis, values in zip(axes, shown, strict=True):
        assert boxes(axis) == pytest.approx({1: np.median(values[0]), 2: np.median(values[1])})


def test_the_width_study_has_vcl_as_points_and_the_ibnn_as_a_band():
    (axis,) = figures.width_study(VCL, {100: [0.9, 0.8], 10: [0.5]}, IBNN, [0.7, 0.8]).axes
    assert line(axis, "_").get_xdata().tolist() == [10, 100]
    assert line(axis, "_").get_ydata() == pytest.approx([50, 85])
    assert list(line(axis, "IBNN (2 seeds)").get_ydata()) == pytest.approx([75, 75])
    (band,) = axis.patches
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((70, 80))


MATRICES = np.array([[[1.0, np.nan], [0.8, 0.9]], [[0.9, np.nan], [0.6, 0.7]]])


def test_task_accuracies_begin_where_a_task_was_learned():
    first, second = figures.task_accuracies({IBNN: MATRICES, VCL: MATRICES}).axes
    assert line(first, "IBNN").get_xdata().tolist() == [1, 2]
    assert line(first, "IBNN").get_ydata() == pytest.approx([95, 70])
    assert line(second, "VCL").get_xdata().tolist() == [2]
    assert line(second, "VCL").get_ydata() == pytest.approx([80])


def test_accuracy_matrices_are_means_and_leave_blank_what_was_not_measured():
    axis, _ = figures.accuracy_matrices({IBNN: MATRICES}).axes
    shown = axis.images[0].get_array()
    assert shown.filled(-1) == pytest.approx(np.array([[0.95, -1], [0.7, 0.8]]))
    assert [text.get_text() for text in axis.texts] == ["95", "70", "80"]
    assert axis.get_title() == "IBNN (2 seeds): 75.0 %"


def test_training_time_is_the_mean_over_tasks_and_seeds():
    seconds = {IBNN: np.array([[1.0, 3.0], [4.0, 4.0]]), VCL: np.ones((1, 2))}
    (axis,) = figures.training_time(seconds).axes
    assert [bar.get_height() for bar in axis.patches] == [3.0, 1.0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["IBNN", "VCL"]


def test_the_reliability_diagram_shows_accuracy_in_each_bin_of_confidence():
    probabilities = np.array([[0.9, 0.1], [0.95, 0.05], [0.4, 0.6], [0.3, 0.7]])
    targets = np.array([0, 1, 1, 1])
    above, below = figures.reliability_diagram({IBNN: (probabilities, targets)}, bins=5).axes
    curve = above.lines[1]
    measured = ~np.isnan(curve.get_ydata())
    assert curve.get_xdata()[measured] == pytest.approx([0.6, 0.7, 0.925])
    assert curve.get_ydata()[measured] == pytest.approx([1.0, 1.0, 0.5])
    assert [bar.get_height() for bar in below.patches] == pytest.approx([0, 0, 0.25, 0.25, 0.5])
    error = metrics.expected_calibration_error(probabilities, targets, 5)
    assert above.get_title() == f"IBNN: ECE {100 * error:.1f} %"


def test_entropy_histograms_are_densities_of_known_and_unknown_data():
    known, ood = RANDOM.random(200) / 2, 0.5 + RANDOM.random(100) / 2
    (axis,) = figures.entropy_histograms({IBNN: (known, ood)}, bins=10).axes
    heights = np.array([bar.get_height() for bar in axis.patches[:10]])
    edges = np.linspace(0, max(ood), 11)
    assert heights == pytest.approx(np.histogram(known, edges, density=True)[0])
    assert axis.get_title() == "IBNN: AUROC 1.000"


def test_methods_that_meet_differ_in_line_or_marker_so_that_grey_is_enough():
    shared = {"mfvi": "vcl", "svd": "gem"}
    seen = [(one.line, one.marker) for name, one in looks().items() if name not in shared]
    assert len(set(seen)) == len(seen)
    assert all(look(name).line == look(other).line for name, other in shared.items())


def test_a_figure_looks_the_same_whatever_the_settings_around_it(tmp_path):
    save_figure(figures.pruning_curves(STUDIES), tmp_path / "first.svg")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "svg.fonttype": "path"}):
        save_figure(figures.pruning_curves(STUDIES), tmp_path / "second.svg")
    assert (tmp_path / "first.svg").read_text() == (tmp_path / "second.svg").read_text()
    assert "signal-to-noise" in (tmp_path / "first.svg").read_text()


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_figures_are_saved_as_their_name_ends(tmp_path, kind, start):
    figure = figures.training_time({IBNN: np.ones((1, 1))})
    save_figure(figure, tmp_path / f"figure.{kind}")
    assert (tmp_path / f"figure.{kind}").read_bytes().startswith(start)
    with pytest.raises(UserError, match="valid are pdf, png, svg"):
        save_figure(figure, tmp_path / "figure.bmp")


@pytest.mark.parametrize(("low", "cut"), [(0.9, True), (0.0, False)])
def test_an_axis_of_accuracies_begins_at_zero_or_is_marked_as_cut(low, cut):
    matrices = {IBNN: np.array([[[0.95, np.nan], [low, 0.97]]])}
    axis = figures.task_accuracies(matrices).axes[0]
    strokes = [one for one in axis.lines if one.get_gid() == "cut"]
    assert bool(strokes) == cut
    assert (axis.get_ylim()[0] == 0) != cut
    assert axis.get_ylim()[0] < 100 * low + 1e-9
