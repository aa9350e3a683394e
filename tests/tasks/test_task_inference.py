import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from checks import small_benchmark, small_learner
from hibnn import Experiment, Scenario, UserError, options_for, run
from hibnn.continual import ContinualModel
from hibnn.evaluation.evaluate import Granularity, evaluate
from hibnn.learners import Prediction, Setting
from hibnn.nn.layout import Layout
from hibnn.runs import trainer as learning
from hibnn.runs.readout import read_out
from hibnn.tasks import INFERENCES, TaskInference, divide
from hibnn.tasks.density import DensityOptions
from killing import KillAfter, KilledError

TIMINGS = ("seconds", "seconds_per_task", "cpu_seconds", "cpu_seconds_per_task", "evaluation_cpu_seconds")


def learned(kind, scenario=Scenario.CLASS, method="finetune", **options):
    """A model after all tasks of a small benchmark."""
    benchmark = small_benchmark(scenario, examples=400)
    learner = small_learner(method, benchmark, heads="multi", epochs=4, **options)
    model = ContinualModel(learner, TaskInference(kind, learner.setting))
    for task in benchmark.tasks:
        learn_task(model, task)
    return benchmark, model


def learn_task(model, task):
    model.begin(task.train, len(task.classes))
    for number in range(model.learner.epochs):
        model.epoch(number)
    model.end()


def experiment(**changes):
    values = {"scenario": Scenario.CLASS, "tasks": 3, "task_inference": "density", "method": "ibnn"} | changes
    options = {"epochs": 3, "prediction_draws": 5} if values["method"] == "ibnn" else {"epochs": 3}
    made = options_for(values["method"], "split-digits", **options)
    return Experiment(dataset="split-digits", options=made, density_components=4, **values)


@pytest.mark.parametrize("scenario", [Scenario.CLASS, Scenario.DOMAIN])
@pytest.mark.parametrize("kind", INFERENCES)
def test_mixed_probabilities_sum_to_one(kind, scenario):
    benchmark, model = learned(kind, scenario, "vcl")
    for row in evaluate(model, benchmark, Granularity(1)):
        assert np.allclose(row.probabilities.sum(1), 1, atol=1e-5)
        assert row.probabilities.shape[1] == (6 if scenario is Scenario.CLASS else 2)


def test_a_density_finds_the_task_where_entropy_does_not():
    found = {}
    for kind in ("entropy", "density"):
        benchmark, model = learned(kind)
        rows = evaluate(model, benchmark, Granularity(1))
        found[kind] = np.mean([row.task_correct.mean() for row in rows])
    assert found["density"] > 0.97
    assert found["entropy"] < 0.9


def test_when_a_whole_test_set_votes_class_accuracy_is_that_of_the_told_task():
    benchmark, model = learned("density")
    for row in evaluate(model, benchmark, Granularity(None)):
        assert row.task_correct.all()
        assert row.class_correct.mean() == pytest.approx(row.within_correct.mean())


def test_the_probabilities_of_all_classes_are_those_of_tasks_times_those_within():
    benchmark, model = learned("density")
    x = benchmark.tasks[1].test.load().x
    answer = model.predict(x)
    assert torch.allclose(answer.probabilities.unflatten(1, (3, 2)).sum(2), answer.tasks.T, atol=1e-6)
    told = model.predict(x, 1).probabilities
    assert (told[:, [0, 1, 4, 5]] == 0).all()
    assert torch.allclose(told.sum(1), torch.ones(len(x), dtype=torch.float64))


@pytest.mark.parametrize(("scenario", "classes"), [(Scenario.DOMAIN, 2), (Scenario.CLASS, 6)])
def test_where_one_head_serves_all_tasks_a_told_task_changes_nothing(scenario, classes):
    benchmark = small_benchmark(scenario)
    model = ContinualModel(small_learner("finetune", benchmark, epochs=1))
    for task in benchmark.tasks:
        learn_task(model, task)
    x = benchmark.tasks[1].test.load().x
    assert model.predict(x).probabilities.shape[1] == classes
    assert torch.equal(model.predict(x).probabilities, model.predict(x, 1).probabilities)


