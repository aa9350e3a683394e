import pytest
import torch

from hibnn.distributions import stick_breaking
from hibnn.distributions.beta import sample_beta, sample_log_odds
from hibnn.distributions.concrete import sample
from hibnn.distributions.stick_breaking import (
    expected_probabilities,
    log_odds,
    log_probabilities,
    sample_log_probabilities,
)
from statistics_helpers import assert_finite, assert_mean


@pytest.mark.parametrize("alpha", [0.5, 4.0, 30.0])
def test_the_mean_probability_of_unit_k_is_the_kth_power_of_the_mean_stick(generator, alpha):
    sticks, _ = sample_beta(torch.full((6,), alpha), torch.ones(6), (50_000,), generator)
    expected = (alpha / (alpha + 1)) ** torch.arange(1, 7, dtype=torch.float64)
    assert_mean(log_probabilities(sticks).exp(), expected)
    torch.testing.assert_close(expected_probabilities(torch.full((6,), alpha), torch.ones(6)), expected.float())


def test_the_expected_number_of_active_units_is_the_mean_of_the_sum(generator):
    a, b = torch.tensor([9.0, 3.0, 5.0, 0.5]), torch.tensor([1.0, 2.0, 0.5, 1.0])
    sticks, _ = sample_beta(a, b, (50_000,), generator)
    assert_mean(log_probabilities(sticks).exp().sum(-1), expected_probabilities(a, b).sum(-1))


def test_alpha_units_are_on_in_expectation_under_the_prior():
    alpha = torch.full((1000,), 4.0)
    torch.testing.assert_close(expected_probabilities(alpha, torch.ones(1000)).sum(-1), torch.tensor(4.0))


def test_the_sigmoid_of_the_log_odds_is_the_probability():
    log_pi = -torch.logspace(-6, 2, 100, dtype=torch.float64)
    torch.testing.assert_close(torch.sigmoid(log_odds(log_pi)), log_pi.exp())
    assert torch.autograd.gradcheck(log_odds, log_pi.requires_grad_(), eps=1e-9, rtol=1e-3)


def test_log_odds_keep_their_digits_at_both_ends():
    ends = torch.tensor([-1e-12, -1e-7, -80.0, -1e6])
    exact = ends.double() - torch.log(-torch.expm1(ends.double()))
    torch.testing.assert_close(log_odds(ends), exact.float())


def test_log_odds_and_their_gradient_are_finite_where_a_probability_is_one_or_underflows():
    log_pi = torch.tensor([0.0, -1e-45, -1e-30, -1e4, -3e38], requires_grad=True)
    odds = log_odds(log_pi)
    odds.sum().backward()
    assert_finite(odds, log_pi.grad)
    assert log_pi.grad is not None
    assert torch.equal(log_pi.grad[3:], torch.ones(2))


@pytest.mark.parametrize("alpha", [0.1, 1.0, 30.0, 1000.0])
def test_a_thousand_sticks_stay_finite_in_value_and_gradient(generator, alpha):
    a, b = torch.full((1000,), alpha, requires_grad=True), torch.ones(1000, requires_grad=True)
    sticks, _ = sample_beta(a, b, (16,), generator)
    odds = log_odds(log_probabilities(sticks))
    odds.sum().backward()
    assert_finite(odds, a.grad, b.grad)


@pytest.mark.parametrize("alpha", [0.1, 4.0, 1000.0])
@pytest.mark.parametrize("child_alpha", [0.1, 4.0, 1000.0])
def test_masks_of_a_hierarchy_of_a_thousand_sticks_stay_finite(generator, alpha, child_alpha):
    a, b = torch.full((1000,), alpha, requires_grad=True), torch.ones(1000, requires_grad=True)
    log_pi = log_probabilities(sample_beta(a, b, (8,), generator)[0])
    odds = sample_log_odds(child_alpha * log_pi.exp(), -child_alpha * torch.expm1(log_pi), generator=generator)
    y, relaxed = sample(odds.unsqueeze(1), 0.7, generator, (8, 4, 1000))
    for value in (relaxed.sum(), y.sum()):
        assert_finite(value, *torch.autograd.grad(value, (a, b), retain_graph=True))


@pytest.mark.parametrize("odds", [False, True])
def test_sampling_in_one_step_equals_sampling_sticks_and_multiplying_them(odds):
    concentrations = torch.tensor([[3.0, 0.5, 20.0], [1.0, 2.0, 0.7]], dtype=torch.float64)
    weights = torch.randn(8, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    values, gradients = [], []
    for fused in (True, False):
        leaf = concentrations.clone().requires_grad_()
        generator = torch.Generator().manual_seed(2)
        if fused:
            drawn = (stick_breaking.sample_log_odds if odds else sample_log_probabilities)(leaf, 8, generator)
        else:
            log_pi = log_probabilities(sample_beta(leaf[0], leaf[1], (8,), generator)[0])
            drawn = log_odds(log_pi) if odds else log_pi
        (weights * drawn).sum().backward()
        values.append(drawn.detach())
        gradients.append(leaf.grad)
    assert torch.allclose(*values)
    assert torch.allclose(*gradients)
