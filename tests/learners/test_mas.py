"""Memory aware synapses: importance is how much the squared norm of the outputs reacts to a weight."""

from typing import Any

import numpy as np
import pytest
import torch

from checks import check_learner, learn, small_benchmark, small_learner
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.learners import mas
from hibnn.learners.mas import sensitivity
from hibnn.learners.presets import options_for
from hibnn.nn.layout import Layout
from hibnn.nn.networks.mlp import MLP


def test_mas_is_a_learner(tmp_path):
    check_learner("mas", tmp_path)
    check_learner("mas", tmp_path, keep_moments=False)


@pytest.mark.parametrize("layout", Layout)
def test_importance_is_the_mean_absolute_derivative_by_finite_differences(layout, generator, monkeypatch):
    monkeypatch.setattr(mas, "ROWS", 3)
    mlp = MLP(3, (4, 4), layout, generator)
    for _ in range(2):
        mlp.add_head(2, generator)
    mlp.double()
    x, step = torch.randn(7, 3, generator=generator, dtype=torch.float64), 1e-6
    found = sensitivity(mlp, x, 1)
    for name, parameter in mlp.named_parameters():
        if layout is Layout.MULTI and name.startswith("heads.0"):
            assert name not in found
            continue
        flat = parameter.detach().view(-1)
        for place in range(len(flat)):
            norms = []
            for move in (step, -2 * step, step):
                flat[place] += move
                norms.append(mlp(x, 1).square().sum(1).detach())
            expected = ((norms[0] - norms[1]) / (2 * step)).abs().mean()
            assert torch.allclose(found[name].view(-1)[place], expected, rtol=1e-5, atol=1e-8)


def test_importances_of_tasks_are_added_and_the_anchor_is_where_the_last_one_ended():
    benchmark = small_benchmark(Scenario.CLASS)
    learner: Any = small_learner("mas", benchmark, epochs=2)
    expected: dict[str, torch.Tensor] = {}
    for task in benchmark.tasks[:2]:
        learn(learner, task)
        x = torch.from_numpy(task.train.load().x)
        for name, new in sensitivity(learner.mlp, x, learner.task).items():
            expected[name] = expected.get(name, torch.zeros_like(new)) + new
    assert learner.importance.keys() == learner.anchor.keys() == dict(learner.mlp.named_parameters()).keys()
    for name, parameter in learner.mlp.named_parameters():
        assert torch.allclose(learner.importance[name], expected[name])
        assert torch.equal(learner.anchor[name], parameter)


@pytest.mark.parametrize("scenario", [Scenario.DOMAIN, Scenario.CLASS])
def test_mas_forgets_less_than_finetuning(scenario):
    assert accuracy_at_the_end("mas", scenario, strength=0.1) > accuracy_at_the_end("finetune", scenario) + 0.05


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    strengths = [
        [options_for("mas", benchmark, scenario=scenario).strength for scenario in Scenario]
        for benchmark in ("split-mnist", "permuted-mnist")
    ]
    assert np.allclose(strengths, [[0.2, 2000, 0.2], [0.0005, 0.005, 0.00015]], rtol=1e-12, atol=0)
