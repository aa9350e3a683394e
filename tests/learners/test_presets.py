import pytest

from hibnn import UserError, options_for
from hibnn.benchmarks import Scenario, Traits, benchmarks, find_benchmark
from hibnn.cli.commands.run import parse
from hibnn.learners import find_method, methods
from hibnn.learners.presets import NAMES, preset, protocol
from hibnn.nn.layers.masks import Relaxation
from hibnn.runs.protocol import protocol_of
from hibnn.sweeps.grid import new_experiment


@pytest.mark.parametrize("name", NAMES)
def test_every_method_has_a_preset_on_every_benchmark(name):
    for method in methods():
        for dataset in benchmarks():
            assert isinstance(options_for(method, dataset, name), find_method(method).options)


def settings(method, dataset, name, *options):
    chosen = options_for(method, dataset, name)
    return tuple(getattr(chosen, option) for option in options)


@pytest.mark.parametrize(
    ("method", "dataset", "name", "expected"),
    [
        ("ibnn", "split-mnist", "paper", (600, 512, 0.7, 100, "exponential", "weights")),
        ("ibnn", "split-mnist", "authors", (1000, 512, 0.7, 200, "exponential", "weights")),
        ("vcl", "split-mnist", "authors", (1000, 512, 1.0, 200, "exponential", "weights")),
        ("vcl", "split-mnist", "paper", (600, 512, 0.7, 100, "exponential", "weights")),
        ("ibnn", "permuted-mnist", "paper", (200, 128, 1.0, 100, "exponential", "weights")),
        ("hibnn", "permuted-mnist", "authors", (200, 128, 1.0, 200, "exponential", "weights")),
        ("hibnn", "mnist", "paper", (200, 128, 0.7, 100, "exponential", "example")),
        ("hibnn", "mnist", "authors", (200, 512, 0.7, 100, "constant", "batch")),
        ("mfvi", "mnist", "authors", (200, 512, 0.7, 100, "halving", "weights")),
        ("ibnn", "difficulty", "authors", (1000, 512, 0.7, 200, "constant", "weights")),
    ],
)
def test_training_is_as_text_and_program_say(method, dataset, name, expected):
    names = ("epochs", "batch_size", "prior_variance", "likelihood_epochs", "schedule", "weight_noise")
    assert settings(method, dataset, name, *names) == expected


@pytest.mark.parametrize("name", ["paper", "authors"])
def test_masks_are_as_text_and_program_say(name):
    names = ("alpha", "init_alpha", "temperature", "prior_temperature", "stick_rate")
    rates = {"paper": (1e-3, 1e-3), "authors": (1e-3, 3e-4)}[name]
    assert settings("ibnn", "split-mnist", name, *names) == (5.0, 5.0, 0.7, 0.7, 1e-3)
    assert settings("ibnn", "permuted-mnist", name, *names) == (5.0, 5.0, 1.0, 1.0, rates[0])
    assert settings("hibnn", "mnist", name, *names, "child_alpha") == (4.2, 4.2, 0.7, 0.7, rates[1], 4.0)
    assert settings("hibnn", "difficulty", name, "child_alpha_step", "depth") == (1.0, 2)
    shared = ("relaxation", "averaged_masks", "size", "timestamps", "width")
    assert settings("ibnn", "split-mnist", name, *shared) == (Relaxation.PAPER, 10, "prior", "none", 100)
    own = {"paper": ("structured", "hard", 1.2), "authors": ("authors", "soft", 1.0)}[name]
    assert settings("ibnn", "split-mnist", name, "mask_kl", "prediction_masks", "first_task_factor") == own
    assert settings("vcl", "split-mnist", name, "first_task_factor") == (1.0,)


def test_text_and_program_infer_one_head_for_a_test_set_by_entropies_of_their_own(tmp_path):
    ibnn, ewc = find_method("ibnn"), find_method("ewc")
    told_by = {"task_inference": "entropy"}
    assert (protocol("default", ibnn), protocol("authors", ewc)) == ({}, told_by)
    assert protocol("paper", find_method("density")) == {}
    shared = told_by | {"granularity": "task", "mixing": "hard", "class_outputs": "all"}
    assert protocol("paper", ibnn) == shared
    assert protocol("authors", ibnn) == shared | {"score": "expected"}
    file = tmp_path / "mine.toml"
    file.write_text('method = "ibnn"\npreset = "authors"\n[options]\nalpha = 7.0\n')
    assert protocol_of(str(file), ibnn) == protocol("authors", ibnn)


def test_a_run_takes_the_words_of_its_preset_unless_it_is_told_others():
    method, words = find_method("ibnn"), ["--dataset", "split-mnist", "--scenario", "class", "--method", "ibnn"]
    parsed = parse([*words, "--preset", "authors", "--granularity", "sample"], method)
    assert (parsed.granularity, parsed.score, parsed.mixing, parsed.class_outputs) == (
        "sample",
        "expected",
        "hard",
        "all",
    )
    cell = {"method": "ibnn", "dataset": "split-mnist", "scenario": "class", "preset": "authors", "mixing": "soft"}
    experiment = new_experiment(cell, 0)
    assert (experiment.granularity, experiment.mixing, experiment.options.epochs) == ("task", "soft", 1000)


def test_a_method_without_a_program_of_the_authors_has_the_papers_settings():
    traits = find_benchmark("permuted-mnist").traits
    for scenario in Scenario:
        assert preset("authors", find_method("ewc"), traits, scenario) == preset(
            "paper", find_method("ewc"), traits, scenario
        )


def test_changes_go_before_the_preset_and_unknown_presets_are_refused():
    assert options_for("ibnn", "split-mnist", "paper", epochs=2).epochs == 2
    with pytest.raises(UserError, match="valid are authors, default, paper"):
        preset("papers", find_method("ibnn"), find_benchmark("split-mnist").traits)


@pytest.mark.parametrize("name", NAMES)
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
