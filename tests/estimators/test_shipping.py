"""Small models, answers that stay, and models for other programs."""

import json

import numpy as np
import pandas
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
    (probabilities, *_) = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": x.astype(np.float32)})
    np.testing.assert_allclose(probabilities, model.predict_proba(x), atol=1e-5)


@pytest.mark.slow
def test_onnxruntime_has_the_same_probabilities_and_uncertainty(digits, model, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    x, _ = digits
    model.export_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    probabilities, total, epistemic, tasks = session.run(None, {"x": x.astype(np.float32)})
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
    (probabilities, *_) = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": x.astype(np.float32)})
    np.testing.assert_allclose(probabilities, model.predict_proba(x, task="task-2"), atol=1e-5)
    regressor = ContinualRegressor("hibnn", epochs=3, prediction=prediction, random_state=0)
    regressor.partial_fit(x, y, "first").partial_fit(x[:, ::-1], -y, "second")
    regressor.export_onnx(tmp_path / "regressor.onnx")
    mean, total, _, tasks = runtime.InferenceSession(tmp_path / "regressor.onnx").run(None, {"x": x.astype(np.float32)})
    np.testing.assert_allclose(tasks, regressor.predict_mixture(x, None).tasks.T, atol=1e-5)
    np.testing.assert_allclose(mean, regressor.predict(x), atol=1e-5)
    np.testing.assert_allclose(total, regressor.predict_uncertainty(x).total, atol=1e-5)


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "probabilities": np.where(random.random(80) < 0.2, np.nan, random.normal(size=80)),
            "the plan": np.where(random.random(80) < 0.2, None, random.choice(["a", "b", "ü"], 80)),
            "x": random.random(80) < 0.5,
            "when": pandas.date_range("2024-01-01", periods=80, freq="31h").where(random.random(80) < 0.8),
        }
    )
    model = ContinualClassifier(epochs=2, truncation=5, verbose=False, random_state=0)
    return frame, model.fit(frame, np.where(frame.x ^ (random.random(80) < 0.2), "yes", "no"))


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_onnxruntime_takes_the_columns_of_a_table_by_name(table, precision, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    frame, model = table
    model.export_onnx(tmp_path / "model.onnx", inputs=precision)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    inputs = json.loads(session.get_modelmeta().custom_metadata_map["inputs"])
    assert [(told["name"], told["column"]) for told in inputs] == [
        ("probabilities_", "probabilities"), ("the plan", "the plan"), ("x", "x"), ("when", "when"),
    ]  # fmt: skip
    days = (frame.when - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(days=1)
    feed = {
        "probabilities_": frame.probabilities.to_numpy(precision)[:, None],
        "the plan": frame["the plan"].fillna("").to_numpy(object)[:, None],
        "x": frame.x.to_numpy(precision)[:, None],
        "when": days.to_numpy(precision)[:, None],
    }
    tolerance = 1e-3 if precision == "float32" else 1e-5  # days in single precision are some minutes off
    for rows, words in ((frame, feed["the plan"]), (frame.assign(**{"the plan": None}), feed["the plan"] + "?")):
        (probabilities, *_) = session.run(None, feed | {"the plan": words})
        np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=tolerance)


def test_an_unknown_type_of_inputs_is_refused(table, tmp_path):
    with pytest.raises(ValueError, match="unknown inputs 'float16'"):
        table[1].export_onnx(tmp_path / "model.onnx", inputs="float16")
