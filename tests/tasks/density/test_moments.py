import numpy as np
import pytest
import torch

from hibnn.tasks.density import DensityOptions, LowRankGaussian, SingleDensity, Statistics, new_density


def rows(count=200, inputs=7, seed=0):
    random = np.random.default_rng(seed)
    return torch.from_numpy(random.normal(size=(count, inputs)) @ random.normal(size=(inputs, inputs)) + 3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ten_experiences_in_any_order_give_the_density_of_one_batch(seed):
    x = rows()
    cuts = np.sort(np.random.default_rng(seed).choice(np.arange(1, 200), 9, replace=False))
    experiences = np.split(x.numpy(), cuts)
    order = np.random.default_rng(seed).permutation(10)
    density = new_density(DensityOptions(components=1), 7)
    for number in order:
        density = density.update(torch.from_numpy(experiences[number]), x[:0], torch.Generator())
    whole = new_density(DensityOptions(components=1), 7).update(x, x[:0], torch.Generator())
    assert isinstance(density, SingleDensity)
    assert isinstance(whole, SingleDensity)
    assert torch.allclose(density.statistics.scatter, whole.statistics.scatter, rtol=1e-12)
    first, second = (LowRankGaussian.of_statistics(part.statistics) for part in (density, whole))
    assert torch.allclose(first.log_density(x), second.log_density(x), rtol=1e-10)


def test_statistics_are_those_of_numpy():
    x = rows()
    statistics = Statistics.of(x[:60]).merge(Statistics.of(x[60:]))
    assert torch.allclose(statistics.mean, x.mean(0))
    assert np.allclose(statistics.covariance(), np.cov(x.numpy().T, bias=True))


def test_nothing_merged_changes_nothing():
    statistics = Statistics.of(rows())
    for merged in (statistics.merge(Statistics.empty(7)), Statistics.empty(7).merge(statistics)):
        assert merged is statistics
