import math

import pytest
import torch
from torch import Tensor

from hibnn.errors import UserError
from hibnn.factorisation import cambridge_bars, factorise
from statistics_helpers import assert_mean


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def log_evidence(x: Tensor, alpha: float, scale: float, noise: float) -> float:
    """log p(X) for a truncation of one feature: the sum over all masks, with stick and feature integrated out."""
    examples, dimensions = x.shape
    masks = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=x.dtype)] * examples)
    on = masks.sum(1)
    ratio = scale**2 / (noise**2 + scale**2 * on)
    squares = (x.square().sum() - ratio * (masks @ x).square().sum(1)) / noise**2
    log_determinant = dimensions * (2 * examples * math.log(noise) + torch.log1p((scale / noise) ** 2 * on))
    likelihood = -0.5 * (x.numel() * math.log(2 * math.pi) + log_determinant + squares)
    prior = torch.lgamma(alpha + on) + torch.lgamma(1 + examples - on) - math.lgamma(alpha + 1 + examples)
    return float(torch.logsumexp(likelihood + prior + math.log(alpha), 0))


def test_each_of_four_features_is_in_half_of_the_images(generator):
    x, masks, features = cambridge_bars(2000, noise=0.3, generator=generator)
    assert x.shape == (2000, 36)
    assert features.sum(1).tolist() == [5, 8, 6, 5]
    assert features.sum(0).max() == 1
    assert set(masks.unique().tolist()) == {0, 1}
    assert_mean(masks, 0.5)
    assert_mean(masks[:, :1] * masks[:, 1:], 0.25)
    assert_mean(x - masks @ features, 0.0)
    assert_mean((x - masks @ features).square(), 0.09)


@pytest.mark.parametrize(("seed", "noise", "truncation"), [(0, 0.5, 12), (1, 0.5, 20), (2, 0.2, 16)])
def test_the_true_number_of_features_is_found(seed, noise, truncation):
    generator = seeded(seed)
    x, _, _ = cambridge_bars(100, noise, generator=generator)
    found = factorise(x, truncation, restarts=1, steps=10, generator=generator)
    assert found.number_of_features == 4
    assert found.expected_features == pytest.approx(4, abs=0.05)
    assert found.noise == pytest.approx(noise, rel=0.1)


@pytest.mark.parametrize("count", [3, 6])
def test_other_numbers_of_random_features_are_found(count):
    generator = seeded(count)
    features = 10 * torch.randn(count, 25, generator=generator)
    masks = (torch.rand(120, count, generator=generator) < 0.4).float()
    x = masks @ features + 5 * torch.randn(120, 25, generator=generator)
    assert factorise(x, 12, restarts=1, steps=10, generator=generator).number_of_features == count


def test_noise_alone_has_no_features(generator):
    found = factorise(torch.randn(80, 20, generator=generator), 10, restarts=1, steps=10, generator=generator)
    assert found.number_of_features == 0
    assert found.noise == pytest.approx(1, rel=0.05)


def test_recovered_features_and_masks_are_the_true_ones_up_to_order(generator):
    x, masks, features = cambridge_bars(200, 0.3, generator=generator)
    found = factorise(x, 12, restarts=1, steps=10, generator=generator)
    order = torch.cdist(features, found.features).argmin(1)
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    assert (found.features[order] - features).abs().max() < 0.3
    assert (found.masks[:, order] == masks).float().mean() > 0.98
    clean = (found.reconstructions() - masks @ features).square().mean()
    assert clean < (x - masks @ features).square().mean() / 5


def test_features_are_ordered_by_use_and_sticks_follow_it(generator):
    masks = (torch.rand(200, 3, generator=generator) < torch.tensor([0.15, 0.8, 0.4])).float()
    x = masks @ (3 * torch.randn(3, 16, generator=generator)) + torch.randn(200, 16, generator=generator)
    found = factorise(x, 8, restarts=1, steps=30, generator=generator)
    expected = masks.mean(0).sort(descending=True).values
    torch.testing.assert_close(found.usage[:3], expected, atol=0.03, rtol=0)
    torch.testing.assert_close(found.pi[:3], expected, atol=0.06, rtol=0)
    assert found.pi[3:].max() < 0.02


