"""Golden values of every benchmark, so that no later change can silently alter one."""

import hashlib

import numpy as np
import pytest

from hibnn.benchmarks import Scenario, benchmark, benchmarks, find_benchmark
from hibnn.benchmarks.registry import title_of
from hibnn.errors import UserError

# inputs, training and test sizes, first training labels, digest of 500 training inputs and of the last test set; seed 0
GOLDEN = {
    "split-digits": (64, (288, 288, 290, 289, 283), (72, 72, 73, 71, 71), [0, 1, 0, 1, 1, 0, 0, 1], "32bf8b61f7dbb4b5"),
    "split-mnist": (
        784,
        (12665, 12089, 11263, 12183, 11800),
        (2115, 2042, 1874, 1986, 1983),
        [0, 1, 1, 1, 1, 0, 1, 1],
        "f859413fc82f8a10",
    ),
    "split-fashion-mnist": (784, (12000,) * 5, (2000,) * 5, [0, 0, 0, 0, 1, 0, 1, 0], "4444b1bb2241eca8"),
    "split-mnist-noise": (
        784,
        (11040, 10601, 9708, 10492, 10159),
        (2043, 1973, 1950, 2029, 2005),
        [1, 0, 0, 0, 0, 0, 0, 0],
        "ce476285645a7c3b",
    ),
    "split-mnist-images": (
        784,
        (11040, 10601, 9708, 10492, 10159),
        (2043, 1973, 1950, 2029, 2005),
        [1, 0, 0, 0, 0, 0, 0, 0],
        "69805f793cad933a",
    ),
    "mnist": (784, (60000,), (10000,), [5, 0, 4, 1, 9, 2, 1, 3], "d3c70ff534fbff1c"),
    "fashion-mnist": (784, (60000,), (10000,), [9, 0, 0, 3, 0, 2, 7, 2], "d7f0f06ec9b5dfce"),
    "permuted-mnist": (784, (50000,) * 5, (10000,) * 5, [5, 0, 4, 1, 9, 2, 1, 3], "d84b558649b1b6c7"),
    "split-cifar10": (3072, (10000,) * 5, (2000,) * 5, [1, 1, 0, 0, 1, 0, 1, 1], "7b359f8fa5535db9"),
    "difficulty": (
        1024,
        (12183, 11800, 12000, 12000, 10000, 10000),
        (1986, 1983, 2000, 2000, 2000, 2000),
        [0, 1, 0, 1, 0, 0, 1, 0],
        "4fed755066887575",
    ),
    "split-digits-constant": (
        64,
        (288, 288, 290, 289, 283),
        (72, 72, 73, 71, 71),
        [0, 0, 0, 0, 0, 0, 0, 0],
        "88b4a5319e66d376",
    ),
    "split-digits-shuffled": (
        64,
        (288, 288, 290, 289, 283),
        (72, 72, 73, 71, 71),
        [0, 1, 0, 0, 1, 1, 1, 0],
        "b98604016e2f5203",
    ),
    "split-digits-repeated": (
        64,
        (288, 288, 288, 288, 288),
        (72, 72, 72, 72, 72),
        [0, 1, 0, 1, 1, 0, 0, 1],
        "697fa326a0196ce5",
    ),
    "split-mnist-constant": (
        784,
        (12665, 12089, 11263, 12183, 11800),
        (2115, 2042, 1874, 1986, 1983),
        [0, 0, 0, 0, 0, 0, 0, 0],
        "fc600633c8e1c258",
    ),
    "split-mnist-shuffled": (
        784,
        (12665, 12089, 11263, 12183, 11800),
        (2115, 2042, 1874, 1986, 1983),
        [1, 1, 0, 1, 1, 0, 0, 1],
        "4535a6d6d81421ca",
    ),
    "split-mnist-repeated": (
        784,
        (12665, 12665, 12665, 12665, 12665),
        (2115, 2115, 2115, 2115, 2115),
        [0, 1, 1, 1, 1, 0, 1, 1],
        "c2367289d667e718",
    ),
    "mnist-500": (784, (500,), (10000,), [8, 4, 7, 2, 4, 0, 9, 6], "362bbc712cc61925"),
    "mnist-5000": (784, (5000,), (10000,), [2, 4, 5, 0, 3, 1, 1, 1], "dd9e1d1478ffae06"),
}
NEEDS_CIFAR = {"split-cifar10", "difficulty"}
COMPUTED = {"split-cifar10-features"}  # whose last bits depend on the machine


