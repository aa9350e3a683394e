"""Two processes that start the same run do not disturb each other."""

import json
import os
import subprocess
import sys
import time

import pytest

from folders import write_run
from hibnn import Experiment, Scenario, options_for, run
from hibnn.errors import BusyError
from hibnn.runs import lock
from hibnn.runs.lock import run_lock
from hibnn.runs.record import read_record
from hibnn.runs.status import Status, raw_status, write_status

HOLD = """
import sys, filelock
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def experiment():
    options = options_for("finetune", "split-digits", epochs=1)
    return Experiment(method="finetune", dataset="split-digits", scenario=Scenario.TASK, options=options, tasks=1)


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the run's lock."""
    words = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_process_is_told_who_runs_it_and_touches_nothing(tmp_path, holder):
    write_status(tmp_path, Status.RUNNING, pid=holder.pid, host=lock.host())
    with pytest.raises(BusyError, match=rf"being run by another process \(process {holder.pid} on {lock.host()}\)"):
        run(experiment(), tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["lock", "status.json"]
    assert raw_status(tmp_path)["status"] == Status.RUNNING


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path, holder):
    write_status(tmp_path, Status.RUNNING, pid=holder.pid, host=lock.host())
    holder.kill()
    holder.wait()
    run(experiment(), tmp_path)
    assert raw_status(tmp_path)["status"] == Status.DONE


def test_a_run_of_another_machine_is_free_when_its_heart_has_stopped(tmp_path):
    write_status(tmp_path, Status.RUNNING, pid=1, host="another machine")
    with pytest.raises(BusyError), run_lock(tmp_path):
        pass
    long_ago = time.time() - 2 * lock.STILL
    os.utime(tmp_path / "status.json", (long_ago, long_ago))
    with run_lock(tmp_path):
        pass


def test_a_time_in_the_future_is_no_sign_of_life(tmp_path):
    write_status(tmp_path, Status.RUNNING, pid=1, host="another machine")
    for ahead in (2 * lock.STILL, 1e9, 1e10):
        os.utime(tmp_path / "status.json", (time.time() + ahead,) * 2)
        with run_lock(tmp_path):
            pass
    run_folder = write_run(tmp_path / "run", status={"status": "running"})
    os.utime(run_folder / "status.json", (time.time() + 1e10,) * 2)
    assert read_record(run_folder).status is Status.INTERRUPTED
    assert "no sign of life:" in read_record(run_folder).reason


def test_the_heart_beats_while_the_lock_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "HEARTBEAT", 0.001)
    write_status(tmp_path, Status.PENDING)
    with run_lock(tmp_path):
        os.utime(tmp_path / "status.json", (0, 0))
        deadline = time.monotonic() + 30
        while (tmp_path / "status.json").stat().st_mtime == 0:
            assert time.monotonic() < deadline
            time.sleep(0.001)


def test_a_run_leaves_everything_that_was_promised(tmp_path):
    run(experiment(), tmp_path)
    names = "config.json env.json lock metrics.jsonl model.safetensors predictions.safetensors result.json status.json"
    assert sorted(os.listdir(tmp_path)) == names.split()
    environment = json.loads((tmp_path / "env.json").read_text())
    assert environment.keys() >= {
        "hibnn",
        "python",
        "torch",
        "numpy",
        "cores",
        "platform",
        "threads",
        "device",
        "commit",
    }
    status = json.loads((tmp_path / "status.json").read_text())
    assert (status["status"], status["pid"], status["host"]) == ("done", os.getpid(), lock.host())
    assert status["started"] < status["finished"]
    first, last = (json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert (first["task"], first["epoch"], first["learning_rates"]) == (0, 0, [1e-3])
    assert first.keys() >= {"nll", "active_units", "seconds"}
    assert last["accuracies"] == [json.loads((tmp_path / "result.json").read_text())["acc"]]
