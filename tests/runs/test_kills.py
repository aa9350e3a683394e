"""A `hibnn run` that is killed again and again ends as one that was left in peace."""

import json
import random
import signal
import time

import pytest

from hibnn.cli.main import main
from hibnn.runs.interrupt import noted_signals
from processes import command, lines, outcome, start, wait_for


def kill_at_random_moments(words, folder, kills, total, random):
    """Kill the run when a random further number of lines has appeared and a part of an epoch has passed."""
    for number in range(kills):
        process = start(words)
        begun = lines(folder)
        left = total - begun
        target = begun + random.randint(0, max(1, 2 * left // (kills - number + 1)))
        alive = wait_for(lambda: lines(folder) > min(target, total - 2) or lines(folder) < begun, process)  # noqa: B023
        assert alive, f"the run was over before kill {number + 1}: {process.stderr.read()}"
        time.sleep(random.random() * 0.02)
        process.kill()
        process.wait()
        process.stderr.close()
        assert not (folder / "result.json").exists(), "killed too late to prove anything"


def check_kills(method, tmp_path, kills, epochs, tasks=3):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    finish_here(command(method, whole, epochs=epochs, tasks=tasks))
    words = command(method, killed, epochs=epochs, tasks=tasks)
    kill_at_random_moments(words, killed, kills, lines(whole), random.Random(method))
    finish_here(words)
    for one, other in zip(outcome(whole), outcome(killed), strict=True):
        assert one == other
    assert not list(killed.glob("checkpoint*"))
    assert json.loads((killed / "status.json").read_text())["status"] == "done"


def finish_here(words):
    with pytest.raises(SystemExit) as ended:
        main(words[3:])
    assert ended.value.code == 0


@pytest.mark.slow
def test_a_run_killed_twice_ends_with_the_same_numbers_metrics_and_files(tmp_path):
    check_kills("ibnn", tmp_path, kills=2, epochs=8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ibnn", "hibnn", "ewc", "gem", "den", "bscl"])
def test_a_run_killed_ten_times_ends_with_the_same_numbers_metrics_and_files(tmp_path, method):
    check_kills(method, tmp_path, kills=10, epochs=20, tasks=5)


def test_sigterm_leaves_a_checkpoint_and_the_same_command_goes_on(tmp_path):
    process = start(command("ewc", tmp_path, epochs=500))
    wait_for(lambda: lines(tmp_path) > 3, process)
    process.terminate()
    assert process.wait() == 143
    message = process.stderr.read()
    process.stderr.close()
    assert f"the same command goes on with task 1, epoch {lines(tmp_path) + 1}." in message
    assert len(message.splitlines()) == 1
    assert (tmp_path / "checkpoint.safetensors").exists()
    assert json.loads((tmp_path / "status.json").read_text())["status"] == "interrupted"


def test_the_first_ctrl_c_is_noted_for_the_next_safe_point_and_the_second_ends_at_once():
    with noted_signals() as stop:
        assert stop() is None
        signal.raise_signal(signal.SIGINT)
        assert stop() == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
