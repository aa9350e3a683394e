"""How many neurons held-out rows ask for."""

import math

import pytest
import torch

from hibnn.learners.evidence import (
    Curve,
    contributions,
    held_out_curve,
    is_near,
    known_losses,
    nested_outputs,
    refit_head,
    sizes_up_to,
)
from hibnn.nn.layout import Layout
from hibnn.nn.likelihoods import Categorical, Gaussian
from hibnn.nn.networks.bayesian import BayesianMLP


def curve(*means, spread=0.0, rows=400, constant=0.7):
    noise = torch.randn(len(means), rows, generator=torch.Generator().manual_seed(0))
    losses = torch.tensor(means)[:, None] + spread * (noise - noise.mean(1, keepdim=True))
    return Curve(list(range(len(means))), losses, torch.full((rows,), constant))


def test_the_fewest_neurons_within_the_tolerance_of_the_best_suffice():
    falling = curve(0.7, 0.2, 0.1, 0.099, 0.098, 0.0975)
    assert falling.fewest(0.003) == 2
    assert falling.fewest(0.001) == 4
    assert falling.fewest(0.0) == 5
    assert curve(0.0, 0.0, 0.0).fewest(0.003) == 0


def test_a_difference_within_its_own_standard_error_does_not_count():
    assert curve(0.7, 0.11, 0.1, 0.09).fewest(0.0) == 3
    assert curve(0.7, 0.11, 0.1, 0.09, spread=0.25).fewest(0.0) == 2  # error of a difference: 0.25 sqrt(2 / 400)


def test_neurons_are_not_dropped_below_a_loss_that_was_already_reached():
    falling = curve(0.7, 0.2, 0.1, 0.099)
    before = torch.full((400,), 0.095)
    assert falling.fewest(0.003, before + 0.003) == 2
    assert falling.fewest(0.003, before) == 3
    assert curve(0.7, 0.1, 0.099, 0.2).fewest(0.003, before) == 2
    assert falling.fewest(0.003, before, share=2) == 2


def test_something_is_learned_when_it_beats_a_constant_answer_that_can_be_beaten():
    assert curve(0.5, 0.4).learned(0.003)
    assert not curve(0.7, 0.699).learned(0.003)
    assert curve(0.001, 0.001, constant=0.002).learned(0.003)


def test_all_small_sizes_and_both_ends_are_tried():
    assert sizes_up_to(0) == [0]
    assert sizes_up_to(5) == [0, 1, 2, 3, 4, 5]
    sizes = sizes_up_to(200)
    assert sizes[:18] == [*range(17), 18]
    assert sizes[-1] == 200
    assert len(sizes) < 45


@pytest.fixture
def network():
    generator = torch.Generator().manual_seed(0)
    network = BayesianMLP(
        3, [6, 4], Layout.MULTI, None, log_variance=-4.0, prior_variance=1.0, init_std=1.0, generator=generator
    )
    network.add_head(2, generator)
    with torch.no_grad():
        network.heads[0].mean.normal_(generator=generator)
    return network


@pytest.mark.parametrize("layer", [0, 1])
def test_a_curve_is_the_loss_of_the_network_without_its_last_neurons(network, layer):
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    y = (x[:, 0] > 0).long()
    with torch.no_grad():
        for weights in (*network.body, *network.heads):
            weights.log_variance.fill_(-60.0)  # then every draw is at the means
    found = held_out_curve(network, x, y, 0, Categorical(), layer, 1, seed=3)
    for size, losses in zip(found.sizes, found.losses, strict=True):
        above = [*network.hidden_layers()[1:], *network.every_head()][layer]
        kept = above.mean.detach().clone()
        with torch.no_grad():
            above.mean[1 + size : -1] = 0
            expected = torch.nn.functional.cross_entropy(network(x, 0, None, None), y, reduction="none")
            above.mean.copy_(kept)
        torch.testing.assert_close(losses, expected)
    logits = network.outputs(torch.zeros(50, network.widths[layer]), layer, 0, None)
    torch.testing.assert_close(found.constant, torch.nn.functional.cross_entropy(logits, y, reduction="none"))


def test_outputs_of_nested_layers_are_those_of_each_layer_by_itself(network):
    hidden = torch.rand(20, 4, generator=torch.Generator().manual_seed(1))
    counts = [0, 1, 1, 3, 4]
    with torch.no_grad():
        network.heads[0].log_variance.fill_(-1.0)
        found = nested_outputs(network.heads[0], hidden, counts, torch.Generator().manual_seed(2))
        for units, outputs in zip(counts, found, strict=True):
            kept = hidden * (torch.arange(4) < units)
            torch.testing.assert_close(outputs, network.outputs(kept, 1, 0, torch.Generator().manual_seed(2)))


def test_sizes_are_judged_by_the_same_draws(network):
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    y = (x[:, 0] > 0).long()
    with torch.no_grad():
        network.heads[0].mean[2:-1] = 0
        network.heads[0].log_variance[2:-1] = -60.0
    losses = held_out_curve(network, x, y, 0, Categorical(), 1, 0, seed=3).losses
    assert torch.equal(losses[2], losses[4])
    assert not torch.equal(losses[1], losses[2])


def test_draws_are_averaged_as_a_prediction_averages_them():
    outputs = torch.tensor([[[0.0, 0.0]], [[math.log(3.0), 0.0]]])
    found = Categorical().log_density(outputs, torch.tensor([0])).logsumexp(0) - math.log(2)
    assert float(found.exp()) == pytest.approx((0.5 + 0.75) / 2)


def test_a_gaussian_density_is_that_of_torch():
    likelihood = Gaussian(2, noise_variance=0.3)
    outputs = torch.randn(5, 7, 2, generator=torch.Generator().manual_seed(0))
    targets = torch.zeros(7, 2)
    expected = torch.distributions.Normal(outputs, 0.3**0.5).log_prob(targets).sum(-1)
    torch.testing.assert_close(likelihood.log_density(outputs, targets), expected)


def test_what_a_neuron_adds_to_all_classes_alike_does_not_count(network):
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(1)).abs()
    with torch.no_grad():
        network.heads[0].mean[0] = 5.0
    scores = contributions(network, x, 0, 1)
    assert scores[0] == 0
    assert (scores[1:] >= 0).all()


def test_a_refitted_head_is_the_best_under_likelihood_and_prior(network):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(80, 3, generator=generator), torch.randint(2, (80,), generator=generator)
    means = refit_head(network, x, y, 0, Categorical(), [4, 3]).requires_grad_()
    hidden = network.part([4, 3], 0).features(x, None, None)
    logits = hidden @ means[:-1] + means[-1]
    log_joint = Categorical().log_density(logits[None], y).sum() - means.square().sum() / 2  # prior N(0, 1)
    (slope,) = torch.autograd.grad(log_joint, means)
    assert slope.abs().max() < 1e-2 * len(x) ** 0.5
    losses = known_losses(network, x, y, 0, Categorical(), [4, 3], means)
    torch.testing.assert_close(losses.sum(), -(log_joint + means.square().sum() / 2))


def test_losses_are_near_within_the_tolerance_or_one_standard_error():
    best = torch.zeros(400)
    noise = torch.randn(400, generator=torch.Generator().manual_seed(0))
    noise = (noise - noise.mean()) / noise.std()
    assert is_near(best + 0.002, best, 0.003)
    assert not is_near(best + 0.004, best, 0.003)
    assert is_near(0.049 + noise, best, 0.003)  # one standard error is 0.05
    assert not is_near(0.051 + noise, best, 0.003)
