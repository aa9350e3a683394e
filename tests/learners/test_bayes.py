"""VCL, IBNN and HIBNN as learners."""

import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners import find_method
from hibnn.learners.base import Setting
from hibnn.learners.bayes_options import BayesOptions, BuffetOptions, HierarchicalOptions
from hibnn.learners.presets import options_for
from hibnn.learners.schedule import Schedule
from hibnn.nn.layers.masks import Relaxation
from hibnn.nn.layout import Layout


@pytest.mark.parametrize("method", ["vcl", "ibnn", "hibnn"])
def test_the_bayesian_methods_are_learners(method, tmp_path):
    check_learner(method, tmp_path, prediction_draws=10, likelihood_epochs=1)


def test_the_posterior_becomes_the_prior_and_a_new_head_gets_the_first_prior():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, epochs=2, size="prior")
    learn(learner, benchmark.tasks[0])
    network = learner.bayesian
    learner.begin(benchmark.tasks[1])
    for layer in (*network.hidden_layers(), network.heads[0]):
        assert torch.equal(layer.prior_mean, layer.mean)
        assert torch.equal(layer.prior_log_variance, layer.log_variance)
        assert layer.kl().abs() < 1e-2
    assert torch.equal(network.buffet.each()[0].prior, network.buffet.each()[0].concentrations())
    assert (network.heads[1].prior_mean == 0).all()
    assert torch.allclose(network.heads[1].prior_log_variance.exp(), torch.tensor(0.7))
    assert (network.heads[1].mean == 0).all()


def test_a_later_task_leaves_the_heads_of_earlier_ones_untouched():
    benchmark = small_benchmark()
    learner = small_learner("vcl", benchmark, epochs=2)
    learn(learner, benchmark.tasks[0])
    before = learner.bayesian.heads[0].mean.clone()
    learn(learner, benchmark.tasks[1])
    assert torch.equal(learner.bayesian.heads[0].mean, before)


def test_maximum_likelihood_epochs_move_the_means_alone_and_only_for_the_first_task():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, epochs=1, likelihood_epochs=2)
    learner.begin(benchmark.tasks[0])
    assert learner.epochs == 3
    layer = learner.bayesian.hidden_layers()[0]
    mean, log_variance, raw = (
        value.detach().clone() for value in (layer.mean, layer.log_variance, learner.bayesian.buffet.each()[0].raw)
    )
    learner.epoch(0)
    assert not torch.equal(layer.mean, mean)
    assert torch.equal(layer.log_variance, log_variance)
    assert torch.equal(learner.bayesian.buffet.each()[0].raw, raw)
    learner.end()
    learner.begin(benchmark.tasks[1])
    assert learner.epochs == 1


def test_child_alpha_grows_with_every_data_set():
    benchmark = small_benchmark(tasks=3)
    learner = small_learner("hibnn", benchmark, epochs=1, child_alpha=2.0, child_alpha_step=3.0, child_alpha_every=2)
    seen = []
    for task in benchmark.tasks:
        learner.begin(task)
        seen.append(learner.bayesian.buffet.child_alpha)
        learner.epoch(0)
        learner.end()
    assert seen == [2.0, 2.0, 5.0]


def test_a_restored_model_has_the_child_alpha_of_its_last_task():
    benchmark = small_benchmark(tasks=2)
    options = {"epochs": 1, "size": "prior", "timestamps": "none", "child_alpha_step": 8.0, "child_alpha_every": 1}
    learner = small_learner("hibnn", benchmark, **options)
    for task in benchmark.tasks:
        learn(learner, task)
    restored = small_learner("hibnn", benchmark, **options)
    restored.restore(learner.state())
    assert restored.bayesian.buffet.child_alpha == learner.bayesian.buffet.child_alpha == 12.0
    assert torch.equal(probabilities(restored, benchmark, 1), probabilities(learner, benchmark, 1))


