import pytest
import torch

from hibnn.nn.layers.ibp import HIBPMask, IBPMask, Sticks, inverse_softplus
from hibnn.nn.layers.masks import Relaxation, hard, kl_masks, relaxed
from statistics_helpers import assert_mean


def test_prior_sticks_switch_units_on_with_geometric_probability(generator):
    alpha, units = 4.0, 6
    sticks = Sticks(units, alpha, start=alpha)
    pi = sticks.values(from_prior=True).sample_log_pi(20_000, generator).exp()
    assert_mean(pi, (alpha / (alpha + 1)) ** torch.arange(1, units + 1))


def test_posterior_sticks_start_where_they_are_told_and_expect_what_they_draw(generator):
    sticks = Sticks(5, alpha=3.0, start=20.0)
    assert torch.allclose(sticks.concentrations(), torch.tensor([[20.0], [1.0]]).expand(2, 5), rtol=1e-5)
    assert_mean(sticks.values().sample_log_pi(20_000, generator).exp().detach(), sticks.values().expected_pi())


def test_each_layer_of_an_ibp_has_sticks_of_its_own(generator):
    mask = IBPMask([Sticks(3, 2.0, 2.0), Sticks(5, 2.0, 2.0)])
    first, second = mask.sample_log_odds(7, generator)
    assert first.shape == (7, 3)
    assert second.shape == (7, 5)
    assert not torch.equal(first, second[:, :3])


def test_the_children_of_a_hierarchical_mask_scatter_around_the_shared_sticks(generator):
    mask = HIBPMask(Sticks(4, 3.0, 3.0), [4, 2], child_alpha=5.0)
    first, second = mask.sample_log_odds(40_000, generator)
    expected = mask.values()[0].expected_pi()
    assert_mean(first.sigmoid().detach(), expected)
    assert_mean(second.sigmoid().detach(), expected[:2])
    together = (first[:, 0].sigmoid() - expected[0]) * (second[:, 0].sigmoid() - expected[0])
    assert together.mean() > 5 * together.std() / 200  # shared sticks correlate the layers


def test_a_larger_child_alpha_scatters_less(generator):
    spread = []
    for child_alpha in (1.0, 100.0):
        mask = HIBPMask(Sticks(3, 500.0, 500.0), [3], child_alpha)
        (odds,) = mask.sample_log_odds(4000, generator)
        spread.append(odds.sigmoid()[:, 2].std().item())
    assert spread[0] > 3 * spread[1]


@pytest.mark.parametrize("temperature", [0.1, 0.7, 3.0])
def test_hardened_relaxed_masks_are_on_with_probability_pi_at_every_temperature(generator, temperature):
    log_odds = torch.tensor([[-3.0, 0.0, 2.0]])
    _, z = relaxed(Relaxation.ODDS.location(log_odds), 20_000, temperature, generator)
    assert_mean((z > 0.5).float(), log_odds[0].sigmoid())
    assert_mean(hard(log_odds, 20_000, generator), log_odds[0].sigmoid())


def test_the_papers_location_never_passes_one_half(generator):
    log_odds = torch.tensor([[0.0, 5.0]])
    pi = log_odds[0].sigmoid()
    _, z = relaxed(Relaxation.PAPER.location(log_odds), 20_000, 0.7, generator)
    assert_mean((z > 0.5).float(), pi / (1 + pi))


def test_every_set_of_sticks_serves_its_share_of_the_examples(generator):
    location = torch.tensor([[-20.0], [20.0]])
    for rows in (4, 5):
        assert hard(location, rows, generator)[:, 0].tolist() == [0.0] * -(-rows // 2) + [1.0] * (rows // 2)


def test_the_kl_of_masks_vanishes_at_equal_temperatures_and_not_at_different_ones(generator):
    location = torch.randn(4, 3, generator=generator)
    y, _ = relaxed(location, 4000, 0.7, generator)
    assert kl_masks(y, location, location, 0.7, 0.7) == 0
    assert kl_masks(y, location, location, 0.7, 1.5) > 0.05


def test_inverse_softplus_inverts_also_large_values():
    value = torch.tensor([1e-3, 1.0, 50.0, 1000.0])
    assert torch.allclose(torch.nn.functional.softplus(inverse_softplus(value)), value, rtol=1e-4)


@pytest.mark.parametrize(
    "mask",
    [
        IBPMask([Sticks(3, 2.0, 5.0), Sticks(4, 2.0, 9.0)]),
        HIBPMask(Sticks(4, 3.0, 6.0), [4, 2], child_alpha=5.0),
    ],
)
def test_draws_and_divergence_in_one_pass_equal_the_two_taken_apart(mask):
    answers = []
    for together in (True, False):
        generator = torch.Generator().manual_seed(3)
        odds, kl = mask.sample_with_kl(6, generator) if together else (mask.sample_log_odds(6, generator), mask.kl())
        mask.zero_grad()
        (sum(log_odds.sin().sum() for log_odds in odds) + 2 * kl).backward()
        answers.append([*odds, kl, *(sticks.raw.grad for sticks in mask.each())])
    for together, apart in zip(*answers, strict=True):
        torch.testing.assert_close(together, apart)


def test_masks_of_a_set_come_in_pairs_of_opposite_noise(generator):
    y, _ = relaxed(torch.zeros(2, 3), 10, 0.5, generator)
    first, second = y.unflatten(0, (2, 5)).split([3, 2], 1)
    assert torch.equal(first[:, :2], -second)
    assert first.unique().numel() == 2 * 3 * 3
