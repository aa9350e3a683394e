"""Dark experience replay: the loss is the formula's, with the logits of the step in which an example was stored."""

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from checks import check_learner, learn, small_benchmark, small_learner
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.derpp import DERppOptions, logit_distance
from hibnn.learners.presets import options_for


def test_derpp_is_a_learner(tmp_path):
    check_learner("derpp", tmp_path)
    check_learner("derpp", tmp_path, memory=7, replay_size=3)


def in_the_second_task(scenario, **options) -> Any:
    benchmark = small_benchmark(scenario)
    learner: Any = small_learner("derpp", benchmark, epochs=1, memory=40, replay_size=5, **options)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    return learner


@pytest.mark.parametrize("scenario", Scenario)
def test_the_loss_is_the_formulas(scenario):
    learner = in_the_second_task(scenario, alpha=0.7, beta=0.4)
    rows, draws = torch.arange(20), torch.Generator().manual_seed(3)
    first, second = (learner.memory.sample(5, draws) for _ in range(2))
    learner.draws = torch.Generator().manual_seed(3)
    terms = learner.terms(rows)
    offset = 2 if scenario is Scenario.TASK else 0  # labels count the outputs of all heads
    assert torch.allclose(terms["nll"], cross_entropy(learner.mlp(learner.x[rows], 1), learner.y[rows] - offset))
    stored = first["logits"][:, :2] if scenario is Scenario.TASK else first["logits"]
    distance = (learner.mlp(first["x"], 0) - stored).square().mean()
    assert torch.allclose(terms["logits"], 0.7 * distance)
    assert torch.allclose(terms["replay"], 0.4 * cross_entropy(learner.mlp(second["x"], 0), second["y"]))
    assert not torch.equal(first["x"], second["x"])
    torch.stack(list(terms.values())).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in learner.mlp.parameters())


def test_logits_are_those_of_the_step_in_which_an_example_was_stored():
    learner = in_the_second_task(Scenario.CLASS)
    learner.memory.seen, learner.memory.rows = 0, {}
    rows = torch.arange(20)
    before = learner.mlp(learner.x[rows], 1).detach()
    for step in range(2):  # which fill the memory
        learner.step(rows + 20 * step)
    assert torch.equal(learner.memory.rows["x"][:20], learner.x[rows])
    assert torch.allclose(learner.memory.rows["logits"][:20], before)
    assert not torch.allclose(learner.mlp(learner.x[rows], 1), before)


def test_outputs_of_other_heads_have_no_part_in_an_examples_distance():
    learner = in_the_second_task(Scenario.TASK)
    learner.epoch(0)
    known, task = learner.memory.rows["logits"].isfinite(), learner.memory.rows["y"] // 2
    assert set(task.tolist()) == {0, 1}
    assert torch.equal(known, torch.tensor([[True, True, False, False], [False, False, True, True]])[task])


def test_outputs_that_a_growing_head_adds_are_held_at_the_logits_they_begin_with():
    benchmark = small_benchmark(Scenario.CLASS)
    learner: Any = small_learner("derpp", benchmark, epochs=1, memory=40)
    learn(learner, benchmark.tasks[0])
    before = learner.memory.rows["logits"]
    learner.begin(benchmark.tasks[1])
    logits, x = learner.memory.rows["logits"], learner.memory.rows["x"]
    assert torch.equal(logits[:, :2], before)
    assert torch.equal(logits[:, 2:], learner.mlp(x, 1)[:, 2:])
    assert not torch.allclose(logits[:, :2], learner.mlp(x, 1)[:, :2])


def test_the_distance_is_the_mean_over_examples_of_that_over_known_outputs():
    logits = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 5.0]], requires_grad=True)
    stored = torch.tensor([[0.0, 0.0, 0.0], [2.0, 1.0, -torch.inf]])
    distance = logit_distance(logits, stored)
    distance.backward()
    assert distance == ((1 + 4 + 9) / 3 + (4 + 0) / 2) / 2
    assert torch.allclose(logits.grad, torch.tensor([[1 / 3, 2 / 3, 1.0], [-1.0, 0.0, 0.0]]))


@pytest.mark.slow
@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0)])
def test_either_term_alone_forgets_less_than_the_same_steps_without_both(weights):
    remembered, forgotten = (
        accuracy_at_the_end("derpp", Scenario.CLASS, memory=30, learning_rate=0.1, alpha=alpha, beta=beta)
        for alpha, beta in (weights, (0.0, 0.0))
    )
    assert remembered > forgotten + 0.2


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    for scenario in Scenario:
        assert options_for("derpp", "permuted-mnist", scenario=scenario).learning_rate == 0.2
        assert options_for("derpp", "split-mnist", scenario=scenario).learning_rate == 0.03


@pytest.mark.parametrize("wrong", [{"alpha": -1.0}, {"beta": -1.0}])
def test_impossible_options_of_derpp_are_refused(wrong):
    with pytest.raises(UserError, match="must be"):
        DERppOptions(**wrong)
