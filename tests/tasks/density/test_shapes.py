"""Tails, families of covariances and what densities see: each beside an independent source or an exact case."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_t, norm

from hibnn.tasks.density import DensityOptions, covariances
from hibnn.tasks.density.basis import Basis, Rows
from hibnn.tasks.density.borrowing import borrowed_by, shared_covariance
from hibnn.tasks.density.choosing import best_power, best_target, choose_transform, least_variances, prefers_ranks
from hibnn.tasks.density.covariances import Products
from hibnn.tasks.density.density import new_density
from hibnn.tasks.density.drawing import draw_density, draw_mixture
from hibnn.tasks.density.families import Borrowed, fit, fit_family
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.tails import spread, with_tails
from hibnn.tasks.density.transform import RankMap, Transform

FLOOR = torch.full((4,), 1e-9, dtype=torch.float64)


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def single(inputs=4, seed=0):
    root = normal(inputs, inputs, seed=seed)
    gaussian = LowRankGaussian.of_covariance(normal(inputs, seed=seed + 1), root @ root.T + torch.eye(inputs).double())
    return Mixture((gaussian,), torch.tensor([50.0]).double())


@pytest.mark.parametrize("freedom", [3.0, 30.0])
def test_tails_are_those_of_students_t(freedom):
    gaussian, x = single().components[0], normal(20, 4, seed=5)
    expected = multivariate_t(gaussian.mean.numpy(), gaussian.covariance().numpy(), df=freedom).logpdf(x.numpy())
    found = spread(single(), freedom, 1.0).log_density(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_scale_multiplies_every_variance():
    x, wide = normal(20, 4, seed=5), spread(single(), math.inf, 2.5)
    gaussian = single().components[0]
    expected = torch.distributions.MultivariateNormal(gaussian.mean, 2.5 * gaussian.covariance()).log_prob(x)
    torch.testing.assert_close(wide.log_density(x), expected)


def test_the_likelihood_finds_tails_and_scale(generator):
    for freedom, scale in ((3.0, 2.0), (math.inf, 0.5)):
        rows = draw_mixture(spread(single(), freedom, scale).to(torch.float32), 4000, generator).double()
        found = with_tails(single(), Rows.of(rows))
        assert found.freedom == freedom or min(found.freedom, freedom) >= 100
        ratio = found.components[0].noise / single().components[0].noise
        assert ratio == pytest.approx(scale, rel=0.08)


def test_drawn_rows_have_the_moments_of_students_t(generator):
    rows = draw_mixture(spread(single(), 10.0, 1.0).to(torch.float32), 60_000, generator).double()
    gaussian = single().components[0]
    expected = gaussian.covariance() * 10 / 8
    torch.testing.assert_close(rows.T.cov(), expected, atol=0.05 * float(expected.diagonal().max()), rtol=0)
    torch.testing.assert_close(rows.mean(0), gaussian.mean, atol=0.05, rtol=0)


def test_rows_drawn_from_a_density_are_as_likely_as_its_own(generator):
    x = (normal(600, 150) @ normal(150, 150, seed=1) / 12).float()
    density = new_density(DensityOptions(components=2, rank=4), 150, Basis.of(x, 30, generator))
    density = density.update(x[100:], x[:100], generator)
    drawn = density.log_density(draw_density(density, 400, generator))
    own = density.log_density(x[:100])
    assert abs(drawn.mean() - own.mean()) < 0.5 * own.std()


@pytest.mark.parametrize("target", ["shared", "lda", "own", "diagonal"])
def test_covariances_are_shrunk_as_if_by_more_rows(target):
    x, shared = normal(30, 4), single(seed=3).components[0].covariance()
    own = (x - x.mean(0)).T @ (x - x.mean(0)) / 30
    towards = {"shared": shared, "lda": shared, "own": own, "diagonal": own.diagonal().diag()}[target]
    strength = math.inf if target == "lda" else 10.0
    share = 1.0 if target == "lda" else 10 / 40
    made = fit(Products(x), target, [strength], Borrowed(shared, FLOOR), x.new_ones(1, 30), x.new_ones(1, 30))[
        0
    ].mixture(0, 0)
    torch.testing.assert_close(made.components[0].covariance(), (1 - share) * own + share * towards + FLOOR.diag())
    torch.testing.assert_close(made.components[0].mean, x.mean(0))


def test_a_small_class_gains_by_what_it_borrows():
    root = normal(12, 12, seed=3)
    x = normal(420, 12) @ root
    floor = torch.full((12,), 1e-6, dtype=torch.float64)
    values = [
        fit_family(x[:20], x[:0], 4, Borrowed(shared, floor), 0).mixture.log_density(x[20:]).mean()
        for shared in (None, root.T @ root)
    ]
    assert values[1] > values[0] + 1


def test_the_target_tells_classes_apart():
    """Classes of one covariance: with few rows, the shared one is best; of different ones, their own."""
    root, shifts = normal(10, 10, seed=1), 2 * normal(3, 10, seed=2)
    labels = torch.arange(3).repeat_interleave(40)
    alike = normal(120, 10, seed=4) @ root + shifts[labels]
    floor = torch.full((10,), 1e-6, dtype=torch.float64)
    given = Borrowed(root.T @ root, floor)
    assert best_target(alike, labels, given, None, 0) in ("lda", "shared")
    many = torch.arange(2).repeat_interleave(2000)
    scales = torch.tensor([[1.0] * 5 + [0.1] * 5, [0.1] * 5 + [1.0] * 5]).double()
    unlike = normal(4000, 10, seed=5) * scales[many]
    assert best_target(unlike, many, Borrowed(torch.eye(10).double(), floor), None, 0) != "lda"


def test_the_pooled_covariance_is_that_of_all_rows_around_their_class(generator):
    first, second = normal(3000, 4) @ normal(4, 4, seed=1), 3 * normal(1000, 4, seed=2) + 7
    density = new_density(DensityOptions(components=2), 4).update(first.float(), first[:0].float(), generator)
    found = shared_covariance(second, torch.zeros(1000).long(), [density], None)
    centred = torch.cat([first - first.mean(0), second - second.mean(0)])
    expected = centred.T @ centred / 4000
    torch.testing.assert_close(found, expected, atol=0.06 * float(expected.diagonal().max()), rtol=0)


def test_many_inputs_borrow_only_for_small_classes(generator):
    x, floor = torch.randn(1200, 200), torch.ones(200)
    assert borrowed_by(x, torch.arange(2).repeat_interleave(600), [], None, floor, generator) is None
    assert borrowed_by(x, torch.arange(12).repeat_interleave(100), [], None, floor, generator) is not None


def test_columns_of_one_kind_have_one_least_variance():
    pixels = torch.rand(400, 6) * torch.tensor([1, 1, 1, 1, 1, 1e-4])
    pixels[0, 5] = 1.0  # an edge that hardly anybody uses, of the same range
    floor = least_variances(pixels, torch.ones(6))
    assert floor.unique().numel() == 1
    kinds = torch.randn(400, 4) * torch.tensor([1.0, 100.0, 0.01, 0.0])
    own = least_variances(kinds, torch.ones(4))
    torch.testing.assert_close(own[:3], 0.03 * kinds.double().var(0, unbiased=False)[:3].float())


def test_least_variances_are_in_the_columns_own_units():
    """Pixels divided by their deviation in the first task: in units of pixels the floor is the same for all."""
    pixels, scale = torch.rand(400, 3), torch.tensor([1.0, 0.5, 0.2])
    floor = least_variances(pixels / scale, scale) * scale**2
    torch.testing.assert_close(floor, floor[:1].expand(3))


def test_ranks_become_normal_quantiles_and_are_undone():
    x = normal(4000, 2).exp()
    ranks = RankMap.of(x)
    found, expected = (rows[:, 0].sort().values[400:-400] for rows in (ranks(x), normal(4000, 2)))
    torch.testing.assert_close(found, expected, atol=0.15, rtol=0)
    torch.testing.assert_close(ranks.inverse(ranks(x)), x, atol=1e-3, rtol=1e-3)
    beyond = ranks(torch.tensor([[1e3, 1e3], [2e3, 2e3], [3e3, 3e3]]).double())
    torch.testing.assert_close(beyond[2] - beyond[1], beyond[1] - beyond[0])


def test_equal_values_have_their_middle_rank():
    x = torch.tensor([0.0, 0, 0, 0, 0, 0, 1, 1, 1, 1]).double()[:, None]
    np.testing.assert_allclose(RankMap.of(x)(x)[[0, -1], 0], norm.ppf([0.3, 0.8]), atol=1e-6)
    constant = RankMap.of(torch.full((9, 1), 3.0).double())
    np.testing.assert_allclose(constant(torch.tensor([[3.0], [5.0]]).double()).diff(dim=0), [[2.0]], atol=1e-6)


def test_columns_of_long_tails_are_seen_by_their_ranks_and_normal_ones_are_not():
    labels = torch.arange(2).repeat_interleave(300)
    normals = normal(600, 5) + labels[:, None] * 1.5
    assert not prefers_ranks(normals, labels, 0)
    assert prefers_ranks((3 * normals).exp(), labels, 0)


def test_a_higher_power_suits_bright_strokes_on_a_noisy_ground():
    random = np.random.default_rng(0)
    labels = torch.arange(2).repeat_interleave(700)
    x = torch.from_numpy(random.random((1400, 144)))
    bright = torch.from_numpy((random.random((2, 144)) < 0.2)[labels] & (random.random((1400, 144)) < 0.2))
    x[bright] = 1.0
    assert best_power(x.float(), labels, 0) > 1
    smooth = normal(1400, 144, seed=3).float() * 0.1 + normal(2, 144, seed=4).float()[labels]
    assert best_power(smooth, labels, 0) == 1


def test_what_densities_see_is_chosen_only_where_there_is_a_choice():
    x, y = normal(100, 6).float(), torch.zeros(100).long()
    assert choose_transform(DensityOptions(standardise=False), x, y, 0) == Transform(1.0, None, False)
    assert choose_transform(DensityOptions(power=3.0), x, y, 0).power == 3
    assert choose_transform(DensityOptions(columns="rank", standardise=False), x, y, 0).ranks is not None
    assert choose_transform(DensityOptions(columns="raw", standardise=False), x.exp(), y, 0).ranks is None


def test_a_transform_is_undone_but_for_the_scale_of_examples():
    x = normal(50, 6).float()
    for transform in (Transform(2.0, None, False), Transform(1.0, RankMap.of(x), False)):
        torch.testing.assert_close(transform.inverted(transform(x)), x, atol=1e-3, rtol=1e-3)
    seen = Transform()(x)
    torch.testing.assert_close(seen.mean(1), torch.zeros(50), atol=1e-6, rtol=0)
    torch.testing.assert_close(seen.std(1, correction=0), torch.ones(50))


def test_all_strengths_and_divisions_at_once_are_the_mixtures_of_each(monkeypatch):
    monkeypatch.setattr(covariances, "CONVERGED", -math.inf)  # as many rounds for all
    x = torch.cat([normal(60, 4), 6 + normal(40, 4, seed=2)])
    parts = torch.nn.functional.one_hot(torch.arange(100) % 3).double().T
    borrowed, learned = Borrowed(single(seed=3).components[0].covariance(), FLOOR), torch.ones(2, 100).double()
    learned[0, ::4] = 0.0
    together, distances = fit(Products(x), "shared", [1.0, 50.0], borrowed, parts, learned)
    for place, strength in enumerate((1.0, 50.0)):
        for division, kept in enumerate(learned > 0):
            rows = Products(x[kept])
            alone, _ = fit(rows, "shared", [strength], borrowed, parts[:, kept], x.new_ones(1, int(kept.sum())))
            torch.testing.assert_close(together.constants[division, place], alone.constants[0, 0])
            mixture = together.mixture(division, place)
            expected = (together.constants[division, place][:, None] - 0.5 * distances[division, place]).logsumexp(0)
            torch.testing.assert_close(mixture.log_density(x), expected)


def test_a_component_without_rows_has_no_weight():
    parts = torch.stack([torch.ones(20), torch.zeros(20)]).double()
    made, _ = fit(Products(normal(20, 4)), "own", [1.0], Borrowed(None, FLOOR), parts, torch.ones(1, 20).double())
    assert len(made.mixture(0, 0).components) == 1
    assert made.constants[0, 0, 1] == -math.inf
