"""Bayesian networks that grow and shrink."""

import pytest
import torch

from checks import learn, probabilities, small_benchmark, small_learner
from hibnn.nn.networks.ensemble import at_the_means
from hibnn.nn.networks.resizing import append_units, keep_units, units_to_append


@pytest.fixture(params=["vcl", "ibnn", "hibnn"])
def learner(request):
    benchmark = small_benchmark()
    learner = small_learner(request.param, benchmark, epochs=3, depth=2)
    learn(learner, benchmark.tasks[0])
    learn(learner, benchmark.tasks[1])
    return learner


def grow(network, counts):
    append_units(network, counts, alpha=5.0, init_alpha=9.0, init_std=0.1, generator=torch.Generator().manual_seed(0))


def outputs(network):
    x = torch.randn(7, 8, generator=torch.Generator().manual_seed(1))
    return at_the_means(network)(x, [0, 1])


def test_a_network_that_grows_computes_what_it_did(learner):
    before = outputs(learner.bayesian)
    grow(learner.bayesian, [3, 3])
    assert learner.bayesian.widths == [23, 23]
    for old, new in zip(before, outputs(learner.bayesian), strict=True):
        torch.testing.assert_close(old, new)


def test_growth_leaves_posterior_and_prior_of_older_weights_and_sticks_as_they_were(learner):
    network = learner.bayesian
    before = {name: value.clone() for name, value in network.state_dict().items()}
    grow(network, [2, 2])
    for name, new in network.state_dict().items():
        old = before[name]
        if name.startswith("buffet"):
            assert torch.equal(new[:, : old.shape[1]], old)
        else:
            assert torch.equal(new[: len(old) - 1, : old.shape[1]], old[:-1]), name
            assert torch.equal(new[-1, : old.shape[1]], old[-1]), name


def test_new_units_have_the_first_prior_and_sticks_that_continue_the_product():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, epochs=2)
    learn(learner, benchmark.tasks[0])
    last = learner.bayesian.buffet.expected_pi()[0][-1]
    grow(learner.bayesian, [2])
    sticks = learner.bayesian.buffet.each()[0]
    assert torch.equal(sticks.prior[:, -2:], torch.tensor([[5.0, 5.0], [1.0, 1.0]]))
    torch.testing.assert_close(sticks.values().expected_pi()[-2:], last * torch.tensor([0.9, 0.81]))
    layer = learner.bayesian.hidden_layers()[0]
    assert (layer.prior_mean[:, -2:] == 0).all()
    torch.testing.assert_close(layer.prior_log_variance[:, -2:].exp(), torch.full((9, 2), 0.7))


def test_a_layer_whose_last_neuron_is_in_use_gets_half_as_many_again():
    full, sparse = torch.full((10,), 0.9), torch.tensor([0.9, 0.2])
    assert units_to_append([full, sparse], same=False) == [5, 0]
    assert units_to_append([sparse, full], same=True) == [5, 5]


@pytest.mark.parametrize("method", ["ibnn", "hibnn"])
def test_a_learner_with_growing_truncation_goes_on_after_a_restart_as_if_nothing_had_been(method):
    benchmark = small_benchmark()
    options = {"width": 4, "truncation_growth": "auto", "epochs": 5}
    first, second = (small_learner(method, benchmark, **options) for _ in range(2))
    learn(first, benchmark.tasks[0])
    assert first.bayesian.widths[0] > 4
    first.begin(benchmark.tasks[1])
    first.epoch(0)
    second.restore(first.state())
    second.attach(benchmark.tasks[1].train.load(), 1)
    for learner in (first, second):
        for number in range(1, learner.epochs):
            learner.epoch(number)
        learner.end()
    assert torch.equal(probabilities(first, benchmark, 1), probabilities(second, benchmark, 1))


def test_units_without_outgoing_weights_can_be_dropped_without_a_change(learner):
    network = learner.bayesian
    kept = [torch.tensor([0, 2, 5, 19]), torch.tensor([1, 3])]
    with torch.no_grad():
        for layer, units in zip([network.hidden_layers()[1], *network.heads], [kept[0], kept[1], kept[1]], strict=True):
            off = torch.ones(20, dtype=torch.bool)
            off[units] = False
            layer.mean[:-1][off] = 0
    before = outputs(network)
    keep_units(network, kept)
    assert network.widths == [4, 2]
    for old, new in zip(before, outputs(network), strict=True):
        torch.testing.assert_close(old, new)


def test_what_was_dropped_can_be_stored_dropped_again_and_grown(learner):
    keep_units(learner.bayesian, [torch.arange(3, 12), torch.arange(1, 10)])
    keep_units(learner.bayesian, [torch.tensor([0, 4]), torch.tensor([2, 3, 8])])
    other = small_learner(find(learner), small_benchmark(), epochs=3, depth=2)
    other.restore(learner.state())
    for network in (learner.bayesian, other.bayesian):
        grow(network, [2, 2])
        assert network.widths == [4, 5]
    for expected, restored in zip(outputs(learner.bayesian), outputs(other.bayesian), strict=True):
        assert torch.equal(expected, restored)
    if learner.bayesian.buffet is not None:
        assert learner.bayesian.buffet.kept[0].tolist() == [3, 7, 20, 21]


def find(learner):
    names = {"BayesOptions": "vcl", "BuffetOptions": "ibnn", "HierarchicalOptions": "hibnn"}
    return names[type(learner.options).__name__]
