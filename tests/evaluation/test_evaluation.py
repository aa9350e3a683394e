from dataclasses import replace

import numpy as np
import pytest
import torch

from checks import small_benchmark
from hibnn.benchmarks import Scenario
from hibnn.benchmarks.layout import layout_for
from hibnn.continual import ContinualModel
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity, evaluate_task
from hibnn.learners.base import Learner, Prediction, Setting, entropy
from hibnn.nn.layout import Layout


class Oracle:
    """A learner whose answers are given: `answers[head]` are the probabilities of every test example."""

    has_network = True
    predict_heads = Learner.predict_heads

    def __init__(self, answers, layout=Layout.MULTI, sizes=(2, 2)):
        self.answers = [torch.tensor(answer, dtype=torch.float32) for answer in answers]
        self.setting = Setting(8, layout)
        self.head_sizes = list(sizes)
        self.task = len(sizes) - 1

    def predict(self, x, head, generator):
        probabilities = self.answers[head].expand(len(x), -1)
        votes = torch.nn.functional.one_hot(probabilities.argmax(-1), probabilities.shape[-1]).float()
        return Prediction(probabilities, entropy(probabilities), votes)


SURE, UNSURE = [[0.9, 0.1]], [[0.6, 0.4]]


def judge(answers, scenario, number, granularity="sample", **oracle):
    benchmark = small_benchmark(scenario, tasks=2)
    return evaluate_task(ContinualModel(Oracle(answers, **oracle)), benchmark, number, Granularity.parse(granularity))


def test_the_head_of_lowest_entropy_answers():
    assert judge([SURE, UNSURE], Scenario.CLASS, 0).task_correct.all()
    assert not judge([SURE, UNSURE], Scenario.CLASS, 1).task_correct.any()


def test_in_the_task_scenario_the_told_head_answers_and_nothing_is_inferred():
    result = judge([SURE, [[0.2, 0.8]]], Scenario.TASK, 1)
    assert result.task_correct is None
    assert np.array_equal(result.label_correct, result.targets == 1)


def test_a_wrong_head_can_be_right_in_the_domain_but_not_in_the_class_scenario():
    domain, classes = (judge([SURE, UNSURE], scenario, 1) for scenario in (Scenario.DOMAIN, Scenario.CLASS))
    assert domain.accuracy(Scenario.DOMAIN) == pytest.approx(0.5)
    assert classes.accuracy(Scenario.CLASS) == 0
    assert classes.label_correct.mean() == pytest.approx(0.5)


def test_class_probabilities_span_all_classes_seen():
    result = judge([SURE, UNSURE], Scenario.CLASS, 1)
    assert np.allclose(result.probabilities[0], [0.9, 0.1, 0, 0])
    assert set(result.targets) == {2, 3}


def test_a_growing_head_implies_the_task_of_its_class():
    answer = [[0.1, 0.2, 0.1, 0.6]]
    result = judge([answer], Scenario.CLASS, 1, layout=Layout.GROWING)
    assert result.task_correct.all()
    assert np.array_equal(result.class_correct, result.targets == 3)
    wrong = judge([answer], Scenario.CLASS, 0, layout=Layout.GROWING)
    assert not wrong.class_correct.any()
    assert wrong.label_correct.mean() == pytest.approx(0.5)


def test_granularity_averages_the_scores_of_neighbours():
    scores = torch.tensor([[0.0, 1.0, 1.0, 0.0, 0.0], [0.5, 0.4, 0.4, 0.5, 0.6]])
    assert Granularity.parse("sample").share(-scores).argmax(0).tolist() == [0, 1, 1, 0, 0]
    assert Granularity.parse("batch:3").share(-scores).argmax(0).tolist() == [1, 1, 1, 0, 0]
    assert Granularity.parse("task").share(-scores).argmax(0).tolist() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("text", ["batch", "batch:0", "batch:x", "tasks", ""])
def test_an_unknown_granularity_is_refused(text):
    with pytest.raises(UserError, match="valid are"):
        Granularity.parse(text)


def test_heads_follow_the_scenario_and_the_method():
    task, domain, classes = (small_benchmark(scenario) for scenario in Scenario)
    assert layout_for(task, "auto", prefers_single=True) is Layout.MULTI
    assert layout_for(domain, "auto", prefers_single=True) is Layout.SHARED
    assert layout_for(classes, "auto", prefers_single=True) is Layout.GROWING
    assert layout_for(domain, "auto", prefers_single=False) is Layout.MULTI
    assert layout_for(classes, "single", prefers_single=False) is Layout.GROWING
    with pytest.raises(UserError, match="head a task"):
        layout_for(task, "single", prefers_single=True)


def test_with_common_outputs_labels_count_among_all_classes_and_any_head_may_be_right():
    common = small_benchmark(Scenario.CLASS, tasks=2).with_common_outputs()
    plain = small_benchmark(Scenario.CLASS, tasks=2)
    assert [task.classes for task in common.tasks] == [(0, 1, 2, 3)] * 2
    for task, before in zip(common.tasks, plain.tasks, strict=True):
        for part in ("train", "test"):
            labels = getattr(before, part).labels + before.classes[0]
            assert np.array_equal(getattr(task, part).load().y, labels)
    sure, unsure = [[0.0, 0.0, 0.1, 0.9]], [[0.3, 0.3, 0.2, 0.2]]
    model = ContinualModel(
        Oracle([sure, unsure], sizes=(4, 4))
    )  # the first head answers, though the task is the second
    result = evaluate_task(model, common, 1, Granularity.parse("task"))
    assert not result.task_correct.any()
    assert result.accuracy(Scenario.CLASS) == (result.targets == 3).mean() == 0.5
    assert result.probabilities.shape[1] == 4


def test_where_tasks_share_their_classes_common_outputs_leave_labels_as_they_are():
    shared = replace(small_benchmark(Scenario.CLASS, tasks=2), single_domain_head=True)
    common = shared.with_common_outputs()
    assert common.tasks == shared.tasks
    wrong_head = ContinualModel(Oracle([SURE, UNSURE]))
    apart, right = (
        evaluate_task(wrong_head, tasks, 1, Granularity(1)).accuracy(Scenario.CLASS) for tasks in (shared, common)
    )
    assert (apart, right) == (0.0, 0.5)
