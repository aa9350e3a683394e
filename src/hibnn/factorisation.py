"""Matrix factorisation with an Indian Buffet Process prior: how many features explain the data? (paper, section 2.3)

    X = Z A + noise,    z_nk | v ~ Bernoulli(pi_k),    pi_k = prod_{i<=k} v_i,    v_i ~ Beta(alpha, 1)
    A_kd ~ N(0, scale^2),    noise_nd ~ N(0, variance), its variance learned

The structured posterior (Singh et al., 2017) ties every mask to the sticks and adds log odds of its own:

    q(v_k) = Beta(a_k, b_k),    q(z_nk = 1 | v) = sigmoid(log_odds(pi_k) + local_nk),    q(A_kd) Gaussian

Given sticks, the expectations over masks and features are closed forms, so only the sticks are drawn and no mask need be
relaxed. Features and variance are at their optimum for given masks. Coordinate ascent on the masks stops at solutions
with too many features; taking away whichever feature raises the bound most, again and again, leads out of them.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from hibnn.distributions.beta import kl_beta, sample_beta
from hibnn.distributions.normal import kl_normal
from hibnn.distributions.stick_breaking import log_odds, log_probabilities
from hibnn.errors import UserError
from hibnn.layers.buffet import SMALLEST_CONCENTRATION, Sticks, inverse_softplus

MEANINGFUL_SHARE = 0.02
"""A feature counts if at least this share of the examples is expected to use it."""
SMALLEST_NOISE = 1e-3
"""The noise does not fall below this part of the data's root mean square."""


@dataclass(frozen=True)
class Factorisation:
    """What was inferred; features are ordered by use, the most used first."""

    probabilities: Float[Tensor, "examples features"]
    """E[z], how likely each example has each feature."""
    features: Float[Tensor, "features dimensions"]
    """E[A]; zero for a feature without use."""
    pi: Float[Tensor, " features"]
    """E[pi], from the sticks."""
    noise: float
    """Standard deviation of the noise."""
    expected_features: float
    """Expected number of features that at least one example has."""
    elbo: float
    """Lower bound on log p(X), in nats."""
    trace: Float[Tensor, " rounds"]
    """The bound on the way: after every removal of a feature, then after every gradient step."""

    @property
    def usage(self) -> Float[Tensor, " features"]:
        """The expected share of the examples that have each feature."""
        return self.probabilities.mean(0)

    @property
    def number_of_features(self) -> int:
        """How many features a meaningful share of the examples has; raise the truncation if this reaches it."""
        return int((self.usage >= MEANINGFUL_SHARE).sum())

    @property
    def masks(self) -> Float[Tensor, "examples features"]:
        """The most probable masks."""
        return (self.probabilities > 0.5).to(self.probabilities.dtype)

    def reconstructions(self) -> Float[Tensor, "examples dimensions"]:
        """E[Z] E[A], the data without their noise."""
        return self.probabilities @ self.features


def factorise(
    x: Float[Tensor, "examples dimensions"],
    truncation: int = 16,
    alpha: float = 2.0,
    *,
    scale: float | None = None,
    sweeps: int = 40,
    steps: int = 200,
    generator: torch.Generator,
) -> Factorisation:
    """Infer masks, features and how many of them there are, at most `truncation`.

    `scale` is the standard deviation of a feature's entries under the prior, by default the data's root mean square.
    """
    _check(x, truncation, alpha, scale, sweeps, steps)
    model = _Model(x.detach(), alpha, float(x.square().mean().sqrt()) if scale is None else scale, generator)
    posterior, trace = _search(model, truncation, sweeps)
    return _refine(model, posterior, trace, steps)


