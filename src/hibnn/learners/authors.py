"""IBNN and HIBNN as the authors' program trains and asks them: sequential Bayes with another objective and other masks.

Chosen by `--mask-kl authors`, which `--preset authors` sets together with everything else that their program does
(docs/variants.md). Reproduction is all it is for: `SequentialBayes` with the ELBO is the model, `SizedBayes` is ours.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.authors_objective import authors_objective
from hibnn.learners.base import Setting
from hibnn.learners.bayes_options import BuffetOptions
from hibnn.learners.neurons import BuffetNeurons, Neurons
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layers.authors import AuthorsMask
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.masks import Relaxation
from hibnn.nn.layers.stamps import Timestamps

LIKELIHOOD_RATE = 1e-3
"""Of the maximum-likelihood start, whatever the rate of the posterior."""


class AuthorsBayes(SequentialBayes):
    """Sticks kept as raw parameters, masks averaged over samples that every example draws for itself."""

    objective = staticmethod(authors_objective)

    def __init__(self, options: BuffetOptions, setting: Setting) -> None:
        check_settings(options)
        self.given = options
        super().__init__(options, setting)

    def first_neurons(self) -> tuple[Sequence[int], NeuronMask]:
        return self.given.widths, self.given.new_authors_buffet(self.given.widths)

    def new_neurons(self) -> Neurons:
        return AuthorsNeurons(self.bayesian, self.given, self.setting.layout)

    def attach(self, split: Split, task: int) -> None:
        """From the second task on the prior's masks have the posterior's temperature too."""
        super().attach(split, task)
        first = self.given.training_draws()
        self.draws = first if task == 0 else replace(first, prior_temperature=first.temperature)

    def likelihood_epoch(self, number: int) -> dict[str, float]:
        assert self.optimiser is not None
        self.optimiser.param_groups[0]["lr"] = LIKELIHOOD_RATE
        return super().likelihood_epoch(number)


class AuthorsNeurons(BuffetNeurons):
    """Answers with the soft masks of training, drawn once for an example and shared by all draws of the weights."""

    def prediction_masks(self, rows: int, draws: int, head: int, generator: torch.Generator) -> list[Tensor]:
        if self.options.prediction_masks == "hard":
            return super().prediction_masks(rows, draws, head, generator)
        return [mask.repeat(draws, 1) for mask in self.relaxed_masks(rows, rows, head, generator)]

    def relaxed_masks(self, rows: int, sets: int, head: int, generator: torch.Generator) -> list[Tensor]:
        buffet = self.buffet
        assert isinstance(buffet, AuthorsMask)
        return buffet.masks(self.options.averaged_masks, rows, self.options.temperature, generator)


def check_settings(options: BuffetOptions) -> None:
    """Refuse what the authors' program does not have, in a sentence."""
    wanted = {
        "--relaxation paper": options.relaxation is Relaxation.PAPER,
        "--size prior": options.size == "prior",
        "--timestamps none": options.timestamps in (Timestamps.NONE, Timestamps.AUTO),
    }
    missing = [flag for flag, given in wanted.items() if not given]
    if missing:
        raise UserError(f"--mask-kl authors needs {' '.join(missing)}: add that, or use --preset authors.")
