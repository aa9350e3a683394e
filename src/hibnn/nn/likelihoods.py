"""Likelihoods: what a network's outputs say about the targets.

categorical:  p(y | f) = softmax(f)_y,  or among the classes C of an experience  p(y | f, y in C) = softmax(f_C)_y
Gaussian:     p(y | f) = prod_d N(y_d; f_d, exp(log_noise_d)),  with the log noise variance learned
varying:      p(y | f, s) = N(y; f, exp(log_noise + L tanh(s / L))),  noise that depends on the input by a second output

The variational objective (`hibnn.learners.objective`) takes its expected log-likelihood from here, and training steps
whose gradients are written out (`hibnn.learners.elbo_by_hand`, `hibnn.learners.by_hand`) that with its gradient.
"""

import math
from typing import Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

aten = torch.ops.aten
NONE, IGNORED = 0, -100
"""How torch writes that losses are not reduced, and a label that does not count."""
LIMIT = 3.0
"""Of the logarithm by which noise may differ between inputs, up or down."""


class Likelihood(Protocol):
    """What training and sizing ask of a likelihood."""

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean negative log-likelihood of targets under outputs whose rows are draw after draw of the batch."""
        ...

    def nll_with_gradient(
        self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """`nll` of targets with these weights, and its gradient in the outputs; called with gradients off.

        The likelihood's own parameters get their gradient on the way.
        """
        ...

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """What `nll` is the mean of, for every target (batch) under every draw of outputs (draws, batch, outputs)."""
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

    def nll_with_gradient(
        self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        weights = None if weights is None else _repeat(weights, len(outputs))
        return cross_entropy_with_gradient(self.among_present(outputs), _repeat(targets, len(outputs)), weights)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -self.log_density(outputs, targets)

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

    def nll_with_gradient(
        self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        return _by_autograd(self if weights is None else Weighted(self, weights), outputs, targets)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -self.log_density(outputs, targets)

    def log_density(self, outputs: Tensor, targets: Tensor) -> Tensor:
        terms = math.log(2 * math.pi) + self.log_noise + (outputs - targets).square() * torch.exp(-self.log_noise)
        return -0.5 * terms.sum(-1)


class VaryingGaussian(nn.Module):
    """Regression whose noise depends on the input: outputs are (f, s), targets (batch, 1).

    `log_noise` is the learned log variance where s is zero; s is bounded, so that a variance is at most exp(LIMIT)
    times smaller or larger, also far from the data. With the density as it is, a network would sooner call rows noisy
    than learn their mean. So in training the mean is learned as if noise were constant, and s by the errors that the
    mean makes (Stirn et al. 2023):

        loss = - log N(y; f, exp(log_noise)) - log N(y; f', exp(log_noise' + s)) + log N(y; f', exp(log_noise')),

    f' and log_noise' being constants. The density of held-out rows is that of both together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_noise = nn.Parameter(torch.zeros(1))

    def log_variance(self, outputs: Tensor) -> Tensor:
        """Of the noise, without the dimension of outputs."""
        return self.log_noise + LIMIT * torch.tanh(outputs[..., 1] / LIMIT)

    def moments(self, outputs: Float[Tensor, "draws rows 2"]) -> tuple[Tensor, Tensor, Tensor]:
        """Of every row: the mean over draws, their variance, and the mean variance of the noise."""
        mean = outputs[..., 0].mean(0)
        spread = (outputs[..., 0] - mean).square().mean(0)
        return mean, spread, self.log_variance(outputs).exp().mean(0)

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.losses(outputs, _repeat(targets, len(outputs))).mean()

    def nll_with_gradient(
        self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        targets, precision = _repeat(targets, len(outputs)), torch.exp(-self.log_noise)
        error, s = outputs[:, 0] - targets[:, 0], self.log_variance(outputs).sub_(self.log_noise)
        squares = (error * error).mul_(precision)
        varied = squares * torch.exp(-s)
        losses = torch.add(squares, s).add_(self.log_noise + math.log(2 * math.pi)).add_(varied - squares).mul_(0.5)
        to_noise = squares.neg_().add_(1).mul_(0.5)
        gradient = torch.empty_like(outputs)
        torch.mul(error, precision, out=gradient[:, 0])
        torch.mul(1 - varied, (s * (1 / LIMIT)).square_().neg_().add_(1).mul_(0.5), out=gradient[:, 1])
        if weights is not None:
            weights = _repeat(weights, len(outputs))
            losses, to_noise, gradient = losses * weights, to_noise * weights, gradient * weights[:, None]
        self.log_noise.grad = to_noise.mean(0, keepdim=True)
        return losses.mean(), gradient.div_(len(outputs))

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """What training minimises, of every target."""
        squares, s = (outputs[..., 0] - targets[..., 0]).square(), self.log_variance(outputs) - self.log_noise
        in_noise = squares.detach() * torch.exp(-self.log_noise.detach())
        constant = math.log(2 * math.pi) + self.log_noise + squares * torch.exp(-self.log_noise)
        return 0.5 * (constant + s + in_noise * torch.exp(-s) - in_noise)

    def log_density(self, outputs: Tensor, targets: Tensor) -> Tensor:
        log_variance = self.log_variance(outputs)
        squares = (outputs[..., 0] - targets[..., 0]).square() * torch.exp(-log_variance)
        return -0.5 * (math.log(2 * math.pi) + log_variance + squares)


class Weighted:
    """A likelihood whose targets have weights w, p(y | f)^w: a weight of 2 is two targets."""

    def __init__(self, likelihood: Likelihood, weights: Float[Tensor, " batch"]) -> None:
        self.likelihood, self.weights = likelihood, weights

    def nll(self, outputs: Tensor, targets: Tensor) -> Tensor:
        losses = self.likelihood.losses(outputs.unflatten(0, (-1, len(targets))), targets)
        return (self.weights * losses).mean()

    def nll_with_gradient(
        self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        every = self.weights if weights is None else self.weights * weights
        return self.likelihood.nll_with_gradient(outputs, targets, every)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.weights * self.likelihood.losses(outputs, targets)

    def log_density(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.weights * self.likelihood.log_density(outputs, targets)


def cross_entropy_with_gradient(
    logits: Float[Tensor, "rows classes"], labels: Tensor, weights: Float[Tensor, " rows"] | None = None
) -> tuple[Float[Tensor, ""], Float[Tensor, "rows classes"]]:
    """The mean of w (log sum exp(f) - f_y) and its gradient, w (softmax(f) - one-hot(y)) / rows, with gradients off.

    In the operations of torch's own backward pass, which are faster than gathering and scattering.
    """
    logs, rows = logits.log_softmax(1), logits.shape[0]
    losses, count = aten.nll_loss_forward(logs, labels, None, NONE, IGNORED)
    share = logits.new_full((rows,), 1 / rows) if weights is None else weights / rows
    by_logs = aten.nll_loss_backward(share, logs, labels, None, NONE, IGNORED, count)
    return torch.dot(losses, share), aten._log_softmax_backward_data(by_logs, logs, 1, logs.dtype)


@torch.enable_grad()
def _by_autograd(likelihood: Likelihood, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """`nll_with_gradient` of a likelihood for which it is not written out."""
    given = outputs.detach().requires_grad_()
    nll = likelihood.nll(given, targets)
    nll.backward()
    assert given.grad is not None
    return nll.detach(), given.grad


def _repeat(targets: Tensor, rows: int) -> Tensor:
    """The targets of the batch, as often as there are draws of it."""
    if rows == len(targets):
        return targets
    return targets.repeat(rows // len(targets), *(1 for _ in targets.shape[1:]))
