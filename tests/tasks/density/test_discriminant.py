"""One discriminant for all classes: what it computes, in any order of experiences, stored and beside the mixtures."""

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.base import Setting, State
from hibnn.learners.presets import options_for
from hibnn.nn.layout import Layout
from hibnn.runs.experiment import Experiment
from hibnn.tasks.density import DensityOptions, discriminant
from hibnn.tasks.density.discriminant import Discriminant
from hibnn.tasks.task_densities import TaskDensities


def rows_of(classes: int, inputs: int, count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Classes around different means under one covariance with correlations."""
    generator = torch.Generator().manual_seed(seed)
    mix = torch.randn(inputs, inputs, generator=torch.Generator().manual_seed(99))
    means = 2.0 * torch.randn(classes, inputs, generator=torch.Generator().manual_seed(98))
    y = torch.arange(count) % classes
    return means[y] + torch.randn(count, inputs, generator=generator) @ mix, y


def learned(x: torch.Tensor, y: torch.Tensor, features: int, *, parts: int = 1) -> Discriminant:
    """A discriminant of one task, whose rows come in some experiences."""
    classes = int(y.max()) + 1
    made = Discriminant.of(x, features, 192, 7).with_classes([classes])
    for some in torch.arange(len(x)).chunk(parts):
        made = made.update({label: x[some[y[some] == label]] for label in range(classes)}, 0)
    return made


def test_without_random_features_or_shrinkage_it_is_linear_discriminant_analysis(monkeypatch):
    monkeypatch.setattr(discriminant, "SHRINKAGE", 1e-6)
    x, y = rows_of(3, 8, 3_000)
    scores = learned(x, y, 0).scores(x.double(), [0])[0].log_softmax(1)
    reference = LinearDiscriminantAnalysis(solver="lsqr", priors=[1 / 3] * 3).fit(x.double().numpy(), y.numpy())
    expected = torch.from_numpy(reference.predict_log_proba(x.double().numpy()))
    torch.testing.assert_close(scores, expected, rtol=0, atol=0.02)


@pytest.mark.parametrize("parts", [2, 10])
def test_experiences_in_any_division_give_the_discriminant_of_one_batch(parts):
    x, y = rows_of(4, 10, 2_000)
    whole, divided = learned(x, y, 20), learned(x, y, 20, parts=parts)
    scale = whole.scatter.deviations.double()
    errors = (divided.scatter.matrix - whole.scatter.matrix).abs() / (scale * scale[:, None])
    assert errors.max() < (parts + 1) / 32767  # every rounding costs at most half of that
    for one, other in zip(divided.means[0], whole.means[0], strict=True):
        assert one.count == other.count
        torch.testing.assert_close(one.mean, other.mean, rtol=1e-4, atol=1e-4)


def test_the_scatter_is_that_within_classes():
    x, y = rows_of(3, 6, 900)
    expected = torch.zeros(6, 6, dtype=torch.float64)
    for label in range(3):
        centred = (x[y == label] - x[y == label].mean(0)).double()
        expected += centred.T @ centred
    made = learned(x, y, 0).scatter
    assert made.rows == 900
    scale = expected.diagonal().sqrt()
    assert ((made.matrix - expected).abs() / (scale * scale[:, None])).max() < 2e-5  # half of 1 / 32767, and floats


def test_random_features_tell_apart_what_no_line_does():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4_000, 2, generator=generator)
    y = (x.prod(1) > 0).long()
    lines, bent = (learned(x, y, count).scores(x.double(), [0])[0].argmax(1) == y for count in (0, 200))
    assert lines.float().mean() < 0.6
    assert bent.float().mean() > 0.95


def test_random_features_of_a_seed_are_the_same_for_ever():
    x, _ = rows_of(2, 4, 100)
    features = discriminant.RandomFeatures.of(x, 3, 192, 5)
    expected = np.random.RandomState(5).standard_normal((4, 3)) / (2 * features.spread)
    torch.testing.assert_close(features.weights.double(), torch.from_numpy(expected), rtol=1e-6, atol=0)


def densities(**options) -> TaskDensities:
    """Two tasks of two classes each, of more inputs than 128, with a discriminant."""
    made = TaskDensities(
        DensityOptions(scores="discriminant", random_features=30, components=2, power=1.0, **options),
        Setting(140, Layout.MULTI, 0),
    )
    x, y = rows_of(4, 140, 1_200)
    for task in range(2):
        own = (y // 2 == task).numpy()
        split = Split(x.numpy()[own], (y % 2).numpy()[own])
        made.learn(split.take(np.arange(500)), split.take(np.arange(500, 600)), task, 2)
    return made


def test_scores_come_from_the_discriminant_and_a_restored_one_gives_the_same():
    made = densities()
    assert made.discriminant is not None
    x, _ = rows_of(4, 140, 40, seed=1)
    scores = torch.cat(made.joint(x), 1)
    seen = made.preprocess(x)
    own = torch.cat(made.discriminant.scores(seen, [0, 1]), 1)
    torch.testing.assert_close(scores, own + torch.tensor(0.5).double().log())
    other = TaskDensities(made.options, Setting(140, Layout.MULTI, 0))
    other.restore(State(made.tensors(), {}), [2, 2])
    assert torch.equal(torch.cat(other.joint(x), 1), scores)


def test_a_forgotten_task_begins_again_and_the_others_keep_their_means():
    made = densities()
    kept = made.discriminant
    made.forget(0)
    assert kept is not None
    assert made.discriminant is not None
    assert [own.count for own in made.discriminant.means[0]] == [0.0, 0.0]
    assert torch.equal(made.discriminant.means[1][0].mean, kept.means[1][0].mean)


def test_bytes_count_the_discriminant():
    dimensions = 170
    pairs = dimensions * (dimensions - 1) // 2
    stored = densities().tensors()
    assert stored["discriminant.correlations"].numel() == pairs
    assert stored["discriminant.correlations"].element_size() == 2


def test_features_of_pre_trained_networks_have_a_discriminant_and_others_do_not():
    def scores(dataset: str, **values) -> str:
        options = options_for("ibnn", dataset)
        made = Experiment(method="ibnn", dataset=dataset, scenario="class", options=options, **values)
        assert made.density_options().scores == made.density_scores
        return made.density_scores

    assert scores("split-cifar10-features") == "discriminant"
    assert scores("split-cifar10-features", density_scores="mixture") == "mixture"
    assert scores("split-cifar10-features", task_inference="entropy") == "mixture"
    assert scores("split-mnist") == "mixture"


def test_what_a_discriminant_cannot_do_is_refused():
    with pytest.raises(UserError, match="needs densities of inputs"):
        DensityOptions(scores="discriminant", of="features")
    with pytest.raises(UserError, match="must not be negative"):
        DensityOptions(random_features=-1)
    with pytest.raises(UserError, match="way to tell classes apart"):
        DensityOptions(scores="discriminants")  # pyright: ignore[reportArgumentType]
