"""Tasks that nobody tells."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, make_blobs

from hibnn.benchmarks.base import LazySplit
from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor, load_model
from hibnn.tasks import divide

QUICK = {"epochs": 10, "truncation": 20, "random_state": 0}
TASKS = ((0, 1, 2), (3, 4, 5), (6, 7, 8))


@pytest.fixture(scope="module")
def digits():
    """Shuffled: the last ones of the set were written by other people."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    return x[order], y[order]


def taught(digits, **parameters):
    """Three tasks of the first 1,200 digits."""
    x, y = (part[:1200] for part in digits)
    model = ContinualClassifier(**QUICK, **parameters)
    for task in TASKS:
        model.partial_fit(x[np.isin(y, task)], y[np.isin(y, task)])
    return model


@pytest.fixture(scope="module")
def model(digits):
    return taught(digits)


def unseen(digits):
    x, y = (part[1200:] for part in digits)
    return x[y < 9], y[y < 9]


def test_densities_find_the_task_where_entropy_does_not(digits, model):
    x, y = unseen(digits)
    by_entropy = taught(digits, task_inference="entropy")
    assert model.score(x, y) > 0.85
    assert by_entropy.score(x, y) < model.score(x, y) - 0.05
    own = np.array([f"task-{number // 3 + 1}" for number in y])
    assert (model.predict_task(x) == own).mean() > 0.9
    assert model.n_parameters() > by_entropy.n_parameters()


