"""The ELBO against exact and numeric integrals: a wrong, missing or doubled term shows."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from hibnn.learners.objective import Draws, Minibatch, negative_elbo, training_masks
from hibnn.nn.layers.ibp import HIBPMask, IBPMask, Sticks
from hibnn.nn.layers.masks import Relaxation
from hibnn.nn.layout import Layout
from hibnn.nn.likelihoods import Categorical, Gaussian
from hibnn.nn.networks.bayesian import BayesianMLP
from statistics_helpers import assert_mean


def network(inputs, widths, outputs, buffet=None, log_variance=-2.0, prior_variance=0.7):
    generator = torch.Generator().manual_seed(3)
    made = BayesianMLP(
        inputs, widths, Layout.MULTI, buffet,
        log_variance=log_variance, prior_variance=prior_variance, init_std=0.5, generator=generator,
    )  # fmt: skip
    made.add_head(outputs, generator)
    return made


def repeated(made, x, y, examples, likelihood, draws, generator, times=200):
    """Many independent estimates of every term."""
    with torch.no_grad():
        batch = Minibatch(x, y, 0, examples, likelihood)
        estimates = [negative_elbo(made, batch, draws, generator) for _ in range(times)]
    return {name: torch.stack([one[name] for one in estimates]) for name in estimates[0]}


HADAMARD = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def exact_update(mean, variance, x, y, noise):
    """Bayesian linear regression with orthogonal inputs (a column of ones for the bias), where mean field is exact."""
    design = torch.cat([x, torch.ones(len(x), 1)], 1)
    precision = 1 / variance + design.square().sum(0) / noise
    return (mean / variance + design.T @ y / noise) / precision, 1 / precision


def test_in_a_conjugate_model_two_tasks_in_sequence_equal_one_batch(generator):
    noise = 0.3
    x, y = torch.cat([HADAMARD, 2 * HADAMARD]), torch.randn(8, generator=generator)
    mean, variance, bound = torch.zeros(3), torch.full((3,), 0.7), []
    for rows in (slice(0, 4), slice(4, 8)):
        made = network(2, [], 1)
        head = made.heads[0]
        with torch.no_grad():
            head.prior_mean.copy_(mean[:, None])
            head.prior_log_variance.copy_(variance.log()[:, None])
        mean, variance = exact_update(mean, variance, x[rows], y[rows], noise)
        with torch.no_grad():
            head.mean.copy_(mean[:, None])
            head.log_variance.copy_(variance.log()[:, None])
        terms = repeated(made, x[rows], y[rows, None], 4, Gaussian(1, noise), Draws(weights=50), generator)
        bound.append(-4 * (terms["nll"] + terms["kl_weights"]))
    at_once = exact_update(torch.zeros(3), torch.full((3,), 0.7), x, y, noise)
    assert torch.allclose(mean, at_once[0], atol=1e-6)
    assert torch.allclose(variance, at_once[1], atol=1e-6)
    design = torch.cat([x, torch.ones(8, 1)], 1).double().numpy()
    evidence = stats.multivariate_normal(np.zeros(8), 0.7 * design @ design.T + noise * np.eye(8)).logpdf(y.numpy())
    assert_mean(sum(bound), torch.tensor(evidence))


def test_the_gradient_vanishes_at_the_exact_posterior_and_not_beside_it(generator):
    noise, y = 0.3, torch.randn(4, generator=generator)
    mean, variance = exact_update(torch.zeros(3), torch.full((3,), 0.7), HADAMARD, y, noise)
    made = network(2, [], 1)
    head = made.heads[0]
    for shift, stationary in ((0.0, True), (0.5, False)):
        with torch.no_grad():
            head.mean.copy_(mean[:, None] + shift)
            head.log_variance.copy_(variance.log()[:, None] + shift)
        gradients = []
        for _ in range(300):
            made.zero_grad()
            terms = negative_elbo(made, Minibatch(HADAMARD, y[:, None], 0, 4, Gaussian(1, noise)), Draws(), generator)
            (terms["nll"] + terms["kl_weights"]).backward()
            gradients.append(torch.stack([head.mean.grad, head.log_variance.grad]).flatten())
        gradients = torch.stack(gradients)
        deviations = gradients.mean(0).abs() / (gradients.std(0) / math.sqrt(300))
        assert (deviations < 5).all() == stationary


@pytest.mark.parametrize("relaxation", list(Relaxation))
def test_the_elbo_of_one_neuron_agrees_with_numeric_integration(generator, relaxation):
    """One weight of known value, one neuron, one stick: the integral runs over the stick and the mask's noise."""
    alpha, temperature, examples = 2.0, 0.7, 50
    made = network(1, [1], 2, IBPMask([Sticks(1, alpha, start=3.0)]), log_variance=-40.0)
    with torch.no_grad():
        made.hidden_layers()[0].mean.copy_(torch.tensor([[1.5], [0.0]]))
        made.heads[0].mean.copy_(torch.tensor([[2.0, -2.0], [0.3, 0.0]]))

    def integrand(u, v):
        location = math.log(v) - math.log1p(-v) if relaxation is Relaxation.ODDS else math.log(v)
        z = 1 / (1 + math.exp(-(location + math.log(u) - math.log1p(-u)) / temperature))
        return math.log1p(math.exp(-(6.0 * z + 0.3))) * stats.beta.pdf(v, 3.0, 1.0)

    expected, _ = integrate.dblquad(integrand, 1e-9, 1 - 1e-9, 1e-9, 1 - 1e-9, epsabs=1e-6)
    draws = Draws(temperature=temperature, prior_temperature=temperature, relaxation=relaxation, stick_sets=64)
    x, y = torch.ones(256, 1), torch.zeros(256, dtype=torch.int64)
    terms = repeated(made, x, y, examples, Categorical(), draws, generator)
    assert set(terms) == {"nll", "kl_weights", "kl_sticks"}
    assert_mean(terms["nll"], torch.tensor(expected))
    divergence = integrate.quad(
        lambda v: stats.beta.pdf(v, 3.0, 1.0) * (stats.beta.logpdf(v, 3.0, 1.0) - stats.beta.logpdf(v, alpha, 1.0)),
        0,
        1,
    )[0]
    assert terms["kl_sticks"][0].item() == pytest.approx(divergence / examples, rel=1e-4)
    layers = (made.hidden_layers()[0], made.heads[0])
    weights = sum(
        torch.distributions.kl_divergence(
            torch.distributions.Normal(layer.mean, torch.exp(layer.log_variance / 2)),
            torch.distributions.Normal(layer.prior_mean, torch.exp(layer.prior_log_variance / 2)),
        ).sum()
        for layer in layers
    )
    assert terms["kl_weights"][0].item() == pytest.approx(weights.item() / examples, rel=1e-4)


