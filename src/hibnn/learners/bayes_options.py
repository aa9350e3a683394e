"""Options of the Bayesian learners. The defaults are ours; `hibnn.learners.presets` holds the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hibnn.learners.network import ADDED, NetworkOptions, check_option
from hibnn.learners.objective import Draws, MaskKL
from hibnn.learners.schedule import Schedule
from hibnn.nn.layers.authors import AuthorsHIBP, AuthorsIBP, AuthorsMask
from hibnn.nn.layers.ibp import HIBPMask, IBPMask, NeuronMask, Sticks
from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layers.mask_form import MaskForm
from hibnn.nn.layers.masks import Relaxation
from hibnn.nn.layers.stamps import Timestamps


@dataclass(frozen=True)
class Plan:
    """The epochs of one experience: of maximum likelihood first, then of the posterior."""

    likelihood_epochs: int
    posterior_epochs: int
    kl_warmup: int
    schedule: Schedule

    @property
    def epochs(self) -> int:
        return self.likelihood_epochs + self.posterior_epochs

    def kl_weight(self, number: int) -> float:
        """The weight of the KL in an epoch of the posterior; it rises to one."""
        return min(1.0, (number - self.likelihood_epochs + 1) / self.kl_warmup) if self.kl_warmup else 1.0

    def rate_factor(self, step: int, steps_per_epoch: int) -> float:
        """What learning rates are multiplied with at a step."""
        return self.schedule.factor(step, steps_per_epoch * self.posterior_epochs)


@dataclass(frozen=True)
class BayesOptions(NetworkOptions):
    """Gaussian weights learned by sequential variational Bayes (MFVI, VCL)."""

    epochs: int = 15
    learning_rate: float = 2e-3
    """learning rate of the means"""
    batch_size: int = 256
    schedule: Schedule = Schedule.COSINE
    """learning rates within a task"""
    variance_rate: float = 1e-3
    """learning rate of the log variances"""
    prior_variance: float = 0.7
    log_variance: float | None = -6.0
    """where the log variances of weights start; None: by the number of a neuron's inputs"""
    init_std: float | None = 0.1
    """standard deviation of the first means of the weights; None: by the number of a neuron's inputs"""
    head_init_std: float = 0.0
    """the same for the heads (the paper: 0.1)"""
    bias_init_std: float = field(default=0.0, metadata=ADDED)
    """the same for all biases (the authors' program: 0.1)"""
    weight_noise: WeightNoise = field(default=WeightNoise.EXAMPLE, metadata=ADDED)
    """draw activations with noise of each example's own, with noise of the batch, or draw the weights themselves"""
    input_std: float = 0.3
    """give every example mean zero and this standard deviation; 0 leaves inputs as they are"""
    draws: int = 1
    """draws of the weights for each training example"""
    prediction: Literal["sample", "mean"] = "sample"
    """average over posterior draws, or one pass with means and expected masks"""
    prediction_draws: int = 50
    kl_warmup: int = 0
    """epochs over which the weight of the KL rises to one"""
    likelihood_epochs: int = 0
    """epochs of maximum likelihood for the means before the first task"""
    first_task_factor: float = 1.0
    """how many times longer the first task is trained"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("variance_rate", "prior_variance", "draws", "prediction_draws", "first_task_factor"):
            check_option(self, name, getattr(self, name) > 0, "positive")
        check_option(self, "init_std", self.init_std is None or self.init_std >= 0, "at least 0")
        for name in ("head_init_std", "bias_init_std", "input_std", "kl_warmup", "likelihood_epochs"):
            check_option(self, name, getattr(self, name) >= 0, "at least 0")

    def plan(self, first: bool) -> Plan:
        """The epochs of an experience; the first one may be longer."""
        posterior_epochs = round(self.epochs * (self.first_task_factor if first else 1))
        return Plan(self.likelihood_epochs if first else 0, posterior_epochs, self.kl_warmup, self.schedule)

    def training_draws(self) -> Draws:
        """How training draws."""
        return Draws(weights=self.draws)

    @property
    def buffet(self) -> "BuffetOptions | None":
        """The options of the buffet; none where the width is fixed."""
        return None


@dataclass(frozen=True)
class BuffetOptions(BayesOptions):
    """An IBP over the neurons of each layer (IBNN); `width` is the truncation K: what a task is offered."""

    learning_rate: float = 5e-3
    """learning rate of the means"""
    log_variance: float | None = None
    """where the log variances of weights start; None: by the number of a neuron's inputs"""
    init_std: float | None = None
    """standard deviation of the first means of the weights; None: by the number of a neuron's inputs"""
    input_std: float = 1.0
    """give every example mean zero and this standard deviation; 0 leaves inputs as they are"""
    alpha: float = 10.0
    """prior Beta(alpha, 1) of the sticks: about how many neurons are expected before any data"""
    init_alpha: float = 30.0
    """where the posterior's sticks start, Beta(init_alpha, 1): wide, so that neurons are there to be learned"""
    stick_rate: float = 0.05
    """learning rate of the Beta parameters"""
    temperature: float = 0.7
    """of the relaxed masks (the paper's lambda 1)"""
    prior_temperature: float | None = None
    """of the masks' prior (lambda 2); the same unless given"""
    stick_sets: int = 8
    """sets of sticks drawn for each minibatch"""
    relaxation: Relaxation = Relaxation.ODDS
    """location of the relaxed masks: the log odds, or log pi as in the paper"""
    mask_kl: MaskKL = MaskKL.STRUCTURED
    """structured: the ELBO's; authors: what their program draws and minimises instead (docs/variants.md)"""
    averaged_masks: int = 1
    """relaxed masks averaged for each example (the paper: 10)"""
    prediction_masks: Literal["hard", "soft"] = "hard"
    """Bernoulli masks, or relaxed and averaged ones as in the authors' program"""
    size: Literal["evidence", "prior"] = "evidence"
    """evidence: a task keeps the neurons that held-out rows ask for; prior: all K stay, as in the paper"""
    size_tolerance: float = 0.003
    """how much held-out loss, in nats an example, a task may lose by keeping fewer neurons"""
    timestamps: Timestamps = Timestamps.AUTO
    """answer a task with the neurons it had: soft; hard, which also keeps them from changing; auto, none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(self, "size", self.size in ("evidence", "prior"), "evidence or prior")
        for name in ("alpha", "init_alpha", "stick_rate", "temperature", "stick_sets", "averaged_masks"):
            check_option(self, name, getattr(self, name) > 0, "positive")
        check_option(self, "size_tolerance", self.size_tolerance >= 0, "at least 0")
        check_option(
            self, "prior_temperature", self.prior_temperature is None or self.prior_temperature > 0, "positive"
        )

    @property
    def buffet(self) -> "BuffetOptions":
        return self

    def training_draws(self) -> Draws:
        return Draws(
            weights=self.draws,
            stick_sets=self.stick_sets,
            averaged_masks=self.averaged_masks,
            temperature=self.temperature,
            prior_temperature=self.prior_temperature or self.temperature,
            relaxation=self.relaxation,
        )

    @property
    def soft_form(self) -> MaskForm:
        """Relaxed masks, averaged as in training."""
        return MaskForm(self.relaxation, self.temperature, self.averaged_masks)

    @property
    def mask_form(self) -> MaskForm:
        """Masks as predictions have them."""
        return self.soft_form if self.prediction_masks == "soft" else MaskForm(self.relaxation)

    def new_buffet(self, widths: Sequence[int]) -> NeuronMask:
        """Sticks for so many neurons in each layer."""
        return IBPMask([Sticks(width, self.alpha, self.init_alpha) for width in widths])

    def new_authors_buffet(self, widths: Sequence[int]) -> AuthorsMask:
        """The same as the authors' program has them."""
        return AuthorsIBP(widths, self.alpha, self.init_alpha)

    def begin_task(self, buffet: NeuronMask, task: int) -> None:
        """What a new task changes in the buffet."""


