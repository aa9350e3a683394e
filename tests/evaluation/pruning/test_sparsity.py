"""The paper's claim on our networks: those that size themselves lose less when most weights are taken away."""

from pathlib import Path
from statistics import mean

import pytest

from hibnn.evaluation.pruning import Ranking
from hibnn.evaluation.pruning.study import write_study
from hibnn.report.figures.pruning import pruning_curves
from hibnn.report.series import pruning_studies
from hibnn.runs.pruning import prune_run
from hibnn.runs.record import read_record
from hibnn.runs.run import run
from hibnn.sweeps.sweep import folder_of, read_sweep

SWEEP = Path(__file__).parents[3] / "paper" / "pruning.toml"


@pytest.mark.slow
def test_ibnn_and_hibnn_stay_above_mfvi_at_95_percent_pruned_by_signal_to_noise(tmp_path):
    """Trains MFVI, IBNN and HIBNN on MNIST, 2x200, 20 epochs, three seeds: about twenty minutes."""
    folders = []
    for experiment in read_sweep(SWEEP, seeds=(0, 1, 2)):
        if (experiment.dataset, experiment.options.depth) != ("mnist", 2) or experiment.method in ("svd", "bscl"):
            continue
        folders.append(folder_of(experiment, tmp_path))
        run(experiment, folders[-1])
    for folder in folders:
        write_study(folder, prune_run(folder, percentages=(0.0, 95.0), draws=10))
    studies = pruning_studies(read_record(folder) for folder in folders)
    assert {style.name: len(same) for style, same in studies.items()} == {"MFVI": 3, "IBNN": 3, "HIBNN": 3}
    at_95 = {
        style.name: mean(each.curve(Ranking.SNR).accuracies[1] for each in same) for style, same in studies.items()
    }
    assert min(at_95["IBNN"], at_95["HIBNN"]) > at_95["MFVI"]
    drawn = {line.get_label().split()[0]: line.get_ydata()[1] for line in pruning_curves(studies).axes[1].lines}
    assert max(drawn["IBNN"], drawn["HIBNN"]) < drawn["MFVI"]
