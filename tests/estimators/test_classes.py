"""Classes that come one by one, come back, or come and go."""

import numpy as np
import pandas
import pytest
import torch
from sklearn.datasets import make_blobs
from torch.nn.functional import cross_entropy

from hibnn import ContinualClassifier, load_model
from hibnn.absent import SHARE, with_absent_classes
from hibnn.benchmarks.base import LazySplit, Split
from hibnn.errors import UserError
from hibnn.nn.likelihoods import Categorical

QUICK = {"epochs": 15, "truncation": 20, "random_state": 0, "verbose": -1}
CENTRES = [[-3, 0], [3, 0], [0, 4], [0, -4], [6, 6]]
NAMES = np.array(["kiwi", "fig", "plum", "apple", "pear"])


def rows(*classes, each=60, seed=0):
    """Rows of some kinds of fruit; names are not in the order in which they come."""
    x, y = make_blobs(each * len(CENTRES), centers=CENTRES, random_state=seed)
    chosen = np.isin(y, classes)
    return x[chosen], NAMES[y[chosen]]


def heads(model):
    return [task.classes for task in model.model_.tasks]


def test_a_month_with_one_new_class_opens_a_head_of_one_class_which_its_density_finds():
    model = ContinualClassifier(**QUICK).partial_fit(*rows(0, 1)).partial_fit(*rows(2))
    assert heads(model) == [("fig", "kiwi"), ("plum",)]
    x, y = rows(0, 1, 2, seed=1)
    assert model.score(x, y) > 0.95
    assert np.isfinite(model.predict_uncertainty(x).total).all()
    assert (model.predict_task(x[y == "plum"]) == "task-2").mean() > 0.9
    model.partial_fit(*rows(2, seed=2)).partial_fit(*rows(0, 1, 2, seed=3))  # met at last: the larger task takes it too
    assert heads(model) == [("fig", "kiwi", "plum"), ("plum",)]
    assert model.score(x, y) > 0.95


def test_a_model_may_begin_with_one_class():
    model = ContinualClassifier(**QUICK).fit(*rows(0)).partial_fit(*rows(1))
    assert heads(model) == [("kiwi",), ("fig",)]
    assert model.score(*rows(0, 1, seed=1)) > 0.95


def test_only_a_density_tells_a_task_of_one_class_from_others():
    model = ContinualClassifier(**QUICK, task_inference="entropy").fit(*rows(0, 1))
    with pytest.raises(UserError, match="infer tasks by density"):
        model.partial_fit(*rows(2))


def test_new_classes_beside_old_ones_join_the_head_of_most_rows(tmp_path):
    model = ContinualClassifier(**QUICK).partial_fit(*rows(0, 1)).partial_fit(*rows(1, 2, 3))
    assert heads(model) == [("fig", "kiwi", "apple", "plum")]
    x, y = rows(0, 1, 2, 3, seed=1)
    assert model.score(x, y) > 0.95
    model.save(tmp_path / "model.hibnn")
    assert np.array_equal(load_model(tmp_path / "model.hibnn").predict_proba(x), model.predict_proba(x))
    model.partial_fit(*rows(4), task="other").partial_fit(*rows(2, 4, each=30), task="other")
    assert heads(model)[1] == ("pear", "plum")


@pytest.mark.parametrize("method", ["ibnn", "vcl", "density"])
def test_rare_classes_come_and_go_under_one_head_and_are_remembered(method):
    model = ContinualClassifier(method, **QUICK)
    for month, rare in enumerate(((2,), (3, 4), (2, 3), (4,))):
        model.partial_fit(*rows(0, 1, *rare, each=50, seed=month))
        assert len(model.tasks_) == 1
    x, y = rows(2, 3, seed=9)
    assert model.score(x, y) > 0.9  # absent in the last month


def test_a_method_whose_heads_cannot_grow_opens_a_head_for_every_combination():
    model = ContinualClassifier("ewc", **QUICK | {"epochs": 2}).partial_fit(*rows(0, 1)).partial_fit(*rows(1, 2))
    assert heads(model) == [("fig", "kiwi"), ("fig", "plum")]
    with pytest.raises(UserError, match="ewc cannot add plum"):
        model.partial_fit(*rows(2), task="task-1")


def test_a_head_that_grows_says_of_its_old_classes_what_it_said():
    model = ContinualClassifier(**QUICK).fit(*rows(0, 1, 2)).model_
    learner = model.continual.copy(model.method, model.options).learner
    before = learner.bayesian.every_head()[0].mean.detach().clone()
    learner.grow_head(0, 5)
    after = learner.bayesian.every_head()[0]
    assert torch.equal(after.mean[:, :3], before)
    assert torch.equal(after.prior_mean[:, :3], before)
    assert not after.mean[:-1, 3:].any()
    torch.testing.assert_close(after.mean[-1, 3:], before[-1].mean().expand(2))