@dataclass(frozen=True)
class HierarchicalOptions(BuffetOptions):
    """An H-IBP: sticks shared by all layers (HIBNN)."""

    depth: int = 2
    stick_sets: int = 4
    """sets of sticks drawn for each minibatch; each needs children for every layer"""
    child_alpha: float = 4.0
    """concentration alpha_j of each layer's probabilities around the shared ones"""
    child_alpha_step: float = 0.0
    """added to child_alpha with every new data set"""
    child_alpha_every: int = 2
    """how many tasks make a data set"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("child_alpha", "child_alpha_every"):
            check_option(self, name, getattr(self, name) > 0, "positive")
        check_option(self, "child_alpha_step", self.child_alpha_step >= 0, "at least 0")

    def new_buffet(self, widths: Sequence[int]) -> NeuronMask:
        return HIBPMask(Sticks(max(widths), self.alpha, self.init_alpha), widths, self.child_alpha)

    def new_authors_buffet(self, widths: Sequence[int]) -> AuthorsMask:
        return AuthorsHIBP(widths, self.alpha, self.init_alpha, self.child_alpha, self.averaged_masks)

    def begin_task(self, buffet: NeuronMask, task: int) -> None:
        """alpha_j of the task (paper, increasing difficulty)."""
        buffet.set_child_alpha(self.child_alpha + self.child_alpha_step * (task // self.child_alpha_every))
