"""Means of masks: those that are drawn, whatever their location, temperature and sticks."""

import pytest
import torch
from scipy import integrate, stats

from checks import learn, small_benchmark, small_learner
from hibnn.estimators.predictive import PredictionMode
from hibnn.evaluation.pruning.ranking import openness
from hibnn.learners.sized import take_masks_off
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


@pytest.mark.parametrize("masks", ["hard", "soft"])
@pytest.mark.parametrize("variant", ["structured", "authors"])
def test_counts_features_ensembles_and_pruning_use_the_mean_of_the_masks_of_predictions(masks, variant):
    benchmark = small_benchmark()
    options = {"relaxation": "paper", "size": "prior", "prediction_masks": masks, "mask_kl": variant}
    learner = small_learner("ibnn", benchmark, prediction="mean", timestamps="none", **options | {"epochs": 1})
    learn(learner, benchmark.tasks[0])
    (drawn,) = learner.neurons.prediction_masks(1, 2000, 0, torch.Generator().manual_seed(0))
    if (masks, variant) == ("soft", "authors"):  # there all draws of the weights share an example's mask
        (drawn,) = learner.neurons.prediction_masks(2000, 1, 0, torch.Generator().manual_seed(0))
    mean, error = drawn.mean(0), drawn.sum(1).std() / 2000**0.5
    assert abs(learner.active_units()[0] - mean.sum()) < 5 * error + 0.02
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    layer = learner.bayesian.hidden_layers()[0].mean
    (expected,) = learner.neurons.expected_masks(0)
    hidden = (learner.preprocess(x) @ layer[:-1] + layer[-1]).relu()
    assert torch.allclose(learner.features(x, 0), hidden * expected, atol=1e-5)
    assert torch.equal(PredictionMode("mean").ensemble(learner, [0]).mask_0[0, 0], expected)
    assert torch.allclose(openness(learner)[0][0], expected)


@pytest.mark.parametrize("masks", ["hard", "soft"])
def test_a_network_whose_masks_are_taken_off_has_their_mean(masks):
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, relaxation="paper", prediction_masks=masks, temperature=0.5)
    learner.begin(benchmark.tasks[0])
    form = MaskForm(Relaxation.PAPER, 0.5 if masks == "soft" else None)
    (expected,) = form.expected(learner.bayesian.buffet)
    assert learner.active_units() == [pytest.approx(expected.sum().item(), rel=1e-5)]
    with torch.no_grad():
        learner.bayesian.heads[0].mean[:-1] = 1.0
    take_masks_off(learner.bayesian, learner.sized.mask_form)
    assert torch.allclose(learner.bayesian.heads[0].mean[:-1, 0], expected)
