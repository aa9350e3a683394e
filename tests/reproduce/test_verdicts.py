import numpy as np
import pytest
from scipy import stats

from hibnn.reproduce.verdicts import Case, Difference, Verdict, difference, judged, mean_difference

ABOVE, OPEN, BELOW = Difference(1.0, 0.5, 5), Difference(1.0, 1.5, 5), Difference(-1.0, 0.5, 5)


def test_the_interval_of_a_difference_is_students():
    values = [0.3, 1.2, -0.4, 0.8, 0.9]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = mean_difference(values)
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx(tuple(expected))


def test_the_interval_holds_the_mean_of_five_normal_values_in_95_of_100_cases():
    draws = np.random.default_rng(0).normal(1.0, 2.0, (2000, 5))
    found = [mean_difference(row.tolist()) for row in draws]
    share = np.mean([abs(each.mean - 1.0) <= each.half_width for each in found])
    assert abs(share - 0.95) < 5 * (0.95 * 0.05 / 2000) ** 0.5


def test_only_seeds_that_both_have_are_compared():
    found = difference({0: 3.0, 1: 5.0, 2: 100.0}, {1: 1.0, 0: 1.0, 3: -100.0})
    assert (found.mean, found.seeds) == (3.0, 2)
    assert difference({0: 1.0}, {1: 1.0}) is None


@pytest.mark.parametrize(
    ("found", "least", "holds"),
    [(ABOVE, 0.0, True), (OPEN, 0.0, None), (BELOW, 0.0, False), (BELOW, -2.0, True), (ABOVE, 2.0, False)],
)
def test_a_case_holds_if_its_interval_lies_on_the_claimed_side(found, least, holds):
    assert Case("as the test says", found, least).holds is holds


def test_no_difference_at_all_is_none():
    assert Case("equal", mean_difference([0.0] * 5)).holds is False


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ((ABOVE, ABOVE), Verdict.REPRODUCED),
        ((ABOVE, None), Verdict.REPRODUCED),
        ((ABOVE, BELOW), Verdict.PARTLY),
        ((ABOVE, OPEN), Verdict.PARTLY),
        ((OPEN, BELOW), Verdict.NOT),
        ((OPEN, OPEN, None), Verdict.UNDECIDED),
        ((None, None), Verdict.NOT_RUN),
        ((), Verdict.NOT_RUN),
        ((mean_difference([3.0]),), Verdict.NOT_RUN),
    ],
)
def test_a_claim_is_reproduced_if_every_case_that_was_run_holds(found, verdict):
    assert judged([Case("case", each) for each in found]).verdict is verdict


def test_what_was_not_run_is_counted_and_one_seed_is_said_to_be_one():
    found = judged([Case("a", ABOVE), Case("b", None)])
    assert (found.numbers, found.words) == ("1 of 1 hold, 1 not run yet: a +1.00 (± 0.50)", "reproduced so far")
    assert judged([Case("a", ABOVE)]).words == "reproduced"
    assert "one seed" in judged([Case("a", mean_difference([3.0]))]).numbers


def test_many_cases_are_told_by_their_range_and_kept_one_by_one():
    found = judged([Case("a", ABOVE), Case("b", BELOW), Case("c", OPEN), Case("d", None)])
    least, largest = (f"{value.mean:+.2f}" for value in sorted((ABOVE, BELOW, OPEN), key=lambda each: each.mean)[::2])
    assert found.numbers == f"1 of 3 hold, 1 not run yet: {least} to {largest}"
    assert [(case.name, case.word) for case in found.cases] == [
        ("a", ""),
        ("b", "✗"),
        ("c", "(open)"),
        ("d", "not run yet"),
    ]
