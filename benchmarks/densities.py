"""What densities cost: learning those of a task, and what they add to a prediction.

python benchmarks/densities.py

The first task of split-mnist (some 12,000 rows of 784 pixels) and its test set, one thread, processor time; the network
is an IBNN with the default settings after one epoch. Predictions with and without are measured in turn.
"""

import statistics
import time
from collections.abc import Callable

import torch

from hibnn import Scenario, options_for
from hibnn.benchmarks import benchmark
from hibnn.learners import Setting, find_method
from hibnn.nn.layout import Layout
from hibnn.tasks import TaskInference, divide
from hibnn.tasks.density import DensityOptions

ROUNDS = 7


def seconds(work: Callable[[], object]) -> float:
    """Processor time."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print a line a kind of density."""
    torch.set_num_threads(1)
    tasks = benchmark("split-mnist", Scenario.CLASS, seed=0)
    setting = Setting(tasks.inputs, Layout.MULTI)
    learner = find_method("ibnn").learner(options_for("ibnn", "split-mnist", epochs=1), setting)
    rest, held = divide(tasks.tasks[0].train, 0)
    train, test = rest.load(), tasks.tasks[0].test.load()
    learner.begin_experience(train, 2)
    learner.epoch(0)
    learner.end()
    for components in (1, DensityOptions.components):
        inference = TaskInference("density", setting, options=DensityOptions(components=components))
        learning = seconds(lambda made=inference: made.densities.learn(train, held, 0, 2))
        shares = []
        for number in range(ROUNDS):
            plain = seconds(lambda at=number: learner.predict(test.x, 0, setting.generator("bench", at)))
            density = seconds(lambda made=inference: made.joint(torch.from_numpy(test.x)))
            shares.append(density / plain)
        numbers = [density.parameter_count() for density in inference.densities.tasks[0]]
        print(
            f"at most {components} Gaussians: {len(train)} rows learned in {learning:.1f} s, "
            f"{max(numbers)} numbers a class, {100 * statistics.median(shares):.0f} % added to a prediction"
        )


if __name__ == "__main__":
    main()
