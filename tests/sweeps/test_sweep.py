import io
import time
from collections import Counter
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest
from rich.console import Console

from hibnn import UserError
from hibnn.cli.main import main
from hibnn.cli.sweep_display import SweepDisplay
from hibnn.errors import DivergedError
from hibnn.runs.lock import run_lock
from hibnn.runs.record import read_record
from hibnn.sweeps import sweep as sweep_module
from hibnn.sweeps.sweep import Outcome, folder_of, read_sweep, sweep

GRID = """
seeds = [0, 1]
[[grid]]
method = ["finetune", "joint"]
dataset = "split-digits"
scenario = ["task", "class"]
epochs = 1
tasks = 2
"""


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return path


def test_lists_multiply_and_the_command_lines_seeds_go_first(grid):
    experiments = read_sweep(grid)
    assert len(experiments) == len({experiment.digest for experiment in experiments}) == 8
    assert {experiment.options.epochs for experiment in experiments} == {1}
    assert {experiment.seed for experiment in read_sweep(grid, seeds=[7])} == {7}


def test_a_sweep_leaves_a_folder_with_files_of_somebody_else_alone(grid, tmp_path):
    experiments = read_sweep(grid)[:1]
    theirs = folder_of(experiments[0], tmp_path) / "model.safetensors"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    with ThreadPoolExecutor(1) as executor:
        (outcome,) = sweep(experiments, tmp_path, executor, lambda outcome: None)
    assert outcome.status == "failed"
    assert "is no run's folder" in str(outcome.error)
    assert [path.name for path in theirs.parent.iterdir()] == ["model.safetensors"]


