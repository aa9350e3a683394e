"""The learner of the authors' variant, beside its objective (`test_authors_fixtures.py`)."""

import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.bayes_options import HierarchicalOptions
from hibnn.nn.layers.authors import AuthorsHIBP, AuthorsIBP, RawSticks
from statistics_helpers import assert_mean

AUTHORS = {
    "mask_kl": "authors", "relaxation": "paper", "averaged_masks": 10, "prediction_masks": "soft", "size": "prior",
    "timestamps": "none", "weight_noise": "weights", "bias_init_std": 0.1, "head_init_std": 0.1,
    "init_std": 0.1, "log_variance": -6.0,
}  # fmt: skip


@pytest.mark.parametrize("method", ["ibnn", pytest.param("hibnn", marks=pytest.mark.slow)])
def test_the_authors_variants_are_learners(method, tmp_path):
    options = AUTHORS | {"averaged_masks": 2, "likelihood_epochs": 5, "alpha": 5.0, "init_alpha": 5.0}
    check_learner(method, tmp_path, prediction_draws=5, **options)


@pytest.mark.parametrize(("method", "expected"), [("ibnn", {"kl_masks"}), ("hibnn", {"kl_masks", "kl_child"})])
def test_their_terms_are_reported(method, expected):
    benchmark = small_benchmark()
    learner = small_learner(method, benchmark, **AUTHORS | {"epochs": 1})
    terms = learn(learner, benchmark.tasks[0])[-1]
    assert set(terms) == {"nll", "kl_weights", "kl_sticks"} | expected


def test_the_prior_that_is_drawn_at_the_first_task_is_theirs():
    ibnn, hibnn = (RawSticks(3, 5.0, 5.0, inverted=inverted) for inverted in (False, True))
    assert ibnn.values().concentrations[:, 0].tolist() == pytest.approx([5.01, 1.01], abs=1e-5)
    assert ibnn.values(from_prior=True).concentrations[:, 0].tolist() == pytest.approx([5.0167, 1.3233], abs=1e-4)
    assert hibnn.values(from_prior=True).concentrations[:, 0].tolist() == pytest.approx([5.01, 1.01], abs=1e-5)
    assert hibnn.kl().item() == 0
    assert ibnn.kl_of_raw().item() == pytest.approx(3 * 0.2971, abs=1e-3)


def test_raw_parameters_become_the_next_prior_and_must_stay_positive():
    sticks = RawSticks(3, 5.0, 5.0, inverted=False)
    sticks.posterior_becomes_prior()
    assert torch.equal(sticks.prior, sticks.raw)
    assert sticks.kl_of_raw().item() == 0
    with torch.no_grad():
        sticks.raw[1, 1] = -0.1
    assert sticks.kl_of_raw().isnan()


def test_a_mask_is_one_for_all_draws_of_the_weights_and_another_for_every_example():
    learner = small_learner("ibnn", small_benchmark(), **AUTHORS)
    (masks,) = learner.neurons.prediction_masks(6, 4, 0, torch.Generator().manual_seed(0))
    rows = masks.unflatten(0, (4, 6))
    assert torch.equal(rows[0], rows[3])
    assert len(rows[0].unique(dim=0)) == 6


def test_the_priors_temperature_is_the_posteriors_from_the_second_task_on():
    benchmark = small_benchmark()
    learner = small_learner("ibnn", benchmark, **AUTHORS | {"prior_temperature": 2.0, "epochs": 1})
    seen = []
    for task in benchmark.tasks:
        learn(learner, task)
        seen.append(learner.draws.prior_temperature)
    assert seen == [2.0, 0.7, 0.7]


def test_maximum_likelihood_has_a_rate_of_its_own():
    benchmark = small_benchmark()
    moved = []
    for rate in (1e-2, 1e-5):
        options = AUTHORS | {"likelihood_epochs": 1, "learning_rate": rate}
        learner = small_learner("ibnn", benchmark, **options)
        learner.begin(benchmark.tasks[0])
        learner.epoch(0)
        moved.append(learner.bayesian.hidden_layers()[0].mean.detach().clone())
    assert torch.equal(*moved)


