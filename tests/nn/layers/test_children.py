"""Child Betas with their gradient written out, against the draws of Betas."""

import torch

from hibnn.distributions.beta import sample_log_odds as sample_beta
from hibnn.nn.layers import children


def apart(log_pi, alpha, layers, generator):
    """As the formula says, with autograd."""
    on = (alpha * log_pi.exp()).clamp(min=children.SMALLEST_CONCENTRATION)
    off = (-alpha * torch.expm1(log_pi)).clamp(min=children.SMALLEST_CONCENTRATION)
    return sample_beta(on.expand(layers, -1, -1), off.expand(layers, -1, -1), (), generator)


def test_draws_and_gradients_are_those_of_betas_also_at_the_floor():
    log_pi = torch.tensor([[-1e-8, -0.3, -2.0, -16.0], [-0.01, -0.7, -20.0, -30.0]], dtype=torch.float64)
    for alpha in (0.5, 6.0):
        answers = []
        for sample in (children.sample_log_odds, apart):
            given = log_pi.clone().requires_grad_()
            odds = sample(given, alpha, 3, torch.Generator().manual_seed(2))
            answers.append([odds.detach(), *torch.autograd.grad(odds.sin().sum(), given)])
        for ours, expected in zip(*answers, strict=True):
            torch.testing.assert_close(ours, expected)
