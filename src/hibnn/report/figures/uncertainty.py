"""Figures of uncertainty: is a network as often right as it is sure, and is it less sure of data it does not know?"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int
from matplotlib.figure import Figure

from hibnn.evaluation import metrics
from hibnn.learners.method import GREY, Look
from hibnn.report.style import styled

BINS = 15


@styled
def reliability_diagram(
    predictions: Mapping[Look, tuple[Float[np.ndarray, "examples classes"], Int[np.ndarray, " examples"]]],
    bins: int = BINS,
) -> Figure:
    """Accuracy against confidence in equal bins, a panel for each series; below, how many examples a bin holds.

    `predictions[look]` holds probabilities and targets; the title has the expected calibration error.
    """
    figure = Figure(figsize=(0.5 + 2.6 * len(predictions), 3.5), layout="constrained")
    axes = figure.subplots(2, len(predictions), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 1))
    for (above, below), (style, (probabilities, targets)) in zip(axes.T, predictions.items(), strict=True):
        confidence, accuracy, count = reliability(probabilities, targets, bins)
        centres = (np.arange(bins) + 0.5) / bins
        above.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1)
        above.plot(confidence, accuracy, color=style.colour, linestyle=style.line, marker=style.marker)
        below.bar(centres, count / count.sum(), 0.9 / bins, color=f"{style.colour}88")
        error = metrics.expected_calibration_error(probabilities, targets, bins)
        above.set_title(f"{style.name}: ECE {100 * error:.1f} %")
        above.set_xlim(0, 1)
        above.set_ylim(0, 1)
        below.set_xlabel("confidence")
    axes[0, 0].set_ylabel("accuracy")
    axes[1, 0].set_ylabel("share")
    return figure


def reliability(
    probabilities: np.ndarray, targets: np.ndarray, bins: int = BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean confidence, accuracy and number of examples in each bin (low, high]; empty bins are NaN."""
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == targets
    place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], confidence)
    count = np.bincount(place, minlength=bins)
    divisor = np.where(count > 0, count, np.nan)
    sums = (np.bincount(place, weights=values, minlength=bins) for values in (confidence, correct.astype(float)))
    mean_confidence, accuracy = (total / divisor for total in sums)
    return mean_confidence, accuracy, count


@styled
def entropy_histograms(
    entropies: Mapping[Look, tuple[Float[np.ndarray, " known"], Float[np.ndarray, " ood"]]], bins: int = 40
) -> Figure:
    """Predictive entropy of known and out-of-distribution examples, a panel a series; the title has the AUROC."""
    figure = Figure(figsize=(0.5 + 2.9 * len(entropies), 2.8), layout="constrained")
    axes = figure.subplots(1, len(entropies), sharex=True, squeeze=False)[0]
    top = max(float(max(known.max(), ood.max())) for known, ood in entropies.values())
    edges = np.linspace(0, top or 1.0, bins + 1)
    for axis, (style, (known, ood)) in zip(axes, entropies.items(), strict=True):
        axis.hist(known, edges, density=True, color=f"{style.colour}66", label="known")
        axis.hist(ood, edges, density=True, histtype="step", color="black", linestyle="--", label="ood")
        axis.set_title(f"{style.name}: AUROC {metrics.ood_auroc(known, ood):.3f}")
        axis.set_xlabel("predictive entropy (nats)")
        axis.set_yscale("log")
    axes[0].set_ylabel("density")
    axes[0].legend(loc="upper right")
    return figure
