"""Likelihoods: what a network's outputs say about the targets.

categorical:  p(y | f) = softmax(f)_y
Gaussian:     p(y | f) = prod_d N(y_d; f_d, exp(log_noise_d)),  with the log noise variance learned

The variational objective (`hibnn.learners.objective`) takes its expected log-likelihood from here.
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


class Likelihood(Protocol):
    """The mean negative log-likelihood of targets under outputs whose rows are draw after draw of the batch."""

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor: ...


class Categorical:
    """Classification: targets are class numbers."""

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(outputs, _repeat(targets, len(outputs)))


class Gaussian(nn.Module):
    """Regression: targets are (batch, outputs); the noise has one learned variance for each output."""

    def __init__(self, outputs: int, noise_variance: float = 1.0) -> None:
        super().__init__()
        self.log_noise = nn.Parameter(torch.full((outputs,), math.log(noise_variance)))

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        squares = (outputs - _repeat(targets, len(outputs))).square()
        terms = math.log(2 * math.pi) + self.log_noise + squares * torch.exp(-self.log_noise)
        return 0.5 * terms.sum(-1).mean()


def _repeat(targets: Tensor, rows: int) -> Tensor:
    """The targets of the batch, as often as there are draws of it."""
    if rows == len(targets):
        return targets
    return targets.repeat(rows // len(targets), *(1 for _ in targets.shape[1:]))
