"""How an estimator asks its model: posterior draw by posterior draw, so that the answer for a row depends on no other.

`hibnn.continual` calls `classes` and `reals`. They work in double precision: products in single precision round
differently with the number of rows beside a row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor

from hibnn.continual import with_streams
from hibnn.errors import UserError, unknown
from hibnn.learners import Learner, Prediction
from hibnn.learners.base import GaussianPrediction
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layers.mask_form import MaskForm
from hibnn.nn.likelihoods import VaryingGaussian
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.ensemble import Ensemble, Parts, at_the_means, drawn

Mode = Literal["sample", "mean"]
ROWS_AT_ONCE = 2048
"""Of all draws together, whatever the width: with other blocks a row's answer would be rounded otherwise."""


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

    def ensemble(self, learner: SequentialBayes, heads: Sequence[int]) -> Ensemble | Parts:
        """The posterior as a fixed function of the inputs, for some of the heads."""
        networks = {head: learner.network_of(head)[0] for head in heads}
        if all(network is learner.bayesian for network in networks.values()):
            return self._of(learner.bayesian, learner, learner.setting.generator("ensemble"))
        # a stream for each head: what a head answers must not change with those learned after it
        streams = {head: learner.setting.generator("ensemble", head) for head in heads}
        return Parts({head: self._of(network, learner, streams[head]) for head, network in networks.items()})

    def _of(self, network: BayesianMLP, learner: SequentialBayes, generator: torch.Generator) -> Ensemble:
        buffet = learner.options.buffet
        form = MaskForm() if buffet is None else buffet.mask_form
        if self.mode == "mean":
            return at_the_means(network, form)
        return drawn(network, self.draws, form, generator)

    def outputs(
        self, learner: SequentialBayes, x: np.ndarray, heads: Sequence[int]
    ) -> Iterator[tuple[slice, list[Tensor]]]:
        """A few thousand rows at a time, and the outputs (draws, rows, outputs) of each head for them."""
        ensemble = self.ensemble(learner, heads).double()
        draws = 1 if self.mode == "mean" else self.draws
        size = max(1, ROWS_AT_ONCE // draws)
        for number, rows in enumerate(torch.from_numpy(x).split(size)):
            with torch.no_grad():
                found = ensemble(learner.preprocess(rows.double().to(learner.setting.device)), heads)
                outputs = [values.cpu() for values in found]
            yield slice(number * size, number * size + len(rows)), outputs

    def classes(self, learner: Learner, x: np.ndarray, heads: Sequence[int]) -> list[Prediction]:
        """A prediction over its own classes from every head."""
        if not isinstance(learner, SequentialBayes) or not learner.answers_alone:
            return with_streams("ensemble")(learner, x, heads)
        predictions = [empty_prediction(len(x), learner.head_sizes[head]) for head in heads]
        for rows, outputs in self.outputs(learner, x, heads):
            for whole, logits in zip(predictions, outputs, strict=True):
                part = Prediction.of_draws(logits.softmax(-1))
                whole.probabilities[rows] = part.probabilities
                whole.expected_entropy[rows] = part.expected_entropy
                whole.votes[rows] = part.votes
        return predictions

    def reals(self, learner: Learner, x: np.ndarray, heads: Sequence[int]) -> list[GaussianPrediction]:
        """Mean, variance of the posterior and variance of the noise from every head, in standardised targets."""
        assert isinstance(learner, SequentialBayes)
        whole = torch.empty(len(heads), 3, len(x), dtype=torch.float64)
        likelihoods = [cast(VaryingGaussian, learner.bayesian.noise[head]) for head in heads]
        for rows, outputs in self.outputs(learner, x, heads):
            for parts, values, likelihood in zip(whole, outputs, likelihoods, strict=True):
                parts[:, rows] = torch.stack(likelihood.moments(values)).detach().cpu()
        return [GaussianPrediction(*parts) for parts in whole]


def empty_prediction(rows: int, classes: int) -> Prediction:
    """Room for all rows, taken before the blocks: small results between freed blocks would scatter the memory."""
    shapes = ((rows, classes), (rows,), (rows, classes))
    return Prediction(*(torch.empty(shape, dtype=torch.float64) for shape in shapes))
