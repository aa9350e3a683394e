"""How long a training step takes: contenders measured in turn, in one process, so that their ratios can be trusted.

The load and clock rate of a machine drift while it measures; in turn, the drift meets all contenders alike.
`hibnn bench step` prints what is measured here, on random data of MNIST's size.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hibnn.benchmarks.base import LazySplit, Task
from hibnn.learners import Setting, find_method
from hibnn.learners.gradient import GradientLearner
from hibnn.learners.presets import new_options
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.layout import Layout

INPUTS, OUTPUTS, BATCH, EXAMPLES = 784, 10, 256, 12_000
Step = Callable[[], object]


def bench_steps(rounds: int = 60, steps: int = 5) -> dict[str, Any]:
    """Median milliseconds of a training step of each contender, and the ratios that matter.

    ibnn/vcl and hibnn/vcl are what masks cost; ibnn/floor is how far a step is from the matrix products it must do.
    """
    contenders = {
        "mlp_1x100_ms": learner_step("finetune", (100,)),
        "vcl_1x100_ms": learner_step("vcl", (100,)),
        "ibnn_1x100_ms": learner_step("ibnn", (100,)),
        "vcl_2x200_ms": learner_step("vcl", (200, 200)),
        "hibnn_2x200_ms": learner_step("hibnn", (200, 200)),
        "floor_1x100_ms": floor_step(100),
    }
    medians = interleaved_medians(contenders, rounds, steps)
    ratios = {
        "ibnn/vcl": medians["ibnn_1x100_ms"] / medians["vcl_1x100_ms"],
        "hibnn/vcl": medians["hibnn_2x200_ms"] / medians["vcl_2x200_ms"],
        "ibnn/floor": medians["ibnn_1x100_ms"] / medians["floor_1x100_ms"],
    }
    return {**medians, "ratios": ratios, "batch": BATCH, "threads": torch.get_num_threads(), "rounds": rounds}


def interleaved_medians(contenders: dict[str, Step], rounds: int, steps: int) -> dict[str, float]:
    """Every round runs a few steps of each contender; medians over rounds, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, step in contenders.items():
            start = time.perf_counter()
            for _ in range(steps):
                step()
            times[name].append(1000 * (time.perf_counter() - start) / steps)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def learner_step(method: str, hidden: tuple[int, ...]) -> Step:
    """A training step of a method on random data of MNIST's size."""
    random = np.random.default_rng(0)
    x = random.random((EXAMPLES, INPUTS), dtype=np.float32)
    experience = LazySplit(x, np.arange(EXAMPLES), random.integers(OUTPUTS, size=EXAMPLES))
    found = find_method(method)
    options = new_options(found, {"hidden": hidden, "batch_size": BATCH})
    learner = found.learner(options, Setting(INPUTS, Layout.MULTI))
    learner.begin(Task("random", tuple(range(OUTPUTS)), experience, experience))
    rows = torch.randperm(EXAMPLES)[:BATCH]
    if isinstance(learner, SequentialBayes):
        generator = learner.setting.generator("bench")
        return lambda: learner.step(rows, 0, 1.0, generator)
    assert isinstance(learner, GradientLearner)
    return lambda: learner.step(rows)


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
