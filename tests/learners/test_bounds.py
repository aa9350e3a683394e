"""Fine-tuning and joint training: the two bounds between which every other method should lie."""

import pytest
import torch

from checks import check_learner, learn, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.continual import ContinualModel
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity, evaluate
from hibnn.learners.network import NetworkOptions
from hibnn.runs.experiment import Experiment
from hibnn.runs.run import run


@pytest.mark.parametrize("method", ["finetune", "joint"])
def test_the_bounds_are_learners(method, tmp_path):
    check_learner(method, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [Scenario.DOMAIN, Scenario.CLASS])
def test_on_digits_finetuning_forgets_and_joint_training_does_not(scenario):
    options = NetworkOptions(epochs=20, batch_size=32)
    results = {
        method: run(Experiment(method=method, dataset="split-digits", scenario=scenario, options=options))
        for method in ("finetune", "joint")
    }
    assert results["finetune"]["forgetting"] > 0.1
    assert results["joint"]["forgetting"] < 0.1
    assert results["joint"]["acc"] > results["finetune"]["acc"] + 0.1


def test_joint_training_answers_under_the_head_of_the_task():
    benchmark = small_benchmark(Scenario.TASK)
    learner = small_learner("joint", benchmark)
    for task in benchmark.tasks:
        learn(learner, task)
    for row in evaluate(ContinualModel(learner), benchmark, Granularity(1)):
        assert row.probabilities.shape[1] == 2
        assert row.accuracy(Scenario.TASK) > 0.9


def test_a_growing_head_adds_the_outputs_of_each_task():
    benchmark = small_benchmark(Scenario.CLASS)
    learner = small_learner("finetune", benchmark, epochs=1)
    sizes = []
    for task in benchmark.tasks:
        learn(learner, task)
        sizes.append(learner.predict(task.test.load().x, 0, torch.Generator()).probabilities.shape[1])
    assert sizes == [2, 4, 6]


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"batch_size": 0}, {"width": 0}, {"hidden": (3, 0)}])
def test_impossible_options_are_refused_in_a_sentence(wrong):
    with pytest.raises(UserError, match="must be"):
        NetworkOptions(**wrong)


@pytest.mark.slow
def test_joint_training_reaches_99_percent_on_split_mnist():
    experiment = Experiment(method="joint", dataset="split-mnist", scenario=Scenario.TASK, options=NetworkOptions())
    assert run(experiment)["acc"] >= 0.99
