"""The density alone is a method, and the ledger of every other run has its numbers."""

import pytest

from checks import check_learner
from hibnn import Experiment, Scenario, UserError, options_for, run
from hibnn.learners import find_method
from hibnn.runs import trainer as learning
from killing import KillAfter, KilledError

TIMINGS = ("seconds", "seconds_per_task", "cpu_seconds", "cpu_seconds_per_task", "evaluation_cpu_seconds")


def experiment(method="density", scenario="class", **values):
    options = {"epochs": 2} if find_method(method).has_network and method != "slda" else {}
    made = options_for(method, "split-digits", scenario=scenario, **options)
    return Experiment(
        method=method, dataset="split-digits", scenario=scenario, tasks=3, options=made, density_components=2, **values
    )


def test_density_is_a_learner(tmp_path):
    check_learner("density", tmp_path)


@pytest.mark.parametrize("scenario", Scenario)
def test_the_density_alone_is_a_run_like_any_other(scenario):
    result = run(experiment(scenario=scenario))
    assert result["acc"] == result["acc_density"] > 0.95
    assert result["acc_network"] is None
    assert "no network" in result["undefined"]["acc_network"]
    assert (result["bytes_network"], result["stored_examples"]) == (0, 0)
    assert result["bytes"] == result["bytes_density"] > 4 * 6 * 64
    assert result["gibbs_accuracy"] == pytest.approx(result["acc"], abs=0.05)


@pytest.mark.parametrize("method", ["finetune", "ewc"])
def test_the_ledger_of_a_network_has_the_numbers_of_each_alone(method):
    both, density = run(experiment(method, task_inference="density")), run(experiment())
    entropy = run(experiment(method, task_inference="entropy", heads="multi"))
    assert both["acc_density"] == density["acc"]
    assert both["nll_density"] == pytest.approx(density["nll"], abs=1e-6)
    assert both["acc_network"] == entropy["acc"] == entropy["acc_network"]
    assert both["nll_network"] == pytest.approx(entropy["nll"], abs=1e-6)
    numbers = entropy["parameters"] - entropy["inference_parameters"]
    assert both["bytes_network"] == entropy["bytes_network"] == 4 * numbers
    assert both["bytes"] == both["bytes_network"] + both["bytes_density"]
    assert entropy["acc_density"] is None


@pytest.mark.parametrize(("method", "kills"), [("density", (1, 3)), ("slda", (1, 1))])
def test_a_killed_run_ends_with_the_same_numbers(method, kills, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "CHECKPOINT_SHARE", float("inf"))
    whole = run(experiment(method), tmp_path / "whole")
    for events in kills:
        with pytest.raises(KilledError):
            run(experiment(method), tmp_path / "killed", progress=KillAfter(events))
    resumed = run(experiment(method), tmp_path / "killed")
    assert {k: v for k, v in whole.items() if k not in TIMINGS} == {
        k: v for k, v in resumed.items() if k not in TIMINGS
    }


def test_without_a_network_nothing_but_the_density_can_tell_the_task():
    with pytest.raises(UserError, match="no network"):
        experiment(task_inference="entropy")
