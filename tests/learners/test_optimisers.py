"""Optimisers that do not import torch's compiler."""

import subprocess
import sys
from copy import deepcopy

import pytest
import torch

from hibnn.learners.adam import Adam
from hibnn.learners.optimisers import SGD

PROGRAM = """
import sys
import torch
from hibnn.learners.adam import Adam
from hibnn.learners.optimisers import SGD
for kind in (Adam, SGD):
    weights = torch.ones(3, requires_grad=True)
    optimiser = kind([weights], lr=0.1)
    for _ in range(2):
        optimiser.zero_grad()
        weights.square().sum().backward()
        optimiser.step()
    optimiser.load_state_dict(optimiser.state_dict())
sys.exit("torch._dynamo" in sys.modules)
"""


def test_no_step_imports_the_compiler():
    assert subprocess.run([sys.executable, "-c", PROGRAM]).returncode == 0


def trained(optimiser: torch.optim.Optimizer, weights: torch.Tensor, steps: int = 20) -> torch.Tensor:
    """The weights after some steps on a bumpy function."""
    for _ in range(steps):
        optimiser.zero_grad()
        (weights.square().sum() + weights.sin().sum()).backward()
        optimiser.step()
    return weights.detach()


def start() -> torch.Tensor:
    return torch.linspace(-1, 2, 50).requires_grad_()


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_of_adam_are_those_of_torch_to_the_last_bit(decay):
    ours, theirs = start(), start()
    found = trained(Adam([{"params": [ours], "lr": 0.03}], weight_decay=decay), ours)
    adam = torch.optim.Adam([{"params": [theirs], "lr": 0.03}], weight_decay=decay, fused=True)
    assert torch.equal(found, trained(adam, theirs))


def test_steps_of_sgd_are_those_of_torch_to_the_last_bit():
    ours, theirs = start(), start()
    assert torch.equal(trained(SGD([ours], lr=0.03), ours), trained(torch.optim.SGD([theirs], lr=0.03), theirs))


def test_adam_goes_on_from_a_state_that_torch_stored():
    ours, theirs = start(), start()
    adam = torch.optim.Adam([theirs], lr=0.03, fused=True)
    ours.data.copy_(trained(adam, theirs, 7))
    mine = Adam([ours], lr=0.03)
    mine.load_state_dict({**mine.state_dict(), "state": deepcopy(adam.state_dict()["state"])})
    assert torch.equal(trained(mine, ours), trained(adam, theirs))


def test_adam_leaves_parameters_without_gradient_alone():
    used, unused = start(), start()
    optimiser = Adam([used, unused], lr=0.03)
    trained(optimiser, used, 2)
    assert torch.equal(unused, start())
    assert unused not in optimiser.state
