"""An experiment is the same value from wherever it comes, and its digest says so."""

import json
import pickle
from dataclasses import field, make_dataclass

import pytest

from folders import experiment_of
from hibnn import Experiment, Scenario, UserError, options_for, run
from hibnn.learners import find_method
from hibnn.runs.changes import changed_fields
from hibnn.runs.protocol import protocol_of
from hibnn.sweeps.grid import new_experiment


def experiment(**changes):
    values = {"method": "vcl", "dataset": "split-digits", "scenario": "class", "options": options_for("vcl", "mnist")}
    return Experiment(**(values | changes))


def test_words_and_members_of_an_enumeration_make_the_same_experiment():
    assert experiment(scenario="cl3") == experiment(scenario=Scenario.CLASS)
    assert experiment(scenario="cl3").scenario is Scenario.CLASS


def test_an_experiment_survives_json_and_pickle():
    made = experiment(density_power=2, task_inference="density", seed=3)
    for copy in (Experiment.from_json(json.loads(json.dumps(made.as_json()))), pickle.loads(pickle.dumps(made))):
        assert (copy, copy.digest) == (made, made.digest)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"scenario": "clas"}, "did you mean 'class'"),
        ({"evaluate_on": "validaton"}, "unknown evaluate-on 'validaton': did you mean 'validation'"),
        ({"score": "predicted"}, "did you mean 'predictive'"),
        ({"heads": "many"}, "unknown heads 'many': valid are auto, multi, single"),
        ({"mixing": "sotf"}, "did you mean 'soft'"),
        ({"task_inference": "densities"}, "did you mean 'density'"),
        ({"seed": 1.0}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"tasks": 2.0}, "tasks must be a whole number"),
        ({"tasks": 6}, "has 5 tasks, not 6"),
        ({"tasks": 0}, "must be at least 1"),
        ({"density_rank": "16"}, "density-rank must be a whole number"),
        ({"granularity": 3}, "granularity must be a word"),
        ({"ood": 3}, "ood must be a word"),
        ({"options": options_for("ewc", "mnist")}, "EWCOptions are not the options of vcl"),
    ],
)
def test_a_wrong_field_is_refused_from_python_and_from_json(wrong, sentence):
    with pytest.raises(UserError, match=sentence):
        experiment(**wrong)
    if "options" not in wrong:
        with pytest.raises(UserError, match=sentence):
            Experiment.from_json(experiment().as_json() | wrong)


def test_a_file_that_lacks_something_is_refused():
    values = experiment().as_json()
    del values["method"]
    with pytest.raises(UserError, match="needs its method"):
        Experiment.from_json(values)
    for options, sentence in (
        ({"alpha": 1.0}, "unknown option of vcl 'alpha'"),
        (3, "must be a table"),
        ({"epochs": 1.5}, "whole"),
    ):
        with pytest.raises(UserError, match=sentence):
            Experiment.from_json(experiment().as_json() | {"options": options})


def test_a_field_that_is_added_with_a_default_changes_no_digest():
    later = make_dataclass(
        "Later", [("patience", int, field(default=3))], bases=(Experiment,), frozen=True, kw_only=True
    )
    made = experiment(seed=2)
    assert later(**vars(made)).digest == made.digest
    assert later(**vars(made), patience=4).digest != made.digest


def test_every_setting_counts_but_those_of_an_inference_that_is_not_made():
    told, inferred = experiment(scenario="task"), experiment(task_inference="entropy")
    assert told.digest == experiment(scenario="task", mixing="hard", density_rank=3).digest
    assert inferred.digest == experiment(task_inference="entropy", density_rank=3).digest
    changes = ({"mixing": "hard"}, {"task_inference": "entropy"}, {"seed": 1}, {"heads": "multi"}, {"dataset": "mnist"})
    digests = {
        experiment(**change).digest for change in ({}, *changes, {"options": options_for("vcl", "permuted-mnist")})
    }
    assert len(digests) == 7