@pytest.mark.parametrize("common", [True, False])
def test_outputs_for_the_classes_of_other_tasks_are_trained_and_those_of_a_task_to_come_are_not(common):
    benchmark = small_benchmark()
    setting = Setting(benchmark.inputs, Layout.MULTI, common_outputs=common)
    learner = find_method("vcl").learner(options_for("vcl", "split-digits"), setting)
    split = benchmark.tasks[0].train.load()
    learner.begin_experience(split, 10)
    learner.terms(torch.arange(len(split.y)), 0.0, torch.Generator().manual_seed(0))
    (head,) = learner.bayesian.heads_of(0)
    assert (head.mean.grad[-1, 2:] > 0).all() if common else (head.mean.grad[:, 2:] == 0).all()


def test_the_warm_up_weighs_the_kl_by_the_epoch():
    benchmark = small_benchmark()
    learner = small_learner("vcl", benchmark, epochs=5, kl_warmup=4)
    learner.begin(benchmark.tasks[0])
    assert [learner.plan.kl_weight(number) for number in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_prediction_by_means_is_close_to_the_average_over_draws():
    benchmark = small_benchmark()
    answers = []
    for prediction in ("mean", "sample"):
        learner = small_learner("ibnn", benchmark, prediction=prediction, prediction_draws=200)
        learn(learner, benchmark.tasks[0])
        answers.append(probabilities(learner, benchmark))
    assert (answers[0] - answers[1]).abs().mean() < 0.1
    assert (answers[0].argmax(-1) == answers[1].argmax(-1)).float().mean() > 0.95


def test_more_draws_of_the_weights_are_more_rows():
    benchmark = small_benchmark()
    learner = small_learner("hibnn", benchmark, draws=3, epochs=1, hidden=(12, 7))
    learner.begin(benchmark.tasks[0])
    assert [len(pi) for pi in learner.bayesian.buffet.expected_pi()] == [12, 7]
    assert learner.epoch(0)["nll"] > 0


def test_a_growing_head_serves_bayesian_methods_too():
    benchmark = small_benchmark(Scenario.CLASS)
    learner = small_learner("ibnn", benchmark, heads="single", epochs=2)
    for task in benchmark.tasks:
        learn(learner, task)
    assert learner.setting.layout is Layout.GROWING
    assert probabilities(learner, benchmark).shape[1] == 6


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (BuffetOptions, {"alpha": 0.0}),
        (BuffetOptions, {"alpha": -1.0}),
        (BuffetOptions, {"temperature": 0.0}),
        (BuffetOptions, {"prior_temperature": 0.0}),
        (BuffetOptions, {"width": 0}),
        (BuffetOptions, {"stick_sets": 0}),
        (HierarchicalOptions, {"child_alpha": 0.0}),
        (BayesOptions, {"prior_variance": 0.0}),
        (BayesOptions, {"likelihood_epochs": -1}),
    ],
)
def test_impossible_settings_are_refused_in_a_sentence(options, wrong):
    with pytest.raises(UserError, match="must be"):
        options(**wrong)


def test_a_non_finite_objective_stops_with_the_step_and_the_term():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, epochs=1)
    learner.begin(benchmark.tasks[0])
    with torch.no_grad():
        learner.bayesian.hidden_layers()[0].mean[0, 0] = torch.inf
    with pytest.raises(UserError, match=r"task 1 at step 0 .*nll.*lower --learning-rate"):
        learner.epoch(0)


def test_every_bayesian_method_is_found_by_name():
    benchmark = small_benchmark()
    learners = {name: type(small_learner(name, benchmark)).__name__ for name in ("vcl", "mfvi", "ibnn", "hibnn")}
    fixed, sized = "SequentialBayes", "SizedBayes"
    assert learners == {"vcl": fixed, "mfvi": fixed, "ibnn": sized, "hibnn": sized}


def test_options_take_words_for_their_enumerations():
    options = BuffetOptions(relaxation="paper", schedule="constant")
    assert options.relaxation is Relaxation.PAPER
    assert options.schedule is Schedule.CONSTANT
    with pytest.raises(UserError, match="relaxation"):
        BuffetOptions(relaxation="log")


def test_schedules_fall_as_they_say():
    assert Schedule.EXPONENTIAL.factor(2000, 9) == pytest.approx(0.87**2)
    assert Schedule.HALVING.factor(1500, 9) == pytest.approx(0.5**1.5)
    assert Schedule.CONSTANT.factor(1500, 9) == 1.0
