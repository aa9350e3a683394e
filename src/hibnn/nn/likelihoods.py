"""Likelihoods: what a network's outputs say about the targets.

categorical:  p(y | f) = softmax(f)_y,  or among the classes C of an experience  p(y | f, y in C) = softmax(f_C)_y
Gaussian:     p(y | f) = prod_d N(y_d; f_d, exp(log_noise_d)),  with the log noise variance learned

The variational objective (`hibnn.learners.objective`) takes its expected log-likelihood from here.
"""

import math
from typing import Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


class Likelihood(Protocol):
    """What training and sizing ask of a likelihood."""

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean negative log-likelihood of targets under outputs whose rows are draw after draw of the batch."""
        ...

    def log_density(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """log p(y | f) of every target (batch) under every draw of the outputs (draws, batch, outputs)."""
        ...


class Categorical:
    """Classification: targets are class numbers.

    With `present`, given that the class is one of those: an experience in which a class is absent does not say that
    inputs like its own are of another class (Zeno et al. 2018 call this the labels trick).
    """

    def __init__(self, present: Bool[Tensor, " classes"] | None = None) -> None:
        self.present = present

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(self.among_present(outputs), _repeat(targets, len(outputs)))

    def log_density(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logs = self.among_present(outputs).log_softmax(-1)
        return logs.gather(-1, targets.expand(len(outputs), -1)[..., None])[..., 0]

    def among_present(self, outputs: Tensor) -> Tensor:
        """Logits, of which those of absent classes are impossible."""
        return outputs if self.present is None else outputs.masked_fill(~self.present, -torch.inf)


class Gaussian(nn.Module):
    """Regression: targets are (batch, outputs); the noise has one learned variance for each output."""

    def __init__(self, outputs: int, noise_variance: float = 1.0) -> None:
        super().__init__()
        self.log_noise = nn.Parameter(torch.full((outputs,), math.log(noise_variance)))

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -self.log_density(outputs, _repeat(targets, len(outputs))).mean()

    def log_density(self, outputs: Tensor, targets: Tensor) -> Tensor:
        terms = math.log(2 * math.pi) + self.log_noise + (outputs - targets).square() * torch.exp(-self.log_noise)
        return -0.5 * terms.sum(-1)


class Weighted:
    """A likelihood whose targets have weights w, p(y | f)^w: a weight of 2 is two targets."""

    def __init__(self, likelihood: Likelihood, weights: Float[Tensor, " batch"]) -> None:
        self.likelihood, self.weights = likelihood, weights

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -self.log_density(outputs.unflatten(0, (-1, len(targets))), targets).mean()

    def log_density(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.weights * self.likelihood.log_density(outputs, targets)


def _repeat(targets: Tensor, rows: int) -> Tensor:
    """The targets of the batch, as often as there are draws of it."""
    if rows == len(targets):
        return targets
    return targets.repeat(rows // len(targets), *(1 for _ in targets.shape[1:]))
