"""How much is left at the end: the mean accuracy over all tasks of a small benchmark whose tasks get in each other's way."""

import numpy as np

from checks import learn, small_benchmark, small_learner
from hibnn.evaluation import Granularity, evaluate
from hibnn.scenarios import Scenario


def accuracy_at_the_end(method: str, scenario: Scenario, seeds=(0, 1, 2), **options) -> float:
    values = []
    for seed in seeds:
        benchmark = small_benchmark(scenario, seed=seed)
        learner = small_learner(method, benchmark, seed=seed, **options)
        for task in benchmark.tasks:
            learn(learner, task)
        values += [row.accuracy(scenario) for row in evaluate(learner, benchmark, Granularity(1))]
    return float(np.mean(values))
