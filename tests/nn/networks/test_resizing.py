"""Bayesian networks that grow and shrink."""

import pytest
import torch

from checks import learn, probabilities, small_benchmark, small_learner
from hibnn.nn.layers.mask_form import MaskForm
from hibnn.nn.networks.ensemble import at_the_means
from hibnn.nn.networks.resizing import append_units, keep_units


@pytest.fixture
def learner():
    benchmark = small_benchmark()
    learner = small_learner("vcl", benchmark, epochs=3, depth=2)
    learn(learner, benchmark.tasks[0])
    learn(learner, benchmark.tasks[1])
    return learner


def grow(network, counts):
    append_units(network, counts, network.every_head(), torch.Generator().manual_seed(0))


def outputs(network):
    x = torch.randn(7, 8, generator=torch.Generator().manual_seed(1))
    return at_the_means(network, MaskForm())(x, [0, 1])


def test_a_network_that_grows_computes_what_it_did(learner):
    before = outputs(learner.bayesian)
    grow(learner.bayesian, [3, 5])
    assert learner.bayesian.widths == [23, 25]
    for old, new in zip(before, outputs(learner.bayesian), strict=True):
        torch.testing.assert_close(old, new)


def test_growth_leaves_posterior_and_prior_of_older_weights_as_they_were(learner):
    network = learner.bayesian
    before = {name: value.clone() for name, value in network.state_dict().items()}
    grow(network, [2, 2])
    for name, new in network.state_dict().items():
        old = before[name]
        assert torch.equal(new[: len(old) - 1, : old.shape[1]], old[:-1]), name
        assert torch.equal(new[-1, : old.shape[1]], old[-1]), name


def test_new_units_have_the_first_prior(learner):
    grow(learner.bayesian, [2, 2])
    layer = learner.bayesian.hidden_layers()[0]
    assert (layer.prior_mean[:, -2:] == 0).all()
    torch.testing.assert_close(layer.prior_log_variance[:, -2:].exp(), torch.full((9, 2), 0.7))


def test_units_without_outgoing_weights_can_be_dropped_without_a_change(learner):
    network = learner.bayesian
    kept = [torch.tensor([19, 2, 5, 0]), torch.tensor([1, 3])]
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


def test_moments_of_the_optimiser_go_with_their_weights():
    benchmark = small_benchmark()
    learner = small_learner("vcl", benchmark, epochs=3)
    learner.begin(benchmark.tasks[0])
    learner.epoch(0)
    mean = learner.bayesian.hidden_layers()[0].mean
    before = {name: value.clone() for name, value in learner.optimiser.state[mean].items()}
    keep_units(learner.bayesian, [torch.tensor([7, 3])], learner.optimiser)
    after = learner.optimiser.state[mean]
    assert torch.equal(after["exp_avg"], before["exp_avg"][:, [7, 3]])
    assert torch.equal(after["exp_avg_sq"], before["exp_avg_sq"][:, [7, 3]])
    assert after["step"] == before["step"]
    learner.epoch(1)  # and it can go on


def test_a_part_answers_as_the_network_does_without_its_other_units(learner):
    network = learner.bayesian
    part = network.part([6, 4], 1)
    with torch.no_grad():
        network.hidden_layers()[1].mean[6:-1] = 0
        network.every_head()[1].mean[4:-1] = 0
    x = torch.randn(7, 8, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(part(x, 0, None, None), network(x, 1, None, None))
    assert part.widths == [6, 4]


def test_a_network_of_another_width_can_be_restored(learner):
    keep_units(learner.bayesian, [torch.arange(3, 12), torch.arange(1, 10)])
    other = small_learner("vcl", small_benchmark(), epochs=3, depth=2)
    other.restore(learner.state())
    benchmark = small_benchmark()
    assert torch.equal(probabilities(learner, benchmark), probabilities(other, benchmark))
