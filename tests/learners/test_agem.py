"""Averaged gradient episodic memory: a step never points against the gradient of what is remembered."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from checks import check_learner, learn, small_benchmark
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.learners.agem import AGEM, conflict
from hibnn.learners.base import Setting
from hibnn.learners.presets import options_for
from hibnn.learners.replay import ReplayOptions
from hibnn.nn.layout import Layout


def test_agem_is_a_learner(tmp_path):
    check_learner("agem", tmp_path)
    check_learner("agem", tmp_path, memory=7, replay_size=3)


class Watched(AGEM):
    """Keeps each gradient before and after it is adjusted, and the memory's gradient at the same weights."""

    def adjust_gradients(self):
        self.seen = getattr(self, "seen", [])
        before, remembered = self.gradient(), len(self.memory) > 0
        terms = super().adjust_gradients()
        if remembered:
            self.seen.append((before, self.gradient(), self.last, bool(terms["projected"])))
        return terms

    def sample(self):
        kept = super().sample()
        loss = cross_entropy(self.logits(kept["x"], kept["y"]), kept["y"])
        self.last = torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(self.network.parameters()))])
        return kept

    def gradient(self):
        return torch.cat([parameter.grad.flatten().clone() for parameter in self.network.parameters()])


def test_a_step_is_projected_by_the_formula_if_it_conflicts_and_left_alone_if_not():
    seen = [step for layout in Layout for step in steps_of_a_run(layout)]
    for before, after, reference, projected in seen:
        product, norm = before @ reference, reference @ reference
        assert projected == bool(product < 0)
        assert after @ reference > -1e-5 * after.norm() * reference.norm() - 1e-12
        if product >= 0:
            assert torch.equal(before, after)
        else:
            assert torch.allclose(after, before - product / norm * reference, atol=1e-6)
    assert 0 < sum(projected for *_, projected in seen) < len(seen)


def steps_of_a_run(layout):
    options = ReplayOptions(width=20, batch_size=20, epochs=4, learning_rate=0.1, memory=30, replay_size=20)
    learner = Watched(options, Setting(8, layout))
    for task in small_benchmark().tasks:
        learn(learner, task)
    return learner.seen


def test_without_a_reference_there_is_no_conflict():
    assert conflict([torch.ones(3)], [torch.zeros(3)]) == 0


@pytest.mark.slow
def test_agem_forgets_less_than_the_same_steps_without_a_projection():
    small = {"memory": 30, "replay_size": 30, "learning_rate": 0.1}
    without = accuracy_at_the_end("derpp", Scenario.CLASS, alpha=0.0, beta=0.0, **small)
    assert accuracy_at_the_end("agem", Scenario.CLASS, **small) > without + 0.2


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    for scenario in Scenario:
        assert options_for("agem", "permuted-mnist", scenario=scenario).batch_size == 128
        assert options_for("agem", "split-mnist", scenario=scenario).batch_size == 10
