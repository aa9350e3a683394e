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


def test_gradients_of_log_variances_spread_as_theirs_do(pair):
    """Their mean does not depend on what a batch shares of the noise, but their variance does."""
    theirs, ours = pair
    assert 1 / 2 < variance_ratio(theirs, ours) < 2


@pytest.mark.parametrize(("kind", "noise"), [("ibnn", "example"), ("ibnn", "batch"), ("hibnn", "weights")])
def test_with_other_noise_they_spread_otherwise(kind, noise):
    theirs = Theirs(kind)
    ours = evaluated(theirs, theirs.network(WeightNoise(noise)), torch.Generator().manual_seed(0), 20)
    assert abs(np.log(variance_ratio(theirs, ours))) > np.log(10)


def variance_ratio(theirs, ours):
    """Our variance of the gradients over theirs, averaged over weights."""
    return ours["dll_dWv0"].var(0, ddof=1).mean() / (theirs.errors["dll_dWv0"] ** 2 * EVALUATIONS).mean()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_with_many_draws_every_term_and_gradient_is_theirs(kind):
    theirs = Theirs(kind)
    assert_same(theirs, evaluated(theirs, theirs.network(), torch.Generator().manual_seed(1), 2000))
