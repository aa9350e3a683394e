"""Matrix factorisation with an Indian Buffet Process prior: how many features are behind the data? (paper, section 2.3)

    X = Z A + noise,    z_nk | v ~ Bernoulli(pi_k),    pi_k = prod_{i<=k} v_i,    v_i ~ Beta(alpha, 1)
    A_kd ~ N(0, scale^2),    noise_nd ~ N(0, variance), the variance learned

The structured posterior (Singh et al., 2017) ties every mask to the sticks and adds log odds of its own:

    q(v_k) = Beta(a_k, b_k),    q(z_nk = 1 | v) = sigmoid(log_odds(pi_k) + local_nk),    q(A_kd) Gaussian

Given sticks, expectations over masks and features are closed forms: only sticks are drawn, and no mask need be relaxed.
Features and variance stay at their optimum for the masks. Coordinate ascent on the masks ends in solutions with too
many features; taking away the feature whose removal raises the bound most, again and again, leads out of them.

`factorise` is public and on its own: of the networks it shares only the sticks and the distributions. It shows the
prior that sizes their layers on a problem small enough to check by eye (examples/cambridge_bars.py).
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
from hibnn.distributions.precision import double
from hibnn.distributions.stick_breaking import log_odds, log_probabilities
from hibnn.errors import UserError
from hibnn.learners.adam import Adam
from hibnn.nn.layers.ibp import SMALLEST_CONCENTRATION, Sticks, inverse_softplus

MEANINGFUL_SHARE = 0.02
"""A feature counts if at least this share of the examples is expected to have it."""
SMALLEST_NOISE = 1e-3
"""The noise does not fall below this part of the data's root mean square."""
SETS = 8
"""Sets of sticks drawn for an estimate of the bound; its standard deviation is then about one nat."""


@dataclass(frozen=True)
class Factorisation:
    """What was inferred: posterior expectations, with features ordered by use, the most used first."""

    probabilities: Float[Tensor, "examples features"]
    """E[z]: how likely each example has each feature."""
    features: Float[Tensor, "features dimensions"]
    """E[A]; zero for a feature that no example has."""
    pi: Float[Tensor, " features"]
    """E[pi], from the sticks."""
    noise: float
    """The standard deviation of the noise."""
    expected_features: float
    """The expected number of features that at least one example has."""
    elbo: float
    """The lower bound on log p(X), in nats."""
    trace: Float[Tensor, " rounds"]
    """The bound on the way: after every removal of a feature, then at every gradient step."""

    @property
    def usage(self) -> Float[Tensor, " features"]:
        """The expected share of the examples that have each feature."""
        return self.probabilities.mean(0)

    @property
    def number_of_features(self) -> int:
        """How many features a meaningful share of the examples has; if it reaches the truncation, raise that."""
        return int((self.usage >= MEANINGFUL_SHARE).sum())

    @property
    def masks(self) -> Float[Tensor, "examples features"]:
        """The most probable masks, one entry at a time."""
        return (self.probabilities > 0.5).to(self.probabilities.dtype)

    def reconstructions(self) -> Float[Tensor, "examples dimensions"]:
        """E[Z] E[A]: the data without their noise."""
        return self.probabilities @ self.features


def factorise(
    x: Float[Tensor, "examples dimensions"],
    truncation: int = 16,
    alpha: float = 2.0,
    *,
    scale: float | None = None,
    restarts: int = 5,
    sweeps: int = 40,
    steps: int = 100,
    generator: torch.Generator,
) -> Factorisation:
    """Infer masks, features and the number of features, at most `truncation`.

    Of several searches (`restarts`, each of that many `sweeps`) the best is refined by gradient `steps`. A feature's
    entries have the standard deviation `scale` under the prior, by default the root mean square of the data.
    """
    _check(x, truncation, alpha, scale, (restarts, sweeps, steps))
    data = double(x.detach())  # differences of bounds decide about features, and they are small beside the bounds
    if generator.device.type != data.device.type:
        raise UserError(f"the generator lives on {generator.device}: make one on {data.device}, where x is computed.")
    model = _Model(data, alpha, float(data.square().mean().sqrt()) if scale is None else scale, generator)
    searches = [_search(model, truncation, sweeps) for _ in range(restarts)]
    return _refine(model, *max(searches, key=lambda search: search[1][-1]), steps, like=x)


