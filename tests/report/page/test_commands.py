"""The command of a run on the page makes that very run."""

import shlex
from dataclasses import fields, replace
from enum import StrEnum
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from fabricated import fabricate, rewrite
from folders import experiment_of
from hibnn import options_for
from hibnn.benchmarks import Benchmark, Scenario
from hibnn.cli.commands.run import _experiment, parse
from hibnn.errors import UserError
from hibnn.learners import find_method, methods
from hibnn.plugins import load_plugin
from hibnn.report.page import write_page
from hibnn.report.page.commands import command, command_for
from hibnn.runs.changes import FOUND_OUT
from hibnn.runs.experiment import Experiment
from hibnn.runs.folder import RunFolder
from hibnn.runs.groups import group_by_setting
from hibnn.runs.index import records_below

OWN_METHOD = """
from dataclasses import replace
from hibnn.learners.finetune import METHOD as FINETUNE

METHOD = replace(FINETUNE, name="own")
"""
WORDS = {"density_bytes": "2MB", "granularity": "batch:8", "ood": "fashion-mnist"}
"""Fields that are plain text and take only some words."""


def made_again(experiment):
    """The experiment that the command describes, parsed as `hibnn run` parses it."""
    program, name, *words = shlex.split(command(experiment, [experiment.seed]))
    assert (program, name) == ("hibnn", "run")
    parsed = parse(words, method := find_method(experiment.method))
    return _experiment(parsed, method, parsed.seed)


def others(value, kind):
    """Values of a field's type that differ from its own."""
    return [choice for choice in choices(kind) if choice != value]


def choices(kind):
    """Some values of a type; a negative float in the notation that looks like a flag is among them."""
    if get_origin(kind) in (Union, UnionType):
        return [choice for part in get_args(kind) for choice in choices(part)]
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if get_origin(kind) is tuple:
        return [(30, 20)]
    if issubclass(kind, StrEnum):
        return list(kind)
    return {bool: [True, False], int: [3, 7], float: [-1e-05, 0.25, 3.0]}.get(kind, [None])


def changed(holder, name, kind):
    """The dataclass with another value of a field, the first that it does not refuse."""
    for value in [WORDS[name]] if name in WORDS else others(getattr(holder, name), kind):
        try:
            made = replace(holder, **{name: value})
        except (UserError, TypeError):
            continue
        if getattr(made, name) != getattr(holder, name):
            return made
    raise AssertionError(f"no other value of {name} was found")


@pytest.mark.parametrize(
    "dataset",
    ["permuted-mnist", *(pytest.param(name, marks=pytest.mark.slow) for name in ("split-mnist", "split-digits"))],
)
@pytest.mark.parametrize("method", methods())
def test_every_option_of_every_method_is_in_the_command(method, dataset):
    usual = experiment_of(method=method, dataset=dataset, scenario="class", seed=3)
    assert made_again(usual).digest == usual.digest
    hints = get_type_hints(type(usual.options))
    for field in fields(usual.options):
        options = changed(usual.options, field.name, hints[field.name])
        experiment = replace(usual, options=options)
        assert made_again(experiment).digest == experiment.digest != usual.digest, field.name


@pytest.mark.parametrize("scenario", Scenario)
def test_every_field_of_an_experiment_is_in_the_command(scenario):
    usual = experiment_of(method="ibnn", scenario=str(scenario), task_inference="density")
    hints = get_type_hints(Experiment)
    for field in fields(Experiment):
        if field.name not in ("method", "dataset", "scenario", "options", *FOUND_OUT):
            experiment = changed(usual, field.name, hints[field.name])
            assert made_again(experiment).digest == experiment.digest != usual.digest, field.name


@pytest.mark.parametrize("method", methods())
def test_the_settings_of_the_paper_are_in_the_command(method):
    experiment = experiment_of(method=method, dataset="permuted-mnist", scenario="domain", preset="paper")
    assert made_again(experiment).digest == experiment.digest


def test_one_command_makes_all_seeds_of_a_group(tmp_path):
    for seed in (4, 2):
        fabricate(tmp_path / str(seed), seed=seed, width=7)
    (group,) = group_by_setting(records_below([tmp_path]))
    assert command_for(group) == ("hibnn run --dataset split-mnist --scenario task --method ibnn --seeds 2 4 --width 7")


def test_a_setting_that_this_version_does_not_know_has_a_sentence_in_the_place_of_a_command(tmp_path):
    rewrite(fabricate(tmp_path / "run"), "config.json", method="unheard-of")
    write_page([tmp_path], tmp_path / "page.html")
    assert "No command makes these runs again" in (tmp_path / "page.html").read_text()


def test_runs_on_tasks_from_python_have_their_changes_and_no_command(tmp_path):
    part = (np.zeros((4, 3)), np.arange(4) % 2) * 2
    tasks = Benchmark.from_arrays("own", [part], "task")
    experiment = Experiment.of(tasks, method="finetune", options=options_for("finetune", tasks, width=7))
    RunFolder(tmp_path).announce(experiment)
    (group,) = group_by_setting(records_below([tmp_path]))
    assert group.members[0].record.changed["width"] == 7
    assert command_for(group) == ""


def test_the_command_of_a_method_from_a_file_names_the_file(tmp_path, forget_plugins):
    path = tmp_path / "own.py"
    path.write_text(OWN_METHOD)
    load_plugin(path)
    experiment = experiment_of(method="own", width=7)
    assert "--plugin own.py " in command(experiment, [0])