@pytest.mark.parametrize(("spare", "rows"), [(True, 350), (False, 400)])
def test_the_network_does_without_the_rows_that_calibrate_if_they_can_be_spared(spare, rows):
    benchmark = small_benchmark(Scenario.CLASS, examples=400)
    learner = small_learner("finetune", benchmark, heads="multi", epochs=1)
    model = ContinualModel(learner, TaskInference("density", learner.setting))
    model.begin(benchmark.tasks[0].train, 2, spare=spare)
    assert len(learner.x) == rows
    assert sum(density.count for density in model.inference.densities.tasks[0]) == 350
    model.end()
    assert bool(model.inference.told.count) == spare
    assert model.inference.untold.count == 50


def test_a_copy_goes_its_own_way():
    benchmark, model = learned("density", method="vcl")
    x = benchmark.tasks[0].test.load().x
    before, copy = model.predict(x).probabilities, model.copy("vcl", model.learner.options)
    assert torch.equal(copy.predict(x).probabilities, before)
    learn_task(copy, benchmark.tasks[0])
    assert copy.predict(x).probabilities.shape[1] == 8
    assert torch.equal(model.predict(x).probabilities, before)


def test_foreign_inputs_are_refused_and_own_ones_mostly_not():
    benchmark, model = learned("density")
    own = np.concatenate([task.test.load().x for task in benchmark.tasks])
    ood = np.random.default_rng(9).normal(size=(300, 8)).astype(np.float32) * 3
    answers = [model.is_ood(x, 0.1).float().mean() for x in (own, ood)]
    assert answers[0] < 0.3  # 0.1, of which 20 held-out rows a class know little
    assert answers[1] > 0.8


def test_only_a_density_can_refuse():
    benchmark, model = learned("entropy")
    x = benchmark.tasks[0].test.load().x
    with pytest.raises(UserError, match="task-inference density"):
        model.is_ood(x)
    with pytest.raises(UserError, match="between 0 and 1"):
        learned("density")[1].is_ood(x, 1.5)


def test_what_later_tasks_learn_leaves_earlier_densities_alone():
    benchmark = small_benchmark(Scenario.CLASS)
    inference = TaskInference("density", small_learner("finetune", benchmark, heads="multi").setting)
    kept = []
    for number, task in enumerate(benchmark.tasks):
        rest, held = divide(task.train, 0)
        inference.densities.learn(rest.load(), held, number, 2)
        kept.append({name: value.clone() for name, value in inference.densities.tasks[0][0].tensors().items()})
    assert all(torch.equal(kept[0][name], kept[2][name]) for name in kept[0])


def test_held_out_rows_are_kept_from_the_learner():
    task = small_benchmark(examples=400).tasks[0]
    rest, held = divide(task.train, 0)
    assert (len(rest), len(held)) == (350, 50)
    both = np.concatenate([rest.load().x, held.x])
    assert np.array_equal(np.sort(both, axis=0), np.sort(task.train.load().x, axis=0))


def test_a_run_with_a_density_killed_in_mid_task_ends_with_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "CHECKPOINT_SHARE", float("inf"))
    whole = run(experiment(), tmp_path / "whole")
    for epochs in (4, 6, 3):
        with pytest.raises(KilledError):
            run(experiment(), tmp_path / "killed", progress=KillAfter(epochs))
    resumed = run(experiment(), tmp_path / "killed")
    assert {k: v for k, v in whole.items() if k not in TIMINGS} == {
        k: v for k, v in resumed.items() if k not in TIMINGS
    }
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    again = read_out(tmp_path / "whole", Scenario.CLASS, "sample", task_inference="density")
    assert again["acc"] == pytest.approx(whole["acc"])
    assert again["within_task"] == pytest.approx(whole["within_task"])


def test_a_run_that_learned_no_density_can_be_judged_with_one(tmp_path):
    before = run(experiment(task_inference="entropy", scenario=Scenario.TASK), tmp_path)
    after = read_out(tmp_path, Scenario.CLASS, "sample", task_inference="density")
    assert before["inference_parameters"] == 0
    assert after["inference_parameters"] > 6 * 64
    assert after["task_inference_accuracy"] > 0.9


@pytest.mark.parametrize("method", ["finetune", "ewc"])
def test_plain_learners_are_told_the_task_by_a_density_too(method):
    result = run(experiment(method=method, ood=None))
    assert result["task_inference_accuracy"] > 0.9
    assert result["parameters"] > result["inference_parameters"] > 0