def cambridge_bars(
    examples: int, noise: float = 0.5, *, generator: torch.Generator
) -> tuple[Float[Tensor, "examples 36"], Float[Tensor, "examples 4"], Float[Tensor, "4 36"]]:
    """Images of 6 x 6 pixels, and the masks and features they were made of (Griffiths and Ghahramani, 2005).

    Each of the four features is in an image with probability one half; the noise is Gaussian with this deviation.
    """
    if examples < 1:
        raise UserError(f"cannot draw {examples} images: ask for at least one.")
    if not 0 <= noise < math.inf:
        raise UserError(f"noise is {noise}: use a standard deviation, a number from 0 up.")
    shapes = ("010 111 010", "111 101 111", "100 110 111", "111 010 010")
    plus, ring, stairs, tee = (torch.tensor([[float(pixel) for pixel in row] for row in s.split()]) for s in shapes)
    features = torch.zeros(4, 6, 6)
    features[0, :3, :3], features[1, :3, 3:], features[2, 3:, :3], features[3, 3:, 3:] = plus, ring, stairs, tee
    features = features.flatten(1)
    masks = (torch.rand((examples, 4), generator=generator) < 0.5).to(features.dtype)
    return masks @ features + noise * torch.randn((examples, 36), generator=generator), masks, features


class _Model(NamedTuple):
    """The data, the constants of the prior, and the source of draws."""

    x: Tensor
    alpha: float
    scale: float
    generator: torch.Generator

    def sample_log_odds(self, concentrations: Float[Tensor, "2 *batch features"], sets: int) -> Tensor:
        """log pi - log(1 - pi) for independent sets of sticks."""
        a, b = concentrations
        log_v, _ = sample_beta(a, b, (sets,), self.generator)
        return log_odds(log_probabilities(log_v))


class _Posterior(NamedTuple):
    """q(v), q(z | v) and the noise variance, of one solution or of a batch of them."""

    concentrations: Float[Tensor, "2 *batch features"]
    local: Float[Tensor, "*batch examples features"]
    variance: Float[Tensor, "*batch"]

    def pick(self, index: int) -> "_Posterior":
        """One solution of a batch."""
        return _Posterior(self.concentrations[:, index], self.local[index], self.variance[index])


class _Features(NamedTuple):
    """q(A): means, variances (alike in every dimension) and expected inner products E[A A^T]."""

    mean: Float[Tensor, "*batch features dimensions"]
    variance: Float[Tensor, "*batch features"]
    products: Float[Tensor, "*batch features features"]


class _Bound(NamedTuple):
    """The bound, and what it was evaluated with: optimal features, the optimal variance for these, E[z | v]."""

    elbo: Float[Tensor, "*batch"]
    features: _Features
    variance: Float[Tensor, "*batch"]
    q: Float[Tensor, "sets *batch examples features"]


def _bound(model: _Model, posterior: _Posterior, sets: int = SETS) -> _Bound:
    """E[log p(X | Z, A)] - KL(q(v) || p(v)) - E[KL(q(z | v) || p(z | v))] - KL(q(A) || p(A)), from draws of v.

    With l the log odds of pi and r those of q = q(z = 1 | v), a mask's KL is q (r - l) - softplus(r) + softplus(l).
    """
    a, b = posterior.concentrations
    location = model.sample_log_odds(posterior.concentrations, sets).unsqueeze(-2)
    logits = location + posterior.local
    q = logits.sigmoid()
    first, second = q.mean(0), _second_moment(q).mean(0)
    with torch.no_grad():  # at an optimum the bound does not change with the features to first order
        features = _best_features(model, first, second, posterior.variance)
    squares = _expected_squares(model, first, second, features)
    variance = _best_variance(model, squares)
    likelihood = -0.5 * (model.x.numel() * torch.log(2 * math.pi * variance) + squares / variance)
    kl_masks = (q * posterior.local - softplus(logits) + softplus(location)).sum((-1, -2)).mean(0)
    kl_sticks = kl_beta(a, b, model.alpha, 1.0).sum(-1)
    log_variance = features.variance.log().unsqueeze(-1)
    kl_features = kl_normal(features.mean, log_variance, 0.0, 2 * math.log(model.scale)).sum((-1, -2))
    return _Bound(likelihood - kl_masks - kl_sticks - kl_features, features, variance, q)