def digest(*arrays):
    sum_of_all = hashlib.sha256()
    for array in arrays:
        sum_of_all.update(np.ascontiguousarray(array).tobytes())
    return sum_of_all.hexdigest()[:16]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in NEEDS_CIFAR else ())
        for name in benchmarks()
        if name not in COMPUTED
    ],
)
def test_a_benchmark_is_what_it_was(name):
    inputs, train, test, labels, expected = GOLDEN[name]
    made = benchmark(name, Scenario.TASK, seed=0)
    first, last = made.tasks[0].train, made.tasks[-1].test
    assert made.inputs == inputs
    assert tuple(len(task.train) for task in made.tasks) == train
    assert tuple(len(task.test) for task in made.tasks) == test
    assert first.labels[:8].tolist() == labels
    assert digest(first.load().x[:500], last.load().x, last.labels) == expected


def test_pairs_of_classes_become_labels_zero_and_one():
    made = benchmark("split-digits", Scenario.TASK)
    assert [task.classes for task in made.tasks] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    for task in made.tasks:
        assert set(task.train.labels) == {0, 1}
        assert 0 <= task.train.load().x.min() < task.train.load().x.max() == 1


def test_every_task_of_permuted_mnist_has_its_own_permutation_of_the_same_images():
    made = benchmark("permuted-mnist", Scenario.TASK, seed=3, tasks=3)
    orders = made.arrays["permutations"]
    assert orders.shape == (3, 784)
    assert all(sorted(order) == list(range(784)) for order in orders)
    assert not (orders[0] == np.arange(784)).all()
    first, second = (task.train.take(np.arange(20)).load().x for task in made.tasks[:2])
    assert np.array_equal(first[:, np.argsort(orders[0])], second[:, np.argsort(orders[1])])


def test_permutations_differ_between_seeds_and_not_between_calls():
    orders = [benchmark("permuted-mnist", Scenario.TASK, seed=seed).arrays["permutations"] for seed in (0, 0, 1)]
    assert np.array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], orders[2])


@pytest.mark.parametrize("name", ["split-digits", "permuted-mnist"])
def test_validation_data_come_from_the_training_set_and_leave_it(name):
    made, tuned = (benchmark(name, Scenario.TASK, seed=1, evaluate_on=part) for part in ("test", "validation"))
    for whole, part in zip(made.tasks, tuned.tasks, strict=True):
        assert part.test.inputs is not whole.test.inputs
        assert not set(part.train.rows) & set(part.test.rows)
        assert set(part.train.rows) <= set(whole.train.rows)


@pytest.mark.parametrize(
    ("name", "scenario"),
    [("task", "task"), ("CL1", "task"), ("cl2", "domain"), ("domain-il", "domain"), ("class-incremental", "class")],
)
def test_scenarios_have_aliases(name, scenario):
    assert Scenario.parse(name) == scenario


def test_words_are_parsed_and_checked_and_everything_has_a_title():
    assert benchmark("split-digits", "cl2").scenario is Scenario.DOMAIN
    with pytest.raises(UserError, match="did you mean 'validation'"):
        benchmark("split-digits", "task", evaluate_on="validaton")
    assert [title_of(name) for name in ("split-mnist", "data/own.toml", "lost")] == ["Split MNIST", "own", "lost"]


def test_the_sizes_of_an_endless_benchmark_are_as_many_as_asked_for():
    endless, split = find_benchmark("permuted-mnist"), find_benchmark("split-digits")
    assert [len(endless.first_sizes(count)) for count in (None, 2, 8)] == [5, 2, 8]
    assert [len(split.first_sizes(count)) for count in (None, 2)] == [5, 2]
    assert (split.traits.few_rows, endless.traits.few_rows, endless.traits.same_classes) == (True, False, True)


def test_unknown_names_are_refused_with_the_nearest_valid_one():
    with pytest.raises(UserError, match="did you mean 'class'"):
        Scenario.parse("clas")
    with pytest.raises(UserError, match="did you mean 'split-mnist'"):
        benchmark("splt-mnist", Scenario.TASK)
    with pytest.raises(UserError, match="has 5 tasks"):
        benchmark("split-digits", Scenario.TASK, tasks=6)
