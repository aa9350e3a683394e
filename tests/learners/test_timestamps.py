"""Soft and hard time stamps of IBNN and HIBNN."""

import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.presets import options_for
from hibnn.nn.layers.stamps import StickValues, Timestamps
from hibnn.runs.experiment import Experiment
from hibnn.runs.run import run
from statistics_helpers import assert_mean

SMALL = {"epochs": 4, "prediction_draws": 5, "alpha": 3.0, "init_alpha": 6.0, "stick_rate": 0.2}


@pytest.mark.parametrize(("method", "kind"), [("ibnn", Timestamps.SOFT), ("ibnn", Timestamps.HARD)])
def test_a_learner_with_time_stamps_is_a_learner(method, kind, tmp_path):
    check_learner(method, tmp_path, prediction_draws=10, timestamps=kind)


@pytest.mark.parametrize(("method", "hidden"), [("ibnn", (20,)), ("ibnn", (20, 14)), ("hibnn", (20, 14))])
@pytest.mark.parametrize("prediction", ["sample", "mean"])
def test_with_hard_stamps_old_answers_stay_bit_for_bit(method, hidden, prediction):
    benchmark = small_benchmark()
    learner = small_learner(
        method,
        benchmark,
        hidden=hidden,
        timestamps=Timestamps.HARD,
        prediction=prediction,
        frozen_threshold=0.3,
        **SMALL,
    )
    answers = []
    for task in benchmark.tasks:
        learn(learner, task)
        answers.append(probabilities(learner, benchmark, learner.task))
    for number, answer in enumerate(answers):
        assert torch.equal(probabilities(learner, benchmark, number), answer)


def test_without_stamps_and_with_soft_ones_old_answers_change():
    benchmark = small_benchmark()
    for kind in (Timestamps.NONE, Timestamps.SOFT):
        learner = small_learner("ibnn", benchmark, timestamps=kind, **SMALL)
        learn(learner, benchmark.tasks[0])
        before = probabilities(learner, benchmark)
        learn(learner, benchmark.tasks[1])
        assert not torch.equal(probabilities(learner, benchmark), before)


def test_soft_stamps_keep_the_sticks_of_each_task_and_count_them():
    benchmark = small_benchmark()
    stamped, plain = (small_learner("ibnn", benchmark, timestamps=kind, **SMALL) for kind in ("soft", "none"))
    expected = []
    for task in benchmark.tasks:
        learn(stamped, task)
        learn(plain, task)
        expected.append(plain.bayesian.buffet.expected_pi()[0])
    for number, pi in enumerate(expected):
        assert torch.equal(stamped.neurons.expected_pi(number)[0], pi)
    assert stamped.parameter_count() == plain.parameter_count() + 3 * 2 * 20


def test_hard_stamps_own_a_prefix_and_the_buffet_begins_behind_it():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, timestamps=Timestamps.HARD, frozen_threshold=0.3, **SMALL)
    learn(learner, benchmark.tasks[0])
    (stamp,) = learner.neurons.sticks(0)
    pi = stamp.expected_pi()
    assert 0 < stamp.limit < 20
    assert (pi[: stamp.limit] > 0.3).all()
    assert (pi[stamp.limit :] == 0).all()
    (now,) = learner.bayesian.buffet.values()
    assert (now.expected_pi()[: stamp.limit] == 1).all()
    assert torch.allclose(now.concentrations[:, stamp.limit :], torch.tensor([[6.0], [1.0]]))
    assert learner.bayesian.buffet.each()[0].kl() > 0


def test_a_later_task_changes_only_weights_that_no_task_owns():
    benchmark = small_benchmark()
    learner = small_learner(
        "ibnn", benchmark, hidden=(20, 14), timestamps=Timestamps.HARD, frozen_threshold=0.3, **SMALL
    )
    learn(learner, benchmark.tasks[0])
    below, above = learner.neurons.owned_units()
    before = [layer.mean.detach().clone() for layer in learner.bayesian.hidden_layers()]
    learn(learner, benchmark.tasks[1])
    first, second = (layer.mean != old for layer, old in zip(learner.bayesian.hidden_layers(), before, strict=True))
    assert not first[:, :below].any()
    assert first[:, below:].any()
    assert not second[:below, :above].any()
    assert not second[-1, :above].any()
    assert second[below:-1, :above].any()


def test_sticks_behind_taken_neurons_break_afresh(generator):
    values = StickValues(torch.tensor([[5.0, 5.0, 2.0, 3.0], [1.0, 1.0, 1.0, 2.0]]), frozen_units=2, limit=3)
    odds = values.sample_log_odds(40_000, generator)
    assert (odds[:, :2].sigmoid() == 1).all()
    assert (odds[:, 3].sigmoid() == 0).all()
    assert_mean(odds[:, 2].sigmoid(), torch.tensor(2 / 3))
    assert torch.allclose(values.expected_pi(), torch.tensor([1.0, 1.0, 2 / 3, 0.0]))


def test_a_run_with_hard_stamps_forgets_nothing():
    options = options_for("ibnn", "split-digits", timestamps=Timestamps.HARD, epochs=3, prediction_draws=5)
    result = run(Experiment(method="ibnn", dataset="split-digits", scenario=Scenario.TASK, options=options))
    assert result["forgetting"] == 0.0
    assert result["bwt"] == 0.0


def test_one_head_for_all_tasks_cannot_be_stamped():
    with pytest.raises(UserError, match="head for each task"):
        small_learner("ibnn", small_benchmark(Scenario.DOMAIN), heads="single", timestamps=Timestamps.SOFT)
