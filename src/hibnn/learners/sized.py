"""Sequential Bayes whose layers are sized by held-out rows, task by task: IBNN and HIBNN as they come.

A task is offered K fresh neurons in each layer, and its epochs have three parts:

    explore   sticks of an Indian buffet switch the fresh neurons on; a tenth of the rows is held out
    cut       the masks come off; at every epoch held-out rows say how few of the fresh neurons suffice (`evidence`),
              and the others are dropped; all of them, where a head on the neurons of earlier tasks does as well
    settle    the size stands, and the held-out rows are learned too

The parts have planned lengths. Where held-out rows are watched (the estimators do), each ends earlier if they gain no
more. A layer that keeps all it was offered is offered as many again. What a task keeps is always on, for later tasks
too: their sticks begin behind it. With hard time stamps the weights that a task reads never change again, so its
answers stay what they were; a task whose rows return goes on with the neurons that no other task reads. Masks depend on
the task and never on the input.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.base import Setting, State
from hibnn.learners.bayes_options import BuffetOptions
from hibnn.learners.evidence import contributions, held_out_curve, is_near, known_losses, refit_head
from hibnn.learners.schedule import Schedule
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.learners.training import minibatches
from hibnn.nn.layers.ibp import NeuronMask
from hibnn.nn.layers.mask_form import MaskForm
from hibnn.nn.layers.stamps import Timestamps
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.nested import nested_features
from hibnn.nn.networks.resizing import append_units, keep_units, take_shapes

CHECK = 8
"""Where held-out rows are watched, layers are cut every so many steps, or every epoch."""
CUTS = 12
"""About so many cuts at most, however many epochs there are."""
STEPS, FEWER_STEPS = 150, 60
"""Nothing is dropped before so many steps of the optimiser, where the epochs have as many; fewer if held-out rows are
watched, whose learning rates are larger."""
SETTLING, REAL_SETTLING = 0.25, 0.5
"""How long an experience that stopped goes on, as a share of the epochs before: to learn the rows that were held out.
Real targets get longer: chosen on validation rows (docs/streams.md, Numbers)."""
HELD_OUT, LEAST_HELD_OUT, MOST_HELD_OUT = 0.1, 100, 2000
"""A tenth of the rows is held out, but at least a hundred where that is no more than a third, and at most 2,000."""


class SizedBayes(SequentialBayes):
    """A network that begins without neurons; `units` are those that each head's task reads, layer by layer.

    `kept` are the neurons that stood before the current experience, `offered` the fresh ones that masks switch,
    `explored` the epoch up to which they do, `held` those that must not change, `stopped` the epoch from which on the
    size stands because held-out rows had no more to gain (None before, and where nobody watches them), `best` the least
    held-out losses so far, `curves` the first of each layer.
    """

    can_stop = True

    def __init__(self, options: BuffetOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.sized = options
        several = setting.layout is Layout.MULTI
        if options.timestamps in (Timestamps.SOFT, Timestamps.HARD) and not several:
            raise UserError("time stamps need a head for each task: use --heads multi, or --timestamps none.")
        automatic = Timestamps.HARD if several else Timestamps.NONE
        self.timestamps = automatic if options.timestamps is Timestamps.AUTO else options.timestamps
        self.units: dict[int, list[int]] = {}
        self.kept = [0] * len(options.widths)
        self.offered, self.explored = list[int](), 0
        self.best: Tensor | None = None
        self.curves: dict[int, Tensor] = {}
        self.rows_learned, self.held = 0, list[int]()
        self.stopped: int | None = None
        self.divided: tuple[tuple[int, int], tuple[Tensor, Tensor]] | None = None

    def first_neurons(self) -> tuple[Sequence[int], NeuronMask | None]:
        return [0] * len(self.options.widths), None

    @property
    def exploration(self) -> int:
        """How many epochs explore: a quarter, more where steps are few."""
        epochs, least = self.plan.epochs, FEWER_STEPS if self.watched else STEPS
        return max(1, round(epochs / 4), min(math.ceil(least / self.steps), round(2 * epochs / 3)))

    @property
    def steps(self) -> int:
        """Of the optimiser in an epoch."""
        return math.ceil(len(self.x) / self.batch_size)

    def plateau(self, number: int) -> None:
        """The next part begins with this epoch: the cuts, or else the end."""
        if number < self.explored:
            self.explored = number
        elif self.bayesian.buffet is None and number + self.settling(number) < self.plan.epochs:
            self.stopped = self.stopped or number

    def settling(self, epochs: int) -> int:
        """How many epochs follow those before a plateau."""
        return max(1, round((REAL_SETTLING if self.setting.regression else SETTLING) * epochs))

    @property
    def epochs(self) -> int:
        return self.plan.epochs if self.stopped is None else self.stopped + self.settling(self.stopped)

    def rate_factor(self, step: int, steps_per_epoch: int) -> float:
        """As planned; from a plateau on a cosine to 5 % of what it was there."""
        if self.stopped is None:
            return super().rate_factor(step, steps_per_epoch)
        first = (self.stopped - self.plan.likelihood_epochs) * steps_per_epoch
        falling = Schedule.COSINE.factor(step - first, self.settling(self.stopped) * steps_per_epoch)
        return falling * super().rate_factor(first, steps_per_epoch)

    @torch.no_grad()
    def held_out_loss(self) -> float:
        rows, masks = self.held_out(), None
        if self.bayesian.buffet is not None:
            masks = [mean.expand(len(rows), -1) for mean in self.sized.mask_form.expected(self.bayesian.buffet)]
        outputs = self.bayesian(self.x[rows], self.task, masks, None)
        return -float(self.likelihood_of(rows).log_density(outputs[None], self.y[rows]).mean())

    @property
    def settled(self) -> int:
        """The epoch from which on the size stands."""
        if self.stopped is not None:
            return self.stopped
        return max(self.exploration, self.plan.epochs - max(1, round(self.plan.epochs / 5)))

    def attach(self, split: Split, task: int) -> None:
        super().attach(split, task)
        self.rows_learned, self.held = len(self.learned(0)), self.held_units(task)

    def prepare(self) -> None:
        self.kept, self.best, self.curves, self.stopped = self.bayesian.widths, None, {}, None
        self.offer([True] * len(self.kept), 0)
        super().prepare()
        if self.experiences.count(self.task) == 1 or self.forgot(self.task):
            self.start_head()

    def forgot(self, task: int) -> bool:
        """Whether the head of a task was made to forget all it knew."""
        several = self.setting.layout is Layout.MULTI
        return several and not any(head.mean.any() for head in self.bayesian.heads_of(task))

    def temper(self, task: int, keep: float) -> None:
        """Power priors for what the task alone reads; with a `keep` of 0 its own neurons go."""
        network, held = self.bayesian, self.read_by_others(task)
        if keep == 0:
            self.units[task] = held
            keep_units(network, [torch.arange(units, device=network.heads_of(task)[0].mean.device) for units in held])
        inputs = self.setting.inputs
        for layer, units in zip(network.hidden_layers(), held, strict=True):
            layer.temper(keep, self.options.prior_variance, (inputs, units))
            inputs = units
        network.heads_of(task)[0].temper(keep, self.options.prior_variance)

    def offer(self, layers: Sequence[bool], epoch: int) -> None:
        """Append fresh neurons to some of the layers, with sticks of their own."""
        network, options = self.bayesian, self.sized
        counts = [width if wanted else 0 for width, wanted in zip(options.widths, layers, strict=True)]
        several = self.setting.layout is Layout.MULTI
        heads = network.every_head() if not several else network.every_head()[self.task : self.task + 1]
        append_units(network, counts, heads, self.setting.generator("init", "offer", self.experience, epoch))
        self.offered, self.explored = counts, epoch + self.exploration
        self.add_masks()

    def add_masks(self) -> None:
        """Masks for the neurons on offer."""
        self.bayesian.buffet = self.sized.new_buffet(self.offered).to(self.setting.device)
        self.sized.begin_task(self.bayesian.buffet, self.task)

    def start_head(self) -> None:
        """Biases begin at the log frequencies of the classes, so that no neuron is needed to carry them."""
        if self.setting.regression or self.setting.layout is Layout.GROWING:
            return
        (head,) = self.bayesian.heads_of(self.task)
        counts = torch.bincount(self.y, self.weights, minlength=head.mean.shape[1]) + 1.0
        with torch.no_grad():
            head.mean[-1] = head.prior_mean[-1] = (counts / counts.sum()).log()

    def epoch(self, number: int) -> dict[str, float]:
        if number == self.settled or (self.explored <= number < self.settled and self.is_due(number)):
            self.cut(number)
        return super().epoch(number)

    def is_due(self, number: int) -> bool:
        """Whether an epoch begins with a cut: all of them where they are few."""
        if self.watched:
            return (number - self.explored) % math.ceil(CHECK / self.steps) == 0
        return (number - self.explored) % math.ceil((self.settled - self.exploration) / CUTS) == 0

    def end(self) -> None:
        if self.bayesian.buffet is not None:
            self.cut(self.plan.epochs)
        super().end()
        self.units[self.task], self.best = self.bayesian.widths, None

    def cut(self, number: int) -> None:
        """Drop the fresh neurons that held-out rows do not ask for, in the last layer first."""
        network, offered = self.bayesian, self.offered
        if network.buffet is not None:
            take_masks_off(network, self.sized.mask_form)
            self.offered, self.optimiser = [], self.without_sticks()
        rows = self.held_out()
        if number >= self.settled:
            self.drop_fresh_if_needless(rows)
        for layer in reversed(range(len(self.kept))):
            self.cut_layer(layer, rows, last=number >= self.settled)
        fresh = [width - kept for width, kept in zip(network.widths, self.kept, strict=True)]
        full = [0 < given <= left for given, left in zip(offered, fresh, strict=False)]
        # those who watch see when fresh neurons have learned, and less time may do
        time = self.exploration // 2 if self.watched else self.exploration
        if any(full) and number + time <= self.settled:
            self.kept = network.widths
            self.offer(full, number)
            self.optimiser = self.new_optimiser()

    def without_sticks(self) -> torch.optim.Optimizer | None:
        """The optimiser as it stands, of the weights alone."""
        if self.optimiser is None:
            return None
        new = self.new_optimiser()
        weights = {parameter for group in new.param_groups for parameter in group["params"]}
        new.state.update({held: state for held, state in self.optimiser.state.items() if held in weights})
        return new

    def cut_layer(self, layer: int, rows: Tensor, last: bool) -> None:
        """Order the fresh neurons of a layer by what they contribute, and drop the last of them.

        A network that has learned nothing yet is left alone until the last cut.
        """
        network, kept, x = self.bayesian, self.kept[layer], self.x[rows]
        every = [torch.arange(width, device=x.device) for width in network.widths]
        order = contributions(network, x, self.task, layer)[kept:].argsort(descending=True, stable=True)
        every[layer] = torch.cat([every[layer][:kept], kept + order])
        keep_units(network, every, self.optimiser)
        seed = self.setting.generator("held-out", self.experience).initial_seed() % 2**62
        curve = held_out_curve(network, x, self.y[rows], self.task, self.likelihood_of(rows), layer, kept, seed)
        size = curve.fewest(self.sized.size_tolerance, self.best, share=len(self.kept) - layer)
        if not last:  # those that have not learned much yet get time: the last cut could be down to a single neuron
            cuts = min(CUTS, 1 + self.settled - self.exploration)
            size = max(size, math.floor(curve.sizes[-1] * self.sized.widths[layer] ** (-1 / cuts)))
        if self.best is None or curve.best.mean() < self.best.mean():
            self.best = curve.best
        if last or size > 0 or curve.learned(self.sized.size_tolerance):
            every = [torch.arange(width, device=x.device) for width in network.widths]
            every[layer] = every[layer][: kept + size]
            keep_units(network, every, self.optimiser)
        if layer not in self.curves:
            self.curves[layer] = torch.stack([torch.tensor(curve.sizes, dtype=torch.float32), curve.means.cpu()])

    def drop_fresh_if_needless(self, rows: Tensor) -> None:
        """Drop all fresh neurons where a head on the known ones alone does as well, as in a task that comes again."""
        network, head = self.bayesian, self.task
        if self.setting.layout is not Layout.MULTI or self.best is None or 0 in self.kept:
            return
        learned = self.learned(0)
        means = refit_head(network, self.x[learned], self.y[learned], head, self.likelihood_of(learned), self.kept)
        likelihood = self.likelihood_of(rows)
        losses = known_losses(network, self.x[rows], self.y[rows], head, likelihood, self.kept, means)
        best = self.best
        if self.watched:  # few cuts, so that much may have been learned since the last
            own = network.heads_of(head)[0].mean.detach()
            now = known_losses(network, self.x[rows], self.y[rows], head, likelihood, network.widths, own)
            best = min(best, now, key=lambda losses: float(losses.mean()))
        if is_near(losses, best, len(self.kept) * self.sized.size_tolerance):
            keep_units(network, [torch.arange(kept, device=rows.device) for kept in self.kept], self.optimiser)
            network.heads_of(head)[0].mean.data = means

    def held_out(self) -> Tensor:
        """The numbers of the rows that size the layers."""
        return self.division()[0]

    def learned(self, number: int) -> Tensor:
        """The numbers of the rows that an epoch learns."""
        if number >= self.settled:
            return torch.arange(len(self.x), device=self.x.device)
        return self.division()[1]

    def division(self) -> tuple[Tensor, Tensor]:
        """The rows of the experience that are held out, and the others; asked for in every epoch, so they are kept."""
        rows, key = len(self.x), (self.experience, len(self.x))
        if self.divided is None or self.divided[0] != key:
            count = min(MOST_HELD_OUT, max(round(HELD_OUT * rows), min(LEAST_HELD_OUT, rows // 3)))
            held = torch.randperm(rows, generator=self.setting.generator("held-out", self.experience))[:count]
            every = torch.arange(rows, device=self.x.device)
            every[held] = -1
            self.divided = key, (held, every[every >= 0])
        return self.divided[1]

    def batches(self, number: int) -> Iterator[tuple[int, Tensor]]:
        rows = self.learned(number)
        order = self.setting.generator("order", self.experience, number)
        start = max(0, number - self.plan.likelihood_epochs) * math.ceil(len(self.x) / self.batch_size)
        self.rows_learned, self.held = len(rows), self.held_units(self.task)
        batches = (rows[part] for part in minibatches(len(rows), self.batch_size, order))
        return enumerate(batches, start)

    def examples(self) -> int:
        return self.rows_learned

    def hold(self) -> None:
        if not any(self.held):
            return
        inputs = self.setting.inputs
        for layer, above in zip(self.bayesian.hidden_layers(), self.held, strict=True):
            for gradient in (layer.mean.grad, layer.log_variance.grad):
                if gradient is not None and above:  # Adam's moments of a weight without gradient are zero: it stays
                    gradient[:inputs, :above] = 0.0
                    gradient[-1, :above] = 0.0
            inputs = above

    def held_units(self, task: int) -> list[int]:
        """How many neurons of each layer must not change while a task is learned."""
        return self.read_by_others(task) if self.timestamps is Timestamps.HARD else [0] * len(self.kept)

    def read_by_others(self, task: int) -> list[int]:
        """How many neurons of each layer the tasks other than this one read."""
        others = [units for head, units in self.units.items() if head != task]
        return [max(layer) for layer in zip(*others, strict=True)] if others else [0] * len(self.kept)

    def network_of(self, head: int) -> tuple[BayesianMLP, int]:
        """The neurons that the head's task reads, as a network by itself."""
        network = self.bayesian
        if self.setting.layout is not Layout.MULTI:
            return network, head
        exploring = head == self.task and self.offered
        part = network.part(self.units[head] if head in self.units and not exploring else network.widths, head)
        if network.buffet is not None and head == self.task:
            take_masks_off(part, self.sized.mask_form, network.buffet)
        return part, 0

    def draws_heads_together(self, heads: Sequence[int]) -> bool:
        return super().draws_heads_together(heads) and not self.offered

    def hidden_layers_of(self, x: Tensor, heads: Sequence[int], generator: torch.Generator) -> list[Tensor]:
        units = [tuple(self.units.get(head, self.bayesian.widths)) for head in heads]
        return nested_features(self.bayesian, x, units, generator, self.options.prediction_draws)

    def take_shapes(self, tensors: Mapping[str, Tensor]) -> None:
        if self.offered:
            self.add_masks()
        take_shapes(self.bayesian, tensors)

    def state(self) -> State:
        sizing = {
            "units": {str(head): units for head, units in self.units.items()},
            "kept": self.kept,
            "offered": self.offered,
            "explored": self.explored,
        }
        tensors = {f"curve.{layer}": curve for layer, curve in self.curves.items()}
        if self.best is not None:
            tensors["held_out_losses"] = self.best
        return super().state() | State(tensors, {"sizing": sizing})

    def restore(self, state: State) -> None:
        sizing: dict[str, Any] = state.metadata["sizing"]
        self.kept, self.offered, self.explored = list(sizing["kept"]), list(sizing["offered"]), sizing["explored"]
        self.best = state.tensors.get("held_out_losses")
        self.curves = {int(layer): curve for layer, curve in state.below("curve.").items()}
        self.units = {int(head): list(units) for head, units in sizing["units"].items()}
        super().restore(state)
        widths = self.bayesian.widths
        for units in self.units.values():
            if not all(0 <= own <= width for own, width in zip(units, widths, strict=True)):
                raise ValueError("a task reads more neurons than there are")

    def size_curves(self) -> list[Tensor]:
        return [self.curves[layer] for layer in sorted(self.curves)]

    def active_units(self) -> list[float] | None:
        widths = self.bayesian.widths
        if self.bayesian.buffet is None:
            return [float(width) for width in widths]
        means = self.sized.mask_form.expected(self.bayesian.buffet)
        return [float(width - len(layer) + layer.sum()) for width, layer in zip(widths, means, strict=True)]


@torch.no_grad()
def take_masks_off(network: BayesianMLP, form: MaskForm, buffet: NeuronMask | None = None) -> None:
    """Multiply what the masked neurons give on by their masks' mean; from then on they are always on."""
    buffet = buffet or network.buffet
    if buffet is None:
        return
    layers = network.hidden_layers()
    for number, mean in enumerate(form.expected(buffet)):
        above = [layers[number + 1]] if number + 1 < len(layers) else network.every_head()
        for layer in above:
            inputs = layer.mean.shape[0] - 1
            if inputs == layers[number].mean.shape[1]:  # a head that reads fewer neurons reads none of these
                layer.mean[inputs - len(mean) : inputs] *= mean[:, None]
    network.buffet = None
