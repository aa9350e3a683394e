import itertools

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from scipy.special import betaln

from hibnn.distributions.beta import kl_beta
from hibnn.distributions.kumaraswamy import kl_kumaraswamy, log_complement, mean_log_complement, sample_log_kumaraswamy
from statistics_helpers import assert_finite, assert_fits

CONCENTRATIONS = [(5.0, 1.0), (31.0, 2.0), (0.4, 0.7), (2.0, 20.0)]


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_follow_the_kumaraswamy_distribution(generator, a, b, dtype):
    log_v = sample_log_kumaraswamy(torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype), (50_000,), generator)
    assert_fits(log_v.double().exp(), lambda value: 1 - (1 - value**a) ** b)


def test_with_b_equal_to_one_it_is_a_beta(generator):
    log_v = sample_log_kumaraswamy(torch.tensor(3.0), torch.tensor(1.0), (50_000,), generator)
    assert_fits(log_v.double().exp(), lambda value: stats.beta.cdf(value, 3, 1))
    a, b = torch.tensor([0.3, 3.0, 40.0]), torch.ones(3)
    torch.testing.assert_close(kl_kumaraswamy(a, b, 2.0, 1.5), kl_beta(a, b, 2.0, 1.5), rtol=1e-5, atol=1e-6)


def test_the_gradient_is_the_derivative_at_fixed_noise():
    a, b = torch.tensor([0.3, 3.0, 40.0]).double(), torch.tensor([2.0, 0.4, 5.0]).double()

    def draw(a, b):
        return sample_log_kumaraswamy(a, b, (6,), torch.Generator().manual_seed(1))

    assert torch.autograd.gradcheck(draw, (a.requires_grad_(), b.requires_grad_()))


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS)
@pytest.mark.parametrize("prior", [(4.0, 1.0), (2.5, 3.0), (0.8, 0.5)])
def test_the_divergence_to_a_beta_is_the_integral(a, b, prior):
    def integrand(level):
        v = (1 - level ** (1 / b)) ** (1 / a)
        log_density = np.log(a * b) + (a - 1) * np.log(v) + (b - 1) / b * np.log(level)
        return log_density - (prior[0] - 1) * np.log(v) - (prior[1] - 1) * np.log1p(-v) + betaln(*prior)

    exact, error = integrate.quad(integrand, 1e-14, 1, limit=500, points=[1e-6, 1e-3, 0.999])
    divergence = kl_kumaraswamy(torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64), *prior)
    assert divergence.item() == pytest.approx(exact, abs=1e-5 + error)


@pytest.mark.parametrize("a", [0.1, 1.0, 31.0, 1000.0])
@pytest.mark.parametrize("b", [0.1, 2.0, 100.0])
def test_the_mean_log_complement_has_the_stated_error(a, b):
    def integrand(exponential):  # of -log(level), whose density is exp(-exponential)
        log_v = log_complement(torch.tensor(-exponential / b, dtype=torch.float64)) / a
        tail = -exponential / b - np.log(a)
        return np.exp(-exponential) * (log_complement(log_v).item() if exponential < 25 * b else tail)

    pieces = [1e-12, 1e-6, 1e-3, 0.1, 1, 10, 60]
    exact = sum(integrate.quad(integrand, *ends, epsabs=1e-9)[0] for ends in itertools.pairwise(pieces))
    ours = mean_log_complement(torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64))
    assert ours.item() == pytest.approx(exact, abs=1e-6)


def test_the_divergence_has_the_gradient_of_its_value():
    a, b = torch.tensor([0.3, 3.0, 40.0]).double(), torch.tensor([2.0, 0.4, 5.0]).double()
    inputs = (a.requires_grad_(), b.requires_grad_())
    assert torch.autograd.gradcheck(lambda a, b: kl_kumaraswamy(a, b, 2.5, 3.0), inputs)


def test_extreme_concentrations_stay_finite(generator):
    a, b = torch.cartesian_prod(*[torch.cat([torch.zeros(1), torch.logspace(-30, 4, 12)])] * 2).unbind(1)
    a, b = a.requires_grad_(), b.requires_grad_()
    log_v = sample_log_kumaraswamy(a, b, (200,), generator)
    assert_finite(log_v, *torch.autograd.grad(log_v.sum(), (a, b)))


def test_a_prior_of_one_parameter_is_one_of_two():
    a, b = torch.tensor([0.3, 5.0, 31.0]), torch.tensor([0.5, 1.0, 2.0])
    assert torch.equal(kl_kumaraswamy(a, b, 7.0, 1.0), kl_kumaraswamy(a, b, 7.0, torch.tensor(1.0)))
