"""How estimators train: early stopping, what they note and tell, threads and devices."""

import inspect
import math
import re

import numpy as np
import pytest
import torch

from hibnn.errors import UserError
from hibnn.estimators import ContinualClassifier, ContinualRegressor, load_model
from hibnn.estimators.computing import thread_count, threads
from hibnn.estimators.scaling import Scaling
from hibnn.estimators.stopping import GAIN, Plateau
from hibnn.estimators.training import training_length
from hibnn.nn.layers.linear import first_log_variance


@pytest.fixture(scope="module")
def rows():
    x = np.random.default_rng(0).normal(size=(300, 3))
    return x, (x[:, 0] + x[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def learned(rows):
    return ContinualClassifier(truncation=10, random_state=0).fit(*rows)


def test_a_plateau_is_reached_by_losses_whose_means_fall_too_little():
    plateau = Plateau(patience=2)
    falling, uneven = [1.0, 0.9, 0.8, 0.7], [0.75, 0.6, 0.65, 0.5]
    assert not any(plateau.reached(loss) for loss in falling + uneven)
    flat = [0.575, 0.575 - GAIN, 0.575 - GAIN, 0.575 - GAIN]
    assert [plateau.reached(loss) for loss in flat] == [False, True, False, True]
    assert [Plateau(1).reached(loss) for loss in (1.0,)] == [False]


def test_an_easy_experience_stops_early_and_a_patient_one_later(rows, learned):
    patient = ContinualClassifier(truncation=10, patience=6, random_state=0).fit(*rows)
    never = ContinualClassifier(truncation=10, epochs=40, early_stopping=False, random_state=0).fit(*rows)
    assert len(never.history_) == 40
    assert len(learned.history_) < len(patient.history_) <= training_length(300, True)[0]
    assert learned.score(*rows) > 0.95


def test_learning_rates_fall_at_the_end_of_an_experience_that_stopped(rows):
    model = ContinualClassifier(truncation=10, random_state=0).fit(*rows)
    learner = model.model_.learner
    assert learner.stopped is not None
    assert learner.epochs == learner.stopped + round(learner.stopped / 4) < learner.plan.epochs
    first = learner.stopped * 10
    assert learner.rate_factor(first, 10) == pytest.approx(learner.plan.rate_factor(first, 10))
    last = learner.epochs * 10
    assert learner.rate_factor(last, 10) == pytest.approx(0.05 * learner.plan.rate_factor(first, 10))


def test_every_epoch_is_noted(rows, learned, tmp_path):
    model = ContinualClassifier(truncation=10, epochs=3, random_state=0).fit(*rows)
    model.partial_fit(*rows, task="second")
    assert [(entry["experience"], entry["task"], entry["epoch"]) for entry in model.history_] == [
        (1, "task-1", 1), (1, "task-1", 2), (1, "task-1", 3), (2, "second", 1), (2, "second", 2), (2, "second", 3)
    ]  # fmt: skip
    assert all(math.isfinite(entry["loss"]) and len(entry["neurons"]) == 1 for entry in model.history_)
    checks = [entry["held_out_loss"] for entry in learned.history_ if entry["held_out_loss"] is not None]
    assert checks[-1] < checks[0] < math.log(2) + 0.5
    assert learned.history_[-1]["neurons"] == learned.n_active_
    assert len(model.fit(*rows).history_) == 3
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.history_ == []
    assert [entry["experience"] for entry in again.partial_fit(*rows).history_] == [2, 2, 2]


def test_a_regression_stops_early_too(rows):
    x, _ = rows
    model = ContinualRegressor(truncation=10, random_state=0).fit(x, x[:, 0] - x[:, 1])
    assert len(model.history_) < training_length(300, True)[0]
    assert model.score(x, x[:, 0] - x[:, 1]) > 0.95


def test_a_regression_that_stopped_settles_for_half_of_the_epochs_before(rows):
    x, _ = rows
    learner = ContinualRegressor(truncation=10, random_state=0).fit(x, x[:, 0] - x[:, 1]).model_.learner
    assert learner.stopped is not None
    assert learner.epochs == learner.stopped + round(learner.stopped / 2) < learner.plan.epochs
    assert learner.rate_factor(learner.epochs, 1) < 0.06


def test_variances_of_a_regression_get_away_from_their_start_before_it_stops(rows):
    x, _ = rows
    y = x[:60, 0] + np.random.default_rng(1).normal(size=60)
    learner = ContinualRegressor(random_state=0).fit(x[:60], y).model_.learner
    weight = learner.bayesian.hidden_layers()[0].log_variance[:-1].detach()
    start = first_log_variance(len(weight))
    assert float((weight - start).mean()) > 0.8


def test_a_column_is_constant_by_its_own_size():
    noise = np.random.default_rng(0).normal(size=50)
    columns = [np.zeros(50), np.full(50, 0.1), 0.1 + 1e-17 * noise, 1e14 + noise / 64, 1e-13 * noise, 1e-100 * noise]
    scale = Scaling.of(np.column_stack(columns)).scale
    assert scale[:4].tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(scale[4:] / noise.std(), [1e-13, 1e-100])


def test_targets_and_inputs_may_be_tiny(rows):
    x, _ = rows
    targets = x[:, 0] + 0.1 * x[:, 1]
    usual, tiny = (
        ContinualRegressor(epochs=3, truncation=5, random_state=0, verbose=-1).fit(size * x, size * targets)
        for size in (1.0, 2.0**-50)
    )
    assert tiny.score(2.0**-50 * x, 2.0**-50 * targets) == pytest.approx(usual.score(x, targets))


def test_other_methods_take_all_their_epochs(rows):
    model = ContinualClassifier("finetune", truncation=10, epochs=3, random_state=0).fit(*rows)
    assert [entry["held_out_loss"] for entry in model.history_] == [None] * 3
    assert model.history_[0]["neurons"] is None


def test_minibatches_are_of_one_size_and_grow_with_the_rows():
    for count, batches in ((40, 1), (300, 2), (4_000, 25), (50_000, 49)):
        epochs, size = training_length(count, True)
        assert math.ceil(count / size) == batches
        assert count - size * (batches - 1) > 0.9 * size
        assert 4 <= epochs <= 400
    assert training_length(10_000_000, True) == (4, 1024)


@pytest.mark.parametrize(("verbose", "lines"), [(-1, 0), (0, 0), (1, 1), (2, 4)])
def test_lines_are_told_as_asked(rows, capsys, verbose, lines):
    ContinualClassifier(truncation=5, epochs=3, verbose=verbose, random_state=0).fit(*rows)
    told = capsys.readouterr()
    assert not told.out
    assert len(told.err.splitlines()) == lines
    if verbose == 1:
        assert re.fullmatch(r"task task-1: 300 rows learned in 3 epochs, loss .*, held out .*, \d+ neurons\n", told.err)
    if verbose == 2:
        assert told.err.startswith("task task-1, epoch 1: loss ")


def divided_with_three_threads(by):
    with threads(3):
        assert torch.get_num_threads() == 3
        return 1 / by


def test_torch_gets_its_threads_back_also_from_a_failure(rows, learned):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        learned.predict(rows[0])
        ContinualClassifier(truncation=2, epochs=1).fit(*rows)
        assert torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError):
            divided_with_three_threads(0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_an_estimator_uses_one_thread_unless_told(rows, monkeypatch):
    used = []
    monkeypatch.setattr(torch, "set_num_threads", used.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    model = ContinualClassifier(truncation=2, epochs=1).fit(*rows)
    assert used == [1, 7]
    model.set_params(n_jobs=2).predict(rows[0])
    assert used[2:] == [2, 7]


def test_jobs_count_as_in_scikit_learn(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert [thread_count(jobs) for jobs in (None, 3, np.int64(2), -1, -2, -9)] == [1, 3, 2, 4, 3, 1]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0, not 0"),
        ({"n_jobs": "many"}, "not 'many'"),
        ({"patience": 0}, "patience must be"),
        ({"patience": None}, "patience and verbose must be whole numbers"),
        ({"verbose": "much"}, "patience and verbose must be whole numbers"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(rows, parameters, sentence):
    with pytest.raises(UserError, match=sentence):
        ContinualClassifier(**parameters).fit(*rows)


def test_a_device_that_is_absent_is_refused_and_auto_finds_one(rows, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="this machine has no cuda device: use device='cpu'"):
        ContinualClassifier(device="cuda").fit(*rows)
    model = ContinualClassifier(device="auto", truncation=2, epochs=1).fit(*rows)
    assert model.model_.learner.setting.device == torch.device("cpu")


def test_a_model_from_a_cuda_device_is_loaded_without_one(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = ContinualClassifier(truncation=2, epochs=1, random_state=0).fit(*rows)
    model.set_params(device="cuda").save(tmp_path / "model.hibnn")
    with pytest.warns(UserWarning, match="goes on with the cpu"):
        loaded = load_model(tmp_path / "model.hibnn")
    assert loaded.device == "cpu"
    assert np.array_equal(loaded.predict(rows[0]), model.predict(rows[0]))


def test_the_learning_rate_may_change_between_experiences(rows):
    model = ContinualClassifier(truncation=2, epochs=1, random_state=0).fit(*rows)
    model.set_params(options={"learning_rate": 0.01}).partial_fit(*rows)
    assert model.model_.options.learning_rate == 0.01


@pytest.mark.parametrize("kind", [ContinualClassifier, ContinualRegressor])
def test_every_parameter_is_described(kind):
    described = "\n".join(base.__init__.__doc__ or "" for base in kind.__mro__)
    for name in inspect.signature(kind).parameters:
        assert re.search(rf"^\s+{name}: \S", described, re.MULTILINE) or f"`{name}`" in described, name
