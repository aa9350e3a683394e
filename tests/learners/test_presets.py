import pytest

from hibnn import UserError, options_for
from hibnn.benchmarks import Scenario, Traits, benchmarks, find_benchmark
from hibnn.learners import find_method, methods
from hibnn.learners.presets import preset
from hibnn.nn.layers.masks import Relaxation


@pytest.mark.parametrize("name", ["default", "paper"])
def test_every_method_has_a_preset_on_every_benchmark(name):
    for method in methods():
        for dataset in benchmarks():
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
        preset("papers", find_method("ibnn"), find_benchmark("split-mnist").traits)


@pytest.mark.parametrize("name", ["default", "paper"])
@pytest.mark.parametrize("dataset", ["split-digits", "split-mnist", "permuted-mnist"])
def test_a_coreset_changes_nothing_else_of_vcl(name, dataset):
    plain, kept = (vars(options_for(method, dataset, name)) for method in ("vcl", "vcl-coreset"))
    assert {option: kept[option] for option in plain} == plain
    size = (kept["coreset_size"], kept["coreset_epochs"])
    assert size == ((200, 100) if dataset == "permuted-mnist" else (40, 120))


def test_a_preset_follows_what_a_benchmark_is_and_not_its_name():
    few, shifted = Traits(rows=300, inputs=4, classes=2), Traits(rows=9_000, inputs=4, classes=3, same_classes=True)
    assert preset("default", find_method("finetune"), few) == {"batch_size": 32, "epochs": 20}
    assert preset("default", find_method("vcl"), shifted)["width"] == 200
    assert preset("default", find_method("hibnn"), shifted) == {}
    assert preset("default", find_method("hibnn"), shifted, Scenario.DOMAIN)["size"] == "prior"
    assert preset("paper", find_method("ewc"), shifted, Scenario.DOMAIN)["fisher"] == "batches"
