import mpmath
import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import betainc, betaincinv, expit
from torch.distributions import Beta, kl_divergence
from torch.special import digamma, polygamma

from hibnn.distributions.beta import kl_beta, sample_beta, sample_log_odds, total_kl_beta
from statistics_helpers import assert_finite, assert_fits, assert_mean

CONCENTRATIONS = [(5.0, 1.0), (1.0, 1.0), (0.3, 2.5), (50.0, 1.3), (0.05, 0.08)]
DRAWS = 40_000


def draws_with_slopes(a, b, generator, function=lambda log_v: log_v, dtype=torch.float64):
    """One draw a parameter, so that the gradient of the sum is the slope of each draw."""
    a = torch.full((DRAWS,), a, dtype=dtype, requires_grad=True)
    b = torch.full((DRAWS,), b, dtype=dtype, requires_grad=True)
    log_v, _ = sample_beta(a, b, generator=generator)
    return log_v.detach(), *torch.autograd.grad(function(log_v).sum(), (a, b))


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_follow_the_beta_distribution(generator, a, b, dtype):
    def cdf(odds):
        return np.where(odds < 0, betainc(a, b, expit(odds)), 1 - betainc(b, a, expit(-odds)))

    odds = sample_log_odds(torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype), (DRAWS,), generator)
    assert_fits(odds, cdf)


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS)
def test_draws_have_the_moments_of_the_beta_distribution(generator, a, b):
    total = torch.tensor(a + b, dtype=torch.float64)
    log_v, log_complement = sample_beta(torch.tensor(a), torch.tensor(b), (DRAWS,), generator)
    assert_mean(log_v.exp(), a / (a + b))
    assert_mean(log_v, digamma(torch.tensor(a, dtype=torch.float64)) - digamma(total))
    assert_mean(log_complement, digamma(torch.tensor(b, dtype=torch.float64)) - digamma(total))


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS)
def test_the_mean_gradient_is_the_gradient_of_the_mean_logarithm(generator, a, b):
    _, slope_a, slope_b = draws_with_slopes(a, b, generator)
    trigamma = polygamma(1, torch.tensor([a, b, a + b], dtype=torch.float64))
    assert_mean(slope_a, trigamma[0] - trigamma[2])
    assert_mean(slope_b, -trigamma[2])


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS)
def test_the_mean_gradient_is_the_gradient_of_the_mean(generator, a, b):
    _, slope_a, slope_b = draws_with_slopes(a, b, generator, torch.exp)
    assert_mean(slope_a, b / (a + b) ** 2)
    assert_mean(slope_b, -a / (a + b) ** 2)


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS[:4])
def test_the_gradient_given_a_draw_is_the_derivative_of_the_quantile_function(generator, a, b):
    log_v, slope_a, slope_b = (part[:10_000] for part in draws_with_slopes(a, b, generator, torch.exp))
    v = log_v.exp().numpy().clip(1e-12, 1 - 1e-12)
    level, step = betainc(a, b, v), 1e-4
    quantile_a = (betaincinv(a + step, b, level) - betaincinv(a - step, b, level)) / (2 * step)
    quantile_b = (betaincinv(a, b + step, level) - betaincinv(a, b - step, level)) / (2 * step)
    quarter = torch.nn.functional.one_hot(torch.tensor(np.digitize(level, [0.25, 0.5, 0.75])), 4)
    assert_mean(quarter * (slope_a - torch.tensor(quantile_a))[:, None], 0.0)
    assert_mean(quarter * (slope_b - torch.tensor(quantile_b))[:, None], 0.0)


def test_the_gradient_is_the_derivative_at_fixed_noise():
    a, b = torch.tensor([0.02, 0.7, 3.0, 40.0]).double(), torch.tensor([2.0, 0.1, 1.0, 5.0]).double()

    def draw(a, b):
        return sample_log_odds(a, b, (6,), torch.Generator().manual_seed(1))

    assert torch.autograd.gradcheck(draw, (a.requires_grad_(), b.requires_grad_()), rtol=1e-5)


def test_concentrations_broadcast_against_each_other(generator):
    a, b = torch.full((3, 4), 2.0, requires_grad=True), torch.ones(4, requires_grad=True)
    odds = sample_log_odds(a, b, (5, 2), generator)
    odds.sum().backward()
    assert odds.shape == (5, 2, 3, 4)
    assert a.grad is not None
    assert b.grad is not None
    assert (a.grad.shape, b.grad.shape) == ((3, 4), (4,))


