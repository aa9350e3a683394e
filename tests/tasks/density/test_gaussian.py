import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from hibnn.tasks.density import DensityOptions, LowRankGaussian, Statistics, new_density
from hibnn.tasks.density.evidence import evidence_rank, log_evidence


def low_rank_rows(rank, inputs=30, count=500, seed=0, noise=0.5):
    random = np.random.default_rng(seed)
    factors = random.normal(size=(rank, inputs)) * np.linspace(3, 1.5, rank)[:, None]
    return torch.from_numpy(random.normal(size=(count, rank)) @ factors + noise * random.normal(size=(count, inputs)))


def test_log_densities_agree_with_scipy():
    x = low_rank_rows(3)
    gaussian = LowRankGaussian.of_statistics(Statistics.of(x))
    expected = multivariate_normal(gaussian.mean.numpy(), gaussian.covariance().numpy()).logpdf(x.numpy())
    assert np.allclose(gaussian.log_density(x), expected, rtol=1e-9)


def test_a_truncated_density_keeps_its_total_variance():
    gaussian = LowRankGaussian.of_statistics(Statistics.of(low_rank_rows(4)))
    cut = gaussian.truncate(2)
    assert cut.rank == 2
    assert torch.allclose(cut.covariance().trace(), gaussian.covariance().trace())
    x = low_rank_rows(4, seed=1)
    expected = multivariate_normal(cut.mean.numpy(), cut.covariance().numpy()).logpdf(x.numpy())
    assert np.allclose(cut.log_density_of_squares(*gaussian.squares(x)), expected, rtol=1e-9)


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_the_evidence_finds_the_true_rank_in_nine_seeds_of_ten(rank):
    ranks = [LowRankGaussian.of_statistics(Statistics.of(low_rank_rows(rank, seed=seed))).rank for seed in range(10)]
    assert ranks.count(rank) >= 9


def test_the_evidence_chooses_the_rank_that_scikit_learn_chooses():
    for seed in range(5):
        x = low_rank_rows(1 + seed, seed=seed, noise=1.0)
        values = torch.linalg.eigvalsh(Statistics.of(x).covariance()).flip(0)
        assert evidence_rank(values, len(x)) == PCA(n_components="mle").fit(x.numpy()).n_components_


def test_the_evidence_does_not_reward_equal_eigenvalues():
    values = torch.tensor([5.0, 4.0, 1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    assert evidence_rank(values, 200) == 2
    assert all(np.isfinite(log_evidence(values, 200, rank)) for rank in range(6))


SINGULAR = {
    "constant pixels": lambda x: x * (torch.arange(x.shape[1]) > 4),
    "duplicated rows": lambda x: x[:3].repeat(40, 1),
    "fewer rows than dimensions": lambda x: x[:6],
    "one row": lambda x: x[:1],
    "the same row": lambda x: x[:1].repeat(80, 1),
}


@pytest.mark.parametrize("components", [1, 4])
@pytest.mark.parametrize("case", SINGULAR)
def test_no_data_make_a_density_singular(case, components):
    x = low_rank_rows(3).float()
    own = SINGULAR[case](x)
    empty = new_density(DensityOptions(components=components, rank=5), x.shape[1])
    density = empty.update(own, own, torch.Generator().manual_seed(0))
    values = density.log_density(torch.cat([own, x]))
    assert torch.isfinite(values).all()
    assert values[: len(own)].min() > values[len(own) :].min()
