"""A linear layer whose weights and biases are independent Gaussians.

    q(W) = N(mean, exp(log_variance)),    a = x W    =>    a ~ N(x mean, x^2 exp(log_variance))

Activations are drawn from their own Gaussian, with noise for each example (local reparameterisation, Kingma et al.
2015). Every Bayesian network here is made of these layers; the caller passes the noise or the generator.
"""

import math
from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hibnn.distributions.normal import precision_of, total_kl_normal
from hibnn.nn.layers.kept import Kept
from hibnn.nn.layers.local import LocalSample

FIRST_NOISE, LARGEST_START = 0.25, -6.0
"""With a start by the number of inputs: the variance that the weights' adds to a neuron's sum over unit inputs, and the
largest log variance of a weight."""


class WeightNoise(StrEnum):
    """What the examples of a batch share when weights are drawn.

    `example`: nothing, local reparameterisation. `batch`: its noise, one number a neuron and draw. `weights`: the
    weights themselves, without local reparameterisation. For a single example all three have the same distribution.
    """

    EXAMPLE = "example"
    BATCH = "batch"
    WEIGHTS = "weights"


class BayesianLinear(nn.Module):
    """Posterior parameters and prior buffers of a layer; the last row of each holds the biases."""

    prior_mean: Tensor
    prior_log_variance: Tensor

    def __init__(
        self, mean: Float[Tensor, "inputs+1 outputs"], log_variance: float | None, prior_variance: float
    ) -> None:
        super().__init__()
        if log_variance is None:
            log_variance = first_log_variance(len(mean) - 1)
        self.mean = nn.Parameter(mean)
        self.log_variance = nn.Parameter(torch.full_like(mean, log_variance))
        self.register_buffer("prior_mean", torch.zeros_like(mean))
        self.register_buffer("prior_log_variance", torch.full_like(mean, prior_variance).log())
        self.kept_precision = Kept(precision_of)

    def forward(self, x: Float[Tensor, "batch inputs"], noise: Float[Tensor, "*draws batch outputs"]) -> Tensor:
        """Activations for standard normal `noise`; leading dimensions of the noise are independent draws."""
        return LocalSample.apply(x, self.mean, self.log_variance, noise)  # pyright: ignore[reportReturnType]

    def with_drawn_weights(
        self, x: Float[Tensor, "draws batch inputs"], generator: torch.Generator
    ) -> Float[Tensor, "draws batch outputs"]:
        """Activations under weights that are drawn once for each of the draws."""
        shape = len(x), *self.mean.shape
        noise = torch.randn(shape, generator=generator, device=x.device, dtype=x.dtype)
        weights = torch.addcmul(self.mean, (0.5 * self.log_variance).exp(), noise)
        return torch.baddbmm(weights[:, -1:], x, weights[:, :-1])

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Posterior and prior, which have the same shape."""
        return self.mean, self.log_variance, self.prior_mean, self.prior_log_variance

    def prior_precision(self) -> Tensor:
        """1 / s_p^2, a constant while a task is learned."""
        return self.kept_precision.of(self.prior_log_variance)

    def kl(self) -> Float[Tensor, ""]:
        """KL(q(W) || p(W)), summed over weights and biases."""
        return total_kl_normal(self.mean, self.log_variance, self.prior_mean, self.prior_log_variance)

    def posterior_becomes_prior(self) -> None:
        """Sequential Bayes: the next task starts from what this one ended with."""
        self.prior_mean.copy_(self.mean.detach())
        self.prior_log_variance.copy_(self.log_variance.detach())

    @torch.no_grad()
    def temper(self, keep: float, prior_variance: float, held: tuple[int, int] = (0, 0)) -> None:
        """Let what was learned before count `keep` times: the prior becomes q^keep N(0, prior_variance)^(1 - keep).

        The posterior begins again at that prior's mean, with the variance of new weights. Of the first `held` inputs
        and outputs nothing changes, nor do these outputs' biases (a power prior, Ibrahim and Chen 2000).
        """
        inputs, outputs = held
        free = torch.ones_like(self.mean, dtype=torch.bool)
        free[:inputs, :outputs] = False
        free[-1, :outputs] = False
        learned = keep * torch.exp(-self.prior_log_variance)
        precision = learned + (1 - keep) / prior_variance
        mean = self.prior_mean * learned / precision
        self.prior_mean[free], self.prior_log_variance[free] = mean[free], -precision.log()[free]
        self.mean[free] = mean[free]
        self.log_variance[free] = first_log_variance(len(self.mean) - 1)


def first_log_variance(inputs: int) -> float:
    """Where the log variance of a weight starts, by the number of a neuron's inputs."""
    return min(LARGEST_START, math.log(FIRST_NOISE / max(1, inputs)))


def gaussian_start(
    inputs: int, outputs: int, init_std: float | None, generator: torch.Generator, bias_init_std: float = 0.0
) -> Tensor:
    """Means of a new layer: weights N(0, init_std^2) cut at two deviations, biases N(0, bias_init_std^2) likewise."""
    mean = torch.zeros(inputs + 1, outputs, device=generator.device)
    if init_std is None:
        init_std = math.sqrt(2 / max(1, inputs))
    if init_std > 0 and mean[:-1].numel() > 0:
        limit = 2 * init_std
        nn.init.trunc_normal_(mean[:-1], std=init_std, a=-limit, b=limit, generator=generator)
    if bias_init_std > 0 and outputs > 0:
        limit = 2 * bias_init_std
        nn.init.trunc_normal_(mean[-1], std=bias_init_std, a=-limit, b=limit, generator=generator)
    return mean
