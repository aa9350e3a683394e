"""The memory of replay: every example of a stream has the same chance of being in it."""

from typing import Any

import pytest
import torch

from checks import learn, small_benchmark, small_learner
from hibnn.benchmarks import Scenario
from hibnn.benchmarks import benchmark as load_benchmark
from hibnn.errors import UserError
from hibnn.learners import find_method
from hibnn.learners.presets import options_for
from hibnn.learners.replay import ReplayOptions, Reservoir, examples_kept
from hibnn.runs.experiment import Experiment
from hibnn.runs.trainer import new_model

METHODS = ("er", "agem", "derpp")


def filled(size, experiences, seed):
    memory = Reservoir(size)
    generator = torch.Generator().manual_seed(seed)
    for numbers in torch.arange(sum(experiences)).split(experiences):
        memory.add({"x": numbers, "double": 2.0 * numbers[:, None]}, generator)
    return memory


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "experiences"), [(2, [4]), (2, [1, 1, 1, 1]), (2, [3, 1]), (3, [1, 6]), (9, [60]), (9, [5, 4, 20, 31])]
)
def test_every_example_of_a_stream_is_kept_with_the_same_probability(size, experiences):
    seeds, seen = 1000, sum(experiences)
    kept = torch.zeros(seen)
    for seed in range(seeds):
        kept[filled(size, experiences, seed).rows["x"]] += 1
    probability = size / seen
    error = (probability * (1 - probability) / seeds) ** 0.5
    assert ((kept / seeds - probability).abs() < 5 * error).all()


def test_two_examples_are_kept_together_as_often_as_chance_has_it():
    seeds, size, seen = 1000, 3, 6
    pairs = [(0, 1), (0, 5), (4, 5), (2, 3)]
    together = torch.zeros(len(pairs))
    for seed in range(seeds):
        kept = set(filled(size, [2, 4], seed).rows["x"].tolist())
        together += torch.tensor([float(kept.issuperset(pair)) for pair in pairs])
    probability = size * (size - 1) / (seen * (seen - 1))
    error = (probability * (1 - probability) / seeds) ** 0.5
    assert ((together / seeds - probability).abs() < 5 * error).all()


def test_a_memory_that_is_not_full_holds_the_whole_stream_in_order():
    memory = filled(9, [2, 3, 3], seed=0)
    assert memory.rows["x"].tolist() == list(range(8))
    assert len(memory) == memory.seen == 8


def test_the_tensors_of_an_example_stay_together_and_no_example_is_kept_twice():
    memory = filled(9, [5, 40, 15], seed=1)
    assert torch.equal(memory.rows["double"], 2.0 * memory.rows["x"][:, None])
    assert len(memory.rows["x"].unique()) == len(memory) == 9


def test_a_sample_has_different_rows_each_with_the_same_probability(generator):
    memory, draws = filled(9, [60], seed=0), 2000
    counts = torch.zeros(60)
    for _ in range(draws):
        rows = memory.sample(4, generator)["x"]
        assert len(rows.unique()) == 4
        counts[rows] += 1
    error = (4 / 9 * 5 / 9 / draws) ** 0.5
    assert ((counts[memory.rows["x"]] / draws - 4 / 9).abs() < 5 * error).all()
    assert len(memory.sample(20, generator)["x"]) == 9


@pytest.mark.parametrize("method", METHODS)
def test_a_restored_learner_has_the_same_memory_and_changes_it_in_the_same_way(method):
    benchmark = small_benchmark(Scenario.CLASS)
    learners: list[Any] = [small_learner(method, benchmark, epochs=1, memory=30) for _ in range(2)]
    for task in benchmark.tasks[:2]:
        learn(learners[0], task)
    learners[1].restore(learners[0].state())
    for learner in learners:
        learn(learner, benchmark.tasks[2])
        assert learner.memory.seen == 360
    for name, values in learners[0].memory.rows.items():
        assert torch.equal(values, learners[1].memory.rows[name])


