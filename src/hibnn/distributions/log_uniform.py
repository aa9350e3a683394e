"""The KL from a Gaussian N(m, alpha m^2) to the log-uniform prior, up to its constant.

    -KL(alpha) ~ k1 sigmoid(k2 + k3 log alpha) - 1/2 log(1 + 1 / alpha) - k1    (Molchanov et al., 2017, equation 14)

The prior is improper, so the constant is free: here the KL vanishes as alpha grows. The formula is off by less
than 0.01 everywhere. Sparse variational dropout (`hibnn.nn.layers.dropout`) has this prior.
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus


def kl_log_uniform(log_alpha: Tensor) -> Tensor:
    """KL(N(m, alpha m^2) || log-uniform), elementwise, in the noise-to-signal ratio alpha alone."""
    # 1 - sigmoid(t) = sigmoid(-t) and log(1 + 1 / alpha) = softplus(-log alpha): nothing cancels or overflows
    k1, k2, k3 = 0.63576, 1.87320, 1.48695
    return k1 * torch.sigmoid(-k2 - k3 * log_alpha) + 0.5 * softplus(-log_alpha)
