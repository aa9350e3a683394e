"""Streaming LDA: row by row, all at once, and in any order it is the discriminant analysis of all rows."""

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from checks import check_learner, learn, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners import Setting
from hibnn.learners.slda import SLDA, SLDAOptions
from hibnn.nn.layout import Layout


def rows(count=120, classes=3, inputs=5, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=count)
    x = random.normal(size=(count, inputs)) @ random.normal(size=(inputs, inputs)) + 3 * random.normal(size=inputs)
    return (x + 2 * random.normal(size=(classes, inputs))[y]).astype(np.float32), y


def fitted(x, y, portions, classes=3, **options):
    learner = SLDA(SLDAOptions(**options), Setting(x.shape[1], Layout.SHARED))
    for part in portions:
        learner.begin_experience(Split(x[part], y[part]), classes)
        learner.epoch(0)
        learner.end()
    return learner


def one_by_one(x, y, classes=3):
    """Welford's steps, a row at a time."""
    counts, means, scatter = np.zeros(classes), np.zeros((classes, x.shape[1])), np.zeros((x.shape[1],) * 2)
    for row, label in zip(x.astype(float), y, strict=True):
        difference = row - means[label]
        scatter += counts[label] / (counts[label] + 1) * np.outer(difference, difference)
        counts[label] += 1
        means[label] += difference / counts[label]
    return counts, means, scatter


def test_slda_is_a_learner(tmp_path):
    check_learner("slda", tmp_path)


@pytest.mark.parametrize("portions", [1, 4, 120])
def test_rows_at_once_give_what_rows_one_by_one_give(portions):
    x, y = rows()
    learner = fitted(x, y, np.array_split(np.arange(len(x)), portions))
    for found, expected in zip((learner.counts, learner.means, learner.scatter), one_by_one(x, y), strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_the_covariance_is_that_within_classes_of_all_rows():
    x, y = rows()
    learner = fitted(x, y, np.array_split(np.random.default_rng(1).permutation(len(x)), 5))
    centred = x.astype(float) - np.stack([x[y == label].astype(float).mean(0) for label in range(3)])[y]
    np.testing.assert_allclose(learner.scatter.numpy(), centred.T @ centred, rtol=1e-9)


def test_it_answers_as_discriminant_analysis_of_all_rows_with_equal_priors():
    x, y = rows(600)
    learner = fitted(x, y, np.array_split(np.arange(len(x)), 3), shrinkage=1e-12)
    reference = LinearDiscriminantAnalysis("lsqr", priors=np.full(3, 1 / 3)).fit(x.astype(float), y)
    found = learner.predict(x, 0, torch.Generator()).probabilities
    np.testing.assert_allclose(found.numpy(), reference.predict_proba(x.astype(float)), atol=1e-5)


def test_shrinkage_moves_the_covariance_to_the_identity():
    x, y = rows()
    learner = fitted(x, y, [np.arange(len(x))], shrinkage=0.3)
    covariance = learner.scatter.numpy() / len(x)
    expected = np.linalg.inv(0.7 * covariance + 0.3 * np.eye(5))
    np.testing.assert_allclose(learner.inverse().numpy(), expected, rtol=1e-8)
    with pytest.raises(UserError, match="shrinkage"):
        SLDAOptions(shrinkage=0.0)


@pytest.mark.parametrize(("scenario", "classes"), [(Scenario.CLASS, 6), (Scenario.DOMAIN, 2), (Scenario.TASK, 6)])
def test_classes_are_those_of_all_tasks_but_in_the_domain_scenario(scenario, classes):
    benchmark = small_benchmark(scenario)
    learner = small_learner("slda", benchmark)
    for task in benchmark.tasks:
        learn(learner, task)
    assert len(learner.counts) == classes
    assert learner.counts.sum() == 360
    assert learner.stored_bytes() == 8 * (classes + 8 * classes + 36)