def test_the_probability_of_the_task_is_calibrated(digits, model):
    x, y = unseen(digits)
    tasks = model.predict_mixture(x, None).tasks
    sure = tasks.amax(0).mean()
    right = (tasks.argmax(0) == torch.from_numpy(y) // 3).double().mean()
    assert abs(sure - right) < 0.06  # log densities of 64 pixels as they are would be sure to the last digit


def test_a_digit_never_shown_is_foreign_more_often_than_one_that_was(digits, model):
    x, y = digits[0][1200:], digits[1][1200:]
    ood = model.predict_ood(x, 0.1)
    assert ood[y < 9].mean() < 0.25
    assert ood[y == 9].mean() > 2 * ood[y < 9].mean()
    assert model.predict_ood(np.full((1, 64), 8.0), 0.01).all()


def test_only_densities_know_what_is_foreign(digits):
    x, y = digits
    by_entropy = ContinualClassifier(**QUICK, task_inference="entropy").fit(x[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="infer tasks by density"):
        by_entropy.predict_ood(x)


def test_rows_that_return_add_to_their_density_and_leave_the_others_alone(digits, model, tmp_path):
    x, y = digits
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    rows = y[1200:] < 2
    again.partial_fit(x[1200:][rows], y[1200:][rows])
    before, after = model.model_.inference, again.model_.inference
    assert after.densities.tasks[0][0].count > before.densities.tasks[0][0].count
    assert after.densities.tasks[0][2].tensors()["counts"].equal(before.densities.tasks[0][2].tensors()["counts"])
    for old, new in zip(before.densities.tasks[1], after.densities.tasks[1], strict=True):
        assert all(torch.equal(value, new.tensors()[name]) for name, value in old.tensors().items())


@pytest.mark.slow
def test_a_class_that_is_announced_and_never_comes_is_never_the_answer():
    x, y = make_blobs(1500, centers=[[-3, 0], [3, 0], [0, 4]], random_state=0)
    model = ContinualClassifier(**QUICK)
    model.partial_fit(x[y < 2], y[y < 2], classes=[0, 1, 2]).partial_fit(x + 20, y + 3)
    probabilities = model.predict_proba(x)
    assert np.isfinite(probabilities).all()
    assert set(model.predict(x[y < 2])) == {0, 1}
    model.partial_fit(x, y)
    assert model.score(x, y) > 0.95


@pytest.mark.slow
def test_densities_help_with_labels_if_there_are_rows_to_learn_how_far(digits):
    x, y = make_blobs(3000, centers=[[-1, 0], [1, 0]], random_state=0)
    few, many = (ContinualClassifier(**QUICK).fit(x[:rows], y[:rows]) for rows in (200, 3000))
    assert few.model_.inference.exponents([0]).network_alone
    assert not few.model_.inference.uses_densities([0])
    assert many.model_.inference.exponents([0]).density > 0
    uncertainty = many.predict_uncertainty(x)
    np.testing.assert_allclose(uncertainty.total, uncertainty.epistemic + uncertainty.aleatoric)
    assert uncertainty.epistemic.min() >= 0


@pytest.mark.slow
def test_a_told_task_uses_its_own_densities_also_in_onnx(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    x, y = make_blobs(3000, centers=[[-1, 0], [1, 0], [5, -1], [5, 1]], random_state=0)
    model = ContinualClassifier(**QUICK)
    for own in ((0, 1), (2, 3)):
        model.partial_fit(x[np.isin(y, own)], y[np.isin(y, own)])
    assert model.model_.inference.exponents([0]).density > 0
    for task, own in (("task-1", (0, 1)), ("task-2", (2, 3))):
        rows = np.isin(y, own)
        nearest = model.predict(x[rows], task)
        assert (nearest == y[rows]).mean() > 0.8  # 0.84 is the best possible
    model.export_onnx(tmp_path / "model.onnx", "task-2")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    x = x.astype(np.float32)
    probabilities, total = session.run(["probabilities", "total"], {"x": x})
    np.testing.assert_allclose(probabilities, model.predict_proba(x, "task-2"), atol=1e-5)
    np.testing.assert_allclose(total, model.predict_uncertainty(x, "task-2").total, atol=1e-5)


@pytest.mark.parametrize("task_inference", ["density", "entropy"])
def test_a_regressors_tasks_are_inferred(task_inference):
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 3))
    model = ContinualRegressor(**QUICK | {"epochs": 40}, task_inference=task_inference)
    model.partial_fit(x, x[:, 0], task="near").partial_fit(x + 8, -x[:, 0], task="far")
    assert np.isfinite(model.predict(x)).all()
    if task_inference == "density":
        for rows, task in ((x, "near"), (x + 8, "far")):
            np.testing.assert_allclose(model.predict(rows), model.predict(rows, task), atol=0.05)
            assert (model.predict_task(rows) == task).mean() > 0.95
        assert abs(model.predict(x, "near") - model.predict(x, "far")).max() > 1


def test_held_out_rows_come_from_every_class_and_no_class_loses_its_only_row():
    y = np.array([0] * 100 + [1] * 99 + [2])
    x = np.arange(200, dtype=np.float32)[:, None]
    for seed in range(5):
        rest, held = divide(LazySplit(x, np.arange(200), y), seed)
        assert 2 in rest.labels
        assert {0, 1} == set(held.y)
        assert np.array_equal(np.sort(np.concatenate([rest.load().x, held.x]), 0), x)
    assert [len(part) for part in divide(LazySplit(x, np.arange(1), y[:1]), 0)] == [1, 0]


def test_a_model_goes_on_only_as_it_was_begun(digits):
    x, y = digits
    model = ContinualClassifier(**QUICK).fit(x[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="begun with density"):
        model.set_params(task_inference="entropy").partial_fit(x[y < 2], y[y < 2])
    for wrong, sentence in (
        ({"task_inference": "densty"}, "did you mean 'density'"),
        ({"density": {"component": 3}}, "component"),
        ({"density": {"rank": 0}}, "density-rank"),
    ):
        with pytest.raises(UserError, match=sentence):
            ContinualClassifier(**QUICK, **wrong).fit(x, y)
    with pytest.raises(UserError, match="classifiers only"):
        ContinualRegressor(task_inference="mutual-information").fit(x, y)


@pytest.fixture(scope="module")
def discriminating(digits):
    return taught(digits, density={"scores": "discriminant", "random_features": 100})


def test_one_discriminant_tells_the_classes_of_all_tasks_apart_before_and_after_a_file(
    digits, discriminating, tmp_path
):
    x, y = unseen(digits)
    assert discriminating.score(x, y) > 0.9
    discriminating.save(tmp_path / "model.hibnn")
    assert np.array_equal(load_model(tmp_path / "model.hibnn").predict_proba(x), discriminating.predict_proba(x))


def test_out_of_distribution_rows_are_found_beside_a_discriminant(digits, discriminating):
    x, _ = unseen(digits)
    assert discriminating.predict_ood(x).mean() < 0.15
    assert discriminating.predict_ood(16 - x).mean() > 0.9


@pytest.mark.slow
def test_onnxruntime_has_the_probabilities_of_a_discriminant(digits, discriminating, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    x, _ = unseen(digits)
    discriminating.export_onnx(tmp_path / "model.onnx")
    (probabilities, *_) = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"x": x.astype(np.float32)})
    np.testing.assert_allclose(probabilities, discriminating.predict_proba(x), atol=1e-5)
