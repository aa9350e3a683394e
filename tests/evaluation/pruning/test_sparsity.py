"""The paper's claim on our networks: those that size themselves lose less when most weights are taken away."""

from pathlib import Path

import numpy as np
import pytest

from hibnn.evaluation.pruning import Ranking
from hibnn.report.figures.pruning import pruning_curves
from hibnn.runs.pruning import prune_run
from hibnn.runs.run import run
from hibnn.sweeps.sweep import folder_of, read_sweep

SWEEP = Path(__file__).parents[3] / "paper" / "whole-mnist.toml"


@pytest.mark.slow
def test_ibnn_and_hibnn_stay_above_mfvi_at_95_percent_pruned_by_signal_to_noise(tmp_path):
    """Trains MFVI, IBNN and HIBNN on MNIST, 2x200, 20 epochs, three seeds: about twenty minutes."""
    folders = []
    for experiment in read_sweep(SWEEP):
        folders.append(folder_of(experiment, tmp_path))
        run(experiment, folders[-1])
    studies = [prune_run(folder, percentages=(0.0, 95.0), draws=10) for folder in folders]
    at_95 = {"mfvi": [], "ibnn": [], "hibnn": []}
    for study in studies:
        at_95[study.method].append(study.curve(Ranking.SNR).accuracies[-1])
    assert [len(values) for values in at_95.values()] == [3, 3, 3]
    assert min(np.mean(at_95["ibnn"]), np.mean(at_95["hibnn"])) > np.mean(at_95["mfvi"])
    drawn = {line.get_label().split()[0]: line.get_ydata()[1] for line in pruning_curves(studies).axes[1].lines}
    assert max(drawn["IBNN"], drawn["HIBNN"]) < drawn["MFVI"]