@pytest.mark.parametrize("scenario", Scenario)
@pytest.mark.parametrize("method", METHODS)
def test_what_is_remembered_are_examples_of_all_tasks_with_their_labels(method, scenario):
    benchmark = small_benchmark(scenario)
    learner: Any = small_learner(method, benchmark, epochs=1, memory=60)
    for task in benchmark.tasks:
        learn(learner, task)
    x, y = learner.memory.rows["x"], learner.memory.rows["y"]
    for number, task in enumerate(benchmark.tasks):
        train = task.train.load()
        same = (x[:, None] == torch.from_numpy(train.x)).all(-1)
        offset = 0 if scenario is Scenario.DOMAIN else 2 * number
        rows, places = same.nonzero().T
        assert len(rows) > 5
        assert torch.equal(y[rows], torch.from_numpy(train.y)[places] + offset)


@pytest.mark.parametrize("method", METHODS)
def test_with_a_head_a_task_a_remembered_example_is_judged_under_its_own(method):
    benchmark = small_benchmark()
    learner: Any = small_learner(method, benchmark, epochs=1)
    for task in benchmark.tasks:
        learn(learner, task)
    x, y = learner.memory.rows["x"][::20], learner.memory.rows["y"][::20]
    logits = learner.logits(x, y)
    assert set((y // 2).tolist()) == {0, 1, 2}
    for row, task in enumerate((y // 2).tolist()):
        expected = torch.full((6,), -torch.inf)
        expected[2 * task : 2 * task + 2] = learner.mlp(x[row], task)
        assert torch.allclose(logits[row], expected)


@pytest.mark.parametrize("scenario", Scenario)
@pytest.mark.parametrize("method", METHODS)
def test_remembered_numbers_are_counted(method, scenario):
    benchmark = small_benchmark(scenario)
    learner: Any = small_learner(method, benchmark, epochs=1, memory=30)
    for task in benchmark.tasks:
        learn(learner, task)
    logits = {Scenario.TASK: 2, Scenario.DOMAIN: 2, Scenario.CLASS: 6}[scenario] if method == "derpp" else 0
    network = sum(parameter.numel() for parameter in learner.mlp.parameters())
    assert learner.parameter_count() == network + 30 * (8 + 1 + logits)


def test_the_size_of_the_memory_is_said_in_words():
    assert examples_kept(vars(ReplayOptions(memory=1500))) == "with 1,500 examples"
    assert all(find_method(method).examples_kept is examples_kept for method in METHODS)


@pytest.mark.parametrize("wrong", [{"memory": 0}, {"replay_size": 0}])
def test_impossible_options_of_replay_are_refused(wrong):
    with pytest.raises(UserError, match="must be"):
        ReplayOptions(**wrong)


@pytest.mark.parametrize("method", METHODS)
def test_a_memory_in_bytes_holds_as_many_examples_as_fit(method):
    benchmark = small_benchmark(Scenario.CLASS)
    learner: Any = small_learner(method, benchmark, epochs=1, memory="1kB")
    for task in benchmark.tasks:
        learn(learner, task)
    assert learner.stored_examples() == 1000 // (4 * 8)  # eight numbers of four bytes
    network = sum(parameter.numel() for parameter in learner.mlp.parameters())
    logits = int(learner.memory.rows["logits"].isfinite().sum()) if method == "derpp" else 0
    assert learner.stored_bytes() == 4 * (network + logits) + 31 * 32


def test_an_image_is_counted_by_the_byte():
    made = load_benchmark("split-digits", "class")
    assert made.bytes_an_example == 64
    options = options_for("er", "split-digits", scenario="class", memory="64kB")
    model = new_model(Experiment(method="er", dataset="split-digits", scenario="class", options=options), made)
    assert model.learner.memory.size == 1000
    assert examples_kept(vars(options)) == "with 64kB of examples"


@pytest.mark.parametrize("wrong", ["2", "2XB", "MB", "-1MB", "0B"])
def test_a_memory_that_is_no_size_is_refused(wrong):
    with pytest.raises(UserError, match="memory"):
        ReplayOptions(memory=wrong)


def test_a_memory_too_small_for_one_example_is_refused():
    with pytest.raises(UserError, match="holds no example of 32 bytes"):
        small_learner("er", small_benchmark(Scenario.CLASS), memory="31B")
