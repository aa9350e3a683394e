"""Optimisers that do not import torch's compiler."""

import subprocess
import sys

import pytest
import torch

from hibnn.learners.optimisers import SGD, Adam

PROGRAM = """
import sys
import torch
from hibnn.learners.optimisers import SGD, Adam
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


@pytest.mark.parametrize(("ours", "theirs"), [(Adam, torch.optim.Adam), (SGD, torch.optim.SGD)])
def test_steps_are_those_of_torch_to_the_last_bit(ours, theirs):
    found = []
    for kind in (ours, theirs):
        weights = torch.linspace(-1, 2, 50).requires_grad_()
        optimiser = kind([{"params": [weights], "lr": 0.03}], fused=True)
        for _ in range(20):
            optimiser.zero_grad()
            (weights.square().sum() + weights.sin().sum()).backward()
            optimiser.step()
        found.append(weights.detach())
    assert torch.equal(*found)
