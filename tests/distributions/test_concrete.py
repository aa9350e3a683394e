import numpy as np
import pytest
import torch
from scipy import integrate
from torch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli

from hibnn.distributions.concrete import kl_concrete, log_density, sample, sample_bernoulli
from hibnn.distributions.stick_breaking import log_odds
from statistics_helpers import assert_mean

PROBABILITIES = torch.tensor([0.001, 0.1, 0.5, 0.8, 0.99])
TEMPERATURES = [0.1, 0.5, 1.0, 2.0, 10.0]


def density(y, logits, temperature):
    return log_density(torch.tensor(y, dtype=torch.float64), logits, temperature).exp().item()


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_a_hardened_unit_is_on_with_its_probability_at_every_temperature(generator, temperature):
    _, relaxed = sample(log_odds(PROBABILITIES.log()), temperature, generator, (50_000, 5))
    assert_mean((relaxed > 0.5).float(), PROBABILITIES)


def test_at_the_papers_location_a_unit_is_on_with_less_than_half(generator):
    _, relaxed = sample(PROBABILITIES.log(), 0.7, generator, (50_000, 5))
    assert_mean((relaxed > 0.5).float(), PROBABILITIES / (1 + PROBABILITIES))


def test_the_relaxed_value_is_the_sigmoid_of_the_other(generator):
    y, relaxed = sample(torch.randn(100, generator=generator), 0.3, generator)
    assert torch.equal(relaxed, torch.sigmoid(y))


def test_examples_of_one_set_share_the_location_and_not_the_noise(generator):
    y, _ = sample(torch.zeros(4, 1, 3), 1.0, generator, (4, 50, 3))
    assert y.shape == (4, 50, 3)
    assert y.unique().numel() == y.numel()


def test_hard_masks_are_bernoulli(generator):
    masks = sample_bernoulli(PROBABILITIES.log(), generator, (50_000, 5))
    assert set(masks.unique().tolist()) == {0.0, 1.0}
    assert_mean(masks, PROBABILITIES)


def test_hard_masks_of_certain_units_are_certain(generator):
    masks = sample_bernoulli(torch.tensor([0.0, -torch.inf]), generator, (10_000, 2))
    assert torch.equal(masks.mean(0), torch.tensor([1.0, 0.0]))


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_log_density_is_torchs(generator, temperature):
    y, logits = 5 * torch.randn((2, 100), generator=generator, dtype=torch.float64)
    expected = LogitRelaxedBernoulli(torch.tensor(temperature).double(), logits=logits).log_prob(y)
    torch.testing.assert_close(log_density(y, logits, temperature), expected)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_density_integrates_to_one(temperature):
    logits = torch.tensor(-1.3, dtype=torch.float64)
    reach = 40 / temperature
    mass, _ = integrate.quad(lambda y: density(y, logits, temperature), -reach, reach, limit=200)
    assert mass == pytest.approx(1, abs=1e-6)


def test_the_divergence_of_equal_distributions_is_zero_for_every_draw(generator):
    logits = 10 * torch.randn(1000, generator=generator)
    y, _ = sample(logits, 0.7, generator)
    assert torch.equal(kl_concrete(y, logits, 0.7, logits, 0.7), torch.zeros(1000))


@pytest.mark.parametrize(("temperature", "prior_temperature"), [(0.7, 0.7), (0.5, 1.0), (2.0, 0.8)])
def test_the_divergence_is_unbiased(generator, temperature, prior_temperature):
    logits, prior = torch.tensor([1.2, -0.4], dtype=torch.float64)
    y, _ = sample(logits, temperature, generator, (50_000,))

    posterior = LogitRelaxedBernoulli(torch.tensor(temperature), logits=logits)
    reference = LogitRelaxedBernoulli(torch.tensor(prior_temperature), logits=prior)

    def integrand(y):
        log_q, log_p = (law.log_prob(torch.tensor(y, dtype=torch.float64)).item() for law in (posterior, reference))
        return np.exp(log_q) * (log_q - log_p)

    exact, _ = integrate.quad(integrand, -40 / temperature, 40 / temperature, limit=200)
    assert_mean(kl_concrete(y, logits, temperature, prior, prior_temperature), exact)


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_the_mean_gradient_is_the_gradient_of_the_mean(generator, temperature):
    logits = torch.full((50_000,), 0.8, dtype=torch.float64, requires_grad=True)
    _, relaxed = sample(logits, temperature, generator)
    (slopes,) = torch.autograd.grad(relaxed.sum(), logits)

    def mean(location):
        location, reach = torch.tensor(location, dtype=torch.float64), 40 / temperature
        return integrate.quad(
            lambda y: density(y, location, temperature) / (1 + np.exp(-y)), -reach, reach, epsabs=1e-12, limit=400
        )[0]

    assert_mean(slopes, (mean(0.81) - mean(0.79)) / 0.02)
