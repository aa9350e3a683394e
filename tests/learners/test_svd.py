"""Sparse variational dropout: what it minimises, what it removes."""

import numpy as np
import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Benchmark, Scenario
from hibnn.benchmarks.base import LazySplit, Task
from hibnn.distributions.log_uniform import kl_log_uniform
from hibnn.errors import UserError
from hibnn.learners.svd import SVDOptions
from hibnn.nn.layers.dropout import kept, kl_dropout, log_alpha, pruned_mean
from hibnn.nn.layers.linear import BayesianLinear

SMALL = {"depth": 1, "likelihood_epochs": 1}


def test_sparse_variational_dropout_is_a_learner(tmp_path):
    check_learner("svd", tmp_path, **SMALL)


@pytest.fixture
def layer(generator):
    made = BayesianLinear(torch.randn(6, 4, generator=generator), -2.0, 1.0)
    with torch.no_grad():
        made.log_variance.normal_(0.0, 4.0, generator=generator)
        made.mean[0, 0], made.mean[-1] = 0.0, 0.0
    return made


def test_log_alpha_is_noise_over_signal_and_cut_at_ten(layer):
    expected = layer.log_variance.exp() / layer.mean.square()
    assert torch.allclose(log_alpha(layer), expected[:-1].log().clamp(-10, 10), atol=1e-4)
    assert log_alpha(layer)[0, 0] == 10


def test_a_layer_pays_for_each_weight_once_and_for_no_bias(layer):
    kl = kl_dropout(layer)
    assert torch.allclose(kl, sum(kl_log_uniform(one) for one in log_alpha(layer).flatten()))
    kl.backward()
    assert (layer.log_variance.grad[-1] == 0).all()
    assert torch.isfinite(layer.mean.grad).all()


def test_the_gradient_of_a_layers_kl_is_that_of_its_formula(layer):
    kl_dropout(layer).backward()
    found = layer.mean.grad.clone(), layer.log_variance.grad.clone()
    layer.zero_grad()
    kl_log_uniform(log_alpha(layer)).sum().backward()
    assert (log_alpha(layer).abs() == 10).any()  # cut, so without a gradient
    torch.testing.assert_close(found, (layer.mean.grad, layer.log_variance.grad))


def test_maximum_likelihood_is_the_network_at_its_means():
    benchmark = small_benchmark(Scenario.CLASS)
    learner = small_learner("svd", benchmark, depth=2)
    for task in benchmark.tasks[:2]:
        learner.begin(task)
    logits = learner.bayesian(learner.x[:20], 1, None, None)
    expected = torch.nn.functional.cross_entropy(logits, learner.y[:20])
    assert torch.equal(learner.likelihood(torch.arange(20))["nll"], expected)


def test_the_objective_holds_the_kl_of_all_trained_layers_over_the_number_of_examples(generator):
    benchmark = small_benchmark()
    learner = small_learner("svd", benchmark, depth=2)
    for task in benchmark.tasks[:2]:
        learner.begin(task)
    terms = learner.terms(torch.arange(20), 0.5, generator)
    own = [*learner.bayesian.hidden_layers(), learner.bayesian.heads[1]]
    assert torch.allclose(terms["kl_weights"], 0.5 * sum(kl_dropout(layer) for layer in own) / 120)


def test_removed_weights_are_those_beyond_the_threshold_and_biases_stay(layer):
    mean = pruned_mean(layer)
    with torch.no_grad():
        layer.mean[-1] = 5.0
    assert torch.equal(mean[:-1] == 0, log_alpha(layer) > 3)
    assert torch.equal(pruned_mean(layer)[-1], layer.mean[-1])
    assert 0 < kept(layer).float().mean() < 1


def useless_inputs(useful=4, useless=12, examples=400) -> Benchmark:
    """Two blobs that differ in the first inputs; the others are noise of the same size."""
    random = np.random.default_rng(3)
    experiences = []
    for count in (examples, 100):
        y = np.arange(count) % 2
        x = random.normal(size=(count, useful + useless))
        x[:, :useful] += np.where(y == 1, 1.5, -1.5)[:, None]
        experiences.append(LazySplit(x.astype(np.float32), np.arange(count), y))
    return Benchmark("useless", Scenario.TASK, (Task("blobs", (0, 1), *experiences),))


def test_useless_inputs_lose_all_their_weights_and_the_answers_stay_right():
    benchmark = useless_inputs()
    learner = small_learner("svd", benchmark, epochs=120, width=10, variance_rate=0.05, batch_size=100, **SMALL)
    learn(learner, benchmark.tasks[0])
    left = kept(learner.bayesian.hidden_layers()[0]).float()
    assert left[4:].mean() < 0.02
    assert left[:4].sum() > 0
    y = torch.from_numpy(benchmark.tasks[0].test.load().y)
    assert (probabilities(learner, benchmark).argmax(-1) == y).float().mean() > 0.97
    assert learner.sparsity() > 0.75


def test_sparsity_is_the_share_of_removed_weights_of_all_layers_and_heads():
    benchmark = small_benchmark()
    learner = small_learner("svd", benchmark, depth=2)
    learner.begin(benchmark.tasks[0])
    with torch.no_grad():
        for layer in learner.trained():
            layer.mean.fill_(0.1)
    assert learner.sparsity() == 0
    with torch.no_grad():
        learner.bayesian.hidden_layers()[1].log_variance.fill_(30.0)
    assert learner.sparsity() == pytest.approx(20 * 20 / (8 * 20 + 20 * 20 + 20 * 2))


def test_an_answer_has_no_noise_and_ignores_removed_weights():
    benchmark = small_benchmark()
    learner = small_learner("svd", benchmark, epochs=2, **SMALL)
    learn(learner, benchmark.tasks[0])
    x = benchmark.tasks[0].test.load().x
    before = [learner.predict(x, 0, torch.Generator().manual_seed(seed)).probabilities for seed in (1, 2)]
    assert torch.equal(*before)
    layer = learner.bayesian.hidden_layers()[0]
    with torch.no_grad():
        layer.log_variance[:3] = 30.0
    assert not torch.equal(probabilities(learner, benchmark), before[0])
    with torch.no_grad():
        layer.mean[:3] = 0.0
        layer.log_variance[:3] = -12.0
    zeroed = probabilities(learner, benchmark)
    with torch.no_grad():
        layer.mean[:3], layer.log_variance[:3] = 0.5, 30.0
    assert torch.equal(probabilities(learner, benchmark), zeroed)


def test_maximum_likelihood_moves_the_means_alone_and_the_warm_up_follows():
    benchmark = small_benchmark()
    learner = small_learner("svd", benchmark, epochs=4, likelihood_epochs=2, kl_warmup=4)
    learner.begin(benchmark.tasks[0])
    assert set(learner.epoch(0)) == {"nll"}
    assert (learner.bayesian.hidden_layers()[0].log_variance == -12).all()
    assert learner.epochs == 6
    assert [learner.kl_weight(past) for past in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]


@pytest.mark.parametrize("wrong", [{"variance_rate": 0.0}, {"likelihood_epochs": -1}, {"kl_warmup": -1}])
def test_impossible_settings_are_refused_in_a_sentence(wrong):
    with pytest.raises(UserError, match="must be"):
        SVDOptions(**wrong)
