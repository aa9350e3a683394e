import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import gammainccinv, gammaincinv, ndtr, polygamma

from hibnn.distributions.gamma import _log_quantile, sample_log_gamma
from statistics_helpers import assert_finite, assert_fits, assert_mean

NOISE = np.linspace(-6.5, 6.5, 261)[:, None]
CONCENTRATIONS = 1 + np.array([0.01, 0.1, 0.3, 1, 3, 10, 100, 1e4])


def exact_log_quantile(noise, concentration):
    lower, upper = gammaincinv(concentration, ndtr(noise)), gammainccinv(concentration, ndtr(-noise))
    return np.log(np.where(noise < 0, lower, upper))


def polynomial():
    noise = torch.tensor(NOISE).expand(len(NOISE), len(CONCENTRATIONS))
    return (part.numpy() for part in _log_quantile(noise, torch.tensor(CONCENTRATIONS)))


def test_the_polynomial_is_the_quantile_function_to_the_stated_error():
    value, _ = polynomial()
    spread = np.sqrt(polygamma(1, CONCENTRATIONS - 1))  # of the variable it serves, before the lift
    error = np.abs(value - exact_log_quantile(NOISE, CONCENTRATIONS)) / spread
    density = stats.norm.pdf(NOISE)
    assert error[np.abs(NOISE[:, 0]) < 3].max() < 4e-5
    assert (density * error).max() < 4e-6
    assert (density * error).sum(0).max() * 0.05 < 7e-6


def test_the_slope_is_the_derivative_of_the_quantile_function():
    _, slope = polynomial()
    up, down = CONCENTRATIONS * (1 + 1e-5), CONCENTRATIONS * (1 - 1e-5)
    expected = (exact_log_quantile(NOISE, up) - exact_log_quantile(NOISE, down)) / (up - down)
    lift = 1 / (CONCENTRATIONS - 1) ** 2  # mean slope of the other term
    error = np.abs(slope - expected) / (np.abs(expected) + lift)
    assert error[np.abs(NOISE[:, 0]) < 3].max() < 2e-4


def test_a_draw_grows_with_its_noise():
    value, _ = polynomial()
    assert np.all(np.diff(value, axis=0) > 0)


@pytest.mark.parametrize("concentration", [1e-3, 0.3, 1.0, 7.0, 300.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_follow_the_gamma_distribution(generator, concentration, dtype):
    log_x, _ = sample_log_gamma(torch.tensor(concentration, dtype=dtype), (50_000,), generator)
    assert_fits(log_x, lambda value: stats.loggamma.cdf(value, concentration))


@pytest.mark.parametrize("concentration", [0.05, 1.0, 20.0])
def test_the_mean_slope_is_the_slope_of_the_mean(generator, concentration):
    log_x, slope = sample_log_gamma(torch.tensor(concentration), (50_000,), generator)
    assert_mean(log_x, torch.digamma(torch.tensor(concentration, dtype=torch.float64)))
    assert_mean(slope, float(polygamma(1, concentration)))


def test_concentrations_down_to_nothing_and_up_to_a_million_stay_finite(generator):
    concentration = torch.cat([torch.zeros(1), torch.logspace(-38, 6, 300)])
    assert_finite(*sample_log_gamma(concentration, (500,), generator))