def test_an_option_that_was_added_counts_only_where_it_is_used():
    plain, changed = experiment(), experiment(options=options_for("vcl", "split-digits", weight_noise="batch"))
    assert "weight_noise" not in plain.as_json()["options"]
    assert changed.as_json()["options"]["weight_noise"] == "batch"
    assert Experiment.from_json(plain.as_json()) == plain
    assert Experiment.from_json(changed.as_json()) == changed
    assert plain.digest != changed.digest


def test_heads_with_all_classes_need_a_head_for_each_task():
    with pytest.raises(UserError, match="drop --class-outputs all"):
        experiment(class_outputs="all", heads="single")


@pytest.mark.parametrize(
    ("method", "dataset", "scenario", "expected"),
    [
        ("ibnn", "split-mnist", "class", "density"),
        ("vcl", "split-mnist", "domain", "density"),
        ("den", "permuted-mnist", "class", "density"),
        ("density", "split-mnist", "task", "density"),
        ("ibnn", "split-mnist", "task", "entropy"),  # told, so nobody asks
        ("ibnn", "permuted-mnist", "domain", "entropy"),  # one head for all
        ("ewc", "split-mnist", "class", "entropy"),  # a head that grows
        ("slda", "split-mnist", "class", "entropy"),
    ],
)
def test_a_density_tells_the_task_wherever_one_must_be_inferred(method, dataset, scenario, expected):
    for granularity in ("sample", "task"):
        found = experiment_of(method=method, dataset=dataset, scenario=scenario, granularity=granularity)
        assert found.task_inference == expected
        assert Experiment.from_json(found.as_json()) == found
        assert "task_inference" not in changed_fields(found)
    named = experiment_of(method=method, dataset=dataset, scenario=scenario, task_inference=expected)
    assert named.digest == experiment_of(method=method, dataset=dataset, scenario=scenario).digest


def test_another_default_of_what_tells_the_task_leaves_digests_as_they_were():
    entropy = experiment_of(method="ibnn", scenario="class", task_inference="entropy")
    assert "task_inference" not in entropy._content()
    assert changed_fields(entropy) == {"task_inference": "entropy"}
    density = experiment_of(method="ibnn", scenario="class")
    assert density._content()["task_inference"] == "density"
    assert density.digest != entropy.digest


@pytest.mark.parametrize("preset", ["paper", "authors"])
@pytest.mark.parametrize("method", ["ibnn", "vcl", "den"])
def test_the_presets_of_the_paper_infer_tasks_by_entropy(method, preset):
    assert experiment_of(method=method, scenario="class", preset=preset).task_inference == "entropy"
    assert experiment_of(method="density", scenario="class", preset=preset).task_inference == "density"


@pytest.mark.slow
def test_classes_of_digits_are_told_apart_by_default():
    assert run(experiment_of(method="ibnn", scenario="class", epochs=10)).get("acc") > 0.97


def test_the_protocol_of_a_preset_file_goes_before_that_of_its_base(tmp_path):
    base, file = tmp_path / "base.toml", tmp_path / "mine.toml"
    base.write_text('method = "ibnn"\npreset = "authors"\n[protocol]\nmixing = "soft"\ndensity_power = 2\n')
    file.write_text(f'method = "ibnn"\npreset = "{base}"\n[protocol]\ndensity_power = 3\n')
    said = protocol_of(str(file), find_method("ibnn"))
    assert said == protocol_of("authors", find_method("ibnn")) | {"mixing": "soft", "density_power": 3.0}
    cell = {"method": "ibnn", "dataset": "split-digits", "scenario": "class", "preset": str(file), "density_power": 4}
    made = new_experiment(cell, 0)
    assert (made.mixing, made.granularity, made.density_power) == ("soft", "task", 4.0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("[protocol]\nhead = 'multi'", "did you mean 'heads'"),
        ("[protocol]\nheads = 'many'", "unknown heads 'many'"),
        ("[protocol]\nevaluate_on = 'validation'", "unknown name in the .protocol. table"),
        ("protocol = 3", "must be a table"),
    ],
)
def test_a_wrong_word_in_the_protocol_of_a_preset_file_is_refused(tmp_path, words, sentence):
    (tmp_path / "mine.toml").write_text(f"{words}\n")
    with pytest.raises(UserError, match=sentence):
        protocol_of(str(tmp_path / "mine.toml"), find_method("ibnn"))
