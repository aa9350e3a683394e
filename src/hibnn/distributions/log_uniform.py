"""The KL from a Gaussian N(m, alpha m^2) to the log-uniform prior, up to its constant.

    -KL(alpha) ~ k1 sigmoid(k2 + k3 log alpha) - 1/2 log(1 + 1 / alpha) - k1    (Molchanov et al., 2017, equation 14)

The prior is improper, so the constant is free: here the KL vanishes as alpha grows. The formula is off by less
than 0.01 everywhere. Sparse variational dropout (`hibnn.nn.layers.dropout`) has this prior.
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus

K1, K2, K3 = 0.63576, 1.87320, 1.48695


def kl_log_uniform(log_alpha: Tensor) -> Tensor:
    """KL(N(m, alpha m^2) || log-uniform), elementwise, in the noise-to-signal ratio alpha alone."""
    # 1 - sigmoid(t) = sigmoid(-t) and log(1 + 1 / alpha) = softplus(-log alpha): nothing cancels or overflows
    return K1 * torch.sigmoid(-K2 - K3 * log_alpha) + 0.5 * softplus(-log_alpha)


def total_and_slope(log_alpha: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of `kl_log_uniform`, and its derivative by each log alpha, from the same few passes over memory.

    With s = sigmoid(-k2 - k3 log alpha) the derivative is -k1 k3 s (1 - s) - sigmoid(-log alpha) / 2.
    """
    rest = (log_alpha * -K3).sub_(K2).sigmoid_()
    inverse = log_alpha.neg().exp_()  # 1 / alpha
    total = K1 * rest.sum() + 0.5 * inverse.log1p().sum()
    slope = torch.addcmul(rest, rest, rest, value=-1).mul_(-K1 * K3)
    return total, slope.sub_(inverse.div_(inverse + 1), alpha=0.5)
