"""A constant of a task must never outlive it."""

import copy
import pickle

import pytest
import torch

from hibnn.nn.layers.ibp import IBPMask, Sticks
from hibnn.nn.layers.kept import Kept
from hibnn.nn.layers.linear import BayesianLinear
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.resizing import append_units, keep_units


def twice(tensor):
    return 2 * tensor


def test_a_value_is_computed_once_while_its_tensor_stays():
    calls = []
    kept, tensor = Kept(lambda value: calls.append(1) or 2 * value), torch.ones(3)
    assert torch.equal(kept.of(tensor), kept.of(tensor))
    assert torch.equal(kept.of(tensor), torch.full((3,), 2.0))
    assert len(calls) == 1


CHANGES = {
    "in place": lambda tensor: tensor.add_(1),
    "a part of it": lambda tensor: tensor[0].fill_(7),
    "through a view": lambda tensor: tensor.view(-1).mul_(3),
    "without gradients": torch.no_grad()(lambda tensor: tensor.copy_(torch.full((3,), 9.0))),
    "detached": lambda tensor: tensor.detach().add_(1),
    "other data": lambda tensor: setattr(tensor, "data", torch.full((3,), 5.0)),
    "fewer data": lambda tensor: setattr(tensor, "data", tensor.data[:2]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_value_follows_every_change(change):
    kept, tensor = Kept(twice), torch.ones(3)
    for _ in range(3):
        kept.of(tensor)
        CHANGES[change](tensor)
        assert torch.equal(kept.of(tensor), 2 * tensor)


def test_memory_that_is_used_again_is_not_taken_for_the_tensor_that_was_there():
    kept, tensor = Kept(twice), torch.full((1000,), -1.0)
    for number in range(50):
        kept.of(tensor)
        tensor.data = torch.full((1000,), float(number))
        tensor.data = torch.full((1000,), float(number) + 0.5)
        assert torch.equal(kept.of(tensor), 2 * tensor)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_start_without_a_value(duplicate):
    tensor = torch.ones(3)
    tensor.add_(1)
    kept = Kept(twice)
    kept.of(tensor)
    other, copied = duplicate((kept, tensor)) if duplicate is not copy.copy else (copy.copy(kept), tensor.clone())
    assert other.known is None
    copied.add_(1)
    assert torch.equal(other.of(copied), 2 * copied)


def network():
    generator = torch.Generator().manual_seed(3)
    made = BayesianMLP(
        3, [4], Layout.MULTI, IBPMask([Sticks(4, 2.0, 5.0)]),
        log_variance=-2.0, prior_variance=0.7, init_std=0.8, generator=generator,
    )  # fmt: skip
    made.add_head(2, generator)
    return made


def move(made):
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1)


PRIORS = {
    "posterior becomes prior": lambda made: made.posterior_becomes_prior(),
    "tempered": lambda made: [layer.temper(0.4, 0.5) for layer in (*made.hidden_layers(), *made.every_head())],
    "grown": lambda made: append_units(made, [2], made.every_head(), torch.Generator().manual_seed(0)),
    "cut": lambda made: keep_units(made, [torch.tensor([3, 1, 0, 2])]),
    "loaded": lambda made: made.load_state_dict({name: value * 0.9 for name, value in made.state_dict().items()}),
    "double": lambda made: made.double().posterior_becomes_prior(),
    "prior written": lambda made: made.hidden_layers()[0].prior_log_variance[1].fill_(0.4),
}


@pytest.mark.parametrize("change", PRIORS)
def test_divergences_are_those_of_the_prior_that_stands(change):
    made, generator = network(), torch.Generator().manual_seed(1)
    for _ in range(2):
        move(made)
        made.forward_with_kl(torch.ones(5, 3, dtype=made.body[0].mean.dtype), 0, None, generator)
        made.buffet.draw(2, generator)
        PRIORS[change](made)
        move(made)
        _, kl = made.forward_with_kl(torch.ones(5, 3, dtype=made.body[0].mean.dtype), 0, None, generator)
        torch.testing.assert_close(kl, made.kl_weights(0))
        torch.testing.assert_close(made.buffet.draw(2, generator).kl, made.buffet.kl())


def test_a_layer_is_stored_under_the_names_it_had():
    layer = BayesianLinear(torch.zeros(3, 2), -2.0, 1.0)
    layer.prior_precision()
    assert list(layer.state_dict()) == ["mean", "log_variance", "prior_mean", "prior_log_variance"]
