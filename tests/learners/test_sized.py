"""Layers that are sized by held-out rows, and time stamps."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.presets import options_for
from hibnn.nn.layers.stamps import Timestamps
from hibnn.runs.checkpoint import read_state, write_state
from hibnn.runs.experiment import Experiment
from hibnn.runs.run import run

SMALL = {"epochs": 6, "prediction_draws": 5}


def tasks_learned(learner, benchmark):
    for task in benchmark.tasks:
        learn(learner, task)
    return learner


@pytest.mark.parametrize("kind", [Timestamps.NONE, Timestamps.SOFT])
def test_a_learner_with_other_stamps_is_a_learner(kind, tmp_path):
    check_learner("ibnn", tmp_path, prediction_draws=10, timestamps=kind)


@pytest.mark.parametrize(("method", "hidden"), [("ibnn", (20,)), ("ibnn", (20, 14)), ("hibnn", (20, 14, 9))])
@pytest.mark.parametrize("prediction", ["sample", "mean"])
def test_with_hard_stamps_old_answers_stay_bit_for_bit(method, hidden, prediction):
    benchmark = small_benchmark(tasks=5)
    learner = small_learner(method, benchmark, hidden=hidden, prediction=prediction, **SMALL)
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


def test_a_later_task_changes_only_weights_that_no_other_task_reads():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, hidden=(20, 14), epochs=20)
    learn(learner, benchmark.tasks[0])
    below, above = learner.units[0]
    before = [layer.mean.detach().clone() for layer in learner.bayesian.hidden_layers()]
    learner.begin(benchmark.tasks[1])
    learner.epoch(0)
    first, second = (layer.mean.detach() for layer in learner.bayesian.hidden_layers())
    assert torch.equal(first[:, :below], before[0])
    assert torch.equal(second[:below, :above], before[1][:-1])
    assert torch.equal(second[-1, :above], before[1][-1])
    assert (second[below:-1, :above] != 0).any()


def test_a_constant_label_needs_no_neuron_and_its_answer_is_the_constant():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, depth=2, **SMALL)
    split = benchmark.tasks[0].train.load()
    learner.begin_experience(replace(split, y=np.zeros_like(split.y)), 2)
    for number in range(learner.epochs):
        learner.epoch(number)
    learner.end()
    assert learner.active_units() == [0.0, 0.0]
    assert (probabilities(learner, benchmark)[:, 0] > 0.97).all()
    learn(learner, benchmark.tasks[1])  # and the next task finds room
    assert min(learner.active_units()) > 0


@pytest.mark.parametrize("method", ["ibnn", "hibnn"])
def test_a_task_that_comes_again_under_another_head_needs_no_fresh_neuron(method):
    benchmark = small_benchmark()
    learner = small_learner(method, benchmark, epochs=20, hidden=(20, 14))
    first = benchmark.tasks[0]
    learn(learner, first)
    before, answers = learner.active_units(), probabilities(learner, benchmark)
    learn(learner, first)
    assert learner.active_units() == before
    assert min(before) > 0
    again = learner.predict(first.test.load().x, 1, torch.Generator().manual_seed(5)).probabilities
    assert (again.argmax(1) == answers.argmax(1)).float().mean() > 0.95


def test_heads_begin_at_the_log_frequencies_of_their_classes():
    learner = small_learner("ibnn", small_benchmark(), **SMALL)
    y = np.array([0] * 89 + [1] * 9)
    learner.begin_experience(Split(np.ones((98, 8), np.float32), y), 2)
    torch.testing.assert_close(learner.bayesian.heads[0].mean[-1].exp(), torch.tensor([0.9, 0.1]))


def test_a_layer_that_keeps_all_it_is_offered_is_offered_more():
    x = np.random.default_rng(0).normal(size=(600, 8)).astype(np.float32)
    learner = small_learner(
        "ibnn", small_benchmark(), width=1, epochs=40, batch_size=60, size_tolerance=0.0, input_std=0.0
    )
    learner.begin_experience(Split(x, (np.abs(x[:, 0]) > 0.7).astype(np.int64)), 2)
    for number in range(learner.epochs):
        learner.epoch(number)
    learner.end()
    assert learner.bayesian.widths[0] >= 2


def test_masks_come_off_without_a_change_at_the_means():
    benchmark = small_benchmark()
    learner = small_learner("hibnn", benchmark, prediction="mean", **SMALL)
    learner.begin(benchmark.tasks[0])
    learner.epoch(0)
    x = torch.from_numpy(benchmark.tasks[0].test.load().x)
    pi = [layer.expand(len(x), -1) for layer in learner.bayesian.buffet.expected_pi()]
    with torch.no_grad():
        masked = learner.bayesian(learner.preprocess(x), 0, pi, None).softmax(-1)
    torch.testing.assert_close(learner.predict(x, 0, torch.Generator()).probabilities, masked)


def test_held_out_rows_are_learned_only_when_the_size_stands():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, epochs=10)
    learner.begin(benchmark.tasks[0])
    held = set(learner.held_out().tolist())
    assert len(held) == 40  # a third of 120
    assert not held & set(learner.learned(learner.settled - 1).tolist())
    assert len(learner.learned(learner.settled)) == 120
    assert learner.settled == 8


def test_a_task_whose_rows_return_goes_on_with_its_own_neurons_and_leaves_those_of_others():
    benchmark = small_benchmark()
    learner = tasks_learned(small_learner("ibnn", benchmark, **SMALL), benchmark)
    first, second, last = (probabilities(learner, benchmark, number) for number in range(3))
    learner.begin_experience(benchmark.tasks[2].train.load(), 2, head=2)
    assert learner.held_units(learner.task) == learner.units[1]
    for number in range(learner.epochs):
        learner.epoch(number)
    learner.end()
    assert torch.equal(probabilities(learner, benchmark, 0), first)
    assert torch.equal(probabilities(learner, benchmark, 1), second)
    assert not torch.equal(probabilities(learner, benchmark, 2), last)
    learner.begin_experience(benchmark.tasks[0].train.load(), 2, head=0)
    assert learner.held_units(learner.task) == learner.units[2]


def test_stored_while_exploring_and_while_cutting_a_learner_goes_on_exactly(tmp_path):
    benchmark = small_benchmark()
    for stop in (1, 5):
        first, second = (small_learner("hibnn", benchmark, epochs=9) for _ in range(2))
        learn(first, benchmark.tasks[0])
        first.begin(benchmark.tasks[1])
        for number in range(stop):
            first.epoch(number)
        write_state(tmp_path / "state.safetensors", first.state())
        second.restore(read_state(tmp_path / "state.safetensors"))
        second.attach(benchmark.tasks[1].train.load(), 1)
        for learner in (first, second):
            for number in range(stop, learner.epochs):
                learner.epoch(number)
            learner.end()
        assert torch.equal(probabilities(first, benchmark, 1), probabilities(second, benchmark, 1))


def test_the_network_holds_only_what_is_kept():
    benchmark = small_benchmark()
    learner = tasks_learned(small_learner("ibnn", benchmark, **SMALL), benchmark)
    (units,) = learner.bayesian.widths
    heads = sum((learner.units[head][0] + 1) * 2 for head in range(3))
    assert learner.parameter_count() == 2 * (9 * units + heads)


def test_a_run_with_hard_stamps_forgets_nothing():
    options = options_for("ibnn", "split-digits", epochs=3, prediction_draws=5)
    result = run(Experiment(method="ibnn", dataset="split-digits", scenario=Scenario.TASK, options=options))
    assert result["forgetting"] == 0.0
    assert result["bwt"] == 0.0


def test_one_head_for_all_tasks_is_not_stamped_and_cannot_be_asked_to():
    assert small_learner("ibnn", small_benchmark(Scenario.DOMAIN), heads="single").timestamps is Timestamps.NONE
    with pytest.raises(UserError, match="head for each task"):
        small_learner("ibnn", small_benchmark(Scenario.DOMAIN), heads="single", timestamps=Timestamps.SOFT)


def test_where_the_prior_sizes_layers_soft_stamps_keep_the_sticks_of_each_task_and_count_them():
    benchmark = small_benchmark()
    options = SMALL | {"size": "prior"}
    stamped, plain = (small_learner("ibnn", benchmark, timestamps=kind, **options) for kind in ("soft", "none"))
    expected = []
    for task in benchmark.tasks:
        learn(stamped, task)
        learn(plain, task)
        expected.append(plain.bayesian.buffet.expected_pi()[0])
    for number, pi in enumerate(expected):
        assert torch.equal(stamped.neurons.expected_masks(number)[0], pi)
    assert stamped.parameter_count() == plain.parameter_count() + 3 * 2 * 20
    with pytest.raises(UserError, match="size evidence"):
        small_learner("ibnn", benchmark, timestamps="hard", size="prior")


def test_a_file_that_claims_more_neurons_than_the_network_has_is_refused():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark)
    learn(learner, benchmark.tasks[0])
    state = learner.state()
    state.metadata["sizing"]["units"]["0"] = [10**12]
    with pytest.raises(ValueError, match="more neurons than there are"):
        small_learner("ibnn", benchmark).restore(state)
