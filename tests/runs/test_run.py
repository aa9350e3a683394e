import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from hibnn import Experiment, Scenario, UserError, options_for, run
from hibnn.errors import GivenUpError
from hibnn.evaluation.pruning.study import write_study
from hibnn.runs import experiment as module
from hibnn.runs import trainer as learning
from hibnn.runs.checkpoint import read_state
from hibnn.runs.progress import Silent
from hibnn.runs.pruning import prune_run
from hibnn.runs.readout import read_out, stored_read_out
from hibnn.runs.record import read_record
from hibnn.runs.run import run as run_module
from killing import KillAfter, KilledError

TIMINGS = ("seconds", "seconds_per_task", "cpu_seconds", "cpu_seconds_per_task", "evaluation_cpu_seconds")


def experiment(method="ibnn", size="evidence", **changes):
    options = {"epochs": 3, "prediction_draws": 5, "size": size} if method == "ibnn" else {"epochs": 3}
    values = {"scenario": Scenario.TASK, "tasks": 3} | changes
    return Experiment(
        method=method, dataset="split-digits", options=options_for(method, "split-digits", **options), **values
    )


@pytest.fixture
def checkpoint_every_epoch(monkeypatch):
    monkeypatch.setattr(learning, "CHECKPOINT_SHARE", float("inf"))


@pytest.mark.usefixtures("checkpoint_every_epoch")
@pytest.mark.parametrize("method", ["ibnn", "joint", "gem", "lwf"])
def test_a_killed_run_goes_on_and_ends_with_the_same_numbers_and_weights(tmp_path, method):
    whole = run(experiment(method), tmp_path / "whole")
    for epochs in (1, 3, 2):
        with pytest.raises(KilledError):
            run(experiment(method), tmp_path / "killed", progress=KillAfter(epochs))
    resumed = run(experiment(method), tmp_path / "killed")
    assert {k: v for k, v in whole.items() if k not in TIMINGS} == {
        k: v for k, v in resumed.items() if k not in TIMINGS
    }
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not (tmp_path / "killed" / "checkpoint.safetensors").exists()


