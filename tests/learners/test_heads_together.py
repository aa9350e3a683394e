"""Several heads asked at once: the hidden layers are drawn once for all of them."""

from unittest.mock import patch

import pytest
import torch

from checks import learn, small_benchmark, small_learner
from hibnn.continual import with_streams
from hibnn.nn.networks.bayesian import BayesianMLP
from statistics_helpers import assert_mean

HEADS = [0, 1, 2]


def taught(method, **options):
    benchmark = small_benchmark(tasks=3)
    learner = small_learner(method, benchmark, epochs=3, **options)
    for task in benchmark.tasks:
        learn(learner, task)
    return learner, benchmark.tasks[1].test.load().x[:8]


CASES = [
    ("vcl", {"hidden": (12, 7)}),
    ("ibnn", {"hidden": (12,)}),
    ("hibnn", {"hidden": (12, 9)}),
    ("ibnn", {"hidden": (12,), "size": "prior", "timestamps": "none"}),
]


@pytest.mark.parametrize(("method", "options"), CASES)
def test_heads_together_answer_as_each_alone_but_for_chance(method, options):
    learner, x = taught(method, prediction_draws=400, **options)
    with torch.no_grad():
        for head, together in zip(HEADS, with_streams("one")(learner, x, HEADS), strict=True):
            alone = learner.predict(x, head, torch.Generator().manual_seed(head))
            spread = (together.probabilities * (1 - together.probabilities) / 400).sqrt()
            assert (together.probabilities - alone.probabilities).abs().le(8 * spread + 1e-4).all()


@pytest.mark.parametrize(("method", "options"), CASES[:2])
def test_the_answers_of_many_batches_have_the_mean_of_single_heads(method, options):
    learner, x = taught(method, prediction_draws=2, **options)
    with torch.no_grad():
        gaps = [
            with_streams("together", number)(learner, x[:2], HEADS)[0].probabilities
            - learner.predict(x[:2], 0, torch.Generator().manual_seed(number)).probabilities
            for number in range(400)
        ]
    assert_mean(torch.stack(gaps), 0.0)


def test_the_first_layer_is_drawn_once_for_all_heads():
    learner, x = taught("vcl", hidden=(12,))
    with patch.object(BayesianMLP, "features", autospec=True, side_effect=BayesianMLP.features) as drawn:
        with_streams("once")(learner, x, HEADS)
    assert drawn.call_count == 1


def test_heads_with_stamps_of_their_own_are_asked_one_by_one():
    learner, x = taught("ibnn", size="prior", timestamps="soft")
    together = with_streams("one")(learner, x, HEADS)
    for head, answer in zip(HEADS, together, strict=True):
        alone = learner.predict(x, head, learner.setting.generator("one", head))
        assert torch.equal(answer.probabilities, alone.probabilities)
