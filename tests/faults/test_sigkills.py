"""A thousand SIGKILLs at random moments, over all methods: not a bit of any result changes."""

import os
import random
import shutil
import signal
import time
import warnings

import pytest

from faults.dying import attempt, wait_for
from faults.server import warm_up
from hibnn.cli.main import main
from hibnn.learners import methods
from hibnn.learners.network import NetworkOptions
from hibnn.runs import trainer
from processes import outcome

KILLS, IN_A_ROW = 1000, 20


def words(method, folder):
    line = f"run --dataset split-digits --scenario task --method {method} --tasks 3 --quiet --out"
    small = ["--width", "8", "--epochs", "2"] if issubclass(methods()[method].options, NetworkOptions) else []
    return [*line.split(), str(folder), *small]


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


class Victim:
    """A method whose runs are killed; `length` is about how long a run takes on this machine, as it is now."""

    def __init__(self, method, tmp_path):
        self.method, self.folder, self.chance = method, tmp_path / method, random.Random(method)
        assert attempt(lambda: main(words(method, self.folder)), self.folder)
        self.expected = outcome(self.folder)
        begun = time.monotonic()
        assert attempt(lambda: main([*words(method, self.folder), "--force"]), self.folder)
        self.length = time.monotonic() - begun

    def kill_one(self, most):
        """Begin a run, kill it some times in a row, finish it, and compare; returns how often it was killed."""
        folder, kills = self.folder.with_name(f"{self.method}-killed"), 0
        while kills < most and killed(lambda: main(words(self.method, folder)), self.chance.random() * self.length):
            kills += 1
        self.length *= 1.0 if kills == most else 0.6  # it was done before the kill
        assert attempt(lambda: main(words(self.method, folder)), folder)
        assert outcome(folder) == self.expected, self.method
        shutil.rmtree(folder)
        return kills


@pytest.mark.slow
def test_a_thousand_kills_over_all_methods_change_no_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CHECKPOINT_SHARE", 1e9)  # after every epoch, however short
    warm_up()
    victims = [Victim(method, tmp_path) for method in methods()]
    kills = runs = 0
    while kills < KILLS:
        for victim in victims:
            kills += victim.kill_one(min(victim.chance.randint(1, IN_A_ROW), KILLS - kills))
            runs += 1
        print(f"{kills} kills, {runs} runs of {len(victims)} methods compared, no bit changed", flush=True)
    assert kills == KILLS
