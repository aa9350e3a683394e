import numpy as np
import pytest

from hibnn.benchmarks import Scenario, Traits, benchmark, find_benchmark, split
from hibnn.datasets import cache
from hibnn.datasets.dataset import Dataset


@pytest.fixture
def features(monkeypatch):
    """A hundred rows of features in the place of those of CIFAR-10."""
    random = np.random.default_rng(0)
    x, y = (6 * random.random((100, 1280)) ** 2).astype(np.float16), np.arange(100) % 10
    made = Dataset("cifar10-features", x[:70], y[:70], x[70:], y[70:], (1280,), 1, "computed")
    monkeypatch.setattr(split, "load", lambda name: {made.name: made}[name])
    return made


def test_presets_know_its_size_before_anything_is_computed():
    entry = find_benchmark("split-cifar10-features")
    assert entry.traits == Traits(rows=10_000, inputs=1280, classes=2)
    assert [size.test for size in entry.sizes] == [2_000] * 5


def test_its_inputs_are_roots_of_the_features_in_single_precision(features):
    made = benchmark("split-cifar10-features", Scenario.CLASS)
    for task, classes in zip(made.tasks, split.PAIRS, strict=True):
        rows = np.isin(features.test_y, classes)
        loaded = task.test.load()
        assert loaded.x.dtype == np.float32
        np.testing.assert_allclose(loaded.x**2, features.test_x[rows].astype(np.float64), rtol=1e-6)
        np.testing.assert_array_equal(np.take(classes, loaded.y), features.test_y[rows])


@pytest.mark.usefixtures("features")
def test_rows_held_out_of_it_are_roots_too():
    made = benchmark("split-cifar10-features", Scenario.TASK, evaluate_on="validation")
    whole = benchmark("split-cifar10-features", Scenario.TASK).tasks[0].train.load().x
    parts = [split.load().x for split in (made.tasks[0].train, made.tasks[0].test)]
    assert sorted(map(bytes, np.concatenate(parts))) == sorted(map(bytes, whole))


CACHED = (cache.folder("cifar10-features") / cache.MANIFEST).exists()


@pytest.mark.skipif(not CACHED, reason="hibnn data fetch cifar10-features computes them in some minutes")
def test_features_are_those_of_the_pictures():
    features, pictures = (benchmark(name, Scenario.TASK) for name in ("split-cifar10-features", "split-cifar10"))
    for ours, theirs in zip(features.tasks, pictures.tasks, strict=True):
        np.testing.assert_array_equal(ours.train.labels, theirs.train.labels)
        np.testing.assert_array_equal(ours.test.rows, theirs.test.rows)
    x = features.tasks[0].test.load().x
    assert x.shape == (2000, 1280)
    assert 0 <= x.min() < x.max() <= 6**0.5
