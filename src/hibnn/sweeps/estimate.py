"""How long runs will take, before they do: a few steps of each kind of run are measured and multiplied up.

    seconds = sum over tasks of  epochs x examples x (seconds an example)  +  evaluation on every task so far

A stand-in benchmark of random numbers has as many tasks, inputs and classes as the real one but few examples. The
learner goes through it for real, one epoch for every phase of a task (maximum likelihood, then Bayes; DEN's stages), so
costs that grow from task to task (joint training, EWC's anchors, GEM's memories) are measured as they grow. What is
measured is processor time on one thread, which is what a run takes where every worker has a core to itself.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import numpy as np
import torch

from hibnn.benchmarks import Benchmark, LazySplit, Task, TaskSize, find_benchmark
from hibnn.evaluation.evaluate import Granularity, evaluate
from hibnn.learners import Learner
from hibnn.learners.base import FLOAT
from hibnn.learners.replay import ReplayOptions
from hibnn.runs.experiment import Experiment
from hibnn.runs.trainer import new_model

BATCHES, TEST_EXAMPLES = 3, 512
"""Of a stand-in's task, the latter at most: of few examples, what a prediction costs once would count for each."""
BATCH = 128
"""For methods without minibatches."""
HELD_OUT = 0.1
"""The share of training data that validation takes."""


@dataclass(frozen=True)
class Cost:
    """Seconds of one run."""

    training: float
    evaluation: float

    @property
    def total(self) -> float:
        return self.training + self.evaluation


def estimate(experiments: Sequence[Experiment], track: Callable[[list[str]], Iterable[str]] = iter) -> list[Cost]:
    """The cost of each experiment; experiments that differ in seeds and rates alone are measured once.

    `track` may wrap the list of what must be measured, to show progress.
    """
    kinds = {_kind(experiment): experiment for experiment in experiments}
    measured = {kind: measure(kinds[kind]) for kind in track(list(kinds))}
    return [measured[_kind(experiment)] for experiment in experiments]


def wall_clock(costs: Iterable[Cost], workers: int) -> float:
    """Seconds until all are done: shared evenly, but never less than the longest."""
    totals = [cost.total for cost in costs]
    return max(sum(totals) / workers, max(totals, default=0.0))


def measure(experiment: Experiment) -> Cost:
    """The cost of a run, from a small one of the same kind, on one thread as a worker has it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measured(experiment)
    finally:
        torch.set_num_threads(threads)


def _measured(experiment: Experiment) -> Cost:
    sizes = task_sizes(experiment)
    small = _examples(experiment, sizes[0])
    stand_in = _stand_in(experiment, sizes, small)
    model = new_model(experiment, stand_in)
    learner = model.learner
    granularity = Granularity.parse(experiment.granularity)
    training = evaluation = 0.0
    for number, (size, task) in enumerate(zip(sizes, stand_in.tasks, strict=True)):
        scale = size.train / small
        begun = _seconds(lambda task=task: model.begin(task.train, len(task.classes)))
        if number == 0 and learner.epochs:
            learner.epoch(0)  # the first steps of a process are slow
        epochs = [
            count * _seconds(lambda start=start: learner.epoch(start)) for start, count in _phases(learner, experiment)
        ]
        densities = begun if model.density_of else 0.0
        training += scale * (sum(epochs) + densities + _seconds(model.end))
        spent = _seconds(lambda: evaluate(model, stand_in, granularity))
        evaluation += spent * size.test / _judged(size)
    return Cost(training, evaluation)


def _examples(experiment: Experiment, size: TaskSize) -> int:
    """How many examples a stand-in's task has: enough for a few batches, and to fill a memory."""
    options = experiment.options
    memory = getattr(options, "memory", 0)
    if isinstance(options, ReplayOptions):
        memory = options.memory_for(FLOAT * size.inputs)
    return max(BATCHES * getattr(options, "batch_size", BATCH), min(memory, size.train))


def task_sizes(experiment: Experiment) -> list[TaskSize]:
    """What the benchmark's tasks hold, without loading data."""
    sizes = find_benchmark(experiment.dataset).first_sizes(experiment.tasks)
    return [size if experiment.evaluate_on == "test" else _judged_on_validation(size) for size in sizes]


def _judged_on_validation(size: TaskSize) -> TaskSize:
    if size.validation is not None:
        return replace(size, test=size.validation)
    held_out = round(HELD_OUT * size.train)
    return replace(size, train=size.train - held_out, test=held_out)


def _stand_in(experiment: Experiment, sizes: Sequence[TaskSize], examples: int) -> Benchmark:
    random = np.random.default_rng(0)
    x = random.random((max(examples, TEST_EXAMPLES), sizes[0].inputs), dtype=np.float32)

    def experience(count: int, classes: int) -> LazySplit:
        return LazySplit(x, np.arange(count), random.integers(classes, size=count))

    tasks, first = [], 0
    for size in sizes:
        labels = tuple(range(first, first + size.classes))
        first += size.classes
        train, test = experience(examples, size.classes), experience(_judged(size), size.classes)
        tasks.append(Task("random", labels, train, test))
    same_classes = find_benchmark(experiment.dataset).same_classes
    return Benchmark(experiment.dataset, experiment.scenario, tuple(tasks), same_classes)


def _judged(size: TaskSize) -> int:
    """How many test examples a stand-in's task has."""
    return min(TEST_EXAMPLES, size.test)


def _phases(learner: Learner, experiment: Experiment) -> list[tuple[int, int]]:
    """Epochs at which something new may begin in a task, each with how many epochs follow before the next."""
    options, last = experiment.options, learner.epochs
    starts = {0, getattr(options, "likelihood_epochs", 0), *range(0, last, getattr(options, "epochs", 1))}
    edges = [*sorted(start for start in starts if start < last), last]
    return [(start, stop - start) for start, stop in pairwise(edges)]


def _seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def _kind(experiment: Experiment) -> str:
    """What decides the cost: everything but the seed and the options that are rates or strengths."""
    options = {name: value for name, value in asdict(experiment.options).items() if not isinstance(value, float)}
    factor = getattr(experiment.options, "first_task_factor", 1.0)
    settings = asdict(experiment) | {"seed": 0, "options": options, "first_task_factor": factor}
    return str(settings)
