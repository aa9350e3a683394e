"""Means of masks: those that are drawn, whatever their location, temperature and sticks."""

import pytest
import torch
from scipy import integrate, stats

from hibnn.nn.layers.authors import AuthorsHIBP, AuthorsIBP
from hibnn.nn.layers.ibp import HIBPMask, IBPMask, Sticks
from hibnn.nn.layers.mask_form import MaskForm, mean_relaxed
from hibnn.nn.layers.masks import Relaxation

FORMS = [
    MaskForm(Relaxation.ODDS),
    MaskForm(Relaxation.PAPER),
    MaskForm(Relaxation.ODDS, 0.7, 3),
    MaskForm(Relaxation.PAPER, 0.7, 2),
]
BUFFETS = {
    "ibp": lambda: IBPMask([Sticks(30, 5.0, 8.0), Sticks(5, 5.0, 5.0)]),
    "hibp": lambda: HIBPMask(Sticks(6, 4.0, 6.0), [6, 3], child_alpha=4.0),
    "authors' ibp": lambda: AuthorsIBP([10], 5.0, 5.0),
    "authors' hibp": lambda: AuthorsHIBP([6, 6], 4.2, 4.2, 4.0, 10),
}


@pytest.mark.parametrize("temperature", [0.1, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("location", [-12.0, -3.3, 0.0, 4.1])
def test_the_mean_of_a_relaxed_mask_agrees_with_numeric_integration(temperature, location):
    def integrand(noise):
        return stats.logistic.pdf(noise) / (1 + torch.exp(torch.tensor(-(location + noise) / temperature)).item())

    expected, _ = integrate.quad(integrand, -60, 60, points=[-location], limit=300)
    assert mean_relaxed(torch.tensor([location]), temperature).item() == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("kind", BUFFETS)
def test_the_expected_mask_is_the_mean_of_drawn_ones(generator, form, kind):
    buffet, count = BUFFETS[kind](), 5_000
    with torch.no_grad():
        drawn = form.draw(buffet, buffet.values(), count, count, generator)
        expected = form.expected(buffet)
    for own, mean in zip(drawn, expected, strict=True):
        error = own.std(0) / count**0.5
        assert ((own.mean(0) - mean).abs() < 5 * error + 1e-3).all()


def test_only_hard_masks_at_the_log_odds_are_on_with_the_expected_pi():
    buffet = IBPMask([Sticks(10, 5.0, 5.0)])
    (pi,) = buffet.expected_pi()
    exact, *others = (form.expected(buffet)[0] for form in FORMS)
    assert torch.equal(exact, pi)
    for other in others:
        assert (other - pi)[0].abs() > 0.02


def test_the_mean_of_hard_masks_around_log_pi_agrees_with_an_integral_over_the_stick():
    buffet = IBPMask([Sticks(1, 3.0, start=3.0)])
    expected = integrate.quad(lambda v: stats.beta.pdf(v, 3.0, 1.0) * v / (1 + v), 0, 1)[0]
    assert MaskForm(Relaxation.PAPER).expected(buffet)[0].item() == pytest.approx(expected, abs=1e-3)


def test_a_mean_is_the_same_every_time():
    buffet = HIBPMask(Sticks(6, 4.0, 6.0), [6, 3], child_alpha=4.0)
    assert torch.equal(FORMS[3].expected(buffet)[0], FORMS[3].expected(buffet)[0])
