"""Elastic weight consolidation: its Fisher information is exact, and its single quadratic is the sum of all."""

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from checks import check_learner, learn, small_benchmark, small_learner
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.ewc import EWCOptions
from hibnn.learners.fisher import Fisher, batch_fisher, fisher
from hibnn.learners.presets import options_for
from hibnn.nn.layout import Layout
from hibnn.nn.networks.mlp import MLP


def network(layout: Layout, hidden, generator) -> MLP:
    """A network with three heads of three outputs, in double precision, whose answers are far from certain."""
    mlp = MLP(6, hidden, layout, generator)
    for _ in range(3):
        mlp.add_head(3, generator)
    return mlp.double()


def inputs(generator, count=20) -> torch.Tensor:
    return torch.randn(count, 6, generator=generator, dtype=torch.float64)


def gradients(mlp: MLP, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    names, parameters = zip(*mlp.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(loss, parameters, materialize_grads=True), strict=True))


@pytest.mark.parametrize("options", [{}, {"online": True, "decay": 0.9}, {"fisher": "batches", "keep_moments": False}])
def test_ewc_is_a_learner(options, tmp_path):
    check_learner("ewc", tmp_path, **options)


@pytest.mark.parametrize("layout", Layout)
def test_the_fisher_is_the_mean_of_squared_gradients_of_single_examples(layout, generator):
    mlp, x = network(layout, (7, 5), generator), inputs(generator)
    expected = {name: torch.zeros_like(value) for name, value in mlp.named_parameters()}
    for row in x:
        logits = mlp(row[None], 1)
        for name, gradient in gradients(mlp, cross_entropy(logits, logits.argmax(-1))).items():
            expected[name] += gradient**2 / len(x)
    found = fisher(mlp, x, 1)
    for name, value in expected.items():
        assert torch.allclose(found.get(name, torch.zeros_like(value)), value, rtol=1e-12)


def test_the_expected_fisher_averages_over_the_labels_of_the_model(generator):
    mlp, x = network(Layout.SHARED, (7, 5), generator), inputs(generator)
    expected = {name: torch.zeros_like(value) for name, value in mlp.named_parameters()}
    for row in x:
        log_p = mlp(row[None], 0).log_softmax(-1)[0]
        for label in range(3):
            for name, gradient in gradients(mlp, mlp(row[None], 0).log_softmax(-1)[0, label]).items():
                expected[name] += log_p[label].exp().detach() * gradient**2 / len(x)
    for name, value in fisher(mlp, x, 0, expected=True).items():
        assert torch.allclose(value, expected[name], rtol=1e-12)


def test_the_fisher_of_a_softmax_regression_is_the_analytic_one(generator):
    """d log p_y / d W_ci = ([c = y] - p_c) x_i, so F = E[x_i^2 p_c (1 - p_c)]."""
    mlp, x = network(Layout.SHARED, (), generator), inputs(generator)
    p = mlp(x, 0).softmax(-1).detach()
    answer = torch.nn.functional.one_hot(p.argmax(-1), 3)
    for expected, squares in ((True, p * (1 - p)), (False, (answer - p) ** 2)):
        found = fisher(mlp, x, 0, expected=expected)
        assert torch.allclose(found["heads.0.weight"], squares.T @ x**2 / len(x))
        assert torch.allclose(found["heads.0.bias"], squares.mean(0))


def test_the_fisher_does_not_depend_on_how_the_examples_are_portioned(generator, monkeypatch):
    mlp, x = network(Layout.GROWING, (7,), generator), inputs(generator)
    whole = fisher(mlp, x, 2)
    monkeypatch.setattr("hibnn.learners.fisher.ROWS", 3)
    for name, value in fisher(mlp, x, 2).items():
        assert torch.allclose(value, whole[name], rtol=1e-12)


def test_batches_of_one_give_the_fisher_and_larger_ones_the_square_of_the_mean(generator):
    mlp, x = network(Layout.MULTI, (7,), generator), inputs(generator)
    for name, value in batch_fisher(mlp, list(x.split(1)), 1).items():
        assert torch.allclose(value, fisher(mlp, x, 1)[name], rtol=1e-12)
    logits = mlp(x, 1)
    for name, gradient in gradients(mlp, cross_entropy(logits, logits.argmax(-1))).items():
        found = batch_fisher(mlp, [x], 1).get(name, torch.zeros_like(gradient))
        assert torch.allclose(found, len(x) * gradient**2, rtol=1e-12)


