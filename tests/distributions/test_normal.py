import pytest
import torch
from torch.distributions import Normal, kl_divergence

from hibnn.distributions.normal import kl_normal, total_kl_normal
from statistics_helpers import assert_mean


def factors(generator, *shape, dtype=torch.float64):
    mean, log_variance, prior_mean, prior_log_variance = torch.randn((4, *shape), generator=generator, dtype=dtype)
    return mean.requires_grad_(), log_variance.requires_grad_(), prior_mean, prior_log_variance


def test_the_divergence_agrees_with_torch(generator):
    mean, log_variance, prior_mean, prior_log_variance = factors(generator, 50)
    posterior = Normal(mean, (log_variance / 2).exp())
    prior = Normal(prior_mean, (prior_log_variance / 2).exp())
    expected = kl_divergence(posterior, prior)
    torch.testing.assert_close(kl_normal(mean, log_variance, prior_mean, prior_log_variance), expected)


def test_the_divergence_is_the_mean_log_density_ratio(generator):
    posterior, prior = Normal(0.3, 0.5), Normal(-0.4, 1.2)
    draws = 0.3 + 0.5 * torch.randn(100_000, generator=generator)
    divergence = kl_normal(torch.tensor(0.3), 2 * torch.tensor(0.5).log(), -0.4, 2 * torch.tensor(1.2).log())
    assert_mean(posterior.log_prob(draws) - prior.log_prob(draws), divergence)


def test_the_divergence_to_itself_is_zero_in_single_precision(generator):
    mean, log_variance = torch.randn((2, 784, 100), generator=generator)
    assert torch.equal(kl_normal(mean, log_variance, mean, log_variance), torch.zeros(784, 100))
    assert total_kl_normal(mean, log_variance, mean, log_variance).abs() < 1e-7 * mean.numel()


@pytest.mark.parametrize("scalar_prior", [False, True])
def test_the_total_and_its_gradients_are_those_of_the_sum(generator, scalar_prior):
    mean, log_variance, prior_mean, prior_log_variance = factors(generator, 30, 20)
    prior = (0.1, -0.7) if scalar_prior else (prior_mean, prior_log_variance)
    total = total_kl_normal(mean, log_variance, *prior)
    expected = kl_normal(mean, log_variance, *prior).sum()
    torch.testing.assert_close(total, expected)
    gradients = torch.autograd.grad(3 * total, (mean, log_variance))
    torch.testing.assert_close(gradients, torch.autograd.grad(3 * expected, (mean, log_variance)))


def test_what_is_not_held_pays_nothing(generator):
    values = [torch.randn(4, 3, generator=generator, dtype=torch.float64) for _ in range(4)]
    held = torch.tensor([[1.0, 0.0, 1.0]] * 4, dtype=torch.float64)
    own, plain = ([value.clone().requires_grad_() for value in values[:2]] for _ in range(2))
    total, expected = total_kl_normal(*own, *values[2:], held=held), (kl_normal(*plain, *values[2:]) * held).sum()
    assert torch.allclose(total, expected)
    for one, other in zip(torch.autograd.grad(total, own), torch.autograd.grad(expected, plain), strict=True):
        assert torch.allclose(one, other)