def test_the_bound_lies_just_below_the_exact_evidence(generator):
    masks = torch.zeros(12, 1, dtype=torch.float64)
    masks[:2] = 1
    x = masks @ torch.full((1, 4), 3.0, dtype=torch.float64)
    x += 0.5 * torch.randn(12, 4, generator=generator, dtype=torch.float64)
    found = factorise(x, truncation=1, alpha=6.0, scale=2.0, restarts=1, steps=60, generator=generator)
    exact = log_evidence(x, alpha=6.0, scale=2.0, noise=found.noise)
    standard_error = float(found.trace[-40:].std()) / 4  # the last estimate has sixteen times as many draws
    assert exact - 0.3 - 5 * standard_error < found.elbo < exact + 5 * standard_error


def test_the_bound_rises_with_every_removal_and_through_the_gradient_steps(generator):
    x, _, _ = cambridge_bars(100, 0.5, generator=generator)
    found, searched = (factorise(x, 12, alpha=2.0, restarts=1, steps=steps, generator=seeded(1)) for steps in (100, 0))
    rounds = searched.trace
    assert len(rounds) >= 2
    assert (rounds.diff() > 0).all()
    torch.testing.assert_close(found.trace[: len(rounds)], rounds)
    assert len(found.trace) == len(rounds) + 100
    assert found.trace[-50:].mean() > found.trace[len(rounds) :][:10].mean()


def test_the_best_of_several_searches_is_kept():
    x, _, _ = cambridge_bars(40, 0.5, generator=seeded(3))
    first, best = (factorise(x, 8, restarts=count, steps=0, generator=seeded(6)).trace[-1] for count in (1, 3))
    assert best > first


def test_the_same_generator_gives_the_same_factorisation():
    x, _, _ = cambridge_bars(30, 0.5, generator=seeded(0))
    first, second = (factorise(x, 6, restarts=1, steps=5, generator=seeded(1)) for _ in range(2))
    assert torch.equal(first.probabilities, second.probabilities)
    assert torch.equal(first.trace, second.trace)


def test_data_without_noise_and_extreme_priors_stay_finite(generator):
    x, _, _ = cambridge_bars(60, 0.0, generator=generator)
    for alpha in (0.1, 1000.0):
        found = factorise(1e4 * x, 10, alpha, restarts=1, steps=10, generator=generator)
        assert torch.isfinite(found.features).all()
        assert math.isfinite(found.elbo)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x": torch.ones(5)}, "one example a row"),
        ({"x": torch.ones(5, 2, dtype=torch.long)}, "floating-point"),
        ({"x": torch.ones(0, 2)}, "one example a row"),
        ({"x": torch.tensor([[1.0, math.nan]])}, "not a number"),
        ({"x": torch.zeros(5, 2)}, "nothing to factorise"),
        ({"truncation": 0}, "at least 1"),
        ({"alpha": 0.0}, "positive number"),
        ({"alpha": math.nan}, "positive number"),
        ({"scale": -1.0}, "positive number"),
        ({"restarts": 0}, "at least 1, 4 and 0"),
        ({"sweeps": 3}, "at least 1, 4 and 0"),
        ({"steps": -1}, "at least 1, 4 and 0"),
    ],
)
def test_bad_input_is_refused_in_plain_words(change, says, generator):
    with pytest.raises(UserError, match=says):
        factorise(**{"x": torch.ones(5, 2), "generator": generator} | change)


def test_bars_refuse_no_images_and_negative_noise(generator):
    with pytest.raises(UserError, match="at least one"):
        cambridge_bars(0, generator=generator)
    with pytest.raises(UserError, match="standard deviation"):
        cambridge_bars(5, noise=-0.1, generator=generator)
