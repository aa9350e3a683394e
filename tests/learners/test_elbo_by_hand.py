"""The gradient of the objective that is written out, against the one that autograd takes of the objective."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hibnn.cli.step_timing import new_learner, random_rows, task_of
from hibnn.learners import sequential_bayes
from hibnn.learners.elbo_by_hand import elbo_with_gradients, is_written_out
from hibnn.learners.objective import Draws, Minibatch, negative_elbo
from hibnn.nn.layers import local
from hibnn.nn.layers.ibp import HIBPMask, IBPMask, Sticks
from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layers.masks import Relaxation
from hibnn.nn.layout import Layout
from hibnn.nn.likelihoods import Categorical, Gaussian, VaryingGaussian, Weighted
from hibnn.nn.networks.bayesian import BayesianMLP

BUFFETS = {
    "none": lambda: None,
    "ibp": lambda: IBPMask([Sticks(5, 2.0, 5.0), Sticks(4, 2.0, 3.0)]),
    "ibp behind neurons that are always on": lambda: IBPMask([Sticks(3, 2.0, 5.0), Sticks(2, 2.0, 3.0)]),
    "hibp": lambda: HIBPMask(Sticks(5, 3.0, 6.0), [5, 4], child_alpha=5.0),
    "hibp of few units and children at the floor": lambda: HIBPMask(Sticks(4, 3.0, 1e4), [2, 4], child_alpha=1e-4),
}
CLASSES = torch.tensor([0, 2, 1, 2, 0, 2, 1])
VALUES = torch.linspace(-1, 2, 7, dtype=torch.float64)[:, None]
WEIGHTS = torch.tensor([1.0, 2.0, 0.5, 0.0, 1.0, 3.0, 1.0], dtype=torch.float64)
LIKELIHOODS = {
    "categorical": lambda: (Categorical(), CLASSES, 3),
    "among present": lambda: (Categorical(torch.tensor([True, True, True, False])), CLASSES, 4),
    "weighted categorical": lambda: (Weighted(Categorical(), WEIGHTS), CLASSES, 3),
    "gaussian": lambda: (Gaussian(1, 0.4).double(), VALUES, 1),
    "weighted gaussian": lambda: (Weighted(Gaussian(1, 0.4).double(), WEIGHTS), VALUES, 1),
    "varying": lambda: (varying(), VALUES, 2),
    "weighted varying": lambda: (Weighted(varying(), WEIGHTS), VALUES, 2),
}


def varying():
    likelihood = VaryingGaussian().double()
    likelihood.log_noise.data.fill_(0.3)
    return likelihood


def network(buffet, outputs, noise=WeightNoise.EXAMPLE, layout=Layout.MULTI, heads=1):
    """In double precision, with means, variances, sticks and priors that all differ."""
    generator = torch.Generator().manual_seed(3)
    made = BayesianMLP(
        3, [5, 4], layout, buffet,
        log_variance=-2.0, prior_variance=0.7, init_std=0.8, head_init_std=0.5, weight_noise=noise, generator=generator,
    )  # fmt: skip
    for _ in range(heads):
        made.add_head(outputs, generator)
    made = made.double()
    with torch.no_grad():
        for tensor in (*made.parameters(), *made.buffers()):
            tensor.add_(0.3 * torch.rand(tensor.shape, generator=generator, dtype=torch.float64))
    return made


def gradients(made, likelihood, y, draws, written_out):
    """Terms, and the gradient of every parameter by its name."""
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    own = getattr(likelihood, "likelihood", likelihood)
    noise = list(own.parameters()) if isinstance(own, torch.nn.Module) else []
    for parameter in (*made.parameters(), *noise):
        parameter.grad = None
    objective = elbo_with_gradients if written_out else negative_elbo
    terms = objective(made, Minibatch(x, y, 0, 40, likelihood, 0.6), draws, torch.Generator().manual_seed(1))
    if not written_out:
        sum(terms.values()).backward()
        terms = {name: value.item() for name, value in terms.items()}
    named = dict(made.named_parameters()) | {f"noise {i}": parameter for i, parameter in enumerate(noise)}
    return terms, {name: parameter.grad for name, parameter in named.items()}


def assert_same(made, likelihood, y, draws):
    terms, ours = gradients(made, likelihood, y, draws, written_out=True)
    expected, theirs = gradients(made, likelihood, y, draws, written_out=False)
    assert terms == pytest.approx(expected, rel=1e-12)
    assert ours.keys() == theirs.keys()
    for name, gradient in ours.items():
        torch.testing.assert_close(gradient, theirs[name], msg=lambda text, name=name: f"{name}: {text}")
        assert gradient is None or gradient.is_contiguous()


@pytest.mark.parametrize("draws", [Draws(stick_sets=2), Draws(weights=3, stick_sets=4)])
@pytest.mark.parametrize("buffet", BUFFETS)
def test_gradients_are_those_of_the_objective(buffet, draws):
    assert_same(network(BUFFETS[buffet](), 3), Categorical(), CLASSES, draws)


@pytest.mark.parametrize("weights", [1, 2])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_gradients_of_every_likelihood_are_those_of_the_objective(likelihood, weights):
    own, y, outputs = LIKELIHOODS[likelihood]()
    assert_same(network(BUFFETS["ibp"](), outputs), own, y, Draws(weights=weights))


@pytest.mark.parametrize("noise", [WeightNoise.EXAMPLE, WeightNoise.BATCH])
@pytest.mark.parametrize("many", [0, 21, 10**9])
def test_gradients_do_not_depend_on_the_way_round_of_products(many, noise, monkeypatch):
    expected = gradients(network(BUFFETS["hibp"](), 3, noise), Categorical(), CLASSES, Draws(), written_out=False)
    monkeypatch.setattr(local, "MANY", many)
    made = network(BUFFETS["hibp"](), 3, noise)
    for written_out in (True, False):
        terms, ours = gradients(made, Categorical(), CLASSES, Draws(), written_out)
        assert terms == pytest.approx(expected[0], rel=1e-12)
        for name, gradient in ours.items():
            torch.testing.assert_close(gradient, expected[1][name])
            assert gradient.is_contiguous()


def test_what_has_no_gradient_here_is_left_to_autograd():
    usual = Draws()
    buffet = network(BUFFETS["ibp"](), 3)
    assert is_written_out(buffet, usual)
    for other in (
        replace(usual, averaged_masks=2),
        replace(usual, prior_temperature=0.3),
        replace(usual, relaxation=Relaxation.PAPER),
    ):
        assert not is_written_out(buffet, other)
        assert is_written_out(network(None, 3), other)
    assert not is_written_out(network(None, 3, WeightNoise.WEIGHTS), usual)
    assert is_written_out(network(None, 3, layout=Layout.GROWING), usual)
    assert not is_written_out(network(None, 3, layout=Layout.GROWING, heads=2), usual)


@pytest.mark.parametrize(("method", "options"), [("vcl", {}), ("ibnn", {}), ("hibnn", {"size": "prior"})])
def test_tasks_are_learned_as_autograd_would(method, options, monkeypatch):
    """The first steps of two tasks, so that priors change and neurons are appended in between."""
    x, y = random_rows(80, 6, 3)
    learned = []
    for written_out in (True, False):
        if not written_out:
            monkeypatch.setattr(sequential_bayes, "is_written_out", lambda *_: False)
        learner = new_learner(method, 6, hidden=(7, 5), batch_size=20, epochs=2, **options)
        for number in range(2):
            learner.begin(task_of(x, np.roll(y, number), 3))
            for epoch in range(learner.epochs):
                terms = learner.epoch(epoch)
            learner.end()
        learned.append((terms, learner.state().tensors))
    (ours, mine), (theirs, expected) = learned
    assert ours == pytest.approx(theirs, rel=1e-3)
    for name, value in mine.items():
        torch.testing.assert_close(value, expected[name], rtol=1e-3, atol=1e-4)
