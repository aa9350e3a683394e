"""Denormal numbers count as zero while a model computes, and afterwards as before."""

import subprocess
import sys

import torch

from checks import learn, small_benchmark, small_learner
from hibnn.continual import ContinualModel
from hibnn.denormals import flushed, flushes


def test_within_the_block_denormals_are_zero_and_afterwards_as_before():
    torch.set_flush_denormal(False)
    assert not flushes()
    with flushed():
        assert flushes()
        with flushed():
            pass
        assert flushes()
    assert not flushes()


def test_a_model_learns_and_predicts_without_denormals_and_leaves_the_callers_setting(monkeypatch):
    torch.set_flush_denormal(False)
    benchmark, seen = small_benchmark(), []
    learner = small_learner("vcl", benchmark, epochs=1)
    model = ContinualModel(learner)
    for name in ("begin_experience", "epoch", "end", "predict"):
        inner = getattr(learner, name)
        monkeypatch.setattr(
            learner, name, lambda *a, inner=inner, name=name: seen.append((name, flushes())) or inner(*a)
        )
    model.begin(benchmark.tasks[0].train, 2)
    model.epoch(0)
    model.end()
    model.predict(benchmark.tasks[0].test.load().x, 0)
    assert {name for name, _ in seen} == {"begin_experience", "epoch", "end", "predict"}
    assert all(flushing for _, flushing in seen)
    assert not flushes()


def test_an_error_leaves_the_callers_setting_too():
    torch.set_flush_denormal(False)
    learner = small_learner("vcl", small_benchmark())
    learn(learner, small_benchmark().tasks[0])
    try:
        ContinualModel(learner).predict(torch.zeros(3, 5).numpy(), 0)
    except Exception:
        assert not flushes()
    else:
        raise AssertionError("inputs of another width must be refused")


PROGRAM = """
import sys
import torch
from hibnn.denormals import use_threads
use_threads(2)
smallest = torch.full((1_000_000,), torch.finfo(torch.float32).tiny)
sys.exit(int((smallest * 0.5 != 0).sum()) > 0)
"""


def test_all_threads_of_a_command_take_denormals_for_zero():
    assert subprocess.run([sys.executable, "-c", PROGRAM]).returncode == 0
