"""Network and density together: the better alone where rows are few, both where they gain, less where one forgot."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from hibnn.tasks.pooling import ALONE, DENSITY, NETWORK, Pooling, log_odds, with_surprise

UNCHANGED = torch.zeros(1, len(NETWORK), dtype=torch.float64)


def evidence(rows, signal, labels, seed):
    """Log probabilities of two classes that speak for the label with this strength, calibrated."""
    random = np.random.default_rng(seed)
    noise = torch.from_numpy(random.normal(size=rows))
    difference = (2 * labels - 1) * signal**2 / 2 + signal * noise
    return torch.stack([torch.zeros_like(difference), difference], 1).log_softmax(1)


def learned(rows, network, density, seed=0):
    labels = torch.from_numpy(np.random.default_rng(seed).integers(2, size=rows))
    first, second = evidence(rows, network, labels, seed + 1), evidence(rows, density, labels, seed + 2)
    return Pooling.new().update(log_odds(first.exp()), second, labels)


def test_of_two_independent_and_calibrated_answers_the_pool_is_their_product():
    found = learned(4000, network=1.0, density=1.0).exponents(UNCHANGED)
    assert found.network[0] in (0.75, 1.0, 1.5)
    assert 0.7 < found.density < 1.4


def test_a_network_that_knows_nothing_has_no_weight():
    assert learned(4000, network=1e-9, density=2.0).exponents(UNCHANGED).network == (0.0,)


def test_a_density_that_knows_nothing_has_no_weight():
    assert learned(4000, network=2.0, density=1e-9).exponents(UNCHANGED).network_alone


@pytest.mark.parametrize("seed", range(4))
def test_where_rows_are_few_the_better_one_answers_alone(seed):
    assert learned(12, network=0.4, density=3.0, seed=seed).exponents(UNCHANGED).network == (0.0,)


def test_the_pool_must_gain_more_than_the_standard_error_of_the_gain():
    """Exactly: one pair of exponents is better than the density alone by a known amount and spread."""
    sums = torch.full((3, len(NETWORK), len(DENSITY)), 1e3, dtype=torch.float64)
    sums[0, 0, 5], sums[0, 2, 5] = 20.0, 10.0
    for spread, expected in ((9.9, 0.5), (10.1, 0.0)):
        sums[1, 2, 5] = spread**2
        found = Pooling(sums.clone(), torch.tensor(50.0)).exponents(UNCHANGED)
        assert (found.network, found.density) == ((expected,), float(DENSITY[5]))
    sums[0, ALONE, 0] = 15.0  # now the network alone is the better one
    for spread, alone in ((4.9, False), (5.1, True)):
        sums[2, 2, 5] = spread**2
        assert Pooling(sums.clone(), torch.tensor(50.0)).exponents(UNCHANGED).network_alone == alone


def test_sums_are_of_losses_and_of_squared_differences():
    random = np.random.default_rng(0)
    network = log_odds(torch.from_numpy(random.dirichlet(np.ones(3), size=7)))
    joint, labels = torch.from_numpy(random.normal(size=(7, 3))), torch.from_numpy(random.integers(3, size=7))
    pooling = Pooling.new().update(network, joint, labels)

    def losses(u, v):
        answers = (7 * (u * network + v * joint).softmax(1) + 1 / 3) / 8
        return -answers.gather(1, labels[:, None])[:, 0].log()

    u, v = 3, 20
    own = losses(NETWORK[u], DENSITY[v])
    torch.testing.assert_close(pooling.sums[0, u, v], own.sum())
    torch.testing.assert_close(pooling.sums[1, u, v], (own - losses(0, DENSITY[v])).square().sum())
    torch.testing.assert_close(pooling.sums[2, u, v], (own - losses(1, 0)).square().sum())
    assert NETWORK[ALONE] == 1


def test_a_network_whose_loss_has_grown_for_one_task_loses_its_weight_there_alone():
    pooling = learned(2000, network=1.0, density=1.0)
    drifts = torch.zeros(3, len(NETWORK), dtype=torch.float64)
    drifts[1] = NETWORK  # the more it is trusted the more it costs
    first, forgotten, last = pooling.exponents(drifts).network
    assert first == last > 0
    assert forgotten == 0


def test_a_told_task_that_the_network_forgot_is_left_to_the_density():
    pooling = learned(2000, network=2.0, density=1.0)
    assert pooling.exponents(UNCHANGED).network[0] > 0
    forgotten = pooling.exponents(UNCHANGED + NETWORK)
    assert forgotten.network == (0.0,)
    assert forgotten.density > 0


def test_a_network_that_saw_the_rows_counts_as_it_is():
    labels = torch.tensor([0, 1, 1])
    joint = 5.0 * one_hot(labels, 2)
    found = Pooling.new().update(torch.zeros(3, 2), joint, labels).exponents(UNCHANGED)
    assert found.network == (1.0,)
    assert found.density > 0


def test_a_surprise_is_shared_by_all_classes():
    random = np.random.default_rng(0)
    tasks = torch.from_numpy(random.dirichlet(np.ones(2), size=5).T)
    within = [torch.from_numpy(random.dirichlet(np.ones(size), size=5)) for size in (2, 3)]
    expected = 0.9 * torch.cat([task[:, None] * own for task, own in zip(tasks, within, strict=True)], 1) + 0.02
    found_tasks, found_within = with_surprise(tasks, within, 0.1)
    found = torch.cat([task[:, None] * own for task, own in zip(found_tasks, found_within, strict=True)], 1)
    torch.testing.assert_close(found, expected)
    assert all(torch.allclose(own.sum(1), torch.ones(5, dtype=torch.float64)) for own in found_within)


def test_no_row_costs_more_than_a_surprise():
    sure = torch.tensor([[0.0, 1e6]], dtype=torch.float64)
    pooling = learned(99, 1.0, 1.0)
    wrong = pooling.update(log_odds(torch.full((1, 2), 0.5)), sure, torch.tensor([0])).sums[0] - pooling.sums[0]
    assert wrong.max() <= np.log(2 * 101) + 1e-9
