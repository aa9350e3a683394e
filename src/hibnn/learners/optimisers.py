"""torch's optimisers without torch's compiler, which they would import at their first step.

The import takes as long as a small task, in every process. The steps are the same, to the last bit: what is left out
are wrappers that tell the compiler not to look inside, and nothing here is compiled.
"""

from collections.abc import Callable
from typing import Any

import torch


def unwrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of torch without the wrapper that imports the compiler."""
    return getattr(method, "__wrapped__", method)


class Uncompiled(torch.optim.Optimizer):
    """What all optimisers share."""

    add_param_group = unwrapped(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrapped(torch.optim.Optimizer.zero_grad)
    state_dict = unwrapped(torch.optim.Optimizer.state_dict)
    load_state_dict = unwrapped(torch.optim.Optimizer.load_state_dict)


class SGD(Uncompiled, torch.optim.SGD):
    """Stochastic gradient descent."""

    step = torch.no_grad()(unwrapped(torch.optim.SGD.step))


class LBFGS(Uncompiled, torch.optim.LBFGS):
    """Limited-memory BFGS, for small problems without noise."""

    step = torch.no_grad()(unwrapped(torch.optim.LBFGS.step))
