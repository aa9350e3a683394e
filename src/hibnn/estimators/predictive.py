"""What a model says of inputs under the heads of its tasks, posterior draw by posterior draw."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hibnn.errors import UserError, unknown
from hibnn.estimators.mixture import GaussianPrediction
from hibnn.estimators.model import Model
from hibnn.learners import Prediction
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.likelihoods import Gaussian
from hibnn.nn.networks.ensemble import Ensemble, at_the_means, drawn

Mode = Literal["sample", "mean"]
NUMBERS_AT_ONCE = 200_000


@dataclass(frozen=True)
class PredictionMode:
    """How predictions are made: averaged over posterior draws, or at the means."""

    mode: Mode = "sample"
    draws: int = 32

    def __post_init__(self) -> None:
        if self.mode not in ("sample", "mean"):
            raise unknown("prediction", str(self.mode), ("sample", "mean"))
        if self.draws < 1:
            raise UserError(f"draws must be positive, not {self.draws}.")


def ensemble_of(model: Model, way: PredictionMode) -> Ensemble:
    """The posterior as a fixed function of the inputs."""
    learner = model.learner
    if type(learner) is not SequentialBayes:
        raise UserError(f"the posterior of {model.method} is no ensemble: choose ibnn, hibnn, vcl or mfvi.")
    if way.mode == "mean":
        return at_the_means(learner.bayesian)
    return drawn(learner.bayesian, way.draws, learner.draws.relaxation, learner.setting.generator("ensemble"))


def blocks(model: Model, x: Tensor, heads: Sequence[int], way: PredictionMode) -> Iterator[list[Tensor]]:
    """For a few thousand rows at a time, the outputs (draws, rows, outputs) of each head.

    In double precision: products in single precision round differently with the number of rows beside a row.
    """
    assert isinstance(model.learner, SequentialBayes)
    ensemble = ensemble_of(model, way).double()
    widest = max((len(pi) for pi in model.activity), default=1)
    draws = 1 if way.mode == "mean" else way.draws
    for rows in x.split(max(1, NUMBERS_AT_ONCE // (draws * widest))):
        with torch.no_grad():
            yield ensemble(model.learner.preprocess(rows.double()), heads)


def class_predictions(model: Model, x: np.ndarray, heads: Sequence[int], way: PredictionMode) -> list[Prediction]:
    """A prediction over its own classes from every head."""
    inputs = torch.from_numpy(x)
    learner = model.learner
    if type(learner) is not SequentialBayes:
        return [learner.predict(inputs, head, learner.setting.generator("ensemble", head)) for head in heads]
    answers = [empty_prediction(len(inputs), learner.head_sizes[head]) for head in heads]
    start = 0
    for outputs in blocks(model, inputs, heads, way):
        rows = slice(start, start + outputs[0].shape[-2])
        for whole, one in zip(answers, outputs, strict=True):
            part = Prediction.of_draws(one.softmax(-1))
            whole.probabilities[rows] = part.probabilities
            whole.expected_entropy[rows] = part.expected_entropy
            whole.votes[rows] = part.votes
        start = rows.stop
    return answers


def empty_prediction(rows: int, classes: int) -> Prediction:
    """Room for all rows, taken before the blocks: small results between freed blocks would scatter the memory."""
    return Prediction(
        torch.empty(rows, classes, dtype=torch.float64),
        torch.empty(rows, dtype=torch.float64),
        torch.empty(rows, classes, dtype=torch.float64),
    )


def moments(model: Model, x: np.ndarray, heads: Sequence[int], way: PredictionMode) -> list[GaussianPrediction]:
    """Mean, variance of the posterior and variance of the noise from every head, in standardised targets."""
    assert isinstance(model.learner, SequentialBayes)
    whole = torch.empty(len(heads), 2, len(x), dtype=torch.float64)
    start = 0
    for outputs in blocks(model, torch.from_numpy(x), heads, way):
        rows = slice(start, start + outputs[0].shape[-2])
        for (mean, variance), one in zip(whole, outputs, strict=True):
            mean[rows] = one[..., 0].mean(0)
            variance[rows] = one[..., 0].var(0, correction=0)
        start = rows.stop
    answers = []
    for head, (mean, variance) in zip(heads, whole, strict=True):
        noise = model.learner.bayesian.noise[head]
        assert isinstance(noise, Gaussian)
        answers.append(GaussianPrediction(mean, variance, noise.log_noise.detach().exp().expand(len(mean))))
    return answers
