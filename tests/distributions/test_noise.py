import pytest
import torch
from scipy import stats

from hibnn.distributions.noise import logistic, open_uniform
from statistics_helpers import assert_fits, assert_mean

CPU = {"device": torch.device("cpu")}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_uniform_draws_fill_the_open_interval(generator, dtype):
    draws = open_uniform((50_000,), generator, dtype=dtype, **CPU)
    assert_fits(draws, stats.uniform.cdf)
    assert_mean(draws, 0.5)


def test_uniform_draws_never_reach_their_ends():
    seed, size = 391, 2**20  # a million draws that hit the lowest and the highest cell of the grid
    grid = torch.rand(size, generator=torch.Generator().manual_seed(seed))
    assert (grid.min(), grid.max()) == (0, 1 - 2**-24)
    draws = open_uniform((size,), torch.Generator().manual_seed(seed), dtype=torch.float32, **CPU)
    assert 0 < draws.min() < draws.max() < 1
    assert (draws - grid).abs().max() <= 2**-24


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logistic_draws_are_logistic(generator, dtype):
    draws = logistic((50_000,), generator, dtype=dtype, **CPU)
    assert_fits(draws, stats.logistic.cdf)
    assert_mean(draws, 0.0)
    assert_mean(draws**2, torch.pi**2 / 3)


def test_the_same_generator_state_gives_the_same_noise():
    first, second = (logistic((7,), torch.Generator().manual_seed(3), dtype=torch.float32, **CPU) for _ in range(2))
    assert torch.equal(first, second)
