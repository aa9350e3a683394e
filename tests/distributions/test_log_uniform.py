import itertools

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from hibnn.distributions.log_uniform import kl_log_uniform


def exact_divergence(alpha):
    """E[log |e|] - 1/2 log alpha for e ~ N(1, alpha), less its limit for large alpha."""
    spread = np.sqrt(alpha)
    density = lambda e: np.log(np.abs(e)) * stats.norm.pdf(e, 1, spread)  # noqa: E731
    reach = 12 * spread
    pieces = sorted({1 - reach, min(0.0, 1 - reach), 0.0, 1.0, 1 + reach})
    pieces = [piece for piece in pieces if 1 - reach <= piece <= 1 + reach]
    mean = sum(integrate.quad(density, *ends, limit=400)[0] for ends in itertools.pairwise(pieces))
    return mean - 0.5 * np.log(alpha) + 0.5 * (np.euler_gamma + np.log(2))


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 0.1, 0.5, 1.0, 3.0, 30.0, 1e3])
def test_the_approximation_is_close_to_the_integral(alpha):
    ours = kl_log_uniform(torch.tensor(alpha, dtype=torch.float64).log()).item()
    assert ours == pytest.approx(exact_divergence(alpha), abs=0.01)


def test_the_divergence_falls_with_the_noise_and_vanishes():
    values = kl_log_uniform(torch.linspace(-20, 20, 400))
    assert torch.all(values.diff() <= 0)
    assert 0 <= values[-1] < 1e-6


def test_the_gradient_is_finite_far_out():
    log_alpha = torch.tensor([-500.0, 500.0], requires_grad=True)
    kl_log_uniform(log_alpha).sum().backward()
    torch.testing.assert_close(log_alpha.grad, torch.tensor([-0.5, 0.0]))
