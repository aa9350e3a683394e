import numpy as np
import pytest

from hibnn.datasets import hold_out
from hibnn.errors import UserError

LABELS = np.repeat([3, 1, 2], [50, 30, 23])


def test_the_two_parts_are_sorted_and_make_up_the_whole():
    train, validation = hold_out(LABELS, seed=1)
    assert (np.diff(train) > 0).all()
    assert (np.diff(validation) > 0).all()
    assert sorted([*train, *validation]) == list(range(103))
    assert len(validation) == 10


def test_a_split_is_a_function_of_its_seed():
    first, again, other = (hold_out(LABELS, 0.3, seed=seed)[1].tolist() for seed in (5, 5, 6))
    assert first == again != other


def test_a_split_never_changes():
    assert hold_out(12, count=4, seed=0)[1].tolist() == [1, 3, 5, 6]


@pytest.mark.parametrize("seed", range(10))
def test_each_class_gives_its_share_rounded_up_or_down(seed):
    _, validation = hold_out(LABELS, count=20, seed=seed)
    share = np.bincount(LABELS) * 20 / len(LABELS)
    counts = np.bincount(LABELS[validation], minlength=4)
    assert (np.abs(counts - share) < 1).all()
    assert counts.sum() == 20


def test_each_example_is_held_out_with_the_same_probability():
    draws = 2000
    counts = np.zeros(20)
    labels = np.arange(20) % 3
    for seed in range(draws):
        counts[hold_out(labels, count=7, seed=seed)[1]] += 1
    rate = 7 / 20
    assert np.abs(counts / draws - rate).max() < 5 * np.sqrt(rate * (1 - rate) / draws)


def test_a_number_of_examples_does_in_place_of_labels():
    train, validation = hold_out(60_000, count=10_000, seed=0)
    assert (len(train), len(validation)) == (50_000, 10_000)
    np.testing.assert_array_equal(validation, hold_out(np.int64(60_000), count=10_000, seed=0)[1])


@pytest.mark.parametrize(
    "arguments", [{"fraction": 0}, {"fraction": 1.0}, {"fraction": 1000}, {"count": 0}, {"count": 103}]
)
def test_a_split_that_leaves_one_part_empty_is_refused(arguments):
    with pytest.raises(UserError):
        hold_out(LABELS, **arguments, seed=0)


def test_a_fraction_too_small_for_one_example_is_refused():
    with pytest.raises(UserError, match="cannot hold out 0 of 4"):
        hold_out(4, 0.1, seed=0)
