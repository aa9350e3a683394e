from concurrent.futures import ThreadPoolExecutor

import pytest

from hibnn import UserError
from hibnn.cli import main
from hibnn.experiments import sweep as sweep_module
from hibnn.experiments.sweep import folder_of, read_sweep, sweep

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
    assert len(experiments) == len({one.digest for one in experiments}) == 8
    assert {one.options.epochs for one in experiments} == {1}
    assert {one.seed for one in read_sweep(grid, seeds=[7])} == {7}


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
    assert all((folder_of(one, tmp_path / "runs") / "result.json").exists() for one in experiments)


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


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "no runs"),
        ("[[grid", "not valid TOML"),
        ('[[grid]]\nmethod = "finetune"', "name its dataset"),
        ('[[grid]]\nmethod = "finetune"\ndataset = "split-digits"\nscenario = "task"\nalpha = 1', "no option 'alpha'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_a_sentence(tmp_path, text, hint):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=hint):
        read_sweep(path)


def test_the_command_runs_a_sweep_in_processes(grid, tmp_path, capsys):
    with pytest.raises(SystemExit) as code:
        main(["sweep", str(grid), "--out", str(tmp_path / "runs"), "--seeds", "0", "--workers", "1"])
    assert code.value.code == 0
    assert "4 runs done, 0 failed" in capsys.readouterr().err
