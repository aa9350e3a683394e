"""How much is left at the end of a small benchmark whose tasks get in each other's way."""

from functools import cache

import numpy as np

from checks import learn, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.continual import ContinualModel
from hibnn.evaluation.evaluate import Granularity, evaluate


@cache
def accuracy_at_the_end(method: str, scenario: Scenario, seeds=(0, 1), **options) -> float:
    """The mean accuracy over all tasks."""
    values = []
    for seed in seeds:
        benchmark = small_benchmark(scenario, seed=seed)
        learner = small_learner(method, benchmark, seed=seed, **options)
        for task in benchmark.tasks:
            learn(learner, task)
        values += [row.accuracy(scenario) for row in evaluate(ContinualModel(learner), benchmark, Granularity(1))]
    return float(np.mean(values))
