"""A thousand SIGKILLs at random moments, over all methods: not a bit of any result changes."""

import os
import random
import signal
import time
import warnings

import pytest

from faults.dying import attempt, wait_for
from faults.server import warm_up
from hibnn.cli.main import main
from hibnn.learners import methods
from hibnn.runs import trainer
from processes import outcome

KILLS, IN_A_ROW = 1000, 8


def words(method, folder):
    line = f"run --dataset split-digits --scenario task --method {method} --width 8 --epochs 2 --tasks 3 --quiet --out"
    return [*line.split(), str(folder)]


def killed(work, seconds):
    """Whether a fork that does the work was killed after so many seconds, before it was done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return wait_for(child) == -signal.SIGKILL


def kill_runs(method, tmp_path, kills):
    """Kill runs of a method so often, each up to eight times in a row; every run is finished and compared."""
    chance, done, runs = random.Random(method), 0, 0
    whole = tmp_path / method
    begun = time.monotonic()
    assert attempt(lambda: main(words(method, whole)), whole)
    length, expected = time.monotonic() - begun, outcome(whole)
    while done < kills:
        folder = tmp_path / f"{method}-{runs}"
        for _ in range(min(chance.randint(1, IN_A_ROW), kills - done)):
            if not killed(lambda: main(words(method, folder)), chance.random() * length):  # noqa: B023
                break
            done += 1
        assert attempt(lambda: main(words(method, folder)), folder)  # noqa: B023
        assert outcome(folder) == expected, (method, runs)
        runs += 1
    return runs


@pytest.mark.slow
def test_a_thousand_kills_over_all_methods_change_no_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CHECKPOINT_SHARE", 1e9)  # after every epoch, however short
    warm_up()
    names = [*methods()]
    total = 0
    for number, method in enumerate(names):
        kills = KILLS // len(names) + (number < KILLS % len(names))
        runs = kill_runs(method, tmp_path, kills)
        total += kills
        print(f"{method}: {kills} kills, {runs} runs compared, none changed", flush=True)
    print(f"{total} kills over {len(names)} methods")
    assert total == KILLS