def _second_moment(q: Tensor) -> Tensor:
    """E[Z^T Z] for independent masks."""
    return q.mT @ q + torch.diag_embed((q * (1 - q)).sum(-2))


def _best_features(model: _Model, first: Tensor, second: Tensor, variance: Tensor) -> _Features:
    """The best Gaussian factors given E[Z] and E[Z^T Z]: the full posterior's mean, its precision's diagonal."""
    variance = variance[..., None, None]
    prior_precision = torch.eye(first.shape[-1], dtype=first.dtype, device=first.device) / model.scale**2
    precision = second / variance + prior_precision
    mean = torch.linalg.solve(precision, first.mT @ model.x / variance)
    spread = precision.diagonal(dim1=-2, dim2=-1).reciprocal()
    return _Features(mean, spread, mean @ mean.mT + model.x.shape[1] * torch.diag_embed(spread))


def _expected_squares(model: _Model, first: Tensor, second: Tensor, features: _Features) -> Tensor:
    """E |X - Z A|^2."""
    cross = (first @ features.mean * model.x).sum((-1, -2))
    return model.x.square().sum() - 2 * cross + (features.products * second).sum((-1, -2))


def _best_variance(model: _Model, squares: Tensor) -> Tensor:
    """The noise variance of highest likelihood, E |X - Z A|^2 over the number of entries, with its floor."""
    smallest = SMALLEST_NOISE**2 * float(model.x.square().mean())
    return (squares / model.x.numel()).clamp(min=smallest)