@pytest.mark.usefixtures("checkpoint_every_epoch")
@pytest.mark.usefixtures("checkpoint_every_epoch")
def test_processor_time_is_counted_for_every_task_and_goes_on_after_a_kill(tmp_path, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(learning.time, "process_time", lambda: float(next(clock)))  # a second whenever it is asked
    whole = run(experiment("finetune"), tmp_path / "whole")
    assert whole["cpu_seconds_per_task"] == [5.0] * 3  # begin, three epochs, end
    assert (whole["cpu_seconds"], whole["evaluation_cpu_seconds"]) == (15.0, 3.0)
    with pytest.raises(KilledError):
        run(experiment("finetune"), tmp_path / "killed", progress=KillAfter(5))
    resumed = run(experiment("finetune"), tmp_path / "killed")
    assert resumed["cpu_seconds_per_task"] == whole["cpu_seconds_per_task"]


def test_an_unfinished_run_of_another_experiment_is_refused_and_force_throws_it_away(tmp_path):
    with pytest.raises(KilledError):
        run(experiment(seed=1), tmp_path, progress=KillAfter(2))
    with pytest.raises(UserError, match="another experiment"):
        run(experiment(), tmp_path)
    result = run(experiment(), tmp_path, force=True)
    assert result["accuracy_matrix"] == run(experiment())["accuracy_matrix"]


def test_force_throws_away_what_was_asked_of_the_earlier_run(tmp_path):
    run(experiment(), tmp_path)
    stored_read_out(tmp_path, Scenario.CLASS, "batch:5", "mutual-information")
    write_study(tmp_path, prune_run(tmp_path, percentages=(0, 50)))
    before = {path.name for path in tmp_path.iterdir()}
    run(experiment("finetune"), tmp_path, force=True)
    gone = {"class-batch-5-mutual-information.json", "pruning.json", "structure.safetensors"}
    assert before - {path.name for path in tmp_path.iterdir()} == gone
    assert read_record(tmp_path).read_outs == ()


def test_a_damaged_checkpoint_is_named(tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(b"\x80\x04pickle")
    with pytest.raises(UserError, match="damaged"):
        read_state(tmp_path / "checkpoint.safetensors")


def test_the_structure_of_every_task_is_stored_where_the_prior_sizes_layers(tmp_path):
    result = run(experiment(size="prior"), tmp_path)
    structure = load_file(tmp_path / "structure.safetensors")
    z = structure["task2.layer0.z"]
    assert z.shape == (100, 100)
    assert ((z >= 0) & (z <= 1)).all()
    assert structure["task2.layer0.active"].shape == (1000,)
    assert result["active_counts_per_task"][2][0] == structure["task2.layer0.active"].median()
    assert len(result["active_units_per_task"]) == 3


def test_the_curves_that_sized_a_task_are_stored(tmp_path):
    result = run(experiment(), tmp_path)
    sizes, losses = load_file(tmp_path / "structure.safetensors")["task2.layer0.curve"]
    assert sizes[0] == 0
    assert (losses >= 0).all()
    assert len(result["active_units_per_task"]) == 3


def test_checkpoints_that_a_kill_left_beside_a_result_are_removed(tmp_path):
    run(finetune := experiment("finetune"), tmp_path)
    for name in ("checkpoint.safetensors", "checkpoint.previous.safetensors"):
        (tmp_path / name).touch()
    run(finetune, tmp_path)
    assert not list(tmp_path.glob("checkpoint*"))


def test_a_finished_run_can_be_read_out_in_another_scenario(tmp_path):
    result = run(experiment(), tmp_path)
    same = read_out(tmp_path, Scenario.TASK, "sample")
    assert same["acc"] == pytest.approx(result["acc"], abs=1e-9)
    other = read_out(tmp_path, Scenario.CLASS, "task")
    assert other["acc"] <= 1
    assert other["task_inference_accuracy"] is not None
    with pytest.raises(UserError, match="no finished run"):
        read_out(tmp_path / "nothing", Scenario.TASK, "sample")


def test_a_single_head_cannot_be_read_out_in_another_scenario(tmp_path):
    run(experiment("finetune", scenario=Scenario.CLASS), tmp_path)
    with pytest.raises(UserError, match="run it anew"):
        read_out(tmp_path, Scenario.TASK, "sample")


def test_heads_with_all_classes_are_read_out_where_their_classes_are_asked_for(tmp_path):
    made = experiment(scenario=Scenario.CLASS, task_inference="entropy", class_outputs="all")
    result = run(made, tmp_path)
    assert read_out(tmp_path, Scenario.CLASS, "sample", task_inference="entropy")["acc"] == result["acc"]
    with pytest.raises(UserError, match="answer with classes of all tasks"):
        read_out(tmp_path, Scenario.DOMAIN, "sample")


@pytest.mark.parametrize(("embedded", "chosen"), [(True, "auto"), (False, "auto"), (False, "discriminant")])
def test_a_read_out_has_the_usual_scores_unless_the_run_chose_others(tmp_path, monkeypatch, embedded, chosen):
    known, said = module.find_benchmark, {"density_random_features": 20, "density_scores": chosen, "tasks": 2}
    monkeypatch.setattr(module, "find_benchmark", lambda name: replace(known(name), embedded=embedded))
    run(experiment("vcl", **said), tmp_path)
    result = run(experiment("vcl", **said, scenario=Scenario.CLASS))
    assert read_out(tmp_path, Scenario.CLASS, "sample")["bytes_density"] == result["bytes_density"]


def test_an_experiment_survives_its_journey_through_json():
    first = experiment()
    second = Experiment.from_json(json.loads(json.dumps(first.as_json())))
    assert second == first
    assert second.digest == first.digest
    assert experiment(seed=1).digest != first.digest


def test_foreign_data_are_told_apart_by_entropy():
    made = Experiment(
        method="finetune", dataset="split-mnist", scenario=Scenario.TASK, tasks=1, ood="fashion-mnist",
        options=options_for("finetune", "split-mnist", epochs=1),
    )  # fmt: skip
    result = run(made)
    assert 0.5 < result["ood_auroc"] <= 1


def test_undefined_metrics_are_null_and_say_why():
    result = run(experiment("finetune", tasks=1))
    assert result["forgetting"] is None
    assert "forgetting" in result["undefined"]
    assert np.isfinite(result["acc"])


def test_the_public_names_can_be_imported():
    import hibnn

    assert hibnn.run is run_module
    with pytest.raises(AttributeError):
        hibnn.nonsense  # noqa: B018


def test_a_run_that_a_search_gives_up_says_so(tmp_path):
    class Judge(Silent):
        def end(self, accuracies, active_units):
            raise GivenUpError("below the median")

    with pytest.raises(GivenUpError):
        run(experiment(), tmp_path, progress=Judge())
    status = json.loads((tmp_path / "status.json").read_text())
    assert (status["status"], status["message"]) == ("given up", "below the median")


def test_a_run_can_be_given_up_after_a_task(tmp_path):
    seen = []

    def after_task(number, accuracies):
        seen.append((number, len(accuracies)))
        if number == 1:
            raise GivenUpError("enough")

    with pytest.raises(GivenUpError, match="enough"):
        run(experiment(), tmp_path, after_task=after_task)
    assert seen == [(0, 1), (1, 2)]
    assert run(experiment(), tmp_path)["accuracy_matrix"] == run(experiment())["accuracy_matrix"]
