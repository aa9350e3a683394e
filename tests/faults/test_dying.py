"""A kill at any file operation costs nothing: the same command again ends as one that was left in peace."""

import importlib
import itertools
import shutil
from concurrent.futures import Executor, Future

import pytest

from faults.dying import attempt
from faults.server import engine_here, warm_up
from folders import experiment_of
from hibnn.cli.main import main
from hibnn.runs import trainer
from hibnn.sweeps.grid import folder_of
from hibnn.sweeps.sweep import run_one, sweep
from processes import outcome

SMALL = {"method": "ibnn", "width": 4, "epochs": 2, "tasks": 2}
RUN = ["run", "--dataset", "split-digits", "--scenario", "task", "--method", "ibnn", "--width", "4"]
RUN += ["--epochs", "2", "--tasks", "2", "--quiet", "--out"]
FEW, ALL = (17, 40), range(1, 10_000)
GRID = 'method = "finetune"\ndataset = "split-digits"\nscenario = "task"\nwidth = 4\nepochs = 1\ntasks = 1\n'


@pytest.fixture(autouse=True)
def checkpoints_everywhere(monkeypatch):
    warm_up()
    monkeypatch.setattr(trainer, "CHECKPOINT_SHARE", 1e9)  # after every epoch, however short
    for name in ("search", "sweep"):
        monkeypatch.setattr(importlib.import_module(f"hibnn.cli.commands.{name}"), "engine", engine_here)


def each_operation(operations, tmp_path, work_in, check):
    """Kill the work at each of the operations, do it again, and check what is there; returns how many kills it took."""
    kills = 0
    for last in operations:
        folder = tmp_path / f"killed-{last}"
        folder.mkdir()
        if attempt(work_in(folder), folder, last):
            break
        kills += 1
        check(folder, last)
        shutil.rmtree(folder)
    print(f"killed at {kills} operations")
    return kills


def files(folder):
    """What is there; a hidden part of the last status.json may be left where nothing writes any more."""
    found = [path for path in folder.rglob("*") if not path.name.endswith(("lock", ".part"))]
    return sorted(str(path.relative_to(folder)) for path in found)


def check_run(tmp_path, operations):
    whole = tmp_path / "whole"
    assert attempt(lambda: main([*RUN, str(whole / "run")]), whole)

    def check(folder, last):
        assert attempt(lambda: main([*RUN, str(folder / "run")]), folder), last
        assert outcome(folder / "run") == outcome(whole / "run"), last
        assert files(folder) == files(whole), last

    return each_operation(operations, tmp_path, lambda folder: lambda: main([*RUN, str(folder / "run")]), check)


def test_a_run_killed_at_some_file_operations_ends_the_same(tmp_path):
    assert check_run(tmp_path, FEW) == len(FEW)


@pytest.mark.slow
def test_a_run_killed_at_any_file_operation_ends_the_same(tmp_path):
    assert check_run(tmp_path, ALL) > 60


def table(path):
    rows = "\n".join(f"{number % 7},{number % 5},{'yes' if number % 3 else 'no'}" for number in range(40))
    path.write_text(f"a,b,y\n{rows}\n")


def check_fit(tmp_path, operations, known):
    """The model is the old one or the new one, bit by bit; the old one learns what the new one has."""
    table(data := tmp_path / "data.csv")
    words = ["fit", str(data), "--target", "y", "--epochs", "1", "--quiet", "--model"]
    old = None
    if known:
        assert attempt(lambda: main([*words, str(tmp_path / "whole.hibnn")]), tmp_path)
        old = (tmp_path / "whole.hibnn").read_bytes()
    assert attempt(lambda: main([*words, str(tmp_path / "whole.hibnn")]), tmp_path)
    new = (tmp_path / "whole.hibnn").read_bytes()

    def work_in(folder):
        if old is not None:
            (folder / "model").write_bytes(old)
        return lambda: main([*words, str(folder / "model")])

    def check(folder, last):
        there = (folder / "model").read_bytes() if (folder / "model").exists() else None
        assert there in (old, new), last
        if there == old:
            assert attempt(lambda: main([*words, str(folder / "model")]), folder), last
        assert (folder / "model").read_bytes() == new, last

    return each_operation(operations, tmp_path, work_in, check)


