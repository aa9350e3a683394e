"""Learning without forgetting: earlier heads are held at the answers they gave when the task began."""

from typing import Any

import pytest
import torch
from torch.distributions import Categorical

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.lwf import LwFOptions, distil
from hibnn.learners.presets import options_for


def test_lwf_is_a_learner(tmp_path):
    check_learner("lwf", tmp_path)


def test_a_students_distance_is_the_teachers_entropy_plus_the_divergence_from_it(generator):
    new, old = torch.randn(2, 7, 4, generator=generator, dtype=torch.float64)
    student, teacher = Categorical(logits=new / 2), Categorical(logits=old / 2)
    divergence = torch.distributions.kl_divergence(teacher, student)
    assert torch.allclose(distil(old, old, 2.0), teacher.entropy().mean())
    assert torch.allclose(distil(new, old, 2.0), (teacher.entropy() + divergence).mean())


def test_its_gradient_is_the_difference_of_softened_probabilities(generator):
    new, old = torch.randn(2, 7, 4, generator=generator, dtype=torch.float64)
    distil(new.requires_grad_(), old, 2.0).backward()
    assert new.grad is not None
    assert torch.allclose(new.grad, ((new / 2).softmax(-1) - (old / 2).softmax(-1)) / 2 / 7)


@pytest.mark.parametrize("scenario", Scenario)
def test_each_earlier_task_is_distilled_once_and_a_growing_head_as_a_whole(scenario):
    benchmark = small_benchmark(scenario)
    learner: Any = small_learner("lwf", benchmark, epochs=1, strength=0.7)
    for task in benchmark.tasks[:2]:
        learn(learner, task)
    x = torch.from_numpy(benchmark.tasks[2].train.load().x)[:20]
    heads = {Scenario.TASK: [0, 1], Scenario.DOMAIN: [0, 0], Scenario.CLASS: [0]}[scenario]
    old = [learner.mlp(x, head).detach() for head in heads]
    learner.begin(benchmark.tasks[2])
    learner.epoch(0)
    new = [learner.mlp(x, head) for head in heads]
    if scenario is Scenario.CLASS:
        old[0] = torch.cat([old[0], torch.full((20, 2), -torch.inf)], 1)  # new outputs had no probability
    expected = sum(distil(*pair, 2.0) for pair in zip(new, old, strict=True))
    assert torch.allclose(learner.terms(torch.arange(20))["distillation"], 0.7 * expected)


def test_the_first_task_is_learned_as_by_finetuning():
    benchmark = small_benchmark()
    learners = [small_learner(method, benchmark, epochs=2) for method in ("lwf", "finetune")]
    for learner in learners:
        learn(learner, benchmark.tasks[0])
    assert torch.allclose(*(probabilities(learner, benchmark) for learner in learners), atol=1e-6)


@pytest.mark.parametrize("scenario", Scenario)
def test_a_stronger_pull_leaves_earlier_answers_nearer_to_what_they_were(scenario):
    benchmark, moved = small_benchmark(scenario), []
    for strength in (0.0, 1.0, 10.0):
        learner: Any = small_learner("lwf", benchmark, epochs=5, strength=strength)
        learn(learner, benchmark.tasks[0])
        x = torch.from_numpy(benchmark.tasks[1].train.load().x)
        before = learner.mlp(x, 0).softmax(-1).detach()
        learn(learner, benchmark.tasks[1])
        moved.append(float((learner.mlp(x, 0).softmax(-1)[:, :2].detach() - before).abs().mean()))
    assert moved[0] > moved[1] > moved[2]


@pytest.mark.parametrize("scenario", [Scenario.DOMAIN, Scenario.CLASS])
def test_lwf_forgets_less_than_finetuning(scenario):
    assert accuracy_at_the_end("lwf", scenario) > accuracy_at_the_end("finetune", scenario) + 0.05


def test_recorded_answers_are_kept_during_a_task_only():
    benchmark = small_benchmark()
    learner: Any = small_learner("lwf", benchmark, epochs=1)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    network = sum(parameter.numel() for parameter in learner.mlp.parameters())
    assert learner.parameter_count() == network + 120 * 2
    learner.end()
    assert learner.parameter_count() == network
    assert "recorded" not in learner.state().tensors


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    for scenario in Scenario:
        assert options_for("lwf", "permuted-mnist", scenario=scenario).learning_rate == 1e-4
        assert options_for("lwf", "split-mnist", scenario=scenario).temperature == 2.0


@pytest.mark.parametrize("wrong", [{"strength": -1.0}, {"temperature": 0.0}])
def test_impossible_options_of_lwf_are_refused(wrong):
    with pytest.raises(UserError, match="must be"):
        LwFOptions(**wrong)
