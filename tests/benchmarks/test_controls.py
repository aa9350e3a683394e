"""Benchmarks against which a size is measured."""

import numpy as np

from hibnn.benchmarks.registry import benchmark, find_benchmark


def labels(name, seed=0):
    return [task.train.labels for task in benchmark(name, "task", seed=seed).tasks]


def test_constant_labels_are_one_label_of_unchanged_inputs():
    plain, constant = (benchmark(name, "task") for name in ("split-digits", "split-digits-constant"))
    for task, control in zip(plain.tasks, constant.tasks, strict=True):
        assert not control.train.labels.any()
        assert not control.test.labels.any()
        assert np.array_equal(task.train.rows, control.train.rows)


def test_shuffled_labels_are_the_same_labels_in_another_order_that_the_seed_decides():
    name = "split-digits-shuffled"
    plain, first, again, other = labels("split-digits"), labels(name), labels(name), labels(name, seed=1)
    for true, dealt, same, different in zip(plain, first, again, other, strict=True):
        assert np.array_equal(np.bincount(true), np.bincount(dealt))
        assert (true == dealt).mean() < 0.6
        assert np.array_equal(dealt, same)
        assert not np.array_equal(dealt, different)


def test_a_repeated_task_is_the_first_five_times():
    tasks = benchmark("split-digits-repeated", "task").tasks
    assert len({task.name for task in tasks}) == 5
    assert all(np.array_equal(task.train.rows, tasks[0].train.rows) for task in tasks)


def test_few_rows_are_drawn_from_all_classes():
    entry = find_benchmark("mnist-500")
    assert entry.traits.few_rows
    assert entry.sizes[0].train == 500
