"""Assertions about samples, with tolerances computed from the samples themselves."""

import torch
from torch import Tensor


def assert_mean(samples: Tensor, expected: Tensor, errors: float = 5.0) -> None:
    """The mean over the first dimension lies within five of its own standard errors of the expected value."""
    mean = samples.double().mean(0)
    error = samples.double().std(0) / len(samples) ** 0.5
    assert (torch.abs(mean - expected) <= errors * error + 1e-12).all(), (mean, expected, error)
