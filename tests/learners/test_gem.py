"""Gradient episodic memory: the projection is the solution of its quadratic programme and never conflicts."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch.nn.functional import cross_entropy

from checks import check_learner, learn, small_benchmark, small_learner
from forgetting import accuracy_at_the_end
from hibnn.benchmarks import Scenario
from hibnn.errors import UserError
from hibnn.learners.base import Setting
from hibnn.learners.by_hand import batch_gradients
from hibnn.learners.gem import GEM, GEMOptions, bounded_quadratic, gram_and_products, project
from hibnn.learners.memory_gradients import Memory, MemoryGradients, flat, staircase, unflat
from hibnn.learners.presets import options_for
from hibnn.nn.layout import Layout
from hibnn.nn.networks.mlp import MLP

SMALL = {"memory": 30, "learning_rate": 0.1}


@pytest.mark.parametrize("rehearsal", [True, False])
def test_gem_is_a_learner(rehearsal, tmp_path):
    check_learner("gem", tmp_path, memory=30, rehearsal=rehearsal)


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("tasks", [1, 2, 5, 9])
def test_the_solver_agrees_with_a_general_one(tasks, margin):
    random = np.random.default_rng(tasks)
    for _ in range(5):
        G, g = random.normal(size=(tasks, 12)), random.normal(size=12)
        P, q = G @ G.T, G @ g

        def objective(v, P=P, q=q):
            return v @ P @ v / 2 + q @ v, P @ v + q

        general = minimize(objective, np.ones(tasks), jac=True, method="SLSQP", bounds=[(margin, None)] * tasks,
                           options={"ftol": 1e-14, "maxiter": 1000})  # fmt: skip
        ours = bounded_quadratic(P, q, margin)
        assert (ours >= margin).all()
        assert np.allclose(ours, general.x, atol=1e-5)


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_a_projected_gradient_has_no_negative_product_with_a_memory(margin, generator):
    for count in range(1, 9):
        memories = torch.randn(count, 50, generator=generator, dtype=torch.float64)
        gradient = -memories.mean(0) + 0.3 * torch.randn(50, generator=generator, dtype=torch.float64)
        assert (memories @ gradient < 0).any()
        products = memories @ project(gradient, memories, margin)
        assert products.min() > -1e-6


def test_without_a_margin_the_projection_is_the_nearest_gradient_that_does_not_conflict(generator):
    memories = torch.randn(3, 8, generator=generator, dtype=torch.float64)
    gradient = -memories.sum(0) + torch.randn(8, generator=generator, dtype=torch.float64)
    nearest = minimize(
        lambda free: (((free - gradient.numpy()) ** 2).sum(), 2 * (free - gradient.numpy())),
        gradient.numpy(),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda free: memories.numpy() @ free, "jac": lambda _: memories.numpy()},
    )
    assert np.allclose(project(gradient, memories, 0.0).numpy(), nearest.x, atol=1e-5)


def test_a_gradient_that_does_not_conflict_is_its_own_projection(generator):
    memories = torch.randn(4, 50, generator=generator)
    gradient = torch.linalg.pinv(memories) @ torch.tensor([1.0, 0.2, 3.0, 0.1])
    assert torch.equal(project(gradient, memories, 0.0), gradient)


def test_memories_that_agree_completely_are_no_obstacle(generator):
    memory = torch.randn(50, generator=generator)
    memories = torch.stack([memory, memory, 2 * memory, torch.zeros(50)])
    projected = project(-memory, memories, 0.0)
    assert projected.norm() < 1e-4 * memory.norm()


def separate_gradients(mlp, memories):
    """G by automatic differentiation, memory after memory."""
    rows = []
    for task, (x, y) in enumerate(memories):
        loss = cross_entropy(mlp(x, task), y)
        rows.append(flat(torch.autograd.grad(loss, list(mlp.parameters()), materialize_grads=True)))
    return torch.stack(rows)


def network_and_memories(layout, generator, constant=(), hidden=(7, 5)):
    """Two memories of different sizes, with heads of different sizes, and the head of a task without a memory."""
    outputs = (3, 3, 3) if layout is Layout.SHARED else (3, 2, 4)
    mlp = MLP(12, hidden, layout, generator)
    for count in outputs:
        mlp.add_head(count, generator)
    mlp = mlp.double()
    memories = []
    for task, examples in enumerate((9, 6)):
        x = torch.randn(examples, 12, generator=generator, dtype=torch.float64)
        same = [column + task for column in constant][: len(constant) - task]  # another set for each, one fewer
        x[:, same] = x[0, same]
        first = outputs[0] * task if layout is Layout.GROWING else 0
        memories.append((x, first + torch.arange(examples) % outputs[task]))
    return mlp, memories


def some_batch(mlp, generator, rows=30):
    """A minibatch whose rows belong to any of the tasks, and its mean loss by automatic differentiation."""
    x = torch.randn(rows, 12, generator=generator, dtype=torch.float64)
    tasks, sizes = torch.arange(rows) % len(mlp.heads), torch.tensor([head.out_features for head in mlp.heads])
    y = torch.arange(rows) % sizes[tasks]
    firsts = (sizes.cumsum(0) - sizes)[tasks]
    if mlp.layout is not Layout.MULTI:
        return batch_gradients(mlp, x, y + firsts), cross_entropy(mlp(x, 0), y + firsts)
    losses = [cross_entropy(mlp(x[[row]], int(tasks[row])), y[[row]]) for row in range(rows)]
    allowed = torch.arange(len(sizes)).repeat_interleave(sizes) == tasks[:, None]
    return batch_gradients(mlp, x, y + firsts, allowed), torch.stack(losses).mean()


@pytest.mark.parametrize("hidden", [(7,), (9, 7, 5)])
@pytest.mark.parametrize("layout", Layout)
def test_the_gradient_of_a_minibatch_by_hand_is_that_of_autograd(layout, hidden, generator):
    mlp, _ = network_and_memories(layout, generator, hidden=hidden)
    batch, loss = some_batch(mlp, generator)
    expected = torch.autograd.grad(loss, list(mlp.parameters()), materialize_grads=True)
    assert torch.allclose(batch.nll, loss, rtol=1e-12)
    assert torch.allclose(flat(batch.gradients), flat(expected), rtol=1e-12, atol=1e-15)
    assert torch.allclose(batch.delta.T @ batch.x, expected[0], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("constant", [(), (1, 5, 6), tuple(range(12))])
@pytest.mark.parametrize("layout", Layout)
def test_gradients_of_all_memories_at_once_are_those_of_separate_passes(layout, constant, generator):
    mlp, memories = network_and_memories(layout, generator, constant)
    together = MemoryGradients(mlp, memories)
    for _ in range(2):  # the second at other weights
        check_memories(together, mlp, memories, some_batch(mlp, generator)[0])
        for parameter in mlp.parameters():
            parameter.data.add_(torch.randn(parameter.shape, generator=generator) * 0.1)


def check_memories(together, mlp, memories, batch):
    expected = separate_gradients(mlp, memories)
    products = expected @ flat(batch.gradients)
    assert together.conflict(batch) == bool((products < 0).any())
    with torch.no_grad():
        assert torch.allclose(together.derivatives(batch.gradients), products, rtol=1e-12, atol=1e-15)
    assert torch.allclose(together.gradients(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("hidden", [(7,), (9, 7, 5), (40,)])  # 40: wide enough for inputs times inputs
def test_gradients_of_all_memories_are_right_at_any_depth(hidden, generator):
    mlp, memories = network_and_memories(Layout.MULTI, generator, (1, 5, 6), hidden)
    check_memories(MemoryGradients(mlp, memories), mlp, memories, some_batch(mlp, generator, 5)[0])


@pytest.mark.parametrize("hidden", [(7,), (9, 7), (40,)])
def test_memories_follow_a_step_without_a_conflict(hidden, generator):
    mlp, memories = network_and_memories(Layout.SHARED, generator, (1, 5, 6), hidden)
    together = MemoryGradients(mlp, memories)
    for _ in range(3):
        batch, _ = some_batch(mlp, generator, 6)
        check_memories(together, mlp, memories, batch)
        together.follow(0.1)
        assert together.known
        for parameter, gradient in zip(mlp.parameters(), batch.gradients, strict=True):
            parameter.data.sub_(gradient, alpha=0.1)


def test_zeros_beyond_the_steps_of_the_staircase_are_left_out_of_the_products():
    x = torch.ones(8, 6)
    x[torch.arange(8)[:, None] >= 5 + torch.arange(6)] = 2.0  # the last three rows differ in 1, 2 and 3 columns
    memory = Memory(x, torch.zeros(8, dtype=torch.int64), 2, 3, 4)
    assert [block.shape for _, block, _ in memory.blocks] == [(2, 3), (2, 1), (4, 0)]


def test_a_staircase_has_no_more_steps_than_lengths():
    assert staircase([5, 5, 5, 4, 2, 0], 3) == [(slice(0, 4), 5), (slice(4, 6), 2)]


def test_a_vector_is_cut_up_into_what_it_was_made_of(generator):
    mlp, _ = network_and_memories(Layout.MULTI, generator)
    values = [torch.randn(parameter.shape, generator=generator) for parameter in mlp.parameters()]
    again = unflat(flat(values), values)
    assert all(torch.equal(own, other) for own, other in zip(values, again, strict=True))


def test_the_gram_matrix_is_summed_over_blocks_of_columns(generator, monkeypatch):
    monkeypatch.setattr("hibnn.learners.gem.COLUMNS_AT_ONCE", 7)
    memories = torch.randn(4, 50, generator=generator)
    gradient = torch.randn(50, generator=generator)
    gram, products = gram_and_products(gradient, memories)
    exact = memories.double()
    assert torch.allclose(gram, exact @ exact.T, rtol=1e-12)
    assert torch.allclose(products, exact @ gradient.double(), rtol=1e-12)


class Watched(GEM):
    """Keeps every gradient before and after it is adjusted, and the gradients of the memories at the same weights."""

    def projected(self, batch):
        self.seen = getattr(self, "seen", [])
        gradients, conflict = super().projected(batch)
        if self.memories:
            with torch.enable_grad():
                memories = separate_gradients(self.mlp, self.memories)
            self.seen.append((flat(batch.gradients), flat(gradients), memories))
        return gradients, conflict


def test_no_step_conflicts_with_a_memory_and_steps_without_conflict_are_left_alone():
    seen = [step for layout in Layout for step in steps_of_a_run(layout)]
    projected = 0
    for before, after, memories in seen:
        sizes = memories.norm(dim=1) * after.norm()
        assert (memories @ after > -1e-5 * sizes - 1e-12).all()
        if (memories @ before >= 0).all():
            assert torch.equal(before, after)
        else:
            projected += 1
    assert 0 < projected < len(seen)


def steps_of_a_run(layout):
    learner = Watched(GEMOptions(width=20, batch_size=20, rehearsal=False, **SMALL), Setting(8, layout))
    for task in small_benchmark().tasks:
        learn(learner, task)
    return learner.seen


def test_the_memory_is_divided_equally_among_the_tasks_so_far():
    benchmark = small_benchmark(Scenario.CLASS)
    learner: Any = small_learner("gem", benchmark, epochs=1, memory=31)
    for number, task in enumerate(benchmark.tasks):
        learn(learner, task)
        assert [len(y) for _, y in learner.memories] == [31 // (number + 1)] * (number + 1)
    for task, (x, y) in zip(benchmark.tasks, learner.memories, strict=True):
        assert set(y.tolist()) <= set(task.classes)
        assert (x[:, None] == torch.from_numpy(task.train.load().x)).all(-1).any(1).all()
        assert len(x.unique(dim=0)) == len(x)


def test_memories_are_rehearsed_as_often_as_there_are_new_examples():
    benchmark = small_benchmark()
    for rehearsal, total in ((True, 120 + 4 * 30), (False, 120)):
        learner: Any = small_learner("gem", benchmark, epochs=1, rehearsal=rehearsal, **SMALL)
        learn(learner, benchmark.tasks[0])
        learner.begin(benchmark.tasks[1])
        assert len(learner.x) == len(learner.y) == len(learner.tasks) == total


def test_a_rehearsed_example_is_judged_under_the_head_of_its_task():
    benchmark = small_benchmark()
    learner: Any = small_learner("gem", benchmark, epochs=1, **SMALL)
    learn(learner, benchmark.tasks[0])
    learner.begin(benchmark.tasks[1])
    rows = torch.tensor([0, 5, 130, 200, 7])
    losses = [
        cross_entropy(learner.mlp(learner.x[row][None], int(learner.tasks[row])), learner.y[row][None]) for row in rows
    ]
    assert set(learner.tasks[rows].tolist()) == {0, 1}
    assert torch.allclose(learner.batch_gradients(rows).nll, torch.stack(losses).mean())


@pytest.mark.slow
@pytest.mark.parametrize("rehearsal", [True, False])
@pytest.mark.parametrize("scenario", [Scenario.DOMAIN, Scenario.CLASS])
def test_gem_forgets_less_than_finetuning(scenario, rehearsal):
    remembered = accuracy_at_the_end("gem", scenario, rehearsal=rehearsal, **SMALL)
    assert remembered > accuracy_at_the_end("finetune", scenario) + 0.05


def test_a_memory_too_small_for_the_tasks_is_refused():
    benchmark = small_benchmark()
    learner: Any = small_learner("gem", benchmark, epochs=1, memory=1)
    learn(learner, benchmark.tasks[0])
    with pytest.raises(UserError, match="too small for 2 tasks"):
        learner.begin(benchmark.tasks[1])


def test_remembered_numbers_are_counted():
    benchmark = small_benchmark(Scenario.DOMAIN)
    learner: Any = small_learner("gem", benchmark, epochs=1, memory=30)
    for task in benchmark.tasks:
        learn(learner, task)
    assert learner.parameter_count() == 8 * 20 + 20 + 20 * 2 + 2 + 30 * (8 + 1)


def test_the_published_settings_are_options_of_each_benchmark_and_scenario():
    for scenario in Scenario:
        assert options_for("gem", "permuted-mnist", scenario=scenario).learning_rate == 0.1
        assert options_for("gem", "split-mnist", scenario=scenario).learning_rate == 0.01


@pytest.mark.parametrize("wrong", [{"memory": 0}, {"margin": -0.1}])
def test_impossible_options_of_gem_are_refused(wrong):
    with pytest.raises(UserError, match="must be"):
        GEMOptions(**wrong)
