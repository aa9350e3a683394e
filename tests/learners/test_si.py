"""Synaptic intelligence: the path integral accounts for every bit of the decrease of the loss."""

from typing import Any

import pytest
import torch

from checks import check_learner, learn, small_benchmark, small_learner
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.base import Setting
from hibnn.learners.presets import options_for
from hibnn.learners.si import SI, SIOptions
from hibnn.nn.layout import Layout


class OnAQuadratic(SI):
    """Minimises 1/2 sum_n h_n (theta_n - c_n)^2 instead of a cross-entropy, and sums its second-order terms."""

    def prepare(self):
        super().prepare()
        generator = torch.Generator().manual_seed(self.task)
        self.curvature, self.centre, self.second_order, self.start = {}, {}, {}, self.weights()
        for name, weights in self.start.items():
            self.curvature[name] = torch.rand(weights.shape, generator=generator) + 0.5
            self.centre[name] = torch.randn(weights.shape, generator=generator)
            self.second_order[name] = torch.zeros_like(weights)

    def weights(self):
        return {name: value.detach().clone() for name, value in self.shared_parameters().items()}

    def losses(self, weights):
        return {name: self.curvature[name] * (value - self.centre[name]) ** 2 / 2 for name, value in weights.items()}

    def terms(self, rows):
        return {name: loss.sum() for name, loss in self.losses(self.shared_parameters()).items()}

    def after_step(self):
        super().after_step()
        for name, value in self.weights().items():
            self.second_order[name] += self.curvature[name] * (value - self.before[name][1]) ** 2 / 2


def test_the_path_integral_is_the_decrease_of_a_quadratic_loss_with_and_without_a_penalty():
    """-g d = L(theta) - L(theta + d) + 1/2 h d^2, for each weight; the last term vanishes with the steps' size."""
    learner = OnAQuadratic(SIOptions(strength=2.0, learning_rate=0.02), Setting(8, Layout.SHARED))
    for task in small_benchmark(Scenario.DOMAIN).tasks[:2]:
        learner.begin(task)
        for number in range(30):
            learner.epoch(number)
        before, after = learner.losses(learner.start), learner.losses(learner.weights())
        for name, path in learner.path.items():
            assert torch.allclose(path - learner.second_order[name], before[name] - after[name], atol=1e-4)
        second_order, path = (sum(v.sum() for v in d.values()) for d in (learner.second_order, learner.path))
        assert 0 < second_order < 0.03 * path
        learner.end()
    assert max(float(value.max()) for value in learner.importance.values()) > 0


def test_importance_adds_path_over_squared_movement_and_the_anchor_follows():
    learner = OnAQuadratic(SIOptions(damping=0.3), Setting(8, Layout.SHARED))
    expected = torch.zeros(100, 8)
    for task in small_benchmark(Scenario.DOMAIN).tasks[:2]:
        learner.begin(task)
        learner.epoch(0)
        movement = learner.weights()["body.0.weight"] - learner.start["body.0.weight"]
        expected = expected + learner.path["body.0.weight"] / (movement**2 + 0.3)
        learner.end()
    assert torch.equal(learner.importance["body.0.weight"], expected)
    assert torch.equal(learner.anchor["body.0.weight"], learner.weights()["body.0.weight"])


def test_si_is_a_learner(tmp_path):
    check_learner("si", tmp_path)
    check_learner("si", tmp_path, keep_moments=False)


def test_the_outputs_a_growing_head_adds_are_not_held_at_first():
    benchmark = small_benchmark(Scenario.CLASS)
    learner: Any = small_learner("si", benchmark, epochs=2)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    assert not learner.importance["heads.1.weight"].any()
    assert learner.importance["heads.0.weight"].any()


@pytest.mark.parametrize("scenario", [Scenario.DOMAIN, Scenario.CLASS])
def test_si_forgets_less_than_finetuning(scenario):
    assert accuracy_at_the_end("si", scenario, strength=3.0) > accuracy_at_the_end("finetune", scenario) + 0.05


def test_what_is_kept_between_tasks_is_counted():
    benchmark = small_benchmark(Scenario.TASK)
    learner: Any = small_learner("si", benchmark, epochs=1, keep_moments=False)
    for task in benchmark.tasks:
        learn(learner, task)
    body, heads = 8 * 20 + 20, 3 * (20 * 2 + 2)
    assert learner.parameter_count() == 3 * body + heads
    assert sum(value.numel() for value in learner.state().tensors.values()) == learner.parameter_count()


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    strengths = [
        [options_for("si", dataset, scenario=scenario).strength for scenario in Scenario]
        for dataset in ("split-mnist", "permuted-mnist")
    ]
    assert strengths == [[300, 3000, 600], [1, 10, 0.3]]


@pytest.mark.parametrize("wrong", [{"strength": -1.0}, {"damping": 0.0}])
def test_impossible_options_of_si_are_refused(wrong):
    with pytest.raises(UserError, match="must be"):
        SIOptions(**wrong)


def test_normalised_inputs_are_shifted_and_scaled_for_learning_and_for_answers():
    benchmark = small_benchmark()
    learners: list[Any] = [small_learner("si", benchmark, epochs=1, normalise=wish) for wish in (False, True)]
    plain, normalising = learners
    normalising.begin(benchmark.tasks[0])
    plain.begin(benchmark.tasks[0])
    x = torch.from_numpy(benchmark.tasks[0].train.load().x)
    assert torch.allclose(normalising.x * 0.2752 + 0.1, x, atol=1e-6)
    answers = [learner.predict(x, 0, torch.Generator()).probabilities for learner in learners]
    shifted = plain.predict((x - 0.1) / 0.2752, 0, torch.Generator()).probabilities
    assert torch.allclose(answers[1], shifted)
    assert not torch.allclose(*answers)
