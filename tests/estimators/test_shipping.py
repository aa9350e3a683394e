"""Small models, answers that stay, and models for other programs."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from hibnn.estimators import ContinualClassifier, ContinualRegressor, load_model


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


def weights(model):
    network = model.model_.learner.bayesian
    return [layer.mean for layer in (*network.hidden_layers(), *network.every_head())]


def test_a_model_holds_only_the_neurons_it_kept(model):
    assert model.n_active_[0] < 2 * 30  # what two tasks were offered
    assert model.model_.learner.bayesian.widths == model.n_active_
    numbers = sum(len(layer) * len(layer.T) for layer in weights(model))
    assert model.n_parameters() - model.model_.inference.parameter_count() == 2 * numbers


@pytest.mark.parametrize("prediction", ["sample", "mean"])
def test_an_answer_for_a_task_never_changes_whatever_is_learned_later(digits, prediction, tmp_path):
    x, y = digits
    model = ContinualClassifier(epochs=4, truncation=10, prediction=prediction, random_state=0)
    answers = {}
    for number in range(10):
        first, second = number % 5, (number % 5) + 5
        chosen = (y == first) | (y == second)
        model.partial_fit(x[chosen][number // 5 :: 2], y[chosen][number // 5 :: 2], task=f"month {number}")
        answers[f"month {number}"] = model.classes_, model.predict_proba(x, task=f"month {number}")
        if number == 5:
            model.save(tmp_path / "model.hibnn")
            model = load_model(tmp_path / "model.hibnn")
    for task, (classes, answer) in answers.items():
        now = model.predict_proba(x, task=task)
        assert np.array_equal(now[:, np.isin(model.classes_, classes)], answer)


@pytest.mark.slow
def test_a_model_without_neurons_can_be_exported(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    x = np.random.default_rng(0).normal(size=(200, 3))
    model = ContinualClassifier(epochs=2, random_state=0).partial_fit(x, np.zeros(200, int), classes=[0, 1])
    assert model.n_active_ == [0.0]
    model.export_onnx(tmp_path / "model.onnx")
    (probabilities, *_) = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": x})
    np.testing.assert_allclose(probabilities, model.predict_proba(x), atol=1e-5)


@pytest.mark.slow
def test_onnxruntime_has_the_same_probabilities_and_uncertainty(digits, model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    x, _ = digits
    model.export_onnx(tmp_path / "model.onnx")
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
