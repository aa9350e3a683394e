"""Densities in few bytes: what is rounded, what it changes, and that a bound in bytes is kept."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from hibnn.benchmarks.base import Split
from hibnn.errors import UserError
from hibnn.learners.base import Setting, State
from hibnn.nn.layout import Layout
from hibnn.tasks.density import DensityOptions
from hibnn.tasks.density.basis import Basis, Rows
from hibnn.tasks.density.compressing import LADDER
from hibnn.tasks.density.fitting import expectation_maximisation
from hibnn.tasks.density.gaussian import LowRankGaussian
from hibnn.tasks.density.merging import restrict
from hibnn.tasks.density.mixture import Mixture
from hibnn.tasks.density.quantising import EXACT, Codes, orthonormal
from hibnn.tasks.density.stored import StoredMixture
from hibnn.tasks.task_densities import TaskDensities


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def images(rows=240, inputs=140, classes=2, seed=0):
    """Rows of more inputs than have full covariances, of classes with factors of their own."""
    random = np.random.default_rng(5)
    means, factors = random.normal(size=(classes, inputs)), random.normal(size=(classes, 3, inputs))
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=rows)
    x = means[y] + (random.normal(size=(rows, 1, 3)) @ factors[y])[:, 0] + 0.3 * random.normal(size=(rows, inputs))
    return Split(x.astype(np.float32), y)


def densities(**options):
    made = TaskDensities(DensityOptions(**options), Setting(140, Layout.MULTI, 0))
    for task in range(2):
        made.learn(images(seed=2 * task), images(60, seed=2 * task + 1), task, 2)
    return made


@pytest.mark.parametrize("bits", [8, 16])
def test_codes_are_off_by_half_a_step_at_most(bits):
    values = normal(5, 40) * torch.logspace(-3, 3, 5).double()[:, None]
    codes = Codes.of(values, bits, 1)
    steps = values.abs().amax(1, keepdim=True) / (2 ** (bits - 1) - 1)
    assert ((codes.values(torch.float64) - values).abs() <= 0.5 * steps * (1 + 1e-5)).all()
    assert codes.codes.element_size() == bits // 8


def test_exact_codes_are_single_precision():
    values = normal(3, 4)
    assert torch.equal(Codes.of(values, EXACT, 1).values(torch.float32), values.float())


def test_a_vector_of_zeros_stays_zero():
    assert not Codes.of(torch.zeros(2, 3), 8, 1).values(torch.float32).any()


def test_orthonormal_columns_span_the_same_spaces_with_the_same_signs():
    columns = torch.linalg.qr(normal(9, 4)).Q + 0.01 * normal(9, 4, seed=1)
    made = orthonormal(columns)
    torch.testing.assert_close(made.T @ made, torch.eye(4).double())
    for k in range(1, 5):
        inside = made[:, :k] @ (made[:, :k].T @ columns[:, :k])
        torch.testing.assert_close(inside, columns[:, :k])
    assert ((made * columns).sum(0) > 0).all()


def test_a_density_within_a_basis_is_the_gaussian_with_that_covariance(generator):
    x = torch.from_numpy(images().x).double()
    basis = Basis.of(x, 20, generator)
    mixture = expectation_maximisation(basis.project(x), 1, 3, generator, outside=140 - 20)
    own, turn = mixture.components[0], basis.double
    inside = turn @ (own.covariance() - own.noise * torch.eye(20).double()) @ turn.T
    whole = torch.distributions.MultivariateNormal(
        basis.centre.double() + turn @ own.mean, inside + own.noise * torch.eye(140).double()
    )
    torch.testing.assert_close(mixture.log_density(basis.project(x)), whole.log_prob(x))


def test_fewer_directions_leave_what_they_explained_as_noise(generator):
    x = torch.from_numpy(images().x).double()
    basis = Basis.of(x, 20, generator)
    gaussian = expectation_maximisation(basis.project(x), 1, 3, generator, outside=120).components[0]
    cut = restrict(gaussian, 8)
    assert (len(cut.mean), cut.inputs) == (8, 140)

    def second_moment(one):
        return one.mean.square().sum() + one.variances.sum() + (one.inputs - one.rank) * one.noise

    assert second_moment(cut) == pytest.approx(float(second_moment(gaussian)), rel=1e-6)


def test_eight_bits_are_taken_only_where_log_densities_hardly_change():
    directions = torch.linalg.qr(normal(6, 6)).Q
    round_one, narrow = (
        LowRankGaussian(normal(6), directions, torch.logspace(0, smallest, 6).double(), torch.tensor(1.0).double())
        for smallest in (-0.5, -7)
    )
    bits = []
    for gaussian in (round_one, narrow):
        mixture = Mixture((gaussian,), torch.tensor([10.0]).double())
        held = gaussian.mean + (normal(50, 6, seed=2) * gaussian.variances.sqrt()) @ gaussian.directions.T
        stored = StoredMixture.of(mixture, Rows.of(held))
        change = (stored.mixture(torch.float64).log_density(held) - mixture.log_density(held)).abs().mean()
        assert change < 0.04 * mixture.log_density(held).std()
        bits.append(stored.bits)
    assert bits[0] == 8 < bits[1]


def test_the_ladder_goes_down():
    for above, below in pairwise(LADDER):
        assert below.components <= above.components
        assert below.basis <= above.basis
        assert below != above


def test_a_bound_in_bytes_is_kept_and_costs_little_likelihood():
    free, bound = densities(), densities(bytes="30kB")
    assert free.byte_count() > 30_000 >= bound.byte_count()
    x = torch.from_numpy(images(80, seed=9).x)
    wide, narrow = (made.joint(x)[1].amax(1).mean() for made in (free, bound))
    assert narrow > wide - 0.1 * abs(wide)
    right = [(torch.cat(made.joint(x), 1).argmax(1) % 2).numpy() == images(80, seed=9).y for made in (free, bound)]
    assert right[1].mean() > right[0].mean() - 0.05


def test_typical_values_follow_a_density_that_became_smaller():
    x = torch.from_numpy(images(400, seed=9).x)
    free, bound = (
        (made.strangeness(x, made.joint(x)).p_value < 0.1).double().mean()
        for made in (densities(), densities(bytes="30kB"))
    )
    assert bound < free + 0.25  # without following, all of them would be called strange


def test_a_bound_that_nothing_can_keep_is_refused():
    with pytest.raises(UserError, match="raise density-bytes"):
        densities(bytes=500)


@pytest.mark.parametrize(("words", "count"), [("2MB", 2_000_000), ("1.5 MiB", 1_572_864), (7, 7), (None, None)])
def test_a_budget_is_a_size_or_a_number_of_bytes(words, count):
    assert DensityOptions(bytes=words).budget == count


@pytest.mark.parametrize("words", ["two", "2 MBit", "0MB", 0, -3])
def test_other_words_are_refused(words):
    with pytest.raises(UserError, match="density-bytes"):
        DensityOptions(bytes=words)


def test_densities_come_back_as_they_were():
    made = densities()
    other = TaskDensities(DensityOptions(), Setting(140, Layout.MULTI, 0))
    other.restore(State(made.tensors(), {}), [2, 2])
    x = torch.from_numpy(images(50, seed=3).x)
    for first, second in zip(made.joint(x), other.joint(x), strict=True):
        assert torch.equal(first, second)
    mine, theirs = (one.strangeness(x, one.joint(x)) for one in (made, other))
    assert torch.equal(mine.score, theirs.score)
    assert torch.equal(mine.p_value, theirs.p_value)


def test_a_task_may_take_up_a_class_later():
    made = densities()
    x = torch.from_numpy(images(50, seed=3).x)
    before = made.joint(x)[0]
    other = images(60, seed=11)
    turned = other.x[:, ::-1].copy()
    made.learn(Split(turned, np.full(60, 2)), Split(turned[:0], other.y[:0]), 0, 3)
    after = made.joint(x)[0]
    assert after.shape == (50, 3)
    changed = (after[:, :2] - before).std(0)  # by the classes' shares of the task, the same for every row
    assert (changed < 1e-5).all()
    new = torch.from_numpy(turned)
    assert (made.joint(new)[0].argmax(1) == 2).all()
    assert (made.strangeness(new, made.joint(new)).p_value < 0.05).double().mean() < 0.2


def test_the_shares_of_classes_are_those_of_the_weights_of_their_rows():
    train, held = images(seed=0), images(60, seed=1)
    weights = np.where(train.y == 0, 0.5, 3.0).astype(np.float32)
    plain, weighted = (TaskDensities(DensityOptions(), Setting(140, Layout.MULTI, 0)) for _ in range(2))
    plain.learn(train, held, 0, 2)
    weighted.learn(Split(train.x, train.y, weights), held, 0, 2)
    x = torch.from_numpy(images(20, seed=3).x)
    change = weighted.joint(x)[0] - plain.joint(x)[0]
    own = np.array([weights[train.y == label].sum() for label in (0, 1)])
    counts = np.bincount(train.y)
    expected = np.log(own / own.sum()) - np.log(counts / counts.sum())
    np.testing.assert_allclose(change, np.broadcast_to(expected, (20, 2)), atol=1e-9)


def test_seeds_may_have_any_number_of_digits():
    made = TaskDensities(DensityOptions(), Setting(140, Layout.MULTI, 10**20))
    made.learn(images(seed=0), images(60, seed=1), 0, 2)
    assert made.joint(torch.from_numpy(images(5, seed=2).x))[0].isfinite().all()
