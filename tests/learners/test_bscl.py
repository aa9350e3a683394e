"""BSCL: masks per weight, learned, rounded and stored; the weights of earlier tasks held by their posterior."""

from itertools import pairwise

import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.distributions.concrete import kl_concrete, sample
from hibnn.distributions.kumaraswamy import kl_kumaraswamy
from hibnn.distributions.normal import kl_normal
from hibnn.errors import UserError
from hibnn.learners.bscl import BSCLOptions
from hibnn.nn.layers.weight_masks import WeightMasks, kl_logistic, sample_masked
from statistics_helpers import assert_finite, assert_mean

SMALL = {"retraining_epochs": 2, "prediction_draws": 5, "rounding_draws": 20}


def small(benchmark, **options):
    return small_learner("bscl", benchmark, **(SMALL | options))


def test_bscl_is_a_learner(tmp_path):
    check_learner("bscl", tmp_path, **SMALL)


def test_a_state_taken_while_the_masks_are_fixed_goes_on_exactly():
    benchmark = small_benchmark()
    first = small(benchmark, epochs=2)
    learn(first, benchmark.tasks[0])
    first.begin(benchmark.tasks[1])
    for number in range(3):
        first.epoch(number)
    state = first.state()
    second = small(benchmark, epochs=2)
    second.restore(type(state)({name: value.clone() for name, value in state.tensors.items()}, state.metadata))
    second.attach(benchmark.tasks[1].train.load(), 1)
    for learner in (first, second):
        learner.epoch(3)
        learner.end()
    assert all(torch.equal(value, second.state().tensors[name]) for name, value in first.state().tensors.items())


def test_the_stored_mask_of_task_1_is_unchanged_after_task_5_and_predicts_task_1():
    benchmark = small_benchmark(tasks=5)
    learner = small(benchmark, epochs=5)
    learn(learner, benchmark.tasks[0])
    (mask,) = (one.clone() for one in learner.stored[0])
    for task in benchmark.tasks[1:]:
        learn(learner, task)
    assert torch.equal(learner.stored[0][0], mask)
    assert not torch.equal(learner.stored[4][0], mask)
    before = probabilities(learner, benchmark, 0)
    learner.stored[1:] = [[~mask] for _ in range(4)]
    assert torch.equal(probabilities(learner, benchmark, 0), before)
    learner.stored[0] = [~mask]
    assert not torch.equal(probabilities(learner, benchmark, 0), before)


def test_weights_outside_its_mask_do_not_change_a_tasks_answers():
    benchmark = small_benchmark()
    learner = small(benchmark)
    learn(learner, benchmark.tasks[0])
    before = probabilities(learner, benchmark)
    (mask,), (layer,) = learner.stored[0], learner.masked.bayesian.hidden_layers()
    assert 0 < mask.float().mean() < 1
    with torch.no_grad():
        layer.mean[:-1][~mask] = 1000.0
    assert torch.allclose(probabilities(learner, benchmark), before, atol=1e-5)


def test_retraining_moves_the_weights_and_neither_masks_nor_sticks():
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=2)
    learner.begin(benchmark.tasks[0])
    for number in range(2):
        assert "kl_masks" in learner.epoch(number)
    masks = learner.masked.each_mask()[0]
    before = [value.detach().clone() for value in (masks.p, masks.raw, learner.masked.bayesian.heads[0].mean)]
    assert set(learner.epoch(2)) == {"nll", "kl_weights"}
    assert torch.equal(masks.p, before[0])
    assert torch.equal(masks.raw, before[1])
    assert not torch.equal(learner.masked.bayesian.heads[0].mean, before[2])


def test_each_weight_and_each_bias_pays_its_kl_once_and_free_ones_nothing(generator):
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=3)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    network, (mask,) = learner.masked, learner.stored[0]
    (layer,) = network.bayesian.hidden_layers()
    with torch.no_grad():
        layer.mean += 0.1 * torch.randn(layer.mean.shape, generator=generator)
    each = kl_normal(layer.mean, layer.log_variance, layer.prior_mean, layer.prior_log_variance)
    expected = each[:-1][mask].sum() + each[-1][mask.any(0)].sum() + network.bayesian.heads[1].kl()
    terms = learner.terms(torch.arange(20), 0, [held.float() for held in learner.held()], generator)
    assert torch.allclose(terms["kl_weights"], expected / 120)


def test_masks_and_sticks_pay_once_too(generator):
    benchmark = small_benchmark()
    learner = small(benchmark, draws=3)
    learner.begin(benchmark.tasks[0])
    (masks,) = learner.masked.each_mask()
    with torch.no_grad():
        masks.p.normal_(generator=generator)
    terms = learner.terms(torch.arange(20), 0, [held.float() for held in learner.held()], generator)
    a, b = masks.concentrations()
    assert torch.allclose(terms["kl_masks"], kl_logistic(masks.p).sum() / 120)
    assert torch.allclose(terms["kl_sticks"], kl_kumaraswamy(a, b, 30.0, 1.0).sum() / 120)


