"""Abrupt change: noticed beyond chance only, and answered."""

import numpy as np
import pytest
import torch

from hibnn import ContinualClassifier, ContinualRegressor
from hibnn.errors import UserError
from hibnn.estimators import load_model
from hibnn.estimators.drift import MEMORY, FileScore, expectation, has_changed
from hibnn.nn.layers.linear import BayesianLinear


def score(rows, right, random):
    answers = random.random(rows) < right
    return FileScore.of(np.where(answers, 0.1, 2.0) + 0.05 * random.standard_normal(rows), answers)


def test_files_that_did_not_change_are_hardly_ever_called_different():
    random = np.random.default_rng(0)
    months = [(random.integers(30, 2000), random.uniform(0.6, 1.0)) for _ in range(4000)]
    alarms = [
        has_changed(score(rows, right, random), expectation([score(rows, right, random)])) for rows, right in months
    ]
    assert np.mean(alarms) < 0.005


def test_a_loss_of_accuracy_beyond_chance_is_noticed_and_a_gain_is_not():
    random = np.random.default_rng(0)
    before = expectation([score(300, 0.9, random) for _ in range(3)])
    assert has_changed(score(300, 0.65, random), before)
    assert not has_changed(score(300, 0.99, random), before)
    assert not has_changed(score(20, 0.1, random), before)  # too few rows to tell


def test_what_is_expected_is_what_the_last_files_gave_together():
    random = np.random.default_rng(0)
    losses = [random.normal(at, 1 + at, 50 * (1 + at)) for at in range(5)]
    merged = np.concatenate(losses[-MEMORY:])
    found = expectation([FileScore.of(part, part > 1) for part in losses])
    assert found == FileScore(
        len(merged), pytest.approx(merged.mean()), pytest.approx(merged.std()), pytest.approx((merged > 1).mean())
    )
    assert expectation([]) is None


def months(count, changed_from, rows=200, seed=0):
    random = np.random.default_rng(seed)
    for month in range(count):
        x = random.normal(size=(rows, 4))
        y = (x[:, 0] + x[:, 1] > 0).astype(int)
        yield x, 1 - y if month >= changed_from else y


@pytest.mark.parametrize("method", ["ibnn", "vcl"])
def test_swapped_labels_are_followed_within_a_month(method, tmp_path):
    model = ContinualClassifier(method, epochs=15, random_state=0, verbose=False)
    for month, (x, y) in enumerate(months(4, changed_from=2)):
        if month == 3:
            assert (model.predict(x) == y).mean() > 0.85
        model.partial_fit(x, y)
        assert (model.drift_ is not None) == (month == 2)
        if month == 1:  # what to expect is kept with the model
            model.save(tmp_path / "model.hibnn")
            model, off = (load_model(tmp_path / "model.hibnn") for _ in range(2))
        if month == 2:
            sentence = model.drift_.sentence("March")
            assert sentence.startswith("March looks different: ")
            assert model.drift_.found.right < 0.2 < 0.8 < model.drift_.expected.right
            assert off.set_params(drift="off").partial_fit(x, y).drift_ is None


def test_other_tasks_keep_their_answers_when_one_is_forgotten():
    model = ContinualClassifier(epochs=8, random_state=0, verbose=False)
    (x, y), (other, labels), *_ = months(2, changed_from=9)
    model.partial_fit(x, y, task="a").partial_fit(other[:, ::-1], labels, task="b")
    before = model.predict_proba(x, task="b")
    for month, (x_more, y_more) in enumerate(months(3, changed_from=1, seed=1)):
        model.partial_fit(x_more, y_more, task="a")
        assert (model.drift_ is not None) == (month == 1)
    assert np.array_equal(model.predict_proba(x, task="b"), before)


def test_real_targets_that_change_sign_are_followed():
    random = np.random.default_rng(0)
    model = ContinualRegressor(epochs=20, random_state=0, verbose=False)
    for month in range(4):
        x = random.normal(size=(200, 3))
        y = (x[:, 0] - 2 * x[:, 1]) * (1 if month < 2 else -1) + 0.1 * random.normal(size=200)
        if month == 3:
            assert model.score(x, y) > 0.8
        model.partial_fit(x, y)
        assert (model.drift_ is not None) == (month == 2)


def test_an_unknown_answer_to_drift_is_refused():
    with pytest.raises(UserError, match="did you mean 'follow'"):
        ContinualClassifier(drift="folow").fit(np.eye(4), [0, 1, 0, 1])


def test_a_power_prior_multiplies_what_was_learned_by_the_share_that_counts():
    layer = BayesianLinear(torch.randn(4, 3), -2.0, 0.7)
    layer.posterior_becomes_prior()
    learned, first = (
        torch.distributions.Normal(layer.prior_mean.clone(), torch.tensor(-1.0).exp()),
        torch.distributions.Normal(0.0, 0.7**0.5),
    )
    held, before = layer.mean.clone(), [tensor.clone() for tensor in layer.tensors()]
    layer.temper(0.3, 0.7, held=(2, 1))
    now = torch.distributions.Normal(layer.prior_mean, (0.5 * layer.prior_log_variance).exp())
    at = torch.linspace(-2, 2, 5)[:, None, None].expand(-1, 4, 3)
    wanted = 0.3 * learned.log_prob(at) + 0.7 * first.log_prob(at)
    difference = (now.log_prob(at) - wanted)[:, :, 1:]  # densities are equal up to a factor
    torch.testing.assert_close(difference, difference[:1].expand_as(difference), atol=1e-4, rtol=1e-4)
    for tensor, old in zip(layer.tensors(), before, strict=True):
        assert torch.equal(tensor[:2, :1], old[:2, :1])
        assert torch.equal(tensor[-1, :1], old[-1, :1])
        assert not torch.equal(tensor[2, :1], old[2, :1])
    assert torch.equal(layer.mean[:2, :1], held[:2, :1])


def test_changed_classes_whose_past_still_counts_do_not_calibrate_by_answers_of_the_past(monkeypatch):
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 3))
    y = (x[:, 0] > 0).astype(int)
    model = ContinualClassifier(epochs=5, truncation=10, random_state=0, verbose=-1).fit(x, y).partial_fit(x, y)
    before = model.model_.inference.told.count.clone()
    monkeypatch.setattr("hibnn.estimators.training.how_much_counts", lambda *given: 1.0)
    model.partial_fit(x, 1 - y)
    assert model.drift_ is not None
    assert model.model_.inference.told.count == before