def cambridge_bars(
    examples: int, noise: float = 0.5, *, generator: torch.Generator
) -> tuple[Float[Tensor, "examples 36"], Float[Tensor, "examples 4"], Float[Tensor, "4 36"]]:
    """Images of 6 x 6 pixels, the masks and the features they were made from (Griffiths and Ghahramani, 2005).

    Each of the four features is in an image with probability one half; the noise is Gaussian with this deviation.
    """
    if examples < 1:
        raise UserError(f"cannot draw {examples} images: ask for at least one.")
    if not 0 <= noise < math.inf:
        raise UserError(f"a noise of {noise} is no standard deviation: use a number from 0 up.")
    shapes = ("010 111 010", "111 101 111", "100 110 111", "111 010 010")
    features = torch.zeros(4, 6, 6)
    for index, shape in enumerate(shapes):
        top, left = 3 * (index // 2), 3 * (index % 2)
        rows = [[float(pixel) for pixel in row] for row in shape.split()]
        features[index, top : top + 3, left : left + 3] = torch.tensor(rows)
    features = features.flatten(1)
    masks = (torch.rand((examples, 4), generator=generator) < 0.5).float()
    return masks @ features + noise * torch.randn((examples, 36), generator=generator), masks, features


class _Model(NamedTuple):
    """The data, what is fixed in the prior, and where draws come from."""

    x: Tensor
    alpha: float
    scale: float
    generator: torch.Generator

    def sample_log_odds(self, concentrations: Float[Tensor, "2 *batch features"], sets: int) -> Tensor:
        """log pi - log(1 - pi) for independent sets of sticks."""
        log_v, _ = sample_beta(*concentrations, (sets,), self.generator)
        return log_odds(log_probabilities(log_v))


class _Posterior(NamedTuple):
    """q(v), q(z | v) and the noise variance, for one solution or a batch of them."""

    concentrations: Float[Tensor, "2 *batch features"]
    local: Float[Tensor, "*batch examples features"]
    variance: Float[Tensor, " *batch"]


class _Features(NamedTuple):
    """q(A): means, variances (the same in every dimension), and the expected inner products E[A A^T]."""

    mean: Float[Tensor, "*batch features dimensions"]
    variance: Float[Tensor, "*batch features"]
    products: Float[Tensor, "*batch features features"]


class _Bound(NamedTuple):
    """The bound at a posterior, with the features at their optimum, and the noise variance that then maximises it."""

    elbo: Float[Tensor, " *batch"]
    variance: Float[Tensor, " *batch"]
    features: _Features
    probabilities: Float[Tensor, "sets *batch examples features"]


def _bound(model: _Model, posterior: _Posterior, sets: int) -> _Bound:
    """E[log p(X | Z, A)] - KL(q(v) || p(v)) - E[KL(q(z | v) || p(z | v))] - KL(q(A) || p(A)), over draws of v.

    With l the log odds of pi and r those of q(z | v), each mask adds KL = q (r - l) - softplus(r) + softplus(l).
    """
    location = model.sample_log_odds(posterior.concentrations, sets).unsqueeze(-2)
    logits = location + posterior.local
    q = logits.sigmoid()
    first, second = q.mean(0), (q.mT @ q + torch.diag_embed((q * (1 - q)).sum(-2))).mean(0)
    with torch.no_grad():
        features = _optimal_features(model, first, second, posterior.variance)
    squares = _expected_squares(model.x, first, second, features)
    variance = _optimal_variance(model, squares)
    likelihood = -0.5 * (model.x.numel() * torch.log(2 * math.pi * variance) + squares / variance)
    kl_masks = (q * posterior.local - softplus(logits) + softplus(location)).sum((-1, -2)).mean(0)
    kl_sticks = kl_beta(*posterior.concentrations, model.alpha, 1.0).sum(-1)
    log_variance = features.variance.log().unsqueeze(-1)
    kl_features = kl_normal(features.mean, log_variance, 0.0, 2 * math.log(model.scale)).sum((-1, -2))
    return _Bound(likelihood - kl_masks - kl_sticks - kl_features, variance, features, q)


def _optimal_features(model: _Model, first: Tensor, second: Tensor, variance: Tensor) -> _Features:
    """The best Gaussian factors for E[Z] and E[Z^T Z]: the exact posterior's mean, and its precision's diagonal."""
    variance = variance[..., None, None]
    identity = torch.eye(first.shape[-1], dtype=first.dtype, device=first.device)
    precision = second / variance + identity / model.scale**2
    mean = torch.linalg.solve(precision, first.mT @ model.x / variance)
    spread = precision.diagonal(dim1=-2, dim2=-1).reciprocal()
    return _Features(mean, spread, mean @ mean.mT + model.x.shape[1] * torch.diag_embed(spread))


def _expected_squares(x: Tensor, first: Tensor, second: Tensor, features: _Features) -> Tensor:
    """E |X - Z A|^2."""
    cross = (first @ features.mean * x).sum((-1, -2))
    return x.square().sum() - 2 * cross + (features.products * second).sum((-1, -2))


def _optimal_variance(model: _Model, squares: Tensor) -> Tensor:
    floor = SMALLEST_NOISE**2 * float(model.x.square().mean())
    return (squares / model.x.numel()).clamp(min=floor)


@torch.no_grad()
def _search(model: _Model, truncation: int, sweeps: int, sets: int = 8) -> tuple[_Posterior, list[float]]:
    """Coordinate ascent from random masks, then backward elimination: all removals of one feature tried side by side."""
    x = model.x
    start = torch.rand((1, len(x), truncation), generator=model.generator, dtype=x.dtype, device=x.device)
    posterior, q = _ascend(model, start, x.var().expand(1), sweeps, sets)
    best = float(_bound(model, posterior, sets).elbo)
    trace = [best]
    while True:
        used = (q[0].sum(0) > 0.5).nonzero().flatten()
        if not len(used):
            break
        trials = q.repeat(len(used), 1, 1)
        trials[torch.arange(len(used)), :, used] = 0
        attempts, masks = _ascend(model, trials, posterior.variance.expand(len(used)), sweeps // 4, sets)
        bounds = _bound(model, attempts, sets).elbo
        winner = int(bounds.argmax())
        if bounds[winner] <= best:
            break
        best = float(bounds[winner])
        trace.append(best)
        posterior = _Posterior(
            attempts.concentrations[:, [winner]], attempts.local[[winner]], attempts.variance[[winner]]
        )
        q = masks[[winner]]
    return _Posterior(posterior.concentrations[:, 0], posterior.local[0], posterior.variance[0]), trace


def _ascend(model: _Model, q: Tensor, variance: Tensor, sweeps: int, sets: int) -> tuple[_Posterior, Tensor]:
    """Coordinate ascent on the masks, feature by feature, from E[Z] = q."""
    for _ in range(sweeps):
        q = q.gather(-1, q.sum(-2, keepdim=True).argsort(-1, descending=True).expand_as(q))
        concentrations = _nested_sticks(q, model.alpha)
        location = model.sample_log_odds(concentrations, sets)
        second = q.mT @ q + torch.diag_embed((q * (1 - q)).sum(-2))
        features = _optimal_features(model, q, second, variance)
        products = features.products
        gain = model.x @ features.mean.mT - products.diagonal(dim1=-2, dim2=-1).unsqueeze(-2) / 2
        local = torch.empty_like(q)
        for k in range(q.shape[-1]):
            others = (q @ products[..., k : k + 1]).squeeze(-1) - q[..., k] * products[..., k, k, None]
            local[..., k] = (gain[..., k] - others) / variance[..., None]
            q[..., k] = (location[..., k, None] + local[..., k]).sigmoid().mean(0)
        second = q.mT @ q + torch.diag_embed((q * (1 - q)).sum(-2))
        variance = _optimal_variance(model, _expected_squares(model.x, q, second, features))
    return _Posterior(concentrations, local, variance), q


def _nested_sticks(q: Float[Tensor, "*batch examples features"], alpha: float) -> Float[Tensor, "2 *batch features"]:
    """The sticks' posterior if each feature were had by a part of those who have the one before: counts on, counts lost."""
    count = q.sum(-2)
    before = torch.cat((torch.full_like(count[..., :1], q.shape[-2]), count[..., :-1]), -1)
    return torch.stack((alpha + count, 1 + (before - count).clamp(min=0)))


def _refine(model: _Model, start: _Posterior, trace: list[float], steps: int, sets: int = 16) -> Factorisation:
    """Structured variational inference by gradient ascent on the sticks and the masks' own log odds."""
    count = start.local.shape[-1]
    sticks = Sticks(count, model.alpha, model.alpha).to(start.local)
    sticks.raw.data.copy_(inverse_softplus(start.concentrations - SMALLEST_CONCENTRATION))
    local, variance = start.local.clone().requires_grad_(), start.variance
    optimiser = torch.optim.Adam([{"params": [sticks.raw], "lr": 0.05}, {"params": [local], "lr": 0.02}])
    for _ in range(steps):
        bound = _bound(model, _Posterior(sticks.concentrations(), local, variance), sets)
        optimiser.zero_grad()
        bound.elbo.neg().backward()
        optimiser.step()
        variance = bound.variance.detach()
        trace.append(float(bound.elbo.detach()))
    with torch.no_grad():
        final = _bound(model, _Posterior(sticks.concentrations(), local, variance), 8 * sets)
        q = final.probabilities
        in_use = -torch.expm1(torch.log1p(-q.clamp(max=1 - 1e-6)).sum(-2)).mean(0)
        order = q.mean((0, 1)).argsort(descending=True)
    return Factorisation(
        probabilities=q.mean(0)[:, order],
        features=final.features.mean[order],
        pi=sticks.expected_pi()[order],
        noise=float(final.variance.sqrt()),
        expected_features=float(in_use.sum()),
        elbo=float(final.elbo),
        trace=torch.tensor(trace),
    )


def _check(x: Tensor, truncation: int, alpha: float, scale: float | None, sweeps: int, steps: int) -> None:
    if x.ndim != 2 or not x.numel() or not x.is_floating_point():
        raise UserError(f"x is {tuple(x.shape)} of {x.dtype}: give a floating-point matrix with one example a row.")
    if not torch.isfinite(x).all():
        raise UserError("x has values that are infinite or not numbers: remove or fill them first.")
    if not x.any():
        raise UserError("x is zero everywhere: there is nothing to factorise.")
    if truncation < 1:
        raise UserError(
            f"a truncation of {truncation} leaves no features: use at least 1, better twice what you expect."
        )
    if not 0 < alpha < math.inf:
        raise UserError(f"alpha is {alpha}: use a positive number, larger for more features.")
    if scale is not None and not 0 < scale < math.inf:
        raise UserError(f"scale is {scale}: use a positive number, about the size of a feature's entries.")
    if sweeps < 4 or steps < 0:
        raise UserError(f"{sweeps} sweeps and {steps} steps: use at least 4 sweeps and no negative number of steps.")
