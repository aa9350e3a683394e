import numpy as np
import pytest

from hibnn import Experiment, Scenario, options_for, run
from hibnn.runs.checkpoint import read_state


@pytest.mark.parametrize("scenario", list(Scenario))
def test_the_stored_predictions_give_the_results_numbers_again(tmp_path, scenario):
    options = options_for("vcl", "split-digits", epochs=2, prediction_draws=5)
    experiment = Experiment(method="vcl", dataset="split-digits", scenario=scenario, options=options, tasks=2)
    result = run(experiment, tmp_path)
    state = read_state(tmp_path / "predictions.safetensors")
    assert state.metadata == {"scenario": str(scenario), "ood": None}
    right = "class_correct" if scenario is Scenario.CLASS else "label_correct"
    for number, accuracy in enumerate(result["accuracy_matrix"][-1]):
        task = {name.split(".")[1]: value for name, value in state.tensors.items() if name.startswith(f"task{number}.")}
        assert task[right].double().mean() == pytest.approx(accuracy)
        assert ("task_correct" in task) == (scenario is not Scenario.TASK)
        probabilities = task["probabilities"].float()
        assert (probabilities.argmax(-1) == task["targets"])[task["class_correct"]].all()
        assert ((task["entropy"] - task["expected_entropy"]) > -1e-5).all()
        entropy = -(probabilities * probabilities.clamp(min=1e-9).log()).sum(-1)
        assert np.allclose(entropy, task["entropy"], atol=5e-3)


def test_foreign_entropies_are_stored_under_the_head_of_each_task(tmp_path):
    options = options_for("finetune", "split-digits", epochs=1)
    experiment = Experiment(
        method="finetune", dataset="split-digits", scenario=Scenario.TASK, options=options, tasks=2, ood="digits"
    )
    result = run(experiment, tmp_path)
    tensors = read_state(tmp_path / "predictions.safetensors").tensors
    assert tensors["ood0.entropy"].shape == tensors["ood1.expected_entropy"].shape
    assert 0 <= result["ood_auroc"] <= 1


def test_densities_of_features_tell_foreign_data_from_own_through_the_network():
    options = options_for("finetune", "split-digits", epochs=1)
    experiment = Experiment(
        method="finetune", dataset="split-digits", scenario=Scenario.CLASS, options=options, tasks=2, ood="digits",
        task_inference="density", density_of="features", density_standardise=False,
    )  # fmt: skip
    assert 0.5 < run(experiment)["ood_auroc"] <= 1


@pytest.mark.parametrize(("mixing", "tolerance"), [("hard", 1e-9), ("soft", 0.1)])
def test_without_a_density_foreign_data_are_compared_under_the_same_head_as_own(mixing, tolerance):
    def auroc(scenario, **more):
        options = options_for("vcl", "split-digits", epochs=2, prediction="mean")
        made = Experiment(
            method="vcl", dataset="split-digits", scenario=scenario, options=options, tasks=2, ood="digits", **more
        )
        return run(made)["ood_auroc"]

    told = auroc(Scenario.TASK)
    assert auroc(Scenario.CLASS, task_inference="entropy", mixing=mixing) == pytest.approx(
        told, abs=tolerance
    )  # soft: some rows are held out
