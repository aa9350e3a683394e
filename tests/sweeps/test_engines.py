"""Real workers that are really killed."""

import json
import os
import signal
import sys
import threading

import psutil
import pytest

from hibnn.errors import UserError
from hibnn.sweeps.engines import Workers, engine
from hibnn.sweeps.sweep import folder_of, read_sweep, sweep
from processes import outcome, start, wait_for

GRID = """
seeds = [0, 1]
[[grid]]
method = ["ewc", "ibnn"]
dataset = "split-digits"
scenario = "task"
epochs = 15
tasks = 3
"""


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return path


def nothing(*arguments):
    pass


def outcomes(experiments, out):
    return [outcome(folder_of(experiment, out)) for experiment in experiments]


def pid_of_a_run(out):
    """The process of a run that has a checkpoint."""
    folder = next(out.glob("*/checkpoint.safetensors")).parent
    return json.loads((folder / "status.json").read_text())["pid"]


def test_a_pool_whose_worker_died_is_made_anew():
    with Workers(1) as workers:
        dead = workers.submit(os._exit, 1)
        assert dead.exception() is not None
        assert workers.submit(abs, -3).result() == 3


@pytest.mark.slow
def test_a_killed_dask_worker_loses_no_run_and_changes_no_number(grid, tmp_path):
    from distributed import LocalCluster

    experiments = read_sweep(grid)
    with engine("local", 2, None) as (executor, slots):
        sweep(experiments, tmp_path / "local", executor, nothing, slots=slots)
    killed = []

    def kill_one():
        wait_for(lambda: list((tmp_path / "dask").glob("*/checkpoint.safetensors")))
        killed.append(pid_of_a_run(tmp_path / "dask"))
        os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
        engine("dask", 2, cluster.scheduler_address) as (executor, slots),
    ):
        done = sweep(experiments, tmp_path / "dask", executor, nothing, slots=slots)
    killer.join()
    assert killed
    assert [outcome.status for outcome in done] == ["done"] * 4
    assert outcomes(experiments, tmp_path / "dask") == outcomes(experiments, tmp_path / "local")


def sweep_process(grid, out):
    return start([sys.executable, "-m", "hibnn", "sweep", str(grid), "--out", str(out), "--workers", "2"])


@pytest.mark.slow
def test_a_killed_local_worker_loses_no_run(grid, tmp_path):
    process = sweep_process(grid, tmp_path / "runs")
    wait_for(lambda: list((tmp_path / "runs").glob("*/checkpoint.safetensors")), process)
    os.kill(pid_of_a_run(tmp_path / "runs"), signal.SIGKILL)
    _, err = process.communicate()
    assert "4 runs done, 0 failed." in err
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_sweep_ends_its_workers_and_the_same_command_goes_on(grid, tmp_path, number, code):
    process = sweep_process(grid, tmp_path / "runs")
    wait_for(lambda: list((tmp_path / "runs").glob("*/checkpoint.safetensors")), process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == code
    assert "the same command goes on with the others" in err
    assert "Traceback" not in err
    assert not psutil.wait_procs(workers, timeout=10)[1]
    again = sweep_process(grid, tmp_path / "runs")
    _, err = again.communicate()
    assert (again.returncode, "4 runs done, 0 failed." in err) == (0, True)


@pytest.mark.slow
def test_workers_do_not_outlive_a_sweep_that_was_killed(grid, tmp_path):
    process = sweep_process(grid, tmp_path / "runs")
    wait_for(lambda: list((tmp_path / "runs").glob("*/checkpoint.safetensors")), process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    assert not psutil.wait_procs(workers, timeout=20)[1]


@pytest.mark.slow
def test_the_memory_of_a_worker_does_not_grow_with_the_number_of_runs(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID.replace("epochs = 15", "epochs = 1").replace("[0, 1]", str(list(range(30)))))
    memory = []

    def measure(done):
        memory.append(sum(child.memory_info().rss for child in psutil.Process().children(recursive=True)))

    with engine("local", 1, None) as (executor, slots):
        sweep(read_sweep(path), tmp_path / "runs", executor, measure, slots=slots)
    assert len(memory) == 60
    assert sum(memory[50:]) < 1.03 * sum(memory[10:20])


def test_dask_workers_that_die_while_they_start_are_a_sentence(monkeypatch):
    def cluster(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", cluster)
    with pytest.raises(UserError, match=r"Dask's workers did not start .Nanny failed to start..: try again"):
        engine("dask", 1, None).__enter__()