def test_the_likelihood_among_present_classes_is_that_of_a_smaller_softmax():
    logits, labels = torch.randn(6, 5, requires_grad=True), torch.tensor([1, 3, 3, 1, 4, 3])
    present = torch.tensor([False, True, False, True, True])
    loss = Categorical(present).nll(logits, labels)
    among = torch.tensor([0, 1, 1, 0, 2, 1])
    torch.testing.assert_close(loss, cross_entropy(logits[:, present], among))
    loss.backward()
    assert not logits.grad[:, ~present].any()
    losses = -Categorical(present).log_density(logits.detach()[None], labels)[0]
    torch.testing.assert_close(losses.mean(), loss.detach())


def test_drawn_inputs_stand_in_for_absent_classes_alone_and_look_like_theirs():
    x, y = rows(0, 1, 2)
    inference = ContinualClassifier(**QUICK).fit(x, y).model_.inference
    known = np.unique(y).tolist()
    here = Split(np.zeros((40, 2), np.float32), np.full(40, known.index("fig")))
    made = with_absent_classes(here, inference, 0, seed=3)
    assert np.array_equal(made.x[:40], here.x)
    drawn = made.y[40:]
    assert np.bincount(drawn, minlength=3).tolist() == [0, SHARE * 40, SHARE * 40]
    scaled = (x - x.mean(0)) / x.std(0)
    for label in (1, 2):
        own = scaled[y == known[label]]
        error = own.std(0) * np.sqrt(1 / 20 + 1 / len(own))
        assert (np.abs(made.x[40:][drawn == label].mean(0) - own.mean(0)) < 5 * error).all()
    whole = Split(np.zeros((3, 2), np.float32), np.arange(3))
    assert with_absent_classes(whole, inference, 0, seed=3) is whole


def test_examples_of_absent_classes_keep_their_scales():
    x, y = rows(0, 1, 2)
    wide = np.hstack([x, 3 * x, x**2])
    model = ContinualClassifier(scaling="examples", **QUICK).fit(wide, y)
    before = model.model_.inference.fresh[0].scales
    model.partial_fit(wide[y == "fig"], y[y == "fig"])
    after = model.model_.inference.fresh[0].scales
    assert torch.equal(after[1:], before[1:])
    assert before[1:, 1].all()


@pytest.mark.parametrize("task_inference", ["density", "entropy"])
def test_a_network_learns_from_drawn_inputs_or_leaves_absent_classes_out(task_inference):
    x, y = rows(0, 1, 2)
    model = ContinualClassifier(**QUICK, task_inference=task_inference).fit(x, y).model_
    continual = model.continual.copy(model.method, model.options)
    month = x[y == "fig"].astype(np.float32)
    continual.begin(LazySplit(month, np.arange(len(month)), np.zeros(len(month), np.int64)), 3, head=0)
    if task_inference == "density":
        assert set(continual.learner.y.tolist()) == {0, 1, 2}
        assert continual.learner.present is None
    else:
        assert set(continual.learner.y.tolist()) == {0}
        assert continual.learner.present.tolist() == [True, False, False]


def test_network_and_density_are_weighed_by_small_months_before_they_are_learned():
    model = ContinualClassifier(**QUICK).fit(*rows(0, 1))
    assert model.model_.inference.told.count == 0
    model.partial_fit(*rows(1, 2))
    assert model.model_.inference.told.count == 60  # those of the class that was known
    model.partial_fit(*rows(3)).partial_fit(*rows(0, 1))
    assert model.model_.inference.told.count == 60  # with several tasks a told one's answers stay as they are


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "UInt8", "boolean", "bool[pyarrow]"])
def test_nullable_labels_of_pandas_are_of_their_plain_kind(kind):
    x, y = rows(0, 1, each=20)
    plain = y == "fig" if "bool" in kind else (y == "fig").astype(int)
    model = ContinualClassifier(epochs=1, truncation=5, random_state=0, verbose=-1).fit(x, plain)
    labels = pandas.Series(plain).astype(kind)
    assert model.partial_fit(x, labels).tasks_ == ["task-1"]
    assert model.score(x, labels) == model.score(x, plain)
    model.fit(x, labels)
    assert model.classes_.tolist() == sorted({*plain.tolist()})
    assert model.classes_.dtype.kind == plain.dtype.kind
    labels[3] = None
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(x, labels)


def test_nullable_labels_that_differ_beyond_real_numbers_stay_apart():
    x, y = rows(0, 1, each=20)
    labels = pandas.Series(2**53 + (y == "fig"), dtype="Int64")
    model = ContinualClassifier(epochs=20, truncation=5, random_state=0, verbose=-1).fit(x, labels)
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert model.score(x, 2**54 + 1 - labels) < 0.1 < 0.9 < model.score(x, labels)