def test_a_sweep_writes_a_result_for_every_run_and_repeats_none(grid, tmp_path):
    seen = []
    experiments = read_sweep(grid, seeds=[0])
    for _ in range(2):
        with ThreadPoolExecutor(1) as executor:
            outcomes = sweep(experiments, tmp_path / "runs", executor, seen.append)
    assert len(outcomes) == 4
    assert len(seen) == 8
    times = {path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*/result.json")}
    assert len(times) == 4
    assert all((folder_of(experiment, tmp_path / "runs") / "result.json").exists() for experiment in experiments)


def test_a_run_that_fails_is_tried_once_more_and_does_not_stop_the_others(grid, tmp_path, monkeypatch):
    calls = []

    def fail_for_joint(experiment, folder, patience):
        calls.append(experiment.method)
        if experiment.method == "joint":
            raise RuntimeError("no luck")
        return {"acc": 1.0, "seconds": 0.0}

    monkeypatch.setattr(sweep_module, "run", fail_for_joint)
    with ThreadPoolExecutor(1) as executor:
        outcomes = sweep(read_sweep(grid, seeds=[0]), tmp_path, executor, lambda outcome: None)
    assert sorted(calls) == ["finetune"] * 2 + ["joint"] * 4
    assert sorted(outcome.error or "" for outcome in outcomes) == ["", ""] + ["RuntimeError: no luck"] * 2


def test_a_run_that_diverged_is_not_tried_again(grid, tmp_path, monkeypatch):
    calls = []

    def diverge(experiment, folder, patience):
        calls.append(experiment.digest)
        raise DivergedError("no number")

    monkeypatch.setattr(sweep_module, "run", diverge)
    with ThreadPoolExecutor(1) as executor:
        outcomes = sweep(read_sweep(grid), tmp_path, executor, lambda outcome: None)
    assert set(Counter(calls).values()) == {1}
    assert {outcome.status for outcome in outcomes} == {"diverged"}


def test_a_run_that_another_process_is_at_work_on_counts_as_being_run_elsewhere(grid, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_module, "STILL", 0.01)
    experiments = read_sweep(grid, seeds=[0])[:2]
    busy = folder_of(experiments[0], tmp_path)
    with run_lock(busy), ThreadPoolExecutor(1) as executor:
        first, second = sweep(experiments, tmp_path, executor, lambda outcome: None)
    assert (first.status, second.status) == ("done", "elsewhere")
    assert second.folder == busy
    assert read_record(busy).status == "pending"


class Dying(Executor):
    """An executor some of whose workers die; the others do what they are told at once."""

    def __init__(self, dies):
        self.dies = dies

    def submit(self, fn, *arguments):
        future = Future()
        if self.dies(arguments[0]):
            future.set_exception(BrokenProcessPool("killed"))
        else:
            future.set_result(fn(*arguments))
        return future


def test_a_run_whose_worker_died_is_given_to_another(grid, tmp_path):
    died = set()

    def dies_once(experiment):
        known = experiment.digest in died
        died.add(experiment.digest)
        return not known

    outcomes = sweep(read_sweep(grid, seeds=[0]), tmp_path, Dying(dies_once), lambda outcome: None, slots=lambda: 2)
    assert [outcome.status for outcome in outcomes] == ["done"] * 4


def test_a_run_that_kills_its_workers_is_given_up_and_soon_runs_alone(grid, tmp_path, monkeypatch):
    running, company = [], {}

    def kill_for_joint(experiment, folder, patience):
        running.append(experiment.digest)
        time.sleep(0.05)
        company.setdefault(experiment, []).append(len(running))
        running.remove(experiment.digest)
        if experiment.method == "joint":
            raise BrokenProcessPool("killed")
        return Outcome(experiment, folder, "done", {})

    monkeypatch.setattr(sweep_module, "run_one", kill_for_joint)
    with ThreadPoolExecutor(2) as executor:
        outcomes = sweep(read_sweep(grid, seeds=[0]), tmp_path, executor, lambda outcome: None, slots=lambda: 2)
    assert sorted(outcome.status for outcome in outcomes) == ["done"] * 2 + ["failed"] * 2
    assert "its worker died 4 times (BrokenProcessPool)" in outcomes[-1].error
    assert {tuple(counts[2:]) for experiment, counts in company.items() if experiment.method == "joint"} == {(1, 1)}


def test_a_runs_folder_says_that_it_waits_before_it_is_started(grid, tmp_path):
    class FullError(Exception):
        pass

    def refuse():
        raise FullError

    experiments = read_sweep(grid, seeds=[0])
    with ThreadPoolExecutor(1) as executor, pytest.raises(FullError):
        sweep(experiments, tmp_path, executor, lambda outcome: None, slots=refuse, on_start=lambda experiment: refuse())
    assert {read_record(folder_of(experiment, tmp_path)).status for experiment in experiments} == {"pending"}


QUICK = """
[quick]
seeds = [3]
tasks = 2
epochs = 1
prediction_draws = 4
"""


def test_quick_replaces_what_a_method_has_and_leaves_out_what_it_has_not(tmp_path):
    path = tmp_path / "grid.toml"
    grids = GRID.replace('"joint"', '"ibnn"').replace("epochs = 1", "epochs = [5, 7]")
    path.write_text(f'{grids}[[grid]]\nmethod = "mfvi"\ndataset = "mnist"\nscenario = "task"\n{QUICK}')
    experiments = read_sweep(path, quick=True)
    assert [experiment.method for experiment in experiments] == ["finetune"] * 2 + ["ibnn"] * 2 + ["mfvi"]
    assert {(experiment.seed, experiment.options.epochs) for experiment in experiments} == {(3, 1)}
    assert [experiment.tasks for experiment in experiments] == [2] * 4 + [None]
    assert experiments[2].options.prediction_draws == 4
    assert len(read_sweep(path)) == 2 * (8 + 1)
    assert {experiment.seed for experiment in read_sweep(path, seeds=[8], quick=True)} == {8}


def test_quick_refuses_a_number_of_tasks_that_is_none(tmp_path):
    (tmp_path / "bad.toml").write_text(GRID.replace("tasks = 2", 'tasks = "two"') + "[quick]\ntasks = 1\n")
    with pytest.raises(UserError, match="tasks must be a whole number, not 'two'"):
        read_sweep(tmp_path / "bad.toml", quick=True)


def test_quick_needs_its_table(grid):
    with pytest.raises(UserError, match=r"has no \[quick\] table"):
        read_sweep(grid, quick=True)


@pytest.mark.parametrize(
    ("words", "hint"), [(["--workers", "0"], "at least 1"), (["--address", "tcp://127.0.0.1:1"], "add --engine dask")]
)
def test_a_sweep_that_makes_no_sense_is_refused(grid, capsys, words, hint):
    with pytest.raises(SystemExit) as ended:
        main(["sweep", str(grid), *words])
    assert ended.value.code == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "no runs"),
        ("[[grid", "not valid TOML"),
        ('[[grid]]\nmethod = "finetune"', "name its dataset"),
        (f"sedes = [1]\n{GRID}", "did you mean 'seeds'"),
        (f"{GRID}[quik]\nepochs = 1", r"did you mean '\[quick\]'"),
        (f"{GRID}[quick]\nepcohs = 1", "did you mean 'epochs'"),
        (GRID.replace("[0, 1]", "[0, 1.5]"), r"seeds must be a whole number, not 1\.5"),
        (GRID.replace("[0, 1]", "3"), "seeds must be a list, not 3"),
        ("grid = 3", "no runs"),
        ("grid = []", "no runs"),
        (GRID.replace("[[grid]]", "[grid]"), "no runs"),
        (GRID.replace("[0, 1]", "[]"), "seeds of .* are an empty list"),
        (GRID.replace("epochs = 1", "epochs = []"), "epochs is an empty list"),
        (GRID.replace('"split-digits"', '[["split-digits"]]'), "dataset must be a word"),
        (GRID.replace('["finetune", "joint"]', "{ a = 1 }"), "method must be a word"),
        (f'{GRID}preset = "self.toml"', "self.toml leads back to itself"),
        (f'{GRID}preset = "child.toml"', "names a preset file nowhere.toml that does not exist"),
        (f'{GRID}name = "x"', "option of finetune 'name'"),
        (f"quick = 3\n{GRID}", r"no \[quick\] table"),
        (f'{GRID}[quick]\ntasks = "2"', "tasks must be a whole number"),
        (GRID.replace('"split-digits"', "5"), "dataset must be a word, not 5"),
        (GRID.replace('["finetune", "joint"]', "5"), "method must be a word, not 5"),
        (f"{GRID}preset = 5", "unknown preset '5'"),
        (GRID.replace("epochs = 1", "epochs = true"), "epochs must be a whole number, not True"),
        (f'{GRID}evaluate_on = "validaton"', "did you mean 'validation'"),
        (
            '[[grid]]\nmethod = "finetune"\ndataset = "split-digits"\nscenario = "task"\nalpha = 1',
            "option of finetune 'alpha'",
        ),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_a_sentence(tmp_path, monkeypatch, text, hint):
    monkeypatch.chdir(tmp_path)
    for name, other in (("self", "self"), ("child", "nowhere")):
        (tmp_path / f"{name}.toml").write_text(f'method = "finetune"\npreset = "{other}.toml"\n')
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=hint):
        read_sweep(path)


def test_the_command_runs_a_sweep_in_processes(grid, tmp_path, capsys):
    with pytest.raises(SystemExit) as code:
        main(["sweep", str(grid), "--out", str(tmp_path / "runs"), "--seeds", "0", "--workers", "1"])
    assert code.value.code == 0
    assert "4 runs done, 0 failed" in capsys.readouterr().err


def test_the_live_table_shows_what_runs_what_ended_and_how_long_it_will_take(grid):
    console = Console(file=io.StringIO(), force_terminal=True, width=150)
    display = SweepDisplay(console, total=8, workers=2)
    first, second, third, *_ = read_sweep(grid)
    display.done(Outcome(first, folder_of(first, grid.parent), "done", {"acc": 0.5, "seconds": 1.0}))
    assert console.file.getvalue() == ""  # it was finished before this sweep
    assert display.time_left == "time left unknown"
    for experiment in (second, third):
        display.start(experiment)
    display.done(Outcome(second, folder_of(second, grid.parent), "diverged", error="no number"))
    console.print(display)
    text = console.file.getvalue()
    assert "diverged, no number" in text
    assert "finetune on split-digits, class" in text
    assert "2/8: 1 runs done, 0 failed, 1 diverged, 1 running, about 0 s left" in text
