"""VCL with coresets: what is kept apart, what it changes, and what it must not change."""

import numpy as np
import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.coreset import CoresetOptions, farthest_first
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layout import Layout

SMALL = {"coreset_size": 10, "coreset_epochs": 3, "prediction_draws": 5}


@pytest.mark.parametrize("coreset", ["random", "k-centre"])
def test_vcl_with_coresets_is_a_learner(coreset, tmp_path):
    check_learner("vcl-coreset", tmp_path, coreset=coreset, **SMALL)


@pytest.mark.parametrize("coreset", ["random", "k-centre"])
def test_the_coreset_and_the_training_data_together_are_the_task_and_share_nothing(coreset):
    benchmark = small_benchmark()
    learner = small_learner("vcl-coreset", benchmark, coreset=coreset, input_std=0.0, **SMALL)
    learner.begin(benchmark.tasks[0])
    kept, rest = ({tuple(row) for row in x.tolist()} for x in (learner.coresets[0][0], learner.x))
    assert (len(kept), len(rest)) == (10, 110)
    assert not kept & rest
    assert kept | rest == {tuple(row) for row in benchmark.tasks[0].train.load().x.tolist()}


def test_labels_go_with_their_inputs():
    benchmark = small_benchmark()
    learner = small_learner("vcl-coreset", benchmark, input_std=0.0, **SMALL)
    learner.begin(benchmark.tasks[0])
    split = benchmark.tasks[0].train.load()
    label_of = {tuple(row): label for row, label in zip(split.x.tolist(), split.y.tolist(), strict=True)}
    for x, y in (learner.coresets[0], (learner.x, learner.y)):
        assert [label_of[tuple(row)] for row in x.tolist()] == y.tolist()


def test_predictions_leave_no_trace_in_later_training():
    benchmark = small_benchmark()
    states = []
    for asks in (False, True):
        learner = small_learner("vcl-coreset", benchmark, epochs=2, **SMALL)
        for number, task in enumerate(benchmark.tasks):
            learn(learner, task)
            if asks:
                probabilities(learner, benchmark, number)
        states.append(learner.state().tensors)
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def test_the_coreset_is_not_trained_on():
    benchmark = small_benchmark()
    learners = [small_learner(name, benchmark, epochs=2, **options)
                for name, options in (("vcl-coreset", SMALL), ("vcl", {}))]  # fmt: skip
    for learner in learners:
        learner.begin(benchmark.tasks[0])
    learners[1].x, learners[1].y = learners[0].x, learners[0].y
    for learner in learners:
        learner.epoch(0)
    assert torch.equal(*(learner.bayesian.hidden_layers()[0].mean for learner in learners))


def test_a_head_is_refreshed_once_and_again_after_more_training(monkeypatch):
    benchmark = small_benchmark()
    learner = small_learner("vcl-coreset", benchmark, epochs=1, **SMALL)
    learn(learner, benchmark.tasks[0])
    asked = []
    refreshed = learner.refreshed
    monkeypatch.setattr(learner, "refreshed", lambda head: asked.append(head) or refreshed(head))
    first, second = (probabilities(learner, benchmark) for _ in range(2))
    assert torch.equal(first, second)
    assert asked == [0]
    learn(learner, benchmark.tasks[1])
    for number in (0, 1, 0, 1):
        probabilities(learner, benchmark, number)
    assert asked == [0, 0, 1]
    learner.begin(benchmark.tasks[2])
    for number in (0, 1):
        probabilities(learner, benchmark)
        learner.epoch(number)
        probabilities(learner, benchmark)
    assert asked == [0, 0, 1, 0, 0, 0]


def test_each_head_of_several_is_refreshed_by_its_own_coreset_and_a_single_one_by_all():
    for scenario, heads in ((Scenario.CLASS, "multi"), (Scenario.CLASS, "single"), (Scenario.DOMAIN, "single")):
        benchmark = small_benchmark(scenario)
        learner = small_learner("vcl-coreset", benchmark, heads=heads, epochs=1, **SMALL)
        for task in benchmark.tasks[:2]:
            learn(learner, task)
        copy = learner.refreshed(0 if heads == "multi" else 1)
        assert len(copy.x) == (10 if learner.setting.layout is Layout.MULTI else 20)
        assert copy.y.max() == (3 if learner.setting.layout is Layout.GROWING else 1)
        if learner.setting.layout is Layout.MULTI:
            assert torch.equal(copy.x, learner.coresets[0][0])
            assert torch.equal(copy.bayesian.heads[1].mean, learner.bayesian.heads[1].mean)


def test_a_copy_has_the_posterior_as_its_prior_and_learns_its_coreset():
    benchmark = small_benchmark()
    learner = small_learner("vcl-coreset", benchmark, epochs=1, log_variance=-2.0, coreset_size=40, coreset_epochs=60)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    learner.epoch(0)
    copy = learner.refreshed(0)
    assert type(copy) is SequentialBayes
    assert copy.epochs == 60
    layer, own = copy.bayesian.hidden_layers()[0], learner.bayesian.hidden_layers()[0]
    assert torch.equal(layer.prior_mean, own.mean)
    assert not torch.equal(layer.mean, own.mean)
    x, y = learner.coresets[0]
    logits = [network.bayesian(x, 0, None, None).log_softmax(-1) for network in (copy, learner)]
    better, worse = (one.gather(1, y[:, None]).mean() for one in logits)
    assert better > worse


def test_farthest_first_starts_at_row_0_and_covers_the_data():
    x = torch.tensor([[0.0, 0.0], [0.1, 0.0], [10.0, 0.0], [0.0, 4.0], [10.0, 1.0], [0.0, 0.0]])
    assert farthest_first(x, 4).tolist() == [0, 4, 3, 2]
    assert sorted(farthest_first(x, 6).tolist()) == list(range(6))


def test_farthest_first_agrees_with_a_loop_over_all_pairs(generator):
    x = torch.randn(60, 5, generator=generator, dtype=torch.float64)
    chosen = [0]
    for _ in range(11):
        nearest = [min(np.linalg.norm(row - x[one].numpy()) for one in chosen) for row in x.numpy()]
        chosen.append(int(np.argmax(nearest)))
    assert farthest_first(x, 12).tolist() == chosen


def test_a_coreset_that_takes_everything_is_refused_in_a_sentence():
    benchmark = small_benchmark()
    with pytest.raises(UserError, match=r"all 120 examples .*lower --coreset-size"):
        small_learner("vcl-coreset", benchmark, coreset_size=120).begin(benchmark.tasks[0])
    for wrong in ({"coreset_size": 0}, {"coreset_epochs": 0}, {"coreset": "nearest"}):
        with pytest.raises(UserError, match=r"must be|valid are k-centre, random"):
            CoresetOptions(**wrong)


def test_kept_examples_count_as_numbers_to_store():
    benchmark = small_benchmark()
    learner = small_learner("vcl-coreset", benchmark, epochs=1, **SMALL)
    learn(learner, benchmark.tasks[0])
    weights = sum(parameter.numel() for parameter in learner.network.parameters())
    assert learner.parameter_count() == weights + 10 * (8 + 1)
