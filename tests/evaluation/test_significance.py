import numpy as np
import pytest
from scipy import stats

from hibnn import UserError
from hibnn.evaluation.significance import compare, holm, interval, mean_and_error, sentence, summarise


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


@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_interval_and_p_are_students(count):
    values = np.random.default_rng(count).normal(0.4, size=count)
    found = summarise(values)
    expected = stats.t.interval(0.95, count - 1, values.mean(), stats.sem(values))
    assert found.interval == pytest.approx(expected)
    other = np.random.default_rng(99).normal(size=count)
    paired = compare(by_seed(values), by_seed(other))
    assert paired.paired
    assert paired.p == pytest.approx(stats.ttest_rel(values, other).pvalue)
    assert (paired.p < 0.05) == (not paired.difference.interval[0] < 0 < paired.difference.interval[1])


@pytest.mark.parametrize("count", [2, 5, 10])
def test_the_interval_of_a_few_seeds_holds_the_mean_in_95_of_100_samples(count):
    samples = np.random.default_rng(count).normal(size=(4000, count))
    ends = [interval(*each, count - 1) for each in zip(samples.mean(1), stats.sem(samples, axis=1), strict=True)]
    share = np.mean([low <= 0 <= high for low, high in ends])
    assert abs(share - 0.95) <= 5 * (0.95 * 0.05 / 4000) ** 0.5


def test_seeds_that_are_not_shared_are_compared_by_welchs_test():
    first, second = np.array([3.0, 1.0, 4.0, 1.5]), np.array([9.0, 2.5, 6.0])
    found = compare(by_seed(first), {10 + seed: value for seed, value in enumerate(second)})
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert not found.paired
    assert found.p == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert found.difference.interval == pytest.approx((ends.low, ends.high))


def test_without_spread_a_difference_is_certain_and_none_is_none():
    assert compare(by_seed([2.0, 3.0]), by_seed([1.0, 2.0])).p == 0
    assert compare(by_seed([2.0, 3.0]), by_seed([2.0, 3.0])).p == 1
    assert compare({0: 2.0, 1: 2.0}, {5: 2.0, 6: 2.0}).p == 1


def test_one_seed_has_no_p_whatever_the_difference():
    for second in ({0: 0.0}, {1: 0.0}, {1: 0.0, 2: 0.1}, {0: 0.0, 1: 0.1}):
        found = compare({0: 100.0}, second)
        assert (found.p, found.difference.interval, found.difference.count) == (None, None, 1)
        assert "one seed decides nothing" in sentence("ibnn", "vcl", found)


def test_holms_correction_is_that_of_its_definition():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.04, None, 0.03]) == [pytest.approx(0.06), None, pytest.approx(0.06)]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holms_correction_holds_the_error_of_all_verdicts_together():
    random, wrong = np.random.default_rng(0), 0
    for _ in range(600):
        best, *rivals = random.normal(size=(6, 5))
        ps = [compare(by_seed(best), by_seed(rival)).p for rival in rivals]
        wrong += any(p <= 0.05 for p in holm(ps))
    assert wrong / 600 <= 0.05 + 5 * (0.05 * 0.95 / 600) ** 0.5


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
    with pytest.raises(UserError, match="at least one value of each"):
        compare({0: 1.0}, {})


def test_the_sentence_says_how_large_how_sure_and_by_which_test():
    clear = compare(by_seed([0.9, 0.91, 0.92]), by_seed([0.8, 0.812, 0.818]))
    assert sentence("ibnn", "vcl", clear, " points", 100) == (
        "ibnn is 10.00 points above vcl over 3 shared seeds (95 % interval of the difference +9.50 to +10.50): "
        "significant, p = 0.00013 (paired t-test)."
    )
    assert "not significant, p = 0.00013, 0.3 after Holm's correction" in sentence("a", "b", clear, corrected=0.3)
    alike = compare(by_seed([1.0, 2, 3, 4, 5, 6]), by_seed([2.0, 1, 4, 3, 6, 5]))
    assert "the same mean" in sentence("ibnn", "vcl", alike)
    assert "not significant, p = 1 " in sentence("ibnn", "vcl", alike)
    apart = compare(by_seed([1.0, 2, 3]), {7: 1.0, 8: 5.0})
    assert "over seeds of their own (at least 2 each)" in sentence("ibnn", "vcl", apart)
    assert "Welch's t-test" in sentence("ibnn", "vcl", apart)
