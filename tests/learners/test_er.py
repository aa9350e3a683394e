"""Experience replay: a step's gradient is that of new and remembered examples together."""

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from checks import check_learner, learn, small_benchmark, small_learner
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.learners.presets import options_for

SMALL = {"memory": 30, "learning_rate": 0.1}


def test_er_is_a_learner(tmp_path):
    check_learner("er", tmp_path)
    check_learner("er", tmp_path, memory=7, replay_size=3)


@pytest.mark.parametrize("scenario", Scenario)
def test_the_gradient_of_a_step_is_that_of_the_mixed_minibatch(scenario):
    benchmark = small_benchmark(scenario)
    learner: Any = small_learner("er", benchmark, epochs=1, memory=40, replay_size=5)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    rows = torch.arange(20)
    learner.draws = torch.Generator().manual_seed(3)
    found = torch.autograd.grad(learner.terms(rows)["nll"], list(learner.mlp.parameters()))
    kept = learner.memory.sample(5, torch.Generator().manual_seed(3))
    offset = 2 if scenario is Scenario.TASK else 0  # labels count the outputs of all heads
    losses = [cross_entropy(learner.mlp(learner.x[rows], 1), learner.y[rows] - offset, reduction="none")]
    losses += [cross_entropy(learner.mlp(kept["x"], 0), kept["y"], reduction="none")]
    expected = torch.autograd.grad(torch.cat(losses).mean(), list(learner.mlp.parameters()))
    assert len(torch.cat(losses)) == 25
    assert all(torch.allclose(*pair, atol=1e-6) for pair in zip(found, expected, strict=True))


@pytest.mark.parametrize("scenario", [Scenario.DOMAIN, Scenario.CLASS])
def test_er_forgets_less_than_finetuning(scenario):
    assert accuracy_at_the_end("er", scenario, **SMALL) > accuracy_at_the_end("finetune", scenario) + 0.05


def test_er_forgets_less_than_the_same_steps_without_a_memory():
    without = accuracy_at_the_end("derpp", Scenario.CLASS, alpha=0.0, beta=0.0, **SMALL)
    assert accuracy_at_the_end("er", Scenario.CLASS, **SMALL) > without + 0.2


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    for scenario in Scenario:
        assert options_for("er", "permuted-mnist", scenario=scenario).learning_rate == 0.2
        assert options_for("er", "split-mnist", scenario=scenario).replay_size == 10