def test_the_prior_does_not_follow_the_weights():
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=3)
    learn(learner, benchmark.tasks[0])
    (layer,) = learner.masked.bayesian.hidden_layers()
    posterior = layer.mean.detach().clone()
    learn_without_end(learner, benchmark.tasks[1])
    assert torch.equal(layer.prior_mean, posterior)
    held = learner.held()[0]
    assert (layer.mean[held] != layer.prior_mean[held]).any()


def learn_without_end(learner, task):
    learner.begin(task)
    for number in range(learner.epochs):
        learner.epoch(number)


def test_a_new_task_finds_masks_sticks_and_free_weights_as_the_first_did_and_a_larger_alpha():
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=3)
    learn(learner, benchmark.tasks[0])
    (masks,), (layer,) = learner.masked.each_mask(), learner.masked.bayesian.hidden_layers()
    largest = masks.concentrations()[0].max().item()
    held_mean = layer.mean.detach().clone()
    learner.begin(benchmark.tasks[1])
    assert masks.alpha.item() == max(30.0, largest)
    assert (masks.p == 0).all()
    assert torch.allclose(masks.concentrations()[0], masks.alpha + 1)
    assert torch.allclose(masks.concentrations()[1], torch.tensor(2.0))
    held = learner.held()[0]
    assert torch.equal(layer.mean[held], held_mean[held])
    assert (layer.mean[~held].abs() <= 0.02).all()
    assert (layer.log_variance[~held] == -6).all()


def test_alpha_never_falls():
    masks = WeightMasks(3, 4, 10.0)
    with torch.no_grad():
        masks.raw.fill_(1.0)
    masks.raise_alpha()
    assert masks.alpha == 10.0
    with torch.no_grad():
        masks.raw[0, 2] = 25.0
    masks.raise_alpha()
    assert masks.alpha.item() == pytest.approx(25.0)


def test_the_temperature_falls_geometrically_over_the_steps_that_learn_masks():
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=4)
    learner.begin(benchmark.tasks[0])
    seen = [learner.temperature(step) for step in range(25)]
    assert seen[0] == 10
    assert seen[24] == pytest.approx(0.3)
    ratios = [after / before for before, after in pairwise(seen)]
    assert max(ratios) == pytest.approx(min(ratios))


def test_every_step_draws_masks_at_its_own_temperature(monkeypatch):
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=2)
    learner.begin(benchmark.tasks[0])
    seen = []
    (masks,) = learner.masked.each_mask()
    draw = masks.sample
    monkeypatch.setattr(masks, "sample", lambda t, generator: seen.append(t) or draw(t, generator))
    for number in range(2):
        learner.epoch(number)
    assert seen == [learner.temperature(step) for step in range(12)]


def test_hot_masks_are_near_one_half_and_cold_ones_decided(generator):
    masks = WeightMasks(50, 10, 30.0)
    hot, cold = (masks.sample(temperature, generator) for temperature in (100.0, 0.01))
    assert ((hot - 0.5).abs() < 0.1).all()
    assert ((cold < 0.01) | (cold > 0.99)).float().mean() > 0.95


def test_masks_learn_ten_times_faster_than_weights_and_retraining_is_slow():
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=1, learning_rate=0.01)
    learner.begin(benchmark.tasks[0])
    assert [group["lr"] for group in learner.optimiser.param_groups] == [0.01, 0.1]
    for number in range(2):
        learner.epoch(number)
    assert [group["lr"] for group in learner.optimiser.param_groups] == [1e-3]


@pytest.mark.parametrize("shift", [-6.0, -0.7, -0.1, 0.0, 0.3, 0.5, 2.0])
@pytest.mark.parametrize("temperature", [0.3, 5.0])
def test_the_kl_of_a_mask_is_its_expectation_at_any_temperature_and_stick(shift, temperature, generator):
    location = torch.full((100_000,), -1.3, dtype=torch.float64)
    y, _ = sample(location + shift, temperature, generator)
    draws = kl_concrete(y, location + shift, temperature, location, temperature)
    assert_mean(torch.cat([draws, draws.new_tensor([-1e-9, 1e-9])]), kl_logistic(torch.tensor(shift)).item())


def test_the_kl_of_masks_is_smooth_and_has_the_right_slope():
    shift = torch.tensor([-40.0, -0.5, -0.49, -1e-4, 0.0, 1e-3, 0.4999, 0.5001, 3.0, 90.0], dtype=torch.float64)
    shift.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: kl_logistic(s).sum(), shift)
    assert kl_logistic(torch.zeros(1)) == 0


