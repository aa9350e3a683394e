"""Intervals of real targets: noise that depends on the input, and deviations that cover what they say."""

import math

import numpy as np
import pytest
import torch

from hibnn import ContinualRegressor, load_model
from hibnn.coverage import EDGES, KEEP, NORMAL, Coverage
from hibnn.learners.base import GaussianPrediction
from hibnn.nn.likelihoods import LIMIT, VaryingGaussian, Weighted

QUICK = {"epochs": 25, "truncation": 20, "random_state": 0, "verbose": -1}


def noisy(rows, seed=0):
    """Noise of deviation 0.1 on the left and 1 on the right."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 2))
    return x, x[:, 1] + np.where(x[:, 0] > 0, 1.0, 0.1) * random.normal(size=rows)


def test_noise_is_found_where_it_is_and_intervals_cover_both_sides():
    model = ContinualRegressor(**QUICK).fit(*noisy(1200))
    x, y = noisy(2000, seed=1)
    answer = model.predict_uncertainty(x)
    noisy_side, quiet_side = x[:, 0] > 0.3, x[:, 0] < -0.3
    assert answer.aleatoric[noisy_side].mean() > 3 * answer.aleatoric[quiet_side].mean()
    inside = np.abs(y - answer.mean) < 1.96 * answer.total
    assert 0.92 < inside.mean() < 0.98
    assert inside[noisy_side].mean() > 0.88


def test_the_factor_is_the_quantile_of_held_out_rows_and_one_before_there_are_any():
    assert Coverage.new().factor == pytest.approx(1, abs=1e-3)
    generator = torch.Generator().manual_seed(0)
    for deviation in (0.3, 1.0, 4.0):
        errors = deviation * torch.randn(50_000, generator=generator, dtype=torch.float64)
        zeros = torch.zeros_like(errors)
        counted = Coverage.new().update(GaussianPrediction(zeros, 0.4 + zeros, 0.6 + zeros), errors)
        assert counted.factor == pytest.approx(deviation, rel=0.02)
        scaled = counted.scaled(GaussianPrediction(zeros, 0.4 + zeros, 0.6 + zeros))
        covered = (errors.abs() < NORMAL * (scaled.epistemic + scaled.aleatoric).sqrt()).double().mean()
        assert float(covered) == pytest.approx(0.95, abs=0.005)


def test_earlier_months_count_less_and_huge_errors_do_not_break_the_grid():
    one = GaussianPrediction(torch.zeros(2), torch.zeros(2), torch.ones(2))
    counted = Coverage.new().update(one, torch.tensor([0.001, 1e6]))
    assert (counted.counts[0], counted.counts[-1]) == (1, 1)
    again = counted.aged().update(one, torch.tensor([0.001, 0.002]))
    assert (again.counts[0], again.counts[-1]) == (KEEP + 2, KEEP)
    assert counted.factor <= float(EDGES[-1])


def test_the_quantile_rests_on_several_months_of_few_rows_and_still_follows_a_change():
    def month(coverage, deviation, seed):
        errors = deviation * torch.randn(60, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        ones = torch.ones_like(errors)
        return coverage.aged().update(GaussianPrediction(0 * ones, 0 * ones, ones), errors)

    coverage = Coverage.new()
    for seed in range(10):
        coverage = month(coverage, 1.0, seed)
    assert 5 * 60 < float(coverage.counts.sum()) < 8 * 60
    assert coverage.factor == pytest.approx(1, abs=0.15)
    for seed in range(12):
        coverage = month(coverage, 0.5, seed)
    assert coverage.factor < 0.8


def test_the_row_to_be_predicted_counts_as_one_beyond_all_others():
    one = GaussianPrediction(torch.zeros(1000), torch.zeros(1000), torch.ones(1000))
    r = torch.linspace(0.5, 2, 1000, dtype=torch.float64)
    few, many = (Coverage.new().update(part, targets) for part, targets in ((one, r), (take(one, 40), r[12::25])))
    assert few.factor < many.factor  # the same errors, but fewer of them: (n + 1) / n
    assert many.counts.sum() == 40


def take(prediction, rows):
    return GaussianPrediction(prediction.mean[:rows], prediction.epistemic[:rows], prediction.aleatoric[:rows])


def test_small_experiences_spare_no_row_and_are_counted_before_they_are_learned():
    x, y = noisy(200)
    model = ContinualRegressor(**QUICK | {"epochs": 2}).fit(x, y)
    assert not model.model_.continual.coverage
    wide = float(model.predict_uncertainty(x).total.mean())
    z = (10 * y[:60] - model.predict(x[:60])) / model.predict_uncertainty(x[:60]).total
    model.partial_fit(x[:60], 10 * y[:60])
    counted = model.model_.continual.coverage[0]
    assert float(counted.counts.sum()) == 60
    assert counted.factor * NORMAL == pytest.approx(float(np.quantile(np.abs(z), 0.95)), rel=0.5)
    assert counted.factor > 1.5
    assert float(model.predict_uncertainty(x).total.mean()) > 1.5 * wide


def test_a_file_that_looks_different_but_forgets_nothing_is_counted_too(monkeypatch):
    x, y = noisy(200)
    model = ContinualRegressor(**QUICK | {"epochs": 2}).fit(x, y).partial_fit(x, y)
    monkeypatch.setattr("hibnn.estimators.training.how_much_counts", lambda *given: 1.0)
    model.partial_fit(x, 20 * y)
    assert model.drift_ is not None
    assert float(model.model_.continual.coverage[0].counts.sum()) == KEEP * 200 + 200


def test_the_varying_density_is_a_normal_one_with_bounded_noise():
    likelihood = VaryingGaussian().double()
    likelihood.log_noise.data[:] = -0.7
    outputs, y = torch.randn(3, 6, 2, dtype=torch.float64) * 4, torch.randn(6, 1, dtype=torch.float64)
    deviation = torch.exp(0.5 * (-0.7 + LIMIT * torch.tanh(outputs[..., 1] / LIMIT)))
    expected = torch.distributions.Normal(outputs[..., 0], deviation).log_prob(y[:, 0])
    torch.testing.assert_close(likelihood.log_density(outputs, y), expected)
    far = torch.full((1, 1, 2), 1e6, dtype=torch.float64)
    assert float(likelihood.log_variance(far).detach()) == pytest.approx(-0.7 + LIMIT)
    mean, spread, noise = likelihood.moments(outputs)
    torch.testing.assert_close(mean, outputs[..., 0].mean(0))
    torch.testing.assert_close(spread, outputs[..., 0].var(0, correction=0))
    torch.testing.assert_close(noise, deviation.square().mean(0))


def test_the_mean_learns_as_under_constant_noise_and_the_noise_by_the_errors_that_are_left():
    likelihood = VaryingGaussian().double()
    outputs = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    y = torch.randn(6, 1, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(likelihood.nll(outputs, y), outputs)
    torch.testing.assert_close(gradient[:, 0], (outputs[:, 0] - y[:, 0]).detach() / 6)
    (whole,) = torch.autograd.grad(-likelihood.log_density(outputs, y).mean(), outputs)
    torch.testing.assert_close(gradient[:, 1], whole[:, 1])
    torch.testing.assert_close(likelihood.nll(outputs, y), -likelihood.log_density(outputs, y).mean())
    weights = torch.tensor([2.0, 0, 0, 1, 0, 0])
    twice = likelihood.nll(outputs[[0, 0, 3]], y[[0, 0, 3]]) * 3
    torch.testing.assert_close(Weighted(likelihood, weights).nll(outputs, y) * 6, twice)


@pytest.mark.parametrize("method", ["ibnn", "vcl"])
def test_what_was_counted_is_kept_with_the_model(method, tmp_path):
    x, y = noisy(300)
    model = ContinualRegressor(method, **QUICK | {"epochs": 4}).fit(x, y)
    coverage = model.model_.continual.coverage
    assert float(coverage[0].counts.sum()) == 50
    assert not math.isclose(coverage[0].factor, 1)
    model.partial_fit(x, y)  # counted before it is learned too
    assert float(model.model_.continual.coverage[0].counts.sum()) == KEEP * 50 + 50 + 50
    model.save(tmp_path / "model.hibnn")
    again = load_model(tmp_path / "model.hibnn")
    assert np.array_equal(again.predict_uncertainty(x).total, model.predict_uncertainty(x).total)


def test_one_unnamed_task_of_real_targets_has_no_densities_unless_asked_for(tmp_path):
    x, y = noisy(120)
    sizes = {}
    for name, task, kind in (("none", None, "auto"), ("named", "a", "auto"), ("asked", None, "density")):
        model = ContinualRegressor(**QUICK | {"epochs": 3}, task_inference=kind).fit(x, y, task)
        model.save(tmp_path / name)
        sizes[name] = (tmp_path / name).stat().st_size
        if name == "none":
            with pytest.raises(ValueError, match="task_inference='density'"):
                model.predict_ood(x)
            model.partial_fit(x + 9, y)
            model.partial_fit(x, -y, task="other")
            assert np.isfinite(model.predict(x)).all()
        else:
            assert model.predict_ood(x).mean() < 0.3
    assert sizes["none"] < min(sizes["named"], sizes["asked"])
