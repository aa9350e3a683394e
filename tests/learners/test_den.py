"""DEN: its mechanisms one by one, and what time stamps preserve."""

import numpy as np
import pytest
import torch

from checks import check_learner, learn, probabilities, small_benchmark, small_learner
from hibnn.benchmarks import Benchmark, Scenario
from hibnn.benchmarks.base import LazySplit, Task
from hibnn.errors import UserError
from hibnn.learners.den import Den
from hibnn.learners.den_options import DenOptions
from hibnn.learners.den_sparsity import drifted_units, group_soft_threshold, selected_units
from hibnn.runs.checkpoint import read_state, write_state
from hibnn.runs.experiment import Experiment
from hibnn.runs.run import run

GROWING = {"loss_threshold": 0.0, "split_threshold": 0.01, "epochs": 3}
"""Every later task expands and splits."""


def small_den(benchmark: Benchmark, **options) -> Den:
    learner = small_learner("den", benchmark, **options)
    assert isinstance(learner, Den)
    return learner


def test_den_is_a_learner(tmp_path):
    check_learner("den", tmp_path)


@pytest.mark.parametrize("hidden", [(20,), (12, 10), (8, 7, 6)])
def test_with_time_stamps_old_answers_stay_bit_for_bit(hidden):
    benchmark = small_benchmark()
    learner = small_den(benchmark, hidden=hidden, **GROWING)
    answers = []
    for task in benchmark.tasks:
        learner.begin(task)
        for number in range(learner.epochs):
            learner.epoch(number)
            for old, answer in enumerate(answers):
                assert torch.equal(probabilities(learner, benchmark, old), answer)
        learner.end()
        answers.append(probabilities(learner, benchmark, len(answers)))
    assert all(units > width + 10 for units, width in zip(learner.active_units(), hidden, strict=True))


@pytest.mark.parametrize("hidden", [(20,), (12, 10)])
def test_without_time_stamps_old_answers_change(hidden):
    benchmark = small_benchmark()
    learner = small_den(benchmark, hidden=hidden, timestamps=False, **GROWING)
    learn(learner, benchmark.tasks[0])
    before = probabilities(learner, benchmark)
    learn(learner, benchmark.tasks[1])
    assert not torch.allclose(probabilities(learner, benchmark), before, atol=1e-4)


@pytest.mark.parametrize(("epochs", "timestamps"), [(1, True), (4, True), (7, True), (10, True), (10, False)])
def test_a_task_goes_on_exactly_from_a_state_stored_in_any_stage(epochs, timestamps, tmp_path):
    benchmark = small_benchmark(tasks=2)
    first, second = (small_den(benchmark, hidden=(8, 7), timestamps=timestamps, **GROWING) for _ in range(2))
    learn(first, benchmark.tasks[0])
    first.begin(benchmark.tasks[1])
    for number in range(epochs):
        first.epoch(number)
    write_state(tmp_path / "state.safetensors", first.state())
    second.restore(read_state(tmp_path / "state.safetensors"))
    second.attach(benchmark.tasks[1].train.load(), 1)
    for learner in (first, second):
        for number in range(epochs, learner.epochs):
            learner.epoch(number)
        learner.end()
    tensors = second.state().tensors
    assert all(torch.equal(value, tensors[name]) for name, value in first.state().tensors.items())
    assert first.state().metadata == second.state().metadata


