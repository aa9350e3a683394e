"""Every file under paper/ describes runs that exist."""

import tomllib
from pathlib import Path

import pytest

from hibnn.benchmarks import Benchmark, find_benchmark
from hibnn.benchmarks.layout import layout_for
from hibnn.learners import find_method
from hibnn.nn.layout import Layout
from hibnn.reproduce.recording import read_outs_of
from hibnn.runs.experiment import Experiment
from hibnn.sweeps.space import Range, read_problem
from hibnn.sweeps.sweep import read_sweep

PAPER = Path(__file__).parents[1] / "paper"
SWEEPS, SEARCHES = sorted(PAPER.glob("*.toml")), sorted(PAPER.glob("search/*.toml"))
TABLES = ("table1", "difficulty", "den-without-timestamps", "bscl", "width-study", "pruning", "training-time")
WIDTHS = {10, 50, 100, 400}


def runs(name):
    return read_sweep(PAPER / f"{name}.toml")


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_every_sweep_of_the_paper_describes_different_runs_on_test_data(path):
    experiments = read_sweep(path)
    assert len({experiment.digest for experiment in experiments}) == len(experiments) > 0
    assert {experiment.evaluate_on for experiment in experiments} == {"test"}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_and_figure_has_a_file_with_five_seeds(name):
    assert {experiment.seed for experiment in runs(name)} == set(range(5))


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_every_sweep_has_a_quick_form_of_one_seed(path):
    quick = tomllib.loads(path.read_text())["quick"]
    options = {option for experiment in read_sweep(path) for option in vars(experiment.options)}
    assert quick["seeds"] == [0]
    assert quick.keys() <= options | {"seeds", "tasks"}


def test_table_1_has_every_cell_trained_or_read_out():
    cells = {(run.method, run.dataset, str(s)) for run in runs("table1") for s in (run.scenario, *read_outs_of(run))}
    datasets = ("permuted-mnist", "split-mnist", "split-mnist-noise", "split-mnist-images")
    methods = ("ewc", "si", "gem", "vcl", "den", "ibnn", "finetune", "joint")
    whole = {(m, d, s) for m in methods for d in datasets for s in ("task", "domain", "class")}
    assert cells == whole - {("den", "permuted-mnist", "domain")}
    for method in ("ewc", "si", "gem", "vcl"):
        assert {experiment.options.width for experiment in runs("table1") if experiment.method == method} == WIDTHS
    assert {experiment.options.width for experiment in runs("table1") if experiment.method == "den"} == {50}


def test_difficulty_has_the_papers_networks():
    found = {(experiment.method, experiment.options.widths) for experiment in runs("difficulty")}
    vcl = {("vcl", (width, width)) for width in (50, 100, 200, 400)}
    assert found == vcl | {("ibnn", (100, 100)), ("hibnn", (100, 100))}
    assert all(
        experiment.options.child_alpha_step == 1 for experiment in runs("difficulty") if experiment.method == "hibnn"
    )


def test_pruning_goes_through_the_depths():
    depths = {(experiment.method, experiment.dataset, experiment.options.depth) for experiment in runs("pruning")}
    for dataset in ("mnist", "fashion-mnist"):
        assert {("mfvi", dataset, depth) for depth in (1, 2, 3, 4)} <= depths
        assert {("ibnn", dataset, depth) for depth in (1, 2, 3, 4)} <= depths
        assert {("hibnn", dataset, depth) for depth in (2, 3, 4)} <= depths
    assert {("svd", "mnist", 2), ("bscl", "mnist", 2)} <= depths


@pytest.mark.parametrize("name", TABLES)
def test_den_always_has_a_head_a_task(name):
    for experiment in runs(name):
        if experiment.method == "den":
            bare = Benchmark(
                experiment.dataset,
                experiment.scenario,
                (),
                single_domain_head=find_benchmark(experiment.dataset).same_classes,
            )
            assert layout_for(bare, experiment.heads, find_method("den").prefers_single_head) is Layout.MULTI


@pytest.mark.parametrize("path", SEARCHES, ids=lambda path: path.stem)
def test_every_search_has_the_papers_space(path):
    problem = read_problem(path)
    assert isinstance(problem.experiment({name: 1.0 for name in problem.space}), Experiment)
    assert problem.space["alpha"] == Range(5.0, 25.0)
    for name in ("temperature", "prior_temperature"):
        assert problem.space[name] == [0.5, 2 / 3, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3]
    assert ("child_alpha" in problem.space) == (problem.fixed["method"] == "hibnn")
    assert problem.experiment({name: 1.0 for name in problem.space}).evaluate_on == "validation"


@pytest.mark.parametrize("path", [*SWEEPS, *SEARCHES], ids=lambda path: path.stem)
def test_one_head_for_a_whole_test_set_is_inferred_by_entropy_as_in_the_paper(path):
    text = tomllib.loads(path.read_text())
    for grid in text.get("grid", [text.get("fixed", {})]):
        assert grid.get("granularity") != "task" or grid.get("task_inference") == "entropy"
