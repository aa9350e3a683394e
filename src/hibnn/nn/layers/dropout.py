"""Sparse variational dropout: Gaussian weights under a log-uniform prior (Molchanov et al. 2017).

    q(w) = N(m, s^2),    alpha = s^2 / m^2,    p(log |w|) constant

The KL depends on alpha alone and falls as it grows, so a weight the data do not hold down drowns in its own noise;
where log alpha exceeds 3 it can as well be zero. Biases have no prior and are never removed. The functions of a
Bayesian layer that `hibnn.learners.svd` trains with and that pruning ranks weights by.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hibnn.distributions.log_uniform import kl_log_uniform
from hibnn.nn.layers.linear import BayesianLinear

THRESHOLD = 3.0
"""A weight with a larger log alpha is removed."""
LIMIT = 10.0
"""log alpha is cut at plus and minus this."""


def log_alpha(layer: BayesianLinear) -> Float[Tensor, "inputs outputs"]:
    """log s^2 - log m^2 of the weights, cut at -10 and 10, where its gradient ends."""
    mean, log_variance = layer.mean[:-1], layer.log_variance[:-1]
    # 1e-16 stands beside a mean of zero, whose logarithm is not finite
    return (log_variance - 2 * torch.log(mean.abs() + 1e-16)).clamp(-LIMIT, LIMIT)


def kl_dropout(layer: BayesianLinear) -> Float[Tensor, ""]:
    """KL to the log-uniform prior, summed over the weights of a layer."""
    return kl_log_uniform(log_alpha(layer)).sum()


def kept(layer: BayesianLinear) -> Bool[Tensor, "inputs outputs"]:
    """True for the weights that are not removed."""
    return log_alpha(layer) <= THRESHOLD


def pruned_mean(layer: BayesianLinear) -> Float[Tensor, "inputs+1 outputs"]:
    """The means with removed weights at zero; biases stay."""
    return torch.cat([layer.mean[:-1] * kept(layer), layer.mean[-1:]])