def test_the_kl_of_masks_agrees_with_numeric_integration_and_is_not_divided_by_the_examples(generator):
    made = network(1, [1], 2, IBPMask([Sticks(1, 3.0, start=3.0)]))
    draws = Draws(temperature=0.5, prior_temperature=1.2, stick_sets=64)
    x, y = torch.ones(256, 1), torch.zeros(256, dtype=torch.int64)
    terms = repeated(made, x, y, 1000, Categorical(), draws, generator)

    def divergence(location):
        def integrand(value):
            q = math.log(0.5) + (location - 0.5 * value) - 2 * np.logaddexp(0, location - 0.5 * value)
            p = math.log(1.2) + (location - 1.2 * value) - 2 * np.logaddexp(0, location - 1.2 * value)
            return math.exp(q) * (q - p)

        return integrate.quad(integrand, -200, 200, points=[2 * location], limit=200)[0]

    expected = integrate.quad(
        lambda v: stats.beta.pdf(v, 3.0, 1.0) * divergence(math.log(v) - math.log1p(-v)), 1e-6, 1 - 1e-6, limit=100
    )[0]
    assert_mean(terms["kl_masks"], torch.tensor(expected))


@pytest.mark.parametrize("relaxation", list(Relaxation))
def test_masks_that_are_averaged_have_sticks_of_their_own(generator, relaxation):
    """So the variance of their average falls with their number; with one draw of sticks for all it would not."""
    draws = Draws(stick_sets=1, averaged_masks=10, relaxation=relaxation)
    buffet = IBPMask([Sticks(1, 1.0, start=1.0)])
    with torch.no_grad():
        single = [training_masks(buffet, 400, 1, replace(draws, averaged_masks=1), generator) for _ in range(200)]
        averaged = [training_masks(buffet, 400, 1, draws, generator) for _ in range(200)]
    one, ten = (torch.stack([masks[0].mean() for masks, _ in drawn]) for drawn in (single, averaged))
    assert 5 < one.var() / ten.var() < 20
    assert_mean(one - ten, 0.0)


def test_the_kl_of_averaged_masks_is_that_of_one(generator):
    made = network(1, [2], 2, IBPMask([Sticks(2, 3.0, start=3.0)]))
    x, y = torch.ones(256, 1), torch.zeros(256, dtype=torch.int64)
    single, averaged = (
        repeated(made, x, y, 1000, Categorical(), Draws(prior_temperature=1.2, averaged_masks=count), generator)
        for count in (1, 5)
    )
    assert_mean(single["kl_masks"] - averaged["kl_masks"], 0.0)
    assert single["kl_masks"].mean() > 0.05


@pytest.mark.parametrize("alpha", [0.1, 5.0, 1000.0])
@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize(("units", "depth"), [(1000, 1), (20, 8)])
def test_values_and_gradients_are_finite_at_the_extremes(generator, alpha, hierarchical, units, depth):
    widths = [units] * depth
    if hierarchical:
        buffet = HIBPMask(Sticks(units, alpha, alpha), widths, 4.0)
    else:
        buffet = IBPMask([Sticks(units, alpha, alpha) for _ in widths])
    made = network(4, widths, 3, buffet)
    x, y = torch.randn(32, 4, generator=generator), torch.arange(32) % 3
    terms = negative_elbo(made, Minibatch(x, y, 0, 32, Categorical()), Draws(prior_temperature=1.0), generator)
    torch.stack(list(terms.values())).sum().backward()
    assert all(torch.isfinite(value) for value in terms.values())
    for name, parameter in made.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name


def test_the_gaussian_likelihood_learns_its_noise():
    likelihood = Gaussian(1)
    targets = torch.tensor([[2.0], [-2.0]])
    optimiser = torch.optim.Adam(likelihood.parameters(), lr=0.1)
    for _ in range(200):
        optimiser.zero_grad()
        likelihood.nll(torch.zeros(2, 1), targets).backward()
        optimiser.step()
    assert likelihood.log_noise.exp().item() == pytest.approx(4.0, rel=1e-2)
    expected = -stats.norm(0, 2).logpdf([2.0, -2.0]).mean()
    assert likelihood.nll(torch.zeros(2, 1), targets).item() == pytest.approx(expected, rel=1e-3)
