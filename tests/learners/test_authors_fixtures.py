"""Ours for the authors' variant against what their program computes: every term, every gradient, the masks."""

import numpy as np
import pytest
import torch

from authors_fixture import EVALUATIONS, Theirs, combined_errors, evaluated
from hibnn.nn.layers.linear import WeightNoise

KINDS = ("ibnn", "hibnn")
FEW = {"ibnn": 100, "hibnn": 50}


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    theirs = Theirs(request.param)
    return theirs, evaluated(theirs, theirs.network(), torch.Generator().manual_seed(0), FEW[request.param])


def assert_same(theirs, ours):
    assert set(ours) == set(theirs.means)
    off = {name: combined_errors(theirs, ours, name).max() for name in ours}
    assert {name: round(float(value), 2) for name, value in off.items() if not value <= 5} == {}


def test_every_term_and_gradient_is_theirs_within_five_standard_errors(pair):
    assert_same(*pair)


@pytest.mark.parametrize("kind", KINDS)
def test_the_sticks_begin_where_theirs_do(kind):
    theirs = Theirs(kind)
    raw = theirs.network().buffet.each()[0].raw.detach().numpy()
    assert np.allclose(raw, np.stack([theirs.inputs["raw_a"], theirs.inputs["raw_b"]]), rtol=1e-6)


def test_draws_are_shared_as_theirs_are(pair):
    """What a batch shares, of noise or of sticks, changes no mean but variances."""
    theirs, ours = pair
    for name in ("dll_dWv0", "Z0_mean_over_batch"):
        assert 1 / 2 < variance_ratio(theirs, ours, name) < 2


@pytest.mark.parametrize(("kind", "noise"), [("ibnn", "example"), ("ibnn", "batch"), ("hibnn", "weights")])
def test_with_other_noise_of_the_weights_gradients_spread_otherwise(kind, noise):
    theirs = Theirs(kind)
    ours = evaluated(theirs, theirs.network(WeightNoise(noise)), torch.Generator().manual_seed(0), 20)
    assert abs(np.log(variance_ratio(theirs, ours, "dll_dWv0"))) > np.log(10)


def variance_ratio(theirs, ours, name):
    """Our variance over theirs, each averaged over weights or neurons."""
    return ours[name].var(0, ddof=1).mean() / (theirs.errors[name] ** 2 * EVALUATIONS).mean()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_with_many_draws_every_term_and_gradient_is_theirs(kind):
    theirs = Theirs(kind)
    assert_same(theirs, evaluated(theirs, theirs.network(), torch.Generator().manual_seed(1), 2000))