def test_a_masked_weight_is_the_product_and_an_unused_unit_has_no_bias(generator):
    mean, log_variance = torch.randn(2, 4, 3, generator=generator)
    x, noise = torch.randn(2, 5, 3, generator=generator)
    z = torch.tensor([[1.0, 0.0, 0.5], [0.0, 0.0, 0.2], [1.0, 0.0, 0.1]])
    whole, ones = torch.cat([z, torch.tensor([[1.0, 0.0, 0.5]])]), torch.cat([x, torch.ones(5, 1)], 1)
    scale = (ones.square() @ (log_variance.exp() * whole.square())).sqrt()
    assert torch.allclose(sample_masked(x, mean, log_variance, z, noise), ones @ (mean * whole) + scale * noise)


def test_a_network_with_its_masks_in_its_weights_draws_what_masks_beside_them_draw(generator):
    benchmark = small_benchmark()
    learner = small(benchmark, depth=2, epochs=1, retraining_epochs=1)
    for task in benchmark.tasks[:2]:
        learn(learner, task)
    network, x = learner.masked, torch.randn(5, learner.setting.inputs, generator=generator)
    masks = [torch.rand(mask.p.shape, generator=generator).sub(0.4).clamp_(0, 1) for mask in network.each_mask()]
    same = [torch.Generator().manual_seed(1) for _ in range(2)]
    logits = network.with_masks(masks, 1)(x, 0, None, same[0])
    assert (masks[0] == 0).any()
    torch.testing.assert_close(logits, network(x, 1, masks, same[1]))


def test_the_gradient_of_masked_weights_is_that_of_their_activations(generator):
    leaves = [torch.rand(*size, generator=generator, dtype=torch.float64) for size in ((5, 3), (4, 2), (4, 2), (3, 2))]
    noise = torch.randn(6, 5, 2, generator=generator, dtype=torch.float64)
    for values in leaves:
        values.requires_grad_()
    assert torch.autograd.gradcheck(lambda *values: sample_masked(*values, noise), leaves)


def test_the_kl_of_all_masks_has_the_gradient_of_its_formula():
    masks = WeightMasks(2, 5, 30.0).double()
    with torch.no_grad():
        masks.p.copy_(torch.tensor([[-40.0, -0.5, -0.49, -1e-4, 0.0], [1e-3, 0.4999, 0.5001, 3.0, 90.0]]))
    (own,), (expected,) = (
        torch.autograd.grad(total, masks.p) for total in (masks.kl_masks(), kl_logistic(masks.p).sum())
    )
    assert torch.allclose(own, expected, rtol=1e-6, atol=1e-12)


def test_an_empty_mask_answers_and_trains_without_nan(generator):
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=1)
    learner.begin(benchmark.tasks[0])
    learner.epoch(0)
    learner.stored.append([torch.zeros(8, 20, dtype=torch.bool)])
    learner.optimiser = learner.new_optimiser()
    terms = learner.terms(torch.arange(20), 0, [held.float() for held in learner.held()], generator)
    terms["nll"].backward()
    assert_finite(*(layer.mean.grad for layer in learner.masked.bayesian.hidden_layers()))
    assert_finite(probabilities(learner, benchmark))


def test_a_rounded_mask_is_on_where_most_draws_are(generator):
    masks = WeightMasks(2, 3, 30.0)
    with torch.no_grad():
        masks.p[0], masks.p[1] = 5.0, -5.0
    assert masks.rounded(0.3, 50, generator).tolist() == [[True] * 3, [False] * 3]
    masks.restart()
    assert not masks.rounded(0.3, 500, generator)[:, 2].any()


def test_a_shared_head_is_refused_in_a_sentence():
    with pytest.raises(UserError, match="--heads multi"):
        small_learner("bscl", small_benchmark(Scenario.DOMAIN), heads="single")
    for wrong in ({"alpha": 0.0}, {"draws": 0}, {"retraining_epochs": -1}, {"final_temperature": 0.0}):
        with pytest.raises(UserError, match="must be"):
            BSCLOptions(**wrong)


def test_neurons_in_use_and_stored_numbers_follow_the_masks():
    benchmark = small_benchmark()
    learner = small(benchmark, epochs=1)
    assert learner.active_units() is None
    for task in benchmark.tasks[:2]:
        learn(learner, task)
    mask = torch.zeros(8, 20, dtype=torch.bool)
    mask[0, :3] = mask[5, 2:7] = True
    learner.stored = [[mask], [mask.roll(1, 1)]]
    assert learner.active_units() == [8.0]
    weights = sum(parameter.numel() for parameter in learner.masked.bayesian.parameters())
    assert learner.parameter_count() == weights + 2 * 8 * 20 // 32
