"""Inputs of no class: too unlikely, too likely, or too far, beside what held-out rows were like."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor
from hibnn.learners.base import Setting
from hibnn.nn.layout import Layout
from hibnn.tasks.density import DensityOptions
from hibnn.tasks.outliers import RIDGE, Shape, Strangeness, Typical
from hibnn.tasks.task_densities import TaskDensities

INPUTS = 40


def textured(rows, seed):
    """Two classes of patterns on a noisy ground."""
    random = np.random.default_rng(3)
    patterns = random.normal(size=(2, INPUTS))
    random = np.random.default_rng(seed)
    y = random.integers(2, size=rows)
    return Split((patterns[y] + random.normal(size=(rows, INPUTS))).astype(np.float32), y)


@pytest.fixture(scope="module")
def densities():
    made = TaskDensities(DensityOptions(components=2, power=1.0), Setting(INPUTS, Layout.MULTI, 0))
    made.learn(textured(600, 0), textured(300, 1), 0, 2)
    return made


def strangeness(densities, x):
    rows = torch.from_numpy(np.asarray(x, dtype=np.float32))
    return densities.strangeness(rows, densities.joint(rows))


def test_spreads_are_counted_on_either_side():
    values = torch.from_numpy(np.random.default_rng(0).exponential(size=(5000, 1)))
    typical = Typical.of(values)
    z = typical.in_spreads(torch.quantile(values, torch.tensor([0.16, 0.5, 0.84]).double())[:, None])
    torch.testing.assert_close(z[:, 0], torch.tensor([-1.0, 0.0, 1.0]).double(), atol=1e-5, rtol=0)
    assert typical.upper > 1.3 * typical.lower


def test_the_score_is_the_mahalanobis_length_of_held_out_spreads():
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 3))).clamp(-2, 2)
    shape = Shape.empty(3).update(z[:100]).update(z[100:])
    centred = z - z.mean(0)
    covariance = centred.T @ centred / 300 + RIDGE * torch.eye(3)
    expected = (centred @ covariance.inverse() * centred).sum(1).sqrt()
    torch.testing.assert_close(shape.score(z), expected)


def test_own_rows_are_refused_about_as_often_as_said(densities):
    refused = (strangeness(densities, textured(3000, 7).x).p_value < 0.1).double().mean()
    assert 0.05 < refused < 0.2


def test_an_input_that_is_too_likely_is_strange(densities):
    """The pattern of a class without the ground that its own rows have: more likely than any of them."""
    own = textured(300, 8)
    mean = np.stack([own.x[own.y == label].mean(0) for label in (0, 1)])
    logs = [torch.cat(densities.joint(torch.from_numpy(x)), 1).amax(1) for x in (mean, own.x)]
    assert (logs[0] > logs[1].quantile(0.95)).all()
    assert (strangeness(densities, mean).p_value < 0.01).all()


def test_an_input_far_from_everything_is_strange(densities):
    far = textured(20, 9).x * 5 + 10 * np.eye(INPUTS, dtype=np.float32)[:20]
    assert (strangeness(densities, far).p_value < 0.01).double().mean() > 0.9


def test_the_probability_of_no_class_is_by_the_law_of_p_values():
    p_values = torch.tensor([1.0, 0.1, 1e-6]).double()
    found = Strangeness(p_values, p_values, p_values).none_probability
    other = 0.05 * 0.1 * p_values**-0.9
    torch.testing.assert_close(found, other / (other + 0.95))
    assert found[0] < 0.01
    assert found[2] > 0.99


def test_rows_far_from_everything_are_answered_with_none_of_the_classes():
    x, y = load_wine(return_X_y=True)
    model = ContinualClassifier(epochs=5, ood="class", verbose=False, random_state=0).fit(x, y)
    own, far = (model.predict_proba(rows) for rows in (x, 100 * x))
    assert own.shape == (178, 4)
    np.testing.assert_allclose(own.sum(1), 1)
    np.testing.assert_allclose(far.sum(1), 1)
    assert own[:, 3].mean() < 0.1
    assert far[:, :3].max(1).mean() < 0.05
    assert set(model.predict(100 * x)) <= {0, 1, 2}
    plain = ContinualClassifier(epochs=5, verbose=False, random_state=0).fit(x, y)
    assert plain.predict_proba(x).shape == (178, 3)
    np.testing.assert_allclose(own[:, :3] / own[:, :3].sum(1, keepdims=True), plain.predict_proba(x), atol=1e-9)


def test_none_of_the_classes_needs_densities_and_its_name():
    x, y = load_wine(return_X_y=True)
    with pytest.raises(UserError, match="only a density"):
        ContinualClassifier(ood="class", task_inference="entropy").fit(x, y)
    with pytest.raises(UserError, match="class"):
        ContinualClassifier(ood="row").fit(x, y)
    assert "ood" not in ContinualRegressor().get_params()


def test_a_column_for_rows_of_no_class_is_refused_of_a_model_without_densities():
    x, y = load_wine(return_X_y=True)
    model = ContinualClassifier(epochs=1, truncation=5, task_inference="entropy", verbose=-1, random_state=0).fit(x, y)
    for wrong, sentence in (("class", "only a density finds rows of no class"), ("clas", "did you mean 'class'")):
        model.set_params(ood=wrong, task_inference="auto")
        for attempt in (lambda: model.predict_proba(x), lambda: model.partial_fit(x, y)):
            with pytest.raises(ValueError, match=sentence):
                attempt()
    assert model.set_params(ood=None).predict_proba(x).shape == (178, 3)


@pytest.mark.parametrize("rows", [60, 200])
def test_few_held_out_rows_refuse_few_of_the_others(rows):
    """A dozen held-out rows a class or less: what is typical is then judged by all rows, in cross-validation."""
    random = np.random.default_rng(0)
    mixing = random.normal(size=(4, 4))

    def table(count):
        y = random.integers(2, size=count)
        return Split((random.normal(size=(count, 4)) @ mixing + 3 * y[:, None]).astype(np.float32), y)

    densities = TaskDensities(DensityOptions(standardise=False), Setting(4, Layout.MULTI, 0))
    densities.learn(table(rows), table(rows // 5), 0, 2)
    assert (strangeness(densities, table(4000).x).p_value < 0.05).double().mean() < 0.15