def test_a_model_is_the_old_or_the_new_one_wherever_fit_is_killed(tmp_path):
    assert check_fit(tmp_path, (2, 4), known=True) == 2


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_a_model_is_the_old_or_the_new_one_at_every_file_operation_of_fit(tmp_path, known):
    assert check_fit(tmp_path, ALL, known) > 4


def check_command(tmp_path, operations, words):
    """A command that writes many runs and perhaps a preset, killed itself."""
    whole = tmp_path / "whole"
    assert attempt(lambda: main([*words, str(whole)]), whole)

    def check(folder, last):
        assert attempt(lambda: main([*words, str(folder)]), folder), last
        runs = [path.parent.relative_to(whole) for path in sorted(whole.rglob("result.json"))]
        assert all(outcome(folder / run) == outcome(whole / run) for run in runs), last
        kept = [name for name in files(whole) if name.endswith((".toml", "result.json"))]
        assert [name for name in files(folder) if name.endswith((".toml", "result.json"))] == kept, last
        for name in kept:
            assert not name.endswith(".toml") or (folder / name).read_bytes() == (whole / name).read_bytes(), last

    return each_operation(operations, tmp_path, lambda folder: lambda: main([*words, str(folder)]), check)


def search_words(tmp_path):
    space = "[space]\nlearning_rate = { low = 0.001, high = 0.1, log = true }\n"
    (tmp_path / "search.toml").write_text(f"seeds = [7]\n[fixed]\n{GRID}{space}")
    return ["search", str(tmp_path / "search.toml"), "--trials", "2", "--workers", "1", "--out"]


def sweep_words(tmp_path):
    (tmp_path / "sweep.toml").write_text(f"seeds = [0, 1]\n[[grid]]\n{GRID}")
    return ["sweep", str(tmp_path / "sweep.toml"), "--workers", "1", "--out"]


def test_a_search_killed_at_a_file_operation_finds_the_same(tmp_path):
    assert check_command(tmp_path, (30,), search_words(tmp_path)) == 1


@pytest.mark.slow
def test_a_search_killed_at_any_file_operation_finds_the_same(tmp_path):
    assert check_command(tmp_path, ALL, search_words(tmp_path)) > 60


@pytest.mark.slow
def test_a_sweep_killed_at_any_file_operation_ends_the_same(tmp_path):
    assert check_command(tmp_path, ALL, sweep_words(tmp_path)) > 60


class Forks(Executor):
    """A worker for each run; the first dies at one of its file operations."""

    def __init__(self, folder, last):
        self.folder, self.lasts, self.deaths = folder, itertools.chain([last], itertools.repeat(0)), 0

    def submit(self, fn, /, *arguments, **more):
        future = Future()
        if attempt(lambda: fn(*arguments, **more), self.folder, next(self.lasts)):
            future.set_result(fn(*arguments, **more))  # finished in the fork: here it is only read
        else:
            self.deaths += 1
            future.set_exception(RuntimeError("the worker is dead"))
        return future


def check_workers(tmp_path, operations):
    experiments = [experiment_of(seed=seed, **SMALL) for seed in (0, 1)]
    whole = [run_one(experiment, folder_of(experiment, tmp_path / "whole")).folder for experiment in experiments]
    kills = 0
    for last in operations:
        out = tmp_path / f"killed-{last}"
        outcomes = sweep(experiments, out, workers := Forks(out, last), lambda outcome: None)
        assert [found.status for found in outcomes] == ["done", "done"], last
        pairs = zip(experiments, whole, strict=True)
        assert all(outcome(folder_of(experiment, out)) == outcome(folder) for experiment, folder in pairs), last
        kills += workers.deaths
        if not workers.deaths:
            break
    print(f"killed at {kills} operations")
    return kills


def test_a_sweep_whose_worker_is_killed_at_a_file_operation_ends_the_same(tmp_path):
    assert check_workers(tmp_path, (25,)) == 1


@pytest.mark.slow
def test_a_sweep_whose_worker_is_killed_at_any_file_operation_ends_the_same(tmp_path):
    assert check_workers(tmp_path, ALL) > 60
