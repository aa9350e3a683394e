"""Moments, distances and mixtures of many rows at once, each beside the plain formula."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import mahalanobis

from hibnn.tasks.density import covariances, families
from hibnn.tasks.density.borrowing import borrowed_by
from hibnn.tasks.density.covariances import Products
from hibnn.tasks.density.families import Borrowed, fit_family
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.merging import _log_determinants, union
from hibnn.tasks.density.mixture import log_tail
from hibnn.tasks.density.tails import FREEDOMS, log_tails


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@pytest.fixture(params=["kept", "in blocks"])
def rows(request, monkeypatch):
    if request.param == "in blocks":
        monkeypatch.setattr(covariances, "MOST_PRODUCTS", 40)
    return Products(50 + normal(30, 4) @ normal(4, 4, seed=1))


def test_moments_are_those_of_weighted_rows(rows):
    weights = normal(2, 3, 30, seed=2).abs()
    found = rows.moments(weights)
    for place in np.ndindex(2, 3):
        own = weights[place].numpy()
        assert float(found.weights[place]) == pytest.approx(own.sum())
        np.testing.assert_allclose(found.means[place], np.average(rows.rows, axis=0, weights=own))
        expected = np.cov(rows.rows.T.numpy(), aweights=own, bias=True)
        np.testing.assert_allclose(found.covariances[place], expected, rtol=1e-9)


def test_distances_are_those_of_mahalanobis(rows):
    means, root = 50 + normal(2, 3, 4, seed=3), normal(2, 3, 4, 4, seed=4)
    matrices = root @ root.mT + torch.eye(4)
    found = rows.quadratic(means, torch.linalg.cholesky(matrices))
    for place in np.ndindex(2, 3):
        inverse = np.linalg.inv(matrices[place])
        expected = [mahalanobis(row, means[place], inverse) ** 2 for row in rows.rows]
        np.testing.assert_allclose(found[place], expected, rtol=1e-8)


def test_rows_that_are_not_learned_change_nothing_but_are_judged():
    x = torch.cat([normal(40, 3), 5 + normal(40, 3, seed=1)])
    learned = torch.ones(1, 1, 1, 80).double()
    learned[..., ::5] = 0.0
    parts = torch.stack([torch.arange(80) < 40, torch.arange(80) >= 40]).double()[None, None]
    moved = x.clone()
    moved[::5] += 30
    found = [
        covariances.expectation_maximisation(
            Products(rows), parts, learned, lambda own: own.covariances + 1e-3 * torch.eye(3)
        )
        for rows in (x, moved)
    ]
    torch.testing.assert_close(found[0][0].means, found[1][0].means)
    assert (found[0][1][..., ::5] < found[1][1][..., ::5]).all()


def test_rows_of_components_that_are_too_small_count_for_the_others():
    x, learned = torch.cat([normal(30, 2), 100 + normal(2, 2)]), torch.ones(1, 1, 1, 32).double()
    parts = torch.stack([torch.arange(32) < 30, torch.arange(32) >= 30]).double()[None, None]
    made, _ = covariances.expectation_maximisation(
        Products(x), parts, learned, lambda own: own.covariances + torch.eye(2)
    )
    assert made.counts.flatten().tolist() == pytest.approx([32, 0])


def test_a_large_class_is_learned_from_all_rows_and_chosen_by_some(monkeypatch):
    monkeypatch.setattr(families, "MOST_CHOOSING", 60)
    x = torch.cat([normal(200, 3), 8 + normal(100, 3, seed=1)])[
        torch.from_numpy(np.random.default_rng(0).permutation(300))
    ]
    made = fit_family(x, normal(20, 3, seed=2), 4, Borrowed(None, torch.full((3,), 1e-6).double()), 0)
    assert float(made.mixture.counts.sum()) == pytest.approx(300)
    assert sorted(made.mixture.counts.round().tolist())[-2:] == [100, 200]
    assert len(made.judged.order) == 60
    assert len(made.judged.log_density) == 80


def test_tails_of_all_freedoms_at_once_are_those_of_each():
    quadratics = normal(5, 2).square() * 20
    found = log_tails(quadratics, 7, torch.tensor(FREEDOMS).double())
    assert math.isinf(FREEDOMS[-1])
    for tails, freedom in zip(found, FREEDOMS, strict=True):
        torch.testing.assert_close(tails, log_tail(quadratics, 7, freedom))


def test_determinants_of_unions_are_those_of_the_united_gaussians():
    pooled = {}
    for name in range(4):
        root = normal(3, 3, seed=name)
        pooled[name] = LowRankGaussian.of_covariance(normal(3, seed=9 + name), root @ root.T + torch.eye(3))
    counts = {name: torch.tensor(float(5 + name)).double() for name in pooled}
    pairs = [(0, 1), (1, 3), (2, 3)]
    expected = [union(pooled[i], counts[i], pooled[j], counts[j]).log_determinant() for i, j in pairs]
    torch.testing.assert_close(_log_determinants(pairs, pooled, counts), torch.stack(expected))


def test_what_is_borrowed_is_the_same_where_no_target_is_asked_for(generator):
    x, y, floor = normal(60, 4).float(), torch.arange(60) % 2, torch.ones(4)
    chosen, plain = (borrowed_by(x, y, [], None, floor, generator, choose=choose) for choose in (True, False))
    assert plain.target == "shared"
    torch.testing.assert_close(chosen.shared, plain.shared)
