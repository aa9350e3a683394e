"""How long a training step takes: contenders measured in turn, in one process, so that their ratios can be trusted.

The load and clock rate of a machine drift while it measures; in turn, the drift meets all contenders alike. With one
thread, times are those of the processor, which other programs do not lengthen.
`hibnn bench step` prints what is measured here, on random data of MNIST's size. Where bayesian-torch is installed, its
cheapest layers take part: one draw of the weights for a whole batch, where ours draw activations for every example.
"""

import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from hibnn.benchmarks.base import LazySplit, Task
from hibnn.denormals import flushing
from hibnn.learners import Setting, find_method
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.presets import new_options
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layout import Layout

INPUTS, OUTPUTS, BATCH, EXAMPLES = 784, 10, 256, 12_000
OTHERS = "bayesian_torch"
RATIOS = {
    "ibnn/vcl": ("ibnn_1x100_ms", "vcl_1x100_ms"),
    "hibnn/vcl": ("hibnn_2x200_ms", "vcl_2x200_ms"),
    "vcl/floor": ("vcl_1x100_ms", "floor_1x100_ms"),
    "ibnn/floor": ("ibnn_1x100_ms", "floor_1x100_ms"),
    "vcl/bayesian-torch": ("vcl_1x100_ms", "bayesian_torch_1x100_ms"),
}
"""What masks cost; how far a step is from the matrix products it must do; and another library."""
Step = Callable[[], object]


@flushing
def bench_steps(rounds: int = 60, steps: int = 5) -> dict[str, Any]:
    """Median milliseconds of a training step of each contender, and the ratios that matter."""
    contenders = {
        "mlp_1x100_ms": learner_step("finetune", (100,)),
        "vcl_1x100_ms": learner_step("vcl", (100,)),
        "ibnn_1x100_ms": learner_step("ibnn", (100,)),
        "vcl_2x200_ms": learner_step("vcl", (200, 200)),
        "hibnn_2x200_ms": learner_step("hibnn", (200, 200)),
        "floor_1x100_ms": floor_step(100),
    }
    if find_spec(OTHERS) is not None:
        contenders["bayesian_torch_1x100_ms"] = bayesian_torch_step(100)
    medians = interleaved_medians(contenders, rounds, steps)
    ratios = {name: medians[one] / medians[other] for name, (one, other) in RATIOS.items() if other in medians}
    return {**medians, "ratios": ratios, "batch": BATCH, "threads": torch.get_num_threads(), "rounds": rounds}


def interleaved_medians(contenders: dict[str, Step], rounds: int, steps: int) -> dict[str, float]:
    """Every round runs a few steps of each contender; medians over rounds, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    clock = clock_for_threads()
    for _ in range(rounds + 1):
        for name, step in contenders.items():
            start = clock()
            for _ in range(steps):
                step()
            times[name].append(1000 * (clock() - start) / steps)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def clock_for_threads() -> Callable[[], float]:
    """Seconds of the processor with one thread, of the clock on the wall with several."""
    return time.process_time if torch.get_num_threads() == 1 else time.perf_counter


def learner_step(method: str, hidden: tuple[int, ...], outputs: int = OUTPUTS, examples: int = EXAMPLES) -> Step:
    """A training step of a method on random data of MNIST's size."""
    x, y = random_rows(examples, INPUTS, outputs)
    learner = new_learner(method, INPUTS, hidden=hidden, batch_size=BATCH)
    learner.begin(task_of(x, y, outputs))
    rows = torch.randperm(examples)[:BATCH]
    if isinstance(learner, SequentialBayes):
        generator = learner.setting.generator("bench")
        return lambda: learner.step(rows, 0, 1.0, generator)
    assert isinstance(learner, GradientLearner)
    return lambda: learner.step(rows)


def random_rows(rows: int, inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs between 0 and 1, and labels that have nothing to do with them."""
    random = np.random.default_rng(0)
    return random.random((rows, inputs), dtype=np.float32), random.integers(outputs, size=rows)


def task_of(x: np.ndarray, y: np.ndarray, outputs: int, pixels: np.ndarray | None = None) -> Task:
    """A task of some rows, with its inputs in another order where one is given."""
    split = LazySplit(x, np.arange(len(x)), y, pixels=pixels)
    return Task("bench", tuple(range(outputs)), split, split)


def new_learner(method: str, inputs: int, **options: Any) -> SequentialBayes | GradientLearner:
    """A method's learner with a head for each task."""
    found = find_method(method)
    learner = found.learner(new_options(found, options), Setting(inputs, Layout.MULTI))
    assert isinstance(learner, SequentialBayes | GradientLearner)
    return learner


def floor_step(width: int) -> Step:
    """The matrix products alone of a Bayesian step: mean and variance, forward and backward, nothing else."""
    x, hidden = torch.rand(BATCH, INPUTS), torch.rand(BATCH, width)
    first = [torch.rand(INPUTS, width) for _ in range(2)]
    head = [torch.rand(width, OUTPUTS) for _ in range(2)]
    to_hidden, to_outputs = torch.rand(BATCH, width), torch.rand(BATCH, OUTPUTS)

    def step() -> None:
        for weight, output in zip(first, head, strict=True):
            torch.mm(x, weight)
            torch.mm(hidden, output)
            torch.mm(hidden.T, to_outputs)
            torch.mm(to_outputs, output.T)
            torch.mm(x.T, to_hidden)

    return step


def bayesian_torch_step(width: int) -> Step:
    """A training step of bayesian-torch's `LinearReparameterization`, one draw of the weights for the batch."""
    layers = import_module(f"{OTHERS}.layers")
    first, head = (layers.LinearReparameterization(*sizes) for sizes in ((INPUTS, width), (width, OUTPUTS)))
    parameters = nn.ModuleList([first, head]).parameters()
    optimiser = torch.optim.Adam(parameters, lr=1e-3, fused=True)
    x, y = (torch.from_numpy(values) for values in random_rows(EXAMPLES, INPUTS, OUTPUTS))
    rows = torch.randperm(EXAMPLES)[:BATCH]

    def step() -> Tensor:
        hidden, first_kl = first(x[rows])
        logits, head_kl = head(hidden.relu())
        loss = cross_entropy(logits, y[rows]) + (first_kl + head_kl) / EXAMPLES
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss

    return step
