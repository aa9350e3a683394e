"""Double precision, for formulas that cancel: differences of log Gamma functions leave few digits of a float."""

import torch
from torch import Tensor


def double(value: Tensor) -> Tensor:
    """The value in double precision; on the CPU if it comes from a device that has none (mps)."""
    return value.cpu().double() if value.device.type == "mps" else value.to(torch.float64)
