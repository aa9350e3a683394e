"""Smaller models, and models for other programs."""

import json

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_wine

from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor, load_model
from hibnn.estimators.compaction import unit_effects
from hibnn.estimators.predictive import PredictionMode


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return x[:600], y[:600]


@pytest.fixture
def model(digits):
    x, y = digits
    model = ContinualClassifier(epochs=6, truncation=30, random_state=0)
    for number in (0, 1):
        model.partial_fit(x[y // 2 == number], y[y // 2 == number])
    return model


def logits(model, x):
    mode, inputs = PredictionMode("mean"), model.model_.inputs.apply(x)
    (_, (first, second)), *_ = mode.outputs(model.model_.learner, inputs, [0, 1])
    return torch.cat([first[0], second[0]], 1)


def test_what_is_dropped_moves_the_outputs_by_no_more_than_the_tolerance(digits, model):
    x, y = digits
    before = logits(model, x[y < 4])
    model.compact(tolerance=2.0)
    assert 1 <= model.model_.learner.bayesian.widths[0] < 30
    moved = (logits(model, x[y < 4]) - before).abs().mean(0).max()
    assert 0 < moved < 2.0


def test_effects_bound_what_dropping_a_single_neuron_does(digits, model):
    x, y = digits
    network, before = model.model_.learner.bayesian, logits(model, x[y < 4])
    (effects,) = unit_effects(network, model.model_.activity)
    for unit in (0, 10, 29):
        head = [one.mean[unit].detach().clone() for one in network.heads]
        with torch.no_grad():
            for one in network.heads:
                one.mean[unit] = 0
            assert (logits(model, x[y < 4]) - before).abs().mean(0).max() <= effects[unit]
            for one, old in zip(network.heads, head, strict=True):
                one.mean[unit] = old


def test_a_compacted_model_is_smaller_can_be_saved_and_goes_on_learning(digits, model, tmp_path):
    x, y = digits
    model.save(tmp_path / "full.hibnn")
    parameters = model.n_parameters()
    model.compact(tolerance=3.0).save(tmp_path / "compact.hibnn")
    assert model.n_parameters() < parameters
    assert (tmp_path / "compact.hibnn").stat().st_size < (tmp_path / "full.hibnn").stat().st_size
    loaded = load_model(tmp_path / "compact.hibnn")
    assert np.array_equal(loaded.predict_proba(x), model.predict_proba(x))
    for one in (model, loaded):
        one.partial_fit(x[y > 7], y[y > 7])
    assert np.array_equal(loaded.predict_proba(x), model.predict_proba(x))


def test_no_tolerance_drops_nothing(digits, model):
    before = model.predict_proba(digits[0])
    model.compact(tolerance=0.0)
    assert model.model_.learner.bayesian.widths == [30]
    assert np.array_equal(model.predict_proba(digits[0]), before)


def test_a_method_without_neurons_to_spare_is_not_compacted():
    x, y = load_wine(return_X_y=True)
    with pytest.raises(UserError, match="ewc cannot be compacted"):
        ContinualClassifier("ewc", epochs=1).fit(x, y).compact()


def test_onnxruntime_has_the_same_probabilities_and_uncertainty(digits, model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    x, _ = digits
    model.compact(tolerance=1.0).export_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    probabilities, total, epistemic, tasks = session.run(None, {"x": x})
    uncertainty = model.predict_uncertainty(x)
    np.testing.assert_allclose(probabilities, model.predict_proba(x), atol=1e-5)
    np.testing.assert_allclose(total, uncertainty.total, atol=1e-5)
    np.testing.assert_allclose(epistemic, uncertainty.epistemic, atol=1e-5)
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["classes"]) == [0, 1, 2, 3]
    assert (np.array(json.loads(facts["tasks"]))[tasks.argmax(1)] == model.predict_task(x)).all()


@pytest.mark.slow
@pytest.mark.parametrize("prediction", ["sample", "mean"])
def test_onnxruntime_regresses_and_classifies_under_a_task(digits, model, prediction, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    x, y = digits
    model.set_params(prediction=prediction).export_onnx(tmp_path / "model.onnx", task="task-2")
    (probabilities, *_) = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": x})
    np.testing.assert_allclose(probabilities, model.predict_proba(x, task="task-2"), atol=1e-5)
    regressor = ContinualRegressor("hibnn", epochs=3, prediction=prediction, random_state=0)
    regressor.partial_fit(x, y, "first").partial_fit(x[:, ::-1], -y, "second")
    regressor.export_onnx(tmp_path / "regressor.onnx")
    mean, total, _, tasks = runtime.InferenceSession(tmp_path / "regressor.onnx").run(None, {"x": x})
    np.testing.assert_allclose(tasks, regressor.predict_mixture(x, None).tasks.T, atol=1e-5)
    np.testing.assert_allclose(mean, regressor.predict(x), atol=1e-5)
    np.testing.assert_allclose(total, regressor.predict_uncertainty(x).total, atol=1e-5)
