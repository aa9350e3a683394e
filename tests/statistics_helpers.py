"""Assertions about random draws: tolerances come from the sample, never from a guess."""

from collections.abc import Callable

import numpy as np
import torch
from scipy import stats
from torch import Tensor


def assert_mean(samples: Tensor, expected: Tensor | float, errors: float = 5.0) -> None:
    """The mean over the first dimension is within five standard errors of what is expected."""
    samples = samples.detach().double()
    mean = samples.mean(0)
    standard_error = samples.std(0) / len(samples) ** 0.5
    expected = torch.as_tensor(expected, dtype=torch.float64).expand_as(mean)
    off = (mean - expected).abs() / standard_error
    assert torch.all(off <= errors), f"mean {mean}, expected {expected}, off by {off} standard errors"


def assert_fits(samples: Tensor, cdf: Callable[[np.ndarray], np.ndarray]) -> None:
    """The draws follow this cumulative distribution function (Kolmogorov-Smirnov, one false alarm in a million)."""
    outcome = stats.kstest(samples.detach().double().numpy().ravel(), cdf)
    assert outcome.pvalue > 1e-6, f"Kolmogorov-Smirnov distance {outcome.statistic}"


def assert_finite(*values: Tensor | None) -> None:
    """Nothing is missing, infinite or not a number."""
    for value in values:
        assert value is not None
        assert torch.isfinite(value).all()
