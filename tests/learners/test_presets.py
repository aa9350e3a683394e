import pytest

from hibnn import UserError, options_for
from hibnn.benchmarks import BENCHMARKS
from hibnn.learners import METHODS
from hibnn.learners.presets import preset
from hibnn.nn.layers.masks import Relaxation


@pytest.mark.parametrize("name", ["default", "paper"])
def test_every_method_has_a_preset_on_every_benchmark(name):
    for method in METHODS:
        for dataset in BENCHMARKS:
            assert options_for(method, dataset, name).epochs > 0


def test_the_papers_settings_are_the_papers():
    split, permuted = (options_for("ibnn", dataset, "paper") for dataset in ("split-mnist", "permuted-mnist"))
    assert (split.epochs, split.alpha, split.temperature, split.prior_variance) == (600, 5.0, 0.7, 0.7)
    assert (permuted.epochs, permuted.temperature, permuted.batch_size) == (200, 1.0, 128)
    assert split.relaxation is Relaxation.PAPER
    assert split.likelihood_epochs == 100
    assert split.width == permuted.width == 100


def test_changes_go_before_the_preset_and_unknown_presets_are_refused():
    assert options_for("ibnn", "split-mnist", "paper", epochs=2).epochs == 2
    with pytest.raises(UserError, match="valid are default, paper"):
        preset("papers", "ibnn", "split-mnist")
