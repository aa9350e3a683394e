import numpy as np
import pytest
import torch

from hibnn.tasks.outliers import LEVELS, Typical, quantiles
from hibnn.tasks.temperature import Temperature


def evidence_and_tasks(rows, seed, sharpness=40.0, tasks=3):
    """Evidence that is right on average and far too sure of itself."""
    random = np.random.default_rng(seed)
    own = random.integers(tasks, size=rows)
    logits = random.normal(size=(tasks, rows)) + 1.5 * (own == np.arange(tasks)[:, None])
    return torch.from_numpy(sharpness * logits), torch.from_numpy(own)


def loss(probabilities, own):
    return -probabilities.clamp(min=1e-30).log().gather(0, own[None]).mean()


def test_a_temperature_learned_on_some_rows_lowers_the_loss_on_others():
    evidence, own = evidence_and_tasks(600, seed=0)
    temperature = Temperature.new()
    for task in range(3):
        temperature = temperature.update(evidence[:, own == task], task)
    other, truth = evidence_and_tasks(600, seed=1)
    assert loss(temperature.probabilities(other), truth) < 0.5 * loss(other.softmax(0), truth)
    assert torch.allclose(temperature.probabilities(other).sum(0), torch.ones(600, dtype=torch.float64))


def test_the_temperature_undoes_a_known_sharpness():
    values = []
    for sharpness in (1.0, 40.0):
        evidence, own = evidence_and_tasks(3000, seed=2, sharpness=sharpness)
        temperature = Temperature.new()
        for task in range(3):
            temperature = temperature.update(evidence[:, own == task], task)
        values.append(temperature.value)
    assert 30 < values[1] / values[0] < 55  # 40, within two steps of the grid


def test_rows_in_portions_give_the_temperature_of_all_at_once():
    evidence, _ = evidence_and_tasks(100, seed=0)
    whole = Temperature.new().update(evidence, 1)
    parts = Temperature.new().update(evidence[:, :30], 1).update(evidence[:, 30:], 1)
    assert torch.allclose(whole.losses, parts.losses)


def test_before_two_tasks_the_temperature_is_one():
    assert Temperature.new().value == 1


def test_own_rows_are_refused_at_the_stated_rate():
    random = np.random.default_rng(0)
    scores = torch.from_numpy(random.exponential(size=(2, 20_000)))
    kept = Typical(torch.zeros(1), torch.ones(1), torch.ones(1), quantiles(scores[0, :4000]).float())
    for rate in (0.01, 0.055, 0.2):
        share = (kept.p_values(scores[1]) < rate).double().mean()
        error = (rate * (1 - rate) * (1 / 4000 + 1 / 20_000)) ** 0.5
        assert abs(share - rate) < 5 * error


def test_far_beyond_all_held_out_rows_the_chance_of_an_own_row_goes_to_zero():
    kept = Typical(torch.zeros(1), torch.ones(1), torch.ones(1), LEVELS.float())
    shares = kept.p_values(torch.tensor([0.5, 0.94, 1.0, 2.0, 5.0], dtype=torch.float64))
    assert shares[0] == pytest.approx(0.5, abs=0.01)
    assert (shares.diff() < 0).all()
    assert shares[-1] < 1e-6
