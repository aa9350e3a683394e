"""Inputs drawn from densities notice what a network has forgotten, and nothing where it answers as it did."""

import numpy as np
import pytest
import torch

from checks import learn, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.continual import ContinualModel
from hibnn.tasks import TaskInference
from hibnn.tasks.density import DensityOptions
from hibnn.tasks.density.drawing import draw_gaussian, draw_mixture
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.forgetting import as_inputs, drift_losses, scales_of
from hibnn.tasks.pooling import NETWORK
from statistics_helpers import assert_mean


def gaussian(generator, mean=0.0):
    directions = torch.linalg.qr(torch.randn(4, 2, generator=generator)).Q
    return LowRankGaussian(torch.full((4,), mean), directions, torch.tensor([3.0, 2.0]), torch.tensor(0.5))


def model_of(method, benchmark, **options):
    learner = small_learner(method, benchmark, heads="multi", **options)
    return ContinualModel(learner, TaskInference("density", learner.setting, options=DensityOptions(standardise=False)))


def test_rows_drawn_from_a_gaussian_have_its_mean_and_covariance():
    generator = torch.Generator().manual_seed(0)
    known = gaussian(generator, mean=2.0)
    rows = draw_gaussian(known, 20_000, generator)
    assert_mean(rows, known.mean)
    centred = rows - known.mean
    assert_mean(centred[:, :, None] * centred[:, None, :], known.covariance())


def test_components_of_a_mixture_are_drawn_as_often_as_they_count():
    generator = torch.Generator().manual_seed(0)
    mixture = Mixture((gaussian(generator), gaussian(generator, mean=40.0)), torch.tensor([30.0, 10.0]))
    rows = draw_mixture(mixture, 8000, generator)
    assert_mean((rows.mean(1) > 20).double(), torch.tensor(0.25, dtype=torch.float64))


@pytest.mark.parametrize(("power", "standardise"), [(1.0, True), (3.0, True), (2.0, False), (1.0, False)])
def test_drawn_inputs_are_seen_by_the_density_as_they_were_drawn(power, standardise):
    options = DensityOptions(power=power, standardise=standardise)
    x = torch.randn(6, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    seen = TaskInference("density", small_learner("finetune", small_benchmark()).setting, options=options)
    first = seen.densities.preprocess(x[:1])
    scale = scales_of(x[:1], torch.zeros(1, dtype=torch.int64), 1, seen.densities.transform)[0]
    torch.testing.assert_close(as_inputs(first, scale, seen.densities.transform), x[:1])


def test_losses_are_those_of_the_network_with_every_exponent():
    probabilities, labels = torch.tensor([[0.8, 0.2], [0.4, 0.6]]), torch.tensor([0, 0])
    found = drift_losses(probabilities, labels)
    powers = probabilities.double()[None] ** NETWORK[:, None, None]
    answers = 0.999 * (powers / powers.sum(-1, keepdim=True))[:, :, 0] + 0.0005
    torch.testing.assert_close(found, -answers.log().mean(1))


def test_a_network_that_forgets_drifts_and_loses_its_weight():
    benchmark = small_benchmark(Scenario.CLASS, examples=400)
    model = model_of("finetune", benchmark, epochs=8)
    for task in benchmark.tasks[:2]:
        learn(model, task)
    inference = model.inference
    assert inference.fresh[1].drift.max() == 0  # it has just been learned
    with torch.no_grad():
        for parameter in model.learner.mlp.heads[0].parameters():
            parameter.neg_()  # every answer of the first head is wrong now
    model._measure_drift(0, None)
    model._measure_drift(1, None)
    assert inference.fresh[0].drift[-1] > 0.5
    assert inference.fresh[1].drift.max() == 0
    assert inference.exponents([0]).network == (0.0,)
    assert inference.exponents([0, 1]).network[0] == 0
    x = benchmark.tasks[0].test.load()
    assert (model.predict(x.x, 0).probabilities.argmax(1).numpy() == x.y).mean() > 0.9


def test_hard_time_stamps_do_not_drift_at_all():
    benchmark = small_benchmark(Scenario.CLASS, examples=300)
    model = model_of("ibnn", benchmark, epochs=2, width=10, prediction_draws=3)
    for task in benchmark.tasks:
        learn(model, task)
    assert all(fresh.then.any() for fresh in model.inference.fresh)
    assert all(fresh.drift.max() == 0 for fresh in model.inference.fresh)


def test_what_is_kept_of_a_task_is_no_row():
    benchmark = small_benchmark(Scenario.CLASS, examples=300)
    model = model_of("finetune", benchmark, epochs=1)
    learn(model, benchmark.tasks[0])
    fresh = model.inference.fresh[0]
    assert sum(value.numel() for value in vars(fresh).values()) == 4 + 2 * len(NETWORK)
    split = benchmark.tasks[0].train.load()
    assert np.abs(fresh.scales.numpy()[0, 0] - split.x[split.y == 0].mean()) < 0.1
