from itertools import product

import numpy as np
import pytest
from scipy import stats

from hibnn import UserError
from hibnn.evaluation.significance import bootstrap_interval, compare, mean_and_error, paired_p, sentence, summarise


def by_seed(values):
    return dict(enumerate(values))


def test_mean_and_standard_error_are_the_closed_forms():
    values = [0.91, 0.95, 0.93, 0.97]
    found = summarise(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.standard_error == pytest.approx(stats.sem(values))
    assert found.count == 4


def test_the_error_of_arrays_is_taken_place_by_place_and_unknown_for_one():
    values = np.array([[1.0, 4.0], [2.0, 4.0], [6.0, 4.0]])
    mean, error = mean_and_error(values)
    assert mean == pytest.approx(values.mean(0))
    assert error == pytest.approx(stats.sem(values))
    assert mean_and_error(values[:1])[1] is None


def test_one_value_has_no_error_and_none_has_no_summary():
    assert summarise([0.5]).standard_error is None
    assert summarise([0.5]).interval is None
    with pytest.raises(UserError, match="at least one value"):
        summarise([])


def test_the_bootstrap_interval_is_that_of_all_resamples():
    values = np.array([0.0, 1.0, 5.0, 2.0, 7.0])
    every = np.mean(list(product(values, repeat=5)), axis=1)
    draws = np.random.default_rng(1).choice(every, (200, 9999))
    spread = np.quantile(draws, [0.025, 0.975], axis=1).std(axis=1)
    error = np.abs(np.array(bootstrap_interval(values)) - np.quantile(every, [0.025, 0.975]))
    assert (error <= 5 * spread + 1e-9).all()
    assert bootstrap_interval(np.array([3.0, 3.0, 3.0])) == (3.0, 3.0)


def test_the_p_value_is_the_share_of_signings_as_extreme_as_what_was_seen():
    left, right = np.array([3.0, 1.0, 4.0, 1.5, 5.0, 9.0]), np.array([2.0, 0.5, 4.5, 1.0, 3.0, 2.0])
    differences = left - right
    signed = np.array(list(product([-1, 1], repeat=6))) @ differences
    assert paired_p(left, right) == pytest.approx((np.abs(signed) >= abs(differences.sum()) - 1e-12).mean())


@pytest.mark.parametrize("count", [1, 2, 5, 6, 8])
def test_the_least_p_of_n_seeds_is_two_over_two_to_the_n(count):
    first, second = np.linspace(1, 2, count), np.zeros(count)
    found = compare(by_seed(first), by_seed(second))
    assert found.p == pytest.approx(found.least_p) == pytest.approx(2 / 2**count)
    assert found.decidable == (count >= 6)


def test_swapping_the_methods_changes_the_sign_and_not_p():
    random = np.random.default_rng(0)
    first, second = by_seed(random.random(7)), by_seed(random.random(7))
    there, back = compare(first, second), compare(second, first)
    assert there.difference.mean == pytest.approx(-back.difference.mean)
    assert there.p == pytest.approx(back.p)


def test_only_shared_seeds_are_paired():
    found = compare({0: 1.0, 1: 2.0, 9: 100.0}, {1: 1.0, 0: 0.5, 3: 7.0})
    assert found.difference.count == 2
    assert found.difference.mean == pytest.approx(0.75)
    with pytest.raises(UserError, match="no seed in common"):
        compare({0: 1.0}, {1: 1.0})


def test_the_sentence_says_when_the_seeds_are_too_few():
    few = compare(by_seed([0.9] * 5), by_seed([0.8] * 5))
    assert "too few seeds to decide" in sentence("ibnn", "vcl", few)
    assert "2/2^5 = 0.062" in sentence("ibnn", "vcl", few)
    clear = compare(by_seed([0.9] * 6), by_seed([0.8] * 6))
    assert "ibnn is 10.00 points above vcl" in sentence("ibnn", "vcl", clear, " points", 100)
    assert "more than chance would do, p = 0.031" in sentence("ibnn", "vcl", clear)
    alike = compare(by_seed([1.0, 2, 3, 4, 5, 6]), by_seed([2.0, 1, 4, 3, 6, 5]))
    assert "the same mean" in sentence("ibnn", "vcl", alike)
    assert "not more than chance would do" in sentence("ibnn", "vcl", alike)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10])
def test_with_few_seeds_bca_covers_the_mean_no_better_than_the_percentile_interval(count):
    random, hits = np.random.default_rng(0), {"percentile": 0, "BCa": 0, "t": 0}
    for number in range(400):
        values = random.normal(size=count)
        for method in ("percentile", "BCa"):
            found = stats.bootstrap((values,), np.mean, n_resamples=999, method=method, rng=number).confidence_interval
            hits[method] += found.low <= 0 <= found.high
        hits["t"] += abs(values.mean()) <= stats.t.ppf(0.975, count - 1) * stats.sem(values)
    print(count, {method: hit / 400 for method, hit in hits.items()})
    spread = (2 * 400 * 0.85 * 0.15) ** 0.5
    assert abs(hits["percentile"] - hits["BCa"]) < 5 * spread
    assert hits["percentile"] < hits["t"]