def test_where_no_task_is_inferred_the_digest_is_that_of_before_there_was_a_choice():
    content = experiment(task_inference="entropy", scenario=Scenario.TASK)
    other = experiment(task_inference="entropy", scenario=Scenario.TASK, mixing="hard")
    assert content.digest == other.digest
    assert experiment(mixing="hard").digest != experiment().digest
    assert experiment().digest != experiment(task_inference="entropy").digest


def test_an_unknown_inference_is_refused():
    with pytest.raises(UserError, match="did you mean 'density'"):
        experiment(task_inference="densty")
    with pytest.raises(UserError, match="mixing"):
        experiment(mixing="firm")
    with pytest.raises(UserError, match="heads multi"):
        experiment(heads="single")


def test_densities_see_powers_of_the_inputs_with_their_signs():
    options = DensityOptions(power=2.0, standardise=False)
    inference = TaskInference("density", Setting(3, Layout.MULTI), options=options)
    assert torch.equal(
        inference.densities.preprocess(torch.tensor([[-2.0, 0.5, 0.0]])), torch.tensor([[-4.0, 0.25, 0.0]])
    )
    with pytest.raises(UserError, match="power"):
        DensityOptions(power=0.0)


def test_densities_of_features_follow_the_network_and_serve_while_it_stays():
    benchmark = small_benchmark(Scenario.CLASS, examples=400)
    learner = small_learner("vcl", benchmark, heads="multi", epochs=4)
    options = DensityOptions(of="features", standardise=False)
    inference = TaskInference("density", learner.setting, options=options)
    _, held = divide(benchmark.tasks[0].train, 0)
    learn_task(ContinualModel(learner, inference), benchmark.tasks[0])
    x = torch.from_numpy(held.x)
    features = learner.features(x, 0)
    assert features.shape == (len(held), learner.options.widths[-1])
    logs = inference.densities.tasks[0][1].log_density(features)
    middle, spread = (
        inference.densities.quantiles[0][1][50],
        (inference.densities.quantiles[0][1][84] - inference.densities.quantiles[0][1][16]) / 2,
    )
    share = inference.densities.tasks[0][1].count / sum(one.count for one in inference.densities.tasks[0])
    expected = (logs.double() - middle) / spread + np.log(share)
    torch.testing.assert_close(inference.joint(x, learner=learner)[0][:, 1], expected)
    with torch.no_grad():
        learner.bayesian.hidden_layers()[-1].mean.add_(0.5)
    assert not torch.allclose(inference.joint(x, learner=learner)[0][:, 1], expected)


@pytest.mark.parametrize("timestamps", ["none", "hard"])
def test_a_run_infers_tasks_from_features_and_its_own_rows_are_not_refused(timestamps, tmp_path):
    options = options_for("ibnn", "split-digits", epochs=10, prediction_draws=5, width=60, timestamps=timestamps)
    made = Experiment(
        dataset="split-digits", method="ibnn", scenario=Scenario.CLASS, tasks=2, options=options,
        task_inference="density", density_of="features", density_standardise=False,
    )  # fmt: skip
    result = run(made, tmp_path)
    assert result["task_inference_accuracy"] > (0.8 if timestamps == "hard" else 0.5)
    again = read_out(tmp_path, Scenario.CLASS, "sample", task_inference="density")
    assert again["acc"] == pytest.approx(result["acc"])


def test_a_method_without_features_says_so():
    benchmark = small_benchmark(Scenario.CLASS)
    learner = small_learner("den", benchmark, heads="multi", epochs=1)
    inference = TaskInference("density", learner.setting, options=DensityOptions(of="features"))
    with pytest.raises(UserError, match="no features"):
        learn_task(ContinualModel(learner, inference), benchmark.tasks[0])
    with pytest.raises(UserError, match="did you mean 'features'"):
        DensityOptions(of="feature")


def test_heads_of_few_classes_have_no_advantage():
    inference = TaskInference("entropy", Setting(3, Layout.MULTI))
    unsure = [Prediction.of_draws(torch.full((1, 4, size), 1 / size)) for size in (2, 10)]
    evidence = inference.network_evidence(unsure)
    torch.testing.assert_close(evidence[0], evidence[1])