@torch.no_grad()
def _search(model: _Model, truncation: int, sweeps: int) -> tuple[_Posterior, list[float]]:
    """Coordinate ascent from random masks, then backward elimination; the bound after each round."""
    shape = (len(model.x), truncation)
    start = torch.rand(shape, generator=model.generator, dtype=model.x.dtype, device=model.x.device)
    posterior = _ascend(model, start, model.x.square().mean(), sweeps)
    bound = _bound(model, posterior)
    trace = [float(bound.elbo)]
    while len(trials := _without_each(bound.q.mean(0))):
        attempts = _ascend(model, trials, posterior.variance.expand(len(trials)), sweeps // 4)
        attempt = attempts.pick(int(_bound(model, attempts).elbo.argmax()))
        bound = _bound(model, attempt)  # drawn afresh: the best of several estimates is too high
        if bound.elbo <= trace[-1]:
            break
        posterior = attempt
        trace.append(float(bound.elbo))
    return posterior, trace


def _without_each(q: Float[Tensor, "examples features"]) -> Float[Tensor, "trials examples features"]:
    """The masks with each feature in use taken away, in turn."""
    used = (q.sum(0) > 0.5).nonzero().flatten()
    trials = q.repeat(len(used), 1, 1)
    trials[torch.arange(len(used)), :, used] = 0
    return trials


def _ascend(
    model: _Model, q: Float[Tensor, "*batch examples features"], variance: Float[Tensor, "*batch"], sweeps: int
) -> _Posterior:
    """Coordinate ascent from E[Z] = q: features, then one column of masks after the other, then the variance."""
    concentrations, local = _nested_sticks(q, model.alpha), torch.zeros_like(q)
    for _ in range(sweeps):
        # sticks fall along the features, so the most used come first
        q = q.gather(-1, q.sum(-2, keepdim=True).argsort(-1, descending=True).expand_as(q))
        concentrations = _nested_sticks(q, model.alpha)
        location = model.sample_log_odds(concentrations, SETS).unsqueeze(-1)
        features = _best_features(model, q, _second_moment(q), variance)
        norms = features.products.diagonal(dim1=-2, dim2=-1)
        match = model.x @ features.mean.mT - norms.unsqueeze(-2) / 2
        overlap = features.products - torch.diag_embed(norms)
        for k in range(q.shape[-1]):
            local[..., k] = (match[..., k] - (q @ overlap[..., k : k + 1]).squeeze(-1)) / variance.unsqueeze(-1)
            q[..., k] = (location[..., k, :] + local[..., k]).sigmoid().mean(0)
        variance = _best_variance(model, _expected_squares(model, q, _second_moment(q), features))
    return _Posterior(concentrations, local, variance)


def _nested_sticks(q: Float[Tensor, "*batch examples features"], alpha: float) -> Float[Tensor, "2 *batch features"]:
    """The sticks' posterior if only examples that have one feature could have the next.

    a_k = alpha + n_k, b_k = 1 + n_{k-1} - n_k, with n_k the expected number of examples that have feature k.
    """
    count = q.sum(-2)
    before = torch.cat((torch.full_like(count[..., :1], q.shape[-2]), count[..., :-1]), -1)
    return torch.stack((alpha + count, 1 + (before - count).clamp(min=0)))


def _refine(model: _Model, start: _Posterior, trace: list[float], steps: int, like: Tensor) -> Factorisation:
    """Gradient ascent on the sticks and the masks' own log odds, which `_nested_sticks` only approximated."""
    sticks = Sticks(start.local.shape[-1], model.alpha, model.alpha).to(start.local)
    raw = inverse_softplus((start.concentrations - SMALLEST_CONCENTRATION).clamp(min=SMALLEST_CONCENTRATION))
    sticks.load_state_dict({"raw": raw}, strict=False)
    local, variance = start.local.clone().requires_grad_(), start.variance
    optimiser = Adam([{"params": [sticks.raw], "lr": 0.05}, {"params": [local], "lr": 0.02}])
    for _ in range(steps):
        bound = _bound(model, _Posterior(sticks.concentrations(), local, variance))
        optimiser.zero_grad()
        bound.elbo.neg().backward()
        optimiser.step()
        variance = bound.variance.detach()
        trace.append(float(bound.elbo.detach()))
    with torch.no_grad():
        # more draws for the result than for a step
        bound = _bound(model, _Posterior(sticks.concentrations(), local, variance), 16 * SETS)
    return _summary(bound, sticks.values().expected_pi(), trace, like)


def _summary(bound: _Bound, pi: Tensor, trace: list[float], like: Tensor) -> Factorisation:
    """The result in the data's precision and on its device; a feature counts unless all examples lack it."""
    q = bound.q.mean(0)
    order = q.sum(0).argsort(descending=True)
    unused = torch.log1p(-bound.q).sum(-2).exp().mean(0)
    return Factorisation(
        probabilities=q[:, order].to(like),
        features=bound.features.mean[order].to(like),
        pi=pi[order].to(like),
        noise=float(bound.variance.sqrt()),
        expected_features=float((1 - unused).sum()),
        elbo=float(bound.elbo),
        trace=torch.tensor(trace).to(like),
    )


def _check(x: Tensor, truncation: int, alpha: float, scale: float | None, effort: tuple[int, int, int]) -> None:
    """Refuse data and settings that cannot be factorised, in a sentence that says what to change."""
    restarts, sweeps, steps = effort
    if x.ndim != 2 or not x.numel() or not x.is_floating_point():
        raise UserError(f"x is {tuple(x.shape)} of {x.dtype}: give a floating-point matrix, one example a row.")
    if not torch.isfinite(x).all():
        raise UserError("x has entries that are infinite or not a number: remove or fill them first.")
    if not x.any():
        raise UserError("x is zero everywhere: there is nothing to factorise, give other data.")
    if truncation < 1:
        raise UserError(f"truncation is {truncation}: use at least 1, better twice the features you expect.")
    if not 0 < alpha < math.inf:
        raise UserError(f"alpha is {alpha}: use a positive number, larger for more features.")
    if scale is not None and not 0 < scale < math.inf:
        raise UserError(f"scale is {scale}: use a positive number, about the size of a feature's entries.")
    if restarts < 1 or sweeps < 4 or steps < 0:
        raise UserError(f"restarts, sweeps and steps are {effort}: use at least 1, 4 and 0 of them.")
