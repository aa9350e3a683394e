"""Adam (Kingma and Ba 2015), one call of torch's fused kernel for each group of parameters.

    m = b1 m + (1 - b1) g,    v = b2 v + (1 - b2) g^2,    w = w - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

The kernel is the one of `torch.optim.Adam(fused=True)`, so steps are the same to the last bit, and so are the names of
what a checkpoint stores. What torch does around it in Python (choices of kernel, hooks, checks, grouping by device)
takes as long as the kernel for networks of our size, and is left out. Learners make one in `new_optimiser`.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from hibnn.learners.optimisers import Uncompiled

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Adam(Uncompiled):
    """Over parameters, or groups {"params": ..., "lr": ...} with rates of their own."""

    def __init__(
        self, params: Iterable[Tensor] | Iterable[dict[str, Any]], lr: float = 1e-3, weight_decay: float = 0.0
    ) -> None:
        # "fused": counts of steps that are loaded belong on the parameters' device
        self.one = torch.ones(())  # adding a number of Python's takes three times as long
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "fused": True})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            held = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not held:
                continue
            states = [self.state[parameter] or self.begin(parameter) for parameter in held]
            steps = [state["step"].add_(self.one) for state in states]
            torch._fused_adam_(  # pyright: ignore[reportPrivateImportUsage]
                held,
                [parameter.grad for parameter in held],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                steps,
                lr=group["lr"],
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=group["weight_decay"],
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )

    step.hooked = True  # pyright: ignore[reportFunctionMemberAccess]  # or torch wraps it with hooks for its profiler

    def begin(self, parameter: Tensor) -> dict[str, Tensor]:
        """Moments of zero for a parameter without history."""
        state = self.state[parameter]
        state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        return state

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None