@pytest.mark.parametrize("alpha", [0.1, 4.0, 1000.0])
def test_child_betas_stay_finite_from_a_vanishing_to_a_certain_parent(generator, alpha):
    log_pi = torch.cat([torch.linspace(-200, -1, 200), -torch.logspace(-7, 0, 50)]).requires_grad_()
    log_v, log_complement = sample_beta(alpha * log_pi.exp(), -alpha * torch.expm1(log_pi), (200,), generator)
    (log_v.sum() + log_complement.sum()).backward()
    assert_finite(log_v, log_complement, log_pi.grad)


@pytest.mark.parametrize("small", [0.0, 1e-30, 1e-16, 1e-8])
def test_vanishing_concentrations_stay_finite(generator, small):
    a = torch.full((1000,), small, requires_grad=True)
    b = torch.full((1000,), 4.0, requires_grad=True)
    for first, second in ((a, b), (b, a), (a, a)):
        log_v, log_complement = sample_beta(first, second, (20,), generator)
        gradients = torch.autograd.grad(log_v.sum() - log_complement.sum(), (a, b), allow_unused=True)
        assert_finite(log_v, log_complement, *(gradient for gradient in gradients if gradient is not None))


def test_the_divergence_and_its_gradient_agree_with_torch(generator):
    a, b, prior_a, prior_b = torch.exp(2 * torch.randn((4, 200), generator=generator, dtype=torch.float64))
    a.requires_grad_(), b.requires_grad_()
    ours, theirs = kl_beta(a, b, prior_a, prior_b), kl_divergence(Beta(a, b), Beta(prior_a, prior_b))
    torch.testing.assert_close(ours, theirs)
    weight = torch.arange(200.0, dtype=torch.float64)
    gradients = (torch.autograd.grad((weight * value).sum(), (a, b)) for value in (ours, theirs))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(("a", "b"), CONCENTRATIONS[:4])
def test_the_divergence_is_the_mean_log_density_ratio(generator, a, b):
    posterior_a, posterior_b = torch.tensor([a, b], dtype=torch.float64)
    log_v, log_complement = sample_beta(posterior_a, posterior_b, (DRAWS,), generator)
    prior_a, prior_b = 2.0, 1.5
    constant = stats.beta.logpdf(0.5, a, b) - stats.beta.logpdf(0.5, prior_a, prior_b)
    constant += (a - prior_a + b - prior_b) * np.log(2)
    ratio = (a - prior_a) * log_v + (b - prior_b) * log_complement + constant
    assert_mean(ratio, kl_beta(posterior_a, posterior_b, prior_a, prior_b))


def test_the_divergence_keeps_single_precision_from_1e_minus_6_to_1e4():
    grid = [1e-6, 1e-2, 1.0, 30.0, 1e4]
    a, b, prior_a, prior_b = torch.cartesian_prod(*[torch.tensor(grid)] * 4).unbind(1)
    prior_a, prior_b = 1.01 * prior_a, 0.98 * prior_b
    exact = [exact_divergence(*row) for row in zip(*(x.tolist() for x in (a, b, prior_a, prior_b)), strict=True)]
    torch.testing.assert_close(kl_beta(a, b, prior_a, prior_b), torch.tensor(exact), rtol=1e-6, atol=1e-9)


def exact_divergence(a, b, prior_a, prior_b):
    with mpmath.workdps(40):
        value = mpmath.log(mpmath.beta(prior_a, prior_b) / mpmath.beta(a, b))
        value += (mpmath.mpf(a) - prior_a) * mpmath.digamma(a) + (mpmath.mpf(b) - prior_b) * mpmath.digamma(b)
        return float(value - (mpmath.mpf(a) - prior_a + b - prior_b) * mpmath.digamma(mpmath.mpf(a) + b))


def test_a_scalar_prior_is_the_same_prior_everywhere(generator):
    a, b = torch.rand((2, 10), generator=generator) + 0.5
    expected = kl_beta(a, b, torch.full((10,), 4.0), torch.ones(10))
    assert torch.equal(kl_beta(a, b, 4.0, 1.0), expected)


def test_the_summed_divergence_is_the_sum_with_the_same_gradient():
    concentrations = torch.tensor([[3.0, 0.5, 200.0], [1.0, 2.0, 0.7]])
    prior = torch.tensor([[30.0, 0.2, 190.0], [1.0, 5.0, 0.7]])
    answers = []
    for divergence in (lambda c: total_kl_beta(c, prior), lambda c: kl_beta(*c, *prior).sum()):
        leaf = concentrations.clone().requires_grad_()
        value = divergence(leaf)
        (2 * value).backward()
        answers.append((value.detach(), leaf.grad))
    assert torch.allclose(answers[0][0], answers[1][0])
    assert torch.allclose(answers[0][1], answers[1][1])