def test_biases_begin_with_their_deviation_in_body_and_head():
    benchmark = small_benchmark()
    options = AUTHORS | {"bias_init_std": 3.0, "width": 2000}
    learner = small_learner("ibnn", benchmark, **options)
    learner.begin(benchmark.tasks[0])
    body, head = learner.bayesian.hidden_layers()[0].mean[-1], learner.bayesian.heads[0].mean[-1]
    assert body.std().item() == pytest.approx(3.0 * 0.88, rel=0.1)  # 0.88: a normal cut at two deviations
    assert (head != 0).all()
    assert (small_learner("ibnn", benchmark, **AUTHORS | {"bias_init_std": 0.0}).bayesian.body[0].mean[-1] == 0).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"size": "evidence"}, "--size prior"), ({"relaxation": "odds"}, "--relaxation paper"),
     ({"timestamps": "soft"}, "--timestamps none")],
)  # fmt: skip
def test_what_their_program_does_not_have_is_refused(change, sentence):
    with pytest.raises(UserError, match=f"needs {sentence}: add that, or use --preset authors"):
        small_learner("ibnn", small_benchmark(), **AUTHORS | change)


@pytest.mark.parametrize("mask", [AuthorsIBP([4, 4], 5.0, 5.0), AuthorsHIBP([4, 3], 4.2, 4.2, 4.0, 10)])
def test_exported_masks_have_the_probabilities_of_training(generator, mask):
    """`log_odds` serves ensembles, `locations` training; a hierarchy averages ten draws in both."""
    with torch.no_grad():
        odds = mask.sample_log_odds(4000, generator)
        drawn = [mask.locations(10, 1, generator).layers for _ in range(400)]
        second = [layer.exp().mean((0, 1)) for layer in map(torch.cat, zip(*drawn, strict=True))]
    for own, other, layers in zip(odds, second, zip(*drawn, strict=True), strict=True):
        pi = torch.stack([layer.exp().mean((0, 1)) for layer in layers])
        error = (own.sigmoid().var(0) / 4000 + pi.var(0) / 400).sqrt()
        assert ((own.sigmoid().mean(0) - other).abs() < 5 * error).all()


def test_children_scatter_around_an_average_and_not_around_each_draw(generator):
    """Given pbar, a child of the first neuron has variance pbar (1 - pbar) / (alpha_j + 1)."""
    mask = AuthorsHIBP([1], 1.0, 1.0, 1e6, 10)  # children as good as their pbar
    with torch.no_grad():
        pbar = torch.stack([mask.locations(10, 1, generator).layers[0][0, 0, 0].exp() for _ in range(1000)])
    a, b = 1.01, 1.01
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert_mean(pbar, 0.5)
    assert pbar.var().item() == pytest.approx(variance / 10, rel=5 * (2 / 1000) ** 0.5)


def test_the_tail_of_a_wide_hierarchy_has_finite_gradients(generator):
    options = HierarchicalOptions(**AUTHORS | {"alpha": 4.2, "init_alpha": 4.2, "width": 200})
    mask = options.new_authors_buffet(options.widths)
    drawn = mask.locations(10, 32, generator)
    prior = mask.locations(10, 32, generator, from_prior=True)
    (sum(layer.sum() for layer in drawn.layers) + mask.kl_children(drawn, prior) + mask.kl_sticks()).backward()
    assert torch.isfinite(mask.each()[0].raw.grad).all()
    assert drawn.layers[0].min().item() == pytest.approx(-36.84, abs=0.01)


def test_answers_are_finite_in_every_scenario():
    for scenario in Scenario:
        benchmark = small_benchmark(scenario)
        learner = small_learner("hibnn", benchmark, **AUTHORS | {"epochs": 1, "prediction_draws": 5})
        learn(learner, benchmark.tasks[0])
        assert torch.isfinite(probabilities(learner, benchmark)).all()
