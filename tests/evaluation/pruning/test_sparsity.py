"""The paper's claim on our networks: those that size themselves lose less when most weights are taken away."""

from pathlib import Path

import pytest
from hibnn.report.runs import group, read_run

from hibnn.evaluation.pruning import Ranking
from hibnn.evaluation.pruning.study import prune_run
from hibnn.report.figures.pruning import accuracy_at, pruning_curves
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
    methods = group([read_run(folder) for folder in folders], lambda one: one.method)
    assert {name: len(runs) for name, runs in methods.items()} == {"mfvi": 3, "ibnn": 3, "hibnn": 3}
    at_95 = {}
    for name in methods:
        at_95[name], _ = accuracy_at([one for one in studies if one.method == name], Ranking.SNR, 95.0)
    assert min(at_95["ibnn"], at_95["hibnn"]) > at_95["mfvi"]
    drawn = {line.get_label().split()[0]: line.get_ydata()[1] for line in pruning_curves(studies).axes[1].lines}
    assert max(drawn["IBNN"], drawn["HIBNN"]) < drawn["MFVI"]
