import numpy as np
import pytest
import torch
from scipy import stats
from statistics_helpers import assert_fits, assert_mean

from hibnn.distributions.noise import logistic, open_uniform

CPU = {"device": torch.device("cpu")}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_uniform_draws_fill_the_open_interval(generator, dtype):
    draws = open_uniform((100_000,), generator, dtype=dtype, **CPU)
    assert_fits(draws, stats.uniform.cdf)
    assert_mean(draws, 0.5)


def test_uniform_draws_never_reach_their_ends(generator):
    draws = open_uniform((2**24,), generator, dtype=torch.float32, **CPU)  # expected hits of each end cell: one
    assert draws.min() > 0
    assert draws.max() < 1


def test_the_middles_of_the_outermost_cells_lie_inside_the_interval():
    cells = np.float32(2**24)
    low, high = np.float32(2**-25), np.float32(1 - 2**-24)
    first, last = np.float32(0), (cells - 1) / cells
    assert 0 < low + first * (high - low) < low + last * (high - low) < 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logistic_draws_are_logistic(generator, dtype):
    draws = logistic((100_000,), generator, dtype=dtype, **CPU)
    assert_fits(draws, stats.logistic.cdf)
    assert_mean(draws, 0.0)
    assert_mean(draws**2, torch.pi**2 / 3)


def test_the_same_generator_state_gives_the_same_noise():
    first, second = (logistic((7,), torch.Generator().manual_seed(3), dtype=torch.float32, **CPU) for _ in range(2))
    assert torch.equal(first, second)