@pytest.mark.parametrize("scenario", Scenario)
def test_the_penalty_pulls_like_one_quadratic_a_task(scenario):
    learner, terms = learned("ewc", scenario, strength=7.0)
    parameters = learner.shared_parameters()
    for parameter in parameters.values():
        parameter.data += 0.3
        parameter.grad = torch.zeros_like(parameter)
    learner.adjust_gradients()
    for name, parameter in parameters.items():
        expected = torch.zeros_like(parameter)
        for information, weights in terms:
            if name in information:
                expected += 2 * 7.0 * information[name] * (parameter.detach() - weights[name])
        assert torch.allclose(parameter.grad, expected, rtol=1e-4, atol=1e-9)


def test_online_ewc_sums_decayed_information_around_the_latest_weights():
    learner, terms = learned("ewc", Scenario.DOMAIN, online=True, decay=0.5)
    for name, weights in terms[-1][1].items():
        assert torch.equal(learner.anchor[name], weights)
        (first, _), (second, _), (third, _) = terms
        assert torch.allclose(learner.importance[name], 0.25 * first[name] + 0.5 * second[name] + third[name])


def learned(method, scenario, **options):
    """A learner after all tasks, and the Fisher information and weights at the end of each."""
    benchmark = small_benchmark(scenario)
    learner: Any = small_learner(method, benchmark, epochs=1, **options)
    terms = []
    for task in benchmark.tasks:
        learner.begin(task)
        learner.epoch(0)
        weights = {name: value.detach().clone() for name, value in learner.network.named_parameters()}
        terms.append((learner.new_fisher(), weights))
        learner.end()
    return learner, terms


def test_heads_are_held_only_where_later_tasks_train_them():
    held = {scenario: set(learned("ewc", scenario)[0].importance) for scenario in Scenario}
    body = {"body.0.weight", "body.0.bias"}
    assert held[Scenario.TASK] == body
    assert held[Scenario.DOMAIN] == body | {"heads.0.weight", "heads.0.bias"}
    assert held[Scenario.CLASS] == body | {f"heads.{head}.{kind}" for head in range(3) for kind in ("weight", "bias")}


@pytest.mark.parametrize("information", [Fisher.PREDICTED, Fisher.EXPECTED])
@pytest.mark.parametrize("scenario", [Scenario.DOMAIN, Scenario.CLASS])
def test_ewc_forgets_less_than_finetuning(scenario, information):
    strength = {Fisher.PREDICTED: 1e6, Fisher.EXPECTED: 1e3}[information]
    held = accuracy_at_the_end("ewc", scenario, strength=strength, fisher=information)
    assert held > accuracy_at_the_end("finetune", scenario) + 0.05


@pytest.mark.parametrize("keep", [True, False])
def test_moments_live_on_between_tasks_only_if_they_are_kept(keep):
    benchmark = small_benchmark()
    learner = small_learner("ewc", benchmark, epochs=1, keep_moments=keep)
    learn(learner, benchmark.tasks[0])
    steps = [value for name, value in learner.state().tensors.items() if name == "optimiser.0.step"]
    assert steps == ([6] if keep else [])
    learner.begin(benchmark.tasks[1])
    learner.epoch(0)
    assert learner.state().tensors["optimiser.0.step"] == (12 if keep else 6)


def test_what_is_kept_is_counted_and_does_not_grow_with_the_tasks():
    learner, _ = learned("ewc", Scenario.DOMAIN, keep_moments=False)
    network = 8 * 20 + 20 + 20 * 2 + 2
    assert learner.parameter_count() == 3 * network
    assert sum(value.numel() for value in learner.state().tensors.values()) == 3 * network
    learner.begin(small_benchmark(Scenario.DOMAIN).tasks[0])
    learner.epoch(0)
    assert learner.parameter_count() == 3 * network


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    strengths = [
        [options_for("ewc", dataset, scenario=scenario).strength for scenario in Scenario]
        for dataset in ("split-mnist", "permuted-mnist")
    ]
    assert strengths == [[100, 100, 600], [500, 150, 10]]
    assert options_for("ewc", "permuted-mnist", scenario="domain").fisher is Fisher.BATCHES


@pytest.mark.parametrize("wrong", [{"strength": -1.0}, {"decay": 1.5}])
def test_impossible_options_of_ewc_are_refused(wrong):
    with pytest.raises(UserError, match="must be"):
        EWCOptions(**wrong)
