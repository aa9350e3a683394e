"""The binary Concrete distribution in log space, and the Bernoulli distribution it relaxes.

    z = sigmoid(y),    y = (l + e) / t,    e ~ Logistic,    l = log pi - log(1 - pi)

z > 1/2 exactly when e > -l, which has probability pi at every temperature t. The paper and its code use l = log pi
(A.3), for which that probability is pi / (1 + pi): pass log pi as `logits` to reproduce them. Masks of neurons
(`hibnn.nn.layers.masks`) and of weights (`hibnn.nn.layers.weight_masks`) are such variables.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from hibnn.distributions.noise import logistic


def sample(
    logits: Tensor, temperature: float, generator: torch.Generator | None = None, shape: tuple[int, ...] | None = None
) -> tuple[Tensor, Tensor]:
    """y and z = sigmoid(y), reparameterised; the logits broadcast to `shape`, which is their own by default."""
    noise = logistic(
        tuple(logits.shape) if shape is None else shape, generator, dtype=logits.dtype, device=logits.device
    )
    return from_noise(logits, temperature, noise)


def from_noise(logits: Tensor, temperature: float, noise: Tensor) -> tuple[Tensor, Tensor]:
    """y and z = sigmoid(y) for logistic noise to which the logits broadcast."""
    # only the logits, which are the smaller tensor, are divided; `alpha` scales the noise within the sum
    y = torch.add(logits / temperature, noise, alpha=1 / temperature)
    return y, y.sigmoid()


def sample_bernoulli(
    log_pi: Tensor, generator: torch.Generator | None = None, shape: tuple[int, ...] | None = None
) -> Tensor:
    """Hard draws, 1 with probability pi and else 0; log pi broadcasts to `shape`, which is its own by default."""
    uniform = torch.rand(
        log_pi.shape if shape is None else shape, generator=generator, dtype=log_pi.dtype, device=log_pi.device
    )
    return (uniform < log_pi.exp()).to(log_pi.dtype)


def log_density(y: Tensor, logits: Tensor, temperature: float) -> Tensor:
    """log q(y) = log t + (l - t y) - 2 log(1 + exp(l - t y)), for y before the sigmoid."""
    centred = logits - temperature * y
    return math.log(temperature) + centred - 2 * softplus(centred)


def kl_concrete(
    y: Tensor, logits: Tensor, temperature: float, prior_logits: Tensor, prior_temperature: float
) -> Tensor:
    """The estimate log q(y) - log p(y) of the KL from one draw y of q; the same for y and for sigmoid(y)."""
    return log_density(y, logits, temperature) - log_density(y, prior_logits, prior_temperature)
