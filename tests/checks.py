"""What every learner must pass. A test module calls `check_learner(method)` for each method it adds."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from hibnn.benchmarks import Benchmark, Scenario
from hibnn.benchmarks.base import LazySplit, Task
from hibnn.continual import ContinualModel
from hibnn.errors import UserError
from hibnn.evaluation.evaluate import Granularity, evaluate
from hibnn.learners import Learner, find_method
from hibnn.runs.checkpoint import read_state, write_state
from hibnn.runs.experiment import Experiment
from hibnn.runs.result import Record
from hibnn.runs.trainer import new_model

WITHOUT_CHANCE = ("slda",)
"""Methods whose numbers do not depend on the seed."""


def small_benchmark(scenario=Scenario.TASK, tasks=3, inputs=8, examples=120, seed=0) -> Benchmark:
    """Well separated Gaussian blobs, two a task, that a network learns in moments."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(tasks):
        centres = random.normal(size=(2, inputs)) * 2
        experiences = []
        for count in (examples, 40):
            y = np.arange(count) % 2
            x = (centres[y] + 0.5 * random.normal(size=(count, inputs))).astype(np.float32)
            experiences.append(LazySplit(x, np.arange(count), y))
        made.append(Task(f"blobs {number}", (2 * number, 2 * number + 1), *experiences))
    return Benchmark("blobs", scenario, tuple(made))


def small_model(method: str, benchmark: Benchmark, seed=0, heads="auto", **options) -> ContinualModel:
    """A method's learner, with the densities that answer where it has no network and otherwise alone."""
    settings = {"epochs": 15, "batch_size": 20, "width": 20, "learning_rate": 1e-2}
    kind = find_method(method).options
    known = {field.name for field in fields(kind)}
    experiment = Experiment(
        method=method,
        dataset="split-digits",
        scenario=benchmark.scenario,
        options=kind(**{name: value for name, value in settings.items() if name in known} | _known(options, known)),
        seed=seed,
        heads=heads,
    )
    model = new_model(experiment, benchmark)
    return model if not model.learner.has_network else ContinualModel(model.learner)


def _known(options, known):
    """The length of training is for methods that have one; any other option must exist."""
    return {name: value for name, value in options.items() if name in known or name != "epochs"}


def small_learner(method: str, benchmark: Benchmark, seed=0, heads="auto", **options) -> Learner:
    return small_model(method, benchmark, seed, heads, **options).learner


def learn(learner: Learner | ContinualModel, task: Task) -> list[dict[str, float]]:
    if isinstance(learner, ContinualModel):
        learner.begin(task.train, len(task.classes))
        epochs = learner.learner.epochs
    else:
        learner.begin(task)
        epochs = learner.epochs
    terms = [learner.epoch(number) for number in range(epochs)]
    learner.end()
    return terms


def probabilities(learner: Learner | ContinualModel, benchmark: Benchmark, number=0) -> torch.Tensor:
    x = benchmark.tasks[number].test.load().x
    if isinstance(learner, ContinualModel):
        return learner.predict(x, number).probabilities
    return learner.predict(x, number, torch.Generator().manual_seed(5)).probabilities


def check_learns_above_chance(method, **options):
    benchmark = small_benchmark()
    model = small_model(method, benchmark, **options)
    learn(model, benchmark.tasks[0])
    (row,) = evaluate(model, benchmark, Granularity(1))
    assert row.accuracy(benchmark.scenario) > 0.9


def check_probabilities_sum_to_one(method, **options):
    for scenario in Scenario:
        benchmark = small_benchmark(scenario)
        model = small_model(method, benchmark, epochs=1, **options)
        for task in benchmark.tasks:
            learn(model, task)
        answer = probabilities(model, benchmark)
        assert torch.allclose(answer.sum(-1), torch.ones(len(answer), dtype=answer.dtype), atol=1e-5)
        assert (answer >= 0).all()


def check_same_seed_same_numbers(method, **options):
    benchmark = small_benchmark()
    answers, states = [], []
    for seed in (0, 0, 1):
        model = small_model(method, benchmark, seed=seed, epochs=2, **options)
        learn(model, benchmark.tasks[0])
        answers.append(probabilities(model, benchmark))
        states.append(model.state().tensors)
    assert torch.equal(answers[0], answers[1])
    pairs = [(states[0][name], states[2][name]) for name in states[0].keys() & states[2].keys()]
    assert all(torch.equal(*pair) for pair in pairs) == (method in WITHOUT_CHANCE)
    assert method in (*WITHOUT_CHANCE, "density") or not torch.equal(answers[0], answers[2])


def check_state_survives_save_and_load(method, tmp_path, **options):
    """In the middle of a task: the restored learner goes on exactly as the first."""
    benchmark = small_benchmark()
    first = small_model(method, benchmark, epochs=3, **options)
    learn(first, benchmark.tasks[0])
    first.begin(benchmark.tasks[1].train, 2)
    for number in range(min(first.learner.epochs, 1)):
        first.epoch(number)
    write_state(tmp_path / "state.safetensors", first.state())
    second = small_model(method, benchmark, epochs=3, **options)
    second.restore(read_state(tmp_path / "state.safetensors"))
    attached = (0, 1) if second.learner.keeps_data else (1,)
    for number in attached:
        second.attach(benchmark.tasks[number].train, number)
    for model in (first, second):
        for number in range(1, model.learner.epochs):
            model.epoch(number)
        model.end()
        learn(model, benchmark.tasks[2])
    for number in range(3):
        assert torch.equal(probabilities(first, benchmark, number), probabilities(second, benchmark, number))
    for name, value in first.state().tensors.items():
        assert torch.equal(value, second.state().tensors[name]), name


def check_accuracy_matrix_has_the_right_shape(method, **options):
    benchmark = small_benchmark(Scenario.CLASS)
    model = small_model(method, benchmark, epochs=1, **options)
    rows = []
    for task in benchmark.tasks:
        learn(model, task)
        rows.append(evaluate(model, benchmark, Granularity(1)))
        assert len(rows[-1]) == len(rows)
    matrix = Record([[one.accuracy(Scenario.CLASS) for one in row] for row in rows]).matrix(3)
    assert np.array_equal(np.isnan(matrix), np.triu(np.ones((3, 3), bool), 1))


def check_refuses_bad_input(method, **options):
    benchmark = small_benchmark()
    task = benchmark.tasks[0]
    good = task.train.load()

    def begin(x, y):
        experience = LazySplit(x.astype(np.float32), np.arange(len(x)), y)
        small_learner(method, benchmark, **options).begin(Task("bad", (0, 1), experience, task.test))

    with pytest.raises(UserError, match="columns"):
        begin(good.x[:, :3], good.y)
    with pytest.raises(UserError, match="NaN"):
        begin(np.where(np.arange(8) == 3, np.nan, good.x), good.y)
    with pytest.raises(UserError, match="labels"):
        begin(good.x, good.y + 1)
    learner = small_learner(method, benchmark, epochs=1, **options)
    learn(learner, task)
    with pytest.raises(UserError, match="columns"):
        learner.predict(good.x[:, :3], 0, torch.Generator())
    with pytest.raises(UserError, match="no head"):
        learner.predict(good.x, 1, torch.Generator())


def check_learner(method, tmp_path, **options):
    """All of the above."""
    check_learns_above_chance(method, **options)
    check_probabilities_sum_to_one(method, **options)
    check_same_seed_same_numbers(method, **options)
    check_state_survives_save_and_load(method, tmp_path, **options)
    check_accuracy_matrix_has_the_right_shape(method, **options)
    check_refuses_bad_input(method, **options)
