import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from hibnn.errors import UserError
from hibnn.tasks.density import DensityOptions, LowRankGaussian, Mixture, MixtureDensity, new_density
from hibnn.tasks.density.density import MOST_ROWS, restore_density
from hibnn.tasks.density.fitting import expectation_maximisation, fit_mixture
from hibnn.tasks.density.merging import pool, union

OPTIONS = DensityOptions(components=8, rank=4)


def clusters(number, count=900, inputs=10, seed=0):
    """Rank-2 Gaussians around distant centres."""
    random = np.random.default_rng(7)
    centres, factors = 12 * random.normal(size=(number, inputs)), 2 * random.normal(size=(number, 2, inputs))
    random = np.random.default_rng(seed)
    own = random.integers(number, size=count)
    z = random.normal(size=(count, 1, 2))
    x = centres[own] + (z @ factors[own])[:, 0] + 0.5 * random.normal(size=(count, inputs))
    return torch.from_numpy(x).float()


def fit(x, generator, **bounds):
    return fit_mixture(x[90:], x[:90], **({"components": 8, "rank": 4} | bounds), generator=generator)


def updated(x, generator):
    return new_density(OPTIONS, x.shape[1]).update(x[90:], x[:90], generator)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_held_out_rows_choose_the_number_of_components_and_their_rank(number, generator):
    mixture = fit(clusters(number), generator)
    assert len(mixture.components) == number
    assert {component.rank for component in mixture.components} <= {2, 3}


def test_a_mixture_has_the_log_density_of_its_components(generator):
    x = clusters(3)
    mixture = expectation_maximisation(x, 3, 2, generator)
    logs = [
        multivariate_normal(part.mean.double().numpy(), part.covariance().double().numpy(), allow_singular=True).logpdf(
            x
        )
        for part in mixture.components
    ]
    weights = (mixture.counts / mixture.counts.sum()).double().numpy()
    expected = logsumexp(np.stack(logs, 1) + np.log(weights), axis=1)
    assert np.allclose(mixture.log_density(x), expected, atol=0.02)
    assert mixture.counts.sum() == pytest.approx(len(x), rel=1e-3)


def test_cutting_ranks_from_one_set_of_projections_equals_cutting_the_mixture(generator):
    x = clusters(3)
    mixture = expectation_maximisation(x, 3, 4, generator)
    by_rank = mixture.log_density_by_rank(x, [0, 1, 3])
    for values, rank in zip(by_rank, [0, 1, 3], strict=True):
        assert torch.allclose(values, mixture.truncate(rank).log_density(x), atol=1e-3)


def test_the_union_of_two_gaussians_has_their_common_mean_and_covariance(generator):
    first, second = expectation_maximisation(clusters(2), 2, 2, generator).components
    made = union(_double(first, 6), torch.tensor(30.0), _double(second, 6), torch.tensor(10.0))
    mean = 0.75 * first.mean + 0.25 * second.mean
    spread = sum(
        share * (part.covariance() + torch.outer(part.mean - mean, part.mean - mean))
        for share, part in ((0.75, first), (0.25, second))
    )
    assert torch.allclose(made.mean, mean, atol=1e-4)
    assert torch.allclose(made.covariance(), spread, atol=1e-2)


def _double(gaussian, rank):
    """The same density, written with more directions, so that a union has room for all of them."""
    whole = torch.linalg.qr(torch.cat([gaussian.directions, torch.eye(len(gaussian.mean))], 1)).Q
    directions = torch.cat([gaussian.directions, whole[:, gaussian.rank : rank]], 1)
    variances = torch.cat([gaussian.variances, gaussian.noise.expand(rank - gaussian.rank)])
    return type(gaussian)(gaussian.mean, directions, variances, gaussian.noise)


def test_a_class_that_returns_updates_its_components(generator):
    first, again = clusters(2, seed=1), clusters(2, seed=2)
    density = updated(first, generator).update(again[90:], again[:90], generator)
    assert isinstance(density, MixtureDensity)
    assert density.mixture is not None
    assert len(density.mixture.components) == 2
    assert density.count == pytest.approx(2 * 810, rel=1e-2)


def test_a_class_that_returns_with_something_new_adds_components_and_keeps_the_old_ones(generator):
    before = updated(clusters(1), generator)
    new = clusters(1, seed=3) + 40
    after = before.update(new[90:], new[:90], generator)
    values = torch.stack([density.log_density(clusters(1, seed=4)) for density in (before, after)]).mean(1)
    assert values[1] > values[0] - 1  # half the weight: log 2, and what estimation adds
    assert after.log_density(new[:90]).mean() > before.log_density(new[:90]).mean() + 100


def test_a_density_never_has_more_components_than_its_bound(generator):
    x = clusters(6)
    mixture = fit(x, generator, components=8)
    shifted = Mixture(tuple(type(c)(c.mean + 40, *_rest(c)) for c in mixture.components), mixture.counts)
    pooled = pool(mixture, shifted, 4)
    assert len(pooled.components) == 4
    assert torch.allclose(pooled.counts.sum(), 2 * mixture.counts.sum())


def _rest(gaussian):
    return gaussian.directions, gaussian.variances, gaussian.noise


@pytest.mark.parametrize("options", [OPTIONS, DensityOptions(components=1)])
def test_a_density_survives_its_journey_through_tensors(options, generator):
    x = clusters(3)
    density = new_density(options, 10).update(x[90:], x[:90], generator)
    restored = restore_density(options, density.tensors())
    assert torch.equal(restored.log_density(x), density.log_density(x))
    assert restored.count == density.count


def test_a_density_stores_a_bounded_number_of_numbers_however_many_rows_it_saw(generator):
    few, many = (updated(clusters(8, count=count), generator).parameter_count() for count in (900, 4000))
    component = 10 * 10 + 10 + 10 + 1 + 10 + 2  # directions and mean with their scales, variances, noise and count
    bound = OPTIONS.components * component + 1
    assert few <= bound
    assert many <= bound


def test_the_same_generator_gives_the_same_mixture():
    first, second = (updated(clusters(3), torch.Generator().manual_seed(4)).tensors() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_bound_below_one_is_refused():
    with pytest.raises(UserError, match="density-components"):
        DensityOptions(components=0)


@pytest.mark.parametrize("ranks", [(5, 5, 5), (0, 3, 2)])
def test_products_of_matrices_give_what_each_component_says_alone(ranks):
    random = np.random.default_rng(0)

    def gaussian(rank):
        directions = np.linalg.qr(random.normal(size=(9, max(rank, 1))))[0][:, :rank]
        parts = (random.normal(size=9), directions, random.uniform(1, 3, size=rank), random.uniform(0.1, 0.5))
        return LowRankGaussian(*(torch.tensor(part, dtype=torch.float64) for part in parts))

    mixture = Mixture(tuple(gaussian(rank) for rank in ranks), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    x = torch.from_numpy(random.normal(size=(20, 9)))
    alone = torch.stack([component.log_density(x) for component in mixture.components], 1)
    assert torch.allclose(mixture.joint(x), alone + mixture.log_weights, rtol=1e-10)


def test_of_many_rows_some_stand_for_all():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(MOST_ROWS + 3000, 3, generator=generator) * torch.tensor([1.0, 2.0, 3.0])
    density = MixtureDensity(DensityOptions(components=2)).update(rows, rows[:200], generator)
    assert density.count == pytest.approx(len(rows))
    independent = torch.distributions.Normal(torch.zeros(3), torch.tensor([1.0, 2.0, 3.0])).log_prob(rows).sum(1)
    assert (density.log_density(rows) - independent).abs().mean() < 0.3  # the floor widens it a little
