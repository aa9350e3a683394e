"""Pruning takes exactly the weights it says, and gives them back."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from checks import learn, small_benchmark, small_learner
from hibnn.continual import ContinualModel
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity, evaluate
from hibnn.evaluation.pruning.curve import GRID, pruning_curve, sparsity
from hibnn.evaluation.pruning.ranking import Ranking, openness, scores, weight_layers
from hibnn.evaluation.pruning.removal import Removal, kept_weights, pruned
from hibnn.learners import sequential_bayes
from hibnn.nn.networks.compact import Compacted, compacted

METHODS = {
    "mfvi": {},
    "ibnn": {"depth": 2},
    "hibnn": {},
    "bscl": {"retraining_epochs": 5},
    "svd": {"epochs": 10, "likelihood_epochs": 5},
}


def learned(method, tasks=2, **more):
    benchmark = small_benchmark(tasks=tasks)
    learner = small_learner(method, benchmark, **METHODS[method] | more)
    for task in benchmark.tasks:
        learn(learner, task)
    return learner, benchmark


@pytest.fixture(scope="module", params=METHODS)
def case(request):
    return learned(request.param)


@pytest.fixture(scope="module")
def ibnn():
    return learned("ibnn", size="prior")


def accuracies(learner, benchmark):
    row = evaluate(ContinualModel(learner), benchmark, Granularity.parse("sample"))
    return float(np.mean([one.accuracy(benchmark.scenario) for one in row]))


def test_with_everything_kept_the_accuracy_is_that_of_the_unpruned_network(case):
    learner, benchmark = case
    before = accuracies(learner, benchmark)
    for ranking in Ranking:
        assert pruning_curve(learner, benchmark, ranking, percentages=(0,)).accuracies == (before,)


def test_the_accuracy_with_everything_kept_is_measured_once_for_all_rankings(case):
    learner, benchmark = case
    first = pruning_curve(learner, benchmark, Ranking.MAGNITUDE, percentages=(0, 60))
    assert first.unpruned == first.accuracies[0]
    assert pruning_curve(learner, benchmark, Ranking.SNR, percentages=(60,)).unpruned is None
    second = pruning_curve(learner, benchmark, Ranking.SNR, percentages=(0, 60, 0), unpruned=0.25)
    assert second.accuracies == (
        0.25,
        pruning_curve(learner, benchmark, Ranking.SNR, percentages=(60,)).accuracies[0],
        0.25,
    )
    assert second.removed[0] == second.removed[2] == 0


def test_with_everything_pruned_every_class_is_as_probable_and_the_accuracy_is_chance(case):
    learner, benchmark = case
    assert pruning_curve(learner, benchmark, Ranking.SNR, percentages=(100,)).accuracies == (0.5,)
    kept = torch.zeros_like(scores(learner, Ranking.SNR), dtype=torch.bool)
    with pruned(weight_layers(learner), kept):
        answer = learner.predict(benchmark.tasks[0].test.load().x, 0, torch.Generator().manual_seed(0))
    assert torch.equal(answer.probabilities, torch.full_like(answer.probabilities, 0.5))


def test_the_weights_are_given_back_even_after_an_error(case):
    learner, _ = case
    before = [value.clone() for value in learner.network.state_dict().values()]
    with (
        pytest.raises(ZeroDivisionError),
        pruned(weight_layers(learner), kept_weights(scores(learner, Ranking.SNR), 60)),
    ):
        raise ZeroDivisionError
    assert all(torch.equal(a, b) for a, b in zip(before, learner.network.state_dict().values(), strict=True))


def test_after_a_curve_every_stored_number_is_what_it_was(case):
    learner, benchmark = case
    before = {name: value.clone() for name, value in learner.state().tensors.items()}
    pruning_curve(learner, benchmark, Ranking.SNR, percentages=(60, 99))
    assert all(torch.equal(before[name], value) for name, value in learner.state().tensors.items())


BAYESIAN = {
    "mfvi": ("mfvi", {"depth": 2}),
    "ibnn": ("ibnn", {"depth": 2, "size": "prior"}),
    "sized ibnn": ("ibnn", {"depth": 2}),
    "hibnn": ("hibnn", {"size": "prior"}),
    "sized hibnn": ("hibnn", {}),
    "soft masks": ("ibnn", {"size": "prior", "prediction_masks": "soft"}),
    "stamps": ("ibnn", {"size": "prior", "timestamps": "soft"}),
    "drawn weights": ("ibnn", {"size": "prior", "weight_noise": "weights"}),
}


@pytest.fixture(scope="module", params=BAYESIAN)
def bayesian(request):
    method, more = BAYESIAN[request.param]
    return learned(method, **more)


def answers(learner, benchmark, whole, times=1, **options):
    """Probabilities of predictions with one seed after another, by the whole network or by what is left of it."""
    x, own = benchmark.tasks[1].test.load().x[:6], learner.options
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner, "options", replace(own, **options))
        if whole:
            patch.setattr(sequential_bayes, "compacted", Compacted)
        drawn = (learner.predict(x, 1, torch.Generator().manual_seed(seed)) for seed in range(times))
        return torch.stack([one.probabilities for one in drawn]).double()


@pytest.mark.parametrize("percent", [60, 85, 97, 100])
def test_a_pruned_network_answers_as_with_the_neurons_that_are_left_out(bayesian, percent):
    learner, _ = bayesian
    with pruned(weight_layers(learner), kept_weights(scores(learner, Ranking.SNR), percent)):
        whole, left = (answers(*bayesian, every, prediction="mean") for every in (True, False))
        torch.testing.assert_close(whole, left, rtol=0, atol=1e-6)
        whole, left = (answers(*bayesian, every, 40, prediction_draws=20) for every in (True, False))
    error = ((whole.var(0) + left.var(0)) / 40).sqrt() + 1e-7
    assert ((whole.mean(0) - left.mean(0)).abs() <= 5 * error).all()


@pytest.mark.parametrize(("percent", "removal"), [(0, Removal.ENTIRELY), (60, Removal.MEANS), (100, Removal.MEANS)])
def test_where_variances_are_left_the_answers_are_the_same_to_the_last_bit(bayesian, percent, removal):
    learner, _ = bayesian
    with pruned(weight_layers(learner), kept_weights(scores(learner, Ranking.SNR), percent), removal):
        assert torch.equal(answers(*bayesian, True), answers(*bayesian, False))


def test_the_more_is_pruned_the_fewer_neurons_are_drawn(bayesian):
    learner, _ = bayesian
    ranked, left = scores(learner, Ranking.SNR), []
    for percent in (0, 85, 97, 100):
        with pruned(weight_layers(learner), kept_weights(ranked, percent)):
            left.append(sum(compacted(*learner.network_of(1)).network.widths))
    assert left == sorted(left, reverse=True)
    assert left[0] > left[2]
    assert left[3] == 0


def test_all_weights_biases_and_heads_are_ranked_together(case):
    learner, _ = case
    means = [value.flatten() for name, value in learner.network.named_parameters() if name.endswith("mean")]
    everything = torch.cat(means).abs().sort().values
    assert torch.equal(scores(learner, Ranking.MAGNITUDE).sort().values, everything)


@pytest.mark.parametrize("percent", [0, 33.3, 60, 95, 99.8, 100])
def test_the_fraction_removed_is_exact_even_where_scores_are_equal(percent):
    ranked = torch.cat([torch.zeros(500), torch.rand(1500)])
    assert int((~kept_weights(ranked, percent)).sum()) == round(20 * percent)


def test_the_weights_that_go_are_those_of_lowest_score():
    kept = kept_weights(torch.tensor([3.0, 1.0, 2.0, 0.0]), 50)
    assert kept.tolist() == [True, False, True, False]


def test_the_authors_variant_keeps_the_noise_of_pruned_weights(ibnn):
    learner, _ = ibnn
    layers, kept = weight_layers(learner), torch.zeros_like(scores(learner, Ranking.SNR), dtype=torch.bool)
    with pruned(layers, kept, Removal.MEANS):
        assert all((layer.mean == 0).all() and (layer.log_variance.exp() > 0).all() for layer in layers)
    with pruned(layers, kept, Removal.ENTIRELY):
        assert all((layer.mean == 0).all() and (layer.log_variance.exp() == 0).all() for layer in layers)


def test_rankings_are_their_formulas():
    mean, log_variance, o = torch.tensor([-2.0]), torch.tensor([0.25]).log(), torch.tensor([0.5])
    expected = {
        Ranking.MAGNITUDE: 2.0,
        Ranking.SNR: 4.0,
        Ranking.EXPECTED_MAGNITUDE: 1.0,
        Ranking.EXPECTED_SNR: 2.0,
        Ranking.PRODUCT_SNR: 1.0 / (0.5 * 4.25 - 1.0) ** 0.5,
    }
    for ranking, value in expected.items():
        assert ranking.score(mean, log_variance, o).item() == pytest.approx(value)


def test_the_signal_to_noise_of_a_masked_weight_is_that_of_its_draws(generator):
    z = torch.bernoulli(torch.full((400_000,), 0.3), generator=generator)
    drawn = z * (0.7 + 0.4 * torch.randn(len(z), generator=generator))
    closed = Ranking.PRODUCT_SNR.score(torch.tensor(0.7), torch.tensor(0.16).log(), torch.tensor(0.3))
    assert float(drawn.mean() / drawn.std()) == pytest.approx(float(closed), abs=5 * 2 / len(z) ** 0.5)


def test_a_weight_is_as_open_as_the_neurons_it_joins(ibnn):
    learner, _ = ibnn
    first, second, head, _ = openness(learner)
    pi = learner.bayesian.buffet.expected_pi()
    torch.testing.assert_close(first, pi[0].expand_as(first))
    torch.testing.assert_close(second[:-1], pi[0][:, None] * pi[1])
    torch.testing.assert_close(second[-1], pi[1])
    torch.testing.assert_close(head[:-1, 0], pi[1])
    assert (head[-1] == 1).all()


def test_a_bscl_weight_that_no_task_uses_goes_first():
    learner, _ = learned("bscl")
    unused = ~torch.stack([masks[0] for masks in learner.stored]).any(0)
    ranked = scores(learner, Ranking.EXPECTED_SNR)[: unused.numel()]
    assert unused.any()
    assert torch.equal(ranked == 0, unused.flatten())


def test_svd_keeps_its_accuracy_when_only_the_weights_it_never_uses_are_pruned():
    learner, benchmark = learned("svd", tasks=1)
    share = 100 * float((scores(learner, Ranking.EXPECTED_SNR) == 0).double().mean())
    curve = pruning_curve(learner, benchmark, Ranking.EXPECTED_SNR, percentages=(0, share))
    assert share > 5
    assert curve.accuracies[0] == curve.accuracies[1]


def test_sparsity_is_the_first_percentage_that_costs_more_than_ten_points():
    assert sparsity((0, 60, 70, 80), (0.98, 0.97, 0.8, 0.9)) == 70
    assert sparsity((0, 50), (0.5, 0.4)) is None
    with pytest.raises(UserError, match="begin the percentages with 0"):
        sparsity((60, 70), (0.9, 0.8))


def test_the_grid_is_the_papers():
    assert GRID[:10] == (0, 60, 65, 70, 75, 80, 85, 90, 95, 95.2)
    assert GRID[-1] == 99.8
    assert len(GRID) == 33


def test_a_percentage_beyond_the_whole_is_refused():
    with pytest.raises(UserError, match="between 0 and 100"):
        kept_weights(torch.rand(5), 101)