def striped(stripes: int) -> Task:
    """Two classes that alternate along a line: the more stripes, the harder."""
    x = np.linspace(-1, 1, 120, dtype=np.float32)[:, None] * np.ones((1, 8), np.float32)
    y = (np.arange(120) * stripes // 120) % 2
    experience = LazySplit(x, np.arange(120), y)
    return Task(f"{stripes} stripes", (0, 1), experience, experience)


@pytest.mark.parametrize(("stripes", "grows"), [(2, False), (7, True)])
def test_it_expands_on_a_harder_task_and_not_on_an_easy_one(stripes, grows):
    learner = small_den(small_benchmark(), batch_size=60, loss_threshold=0.2, split_limit=0)
    learn(learner, striped(2))
    learn(learner, striped(stripes))
    assert (learner.active_units() > [20.0]) is grows


@pytest.mark.parametrize(("group", "least", "most"), [(1e-4, 25, 30), (1.0, 20, 20)])
def test_it_drops_new_units_that_the_group_penalty_made_useless(group, least, most):
    benchmark = small_benchmark()
    learner = small_den(benchmark, epochs=5, loss_threshold=0.0, split_limit=0, group=group)
    learn(learner, benchmark.tasks[0])
    learn(learner, benchmark.tasks[1])
    assert least <= learner.active_units()[0] <= most


@pytest.mark.parametrize(("drift", "splits"), [(0.0, True), (1e4, False)])
def test_it_splits_units_that_the_drift_penalty_does_not_hold(drift, splits):
    benchmark = small_benchmark()
    learner = small_den(benchmark, epochs=8, expansion=0, drift=drift, split_threshold=0.1, split_limit=4)
    learn(learner, benchmark.tasks[0])
    learn(learner, benchmark.tasks[1])
    assert learner.active_units() == [24.0 if splits else 20.0]


@pytest.mark.parametrize(("timestamps", "moved"), [(True, 0), (False, 16)])
def test_without_time_stamps_only_the_units_that_are_split_go_back(timestamps, moved):
    benchmark = small_benchmark()
    learner = small_den(benchmark, epochs=1, split_threshold=0.0, split_limit=4, timestamps=timestamps)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    learner.epoch(0)
    learner.epoch(1)
    learner.split()
    weight, previous = learner.mlp.layers()[0][0][:20], learner.previous[0][0]
    assert int((weight != previous).any(1).sum()) == moved


def test_each_stage_changes_only_what_it_trains():
    benchmark = small_benchmark()
    learner = small_den(benchmark, hidden=(8, 7), **GROWING)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    old = [weight.detach().clone() for weight, _ in learner.mlp.layers()]
    changed = []
    for number in range(learner.epochs):
        learner.epoch(number)
        now = [
            weight.detach()[: len(before), : before.shape[1]]
            for (weight, _), before in zip(learner.mlp.layers(), old, strict=True)
        ]
        changed.append(not all(map(torch.equal, now, old)))
    assert changed == [False] * 3 + [True] * 6 + [False] * 3


def test_units_that_the_head_does_not_read_are_not_retrained():
    benchmark = small_benchmark()
    learner = small_den(benchmark, epochs=1)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    learner.epoch(0)
    learner.mlp.head(1)[0].data[:, :15] = 0.0
    before = learner.mlp.layers()[0][0].detach().clone()
    learner.epoch(1)
    after = learner.mlp.layers()[0][0]
    assert torch.equal(after[:15], before[:15])
    assert (after[15:] != before[15:]).any(1).all()


def test_weights_from_inputs_without_signal_become_zero():
    benchmark = small_benchmark(tasks=1)
    split = benchmark.tasks[0].train.load()
    split.x[:, 3] = 0.0
    learner = small_den(benchmark, l1=5e-3)
    learn(
        learner,
        Task("no signal in input 3", (0, 1), LazySplit(split.x, np.arange(120), split.y), benchmark.tasks[0].test),
    )
    weight = learner.mlp.layers()[0][0]
    assert not weight[:, 3].any()
    assert weight[:, :3].any(0).all()


def test_weight_decay_keeps_weights_small():
    benchmark = small_benchmark(tasks=1)
    norms = []
    for l2 in (0.0, 1.0):
        learner = small_den(benchmark, l2=l2)
        learn(learner, benchmark.tasks[0])
        norms.append(learner.mlp.layers()[0][0].norm())
    assert norms[1] < 0.5 * norms[0]


def test_the_learning_rate_decays_within_a_stage_and_starts_anew_with_the_next():
    benchmark = small_benchmark()
    learner = small_den(benchmark, epochs=2, decay=1e-12, l1=0.0)
    moved = []
    for task in benchmark.tasks[:2]:
        learner.begin(task)
        for number in range(learner.epochs):
            before = learner.mlp.head(-1)[1].detach().clone()
            learner.epoch(number)
            moved.append(not torch.allclose(learner.mlp.head(-1)[1], before, atol=1e-9))
        learner.end()
    assert moved == [True, False] * 5


def test_selection_follows_paths_of_non_zero_weights_down_from_every_output():
    lower = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    upper = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    head = torch.tensor([[0.0, 0.0], [0.0, 2.0]])
    inputs, below, above = selected_units([(lower, torch.ones(3)), (upper, torch.ones(2))], (head, torch.zeros(2)))
    assert above.tolist() == [False, True]
    assert below.tolist() == inputs.tolist() == [False, True, False]


def test_the_units_that_drifted_most_are_split():
    previous = (torch.zeros(4, 2), torch.zeros(4))
    current = (torch.tensor([[0.3, 0.4], [0.0, 0.0], [0.0, 0.1], [0.0, 0.9]]), torch.tensor([0.0, 0.7, 0.0, 0.0]))
    assert drifted_units(current, previous, 0.05, 10).tolist() == [0, 1, 2, 3]
    assert drifted_units(current, previous, 0.45, 10).tolist() == [0, 1, 3]
    assert drifted_units(current, previous, 0.05, 2).tolist() == [1, 3]


def test_the_group_threshold_minimises_its_proximal_objective(generator):
    weight, bias = torch.randn(6, 4, generator=generator), torch.randn(6, generator=generator)
    before = torch.cat([weight, bias[:, None]], 1)
    after = torch.cat([part.reshape(6, -1) for part in group_soft_threshold(weight, bias, 1.5)], 1)

    def objective(groups):
        return 0.5 * (groups - before).square().sum(-1) + 1.5 * groups.norm(dim=-1)

    others = after + 0.1 * torch.randn(500, 6, 5, generator=generator)
    assert (objective(others) >= objective(after) - 1e-6).all()
    assert 0 < int((after == 0).all(1).sum()) < 6


def test_a_single_head_is_refused():
    with pytest.raises(UserError, match="--heads multi"):
        run(
            Experiment(
                method="den", dataset="split-digits", scenario=Scenario.CLASS, options=DenOptions(), heads="single"
            )
        )


@pytest.mark.parametrize("wrong", [{"l1": -1.0}, {"decay": 1.5}, {"expansion": -1}])
def test_impossible_options_are_refused(wrong):
    with pytest.raises(UserError, match="must be"):
        DenOptions(**wrong)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", list(Scenario))
def test_den_reaches_the_published_accuracy_on_split_mnist(scenario):
    experiment = Experiment(
        method="den", dataset="split-mnist", scenario=scenario, options=DenOptions(), granularity="task"
    )
    assert run(experiment)["acc"] >= 0.976
