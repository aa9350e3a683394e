import pytest
import torch

from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from statistics_helpers import assert_mean


def network(layout=Layout.MULTI, weight_noise=WeightNoise.EXAMPLE, widths=(4,)):
    generator = torch.Generator().manual_seed(0)
    made = BayesianMLP(
        3,
        widths,
        layout,
        None,
        log_variance=-1.0,
        prior_variance=1.0,
        init_std=0.5,
        head_init_std=0.5,
        weight_noise=weight_noise,
        generator=generator,
    )
    for outputs in (2, 3):
        made.add_head(outputs, generator)
    return made


def test_equal_examples_get_different_answers_from_one_draw(generator):
    first, second = network()(torch.ones(2, 3), 0, None, generator)
    assert not torch.equal(first, second)


def test_draws_follow_one_another_and_none_is_repeated(generator):
    rows = network()(torch.ones(2, 3), 0, None, generator, draws=5)
    assert rows.shape == (10, 2)
    assert len(rows.unique(dim=0)) == 10


def test_without_a_generator_the_weights_are_at_their_means():
    made = network()
    x = torch.ones(2, 3)
    hidden = (x @ made.body[0].mean[:-1] + made.body[0].mean[-1]).relu()
    expected = hidden @ made.heads[1].mean[:-1] + made.heads[1].mean[-1]
    assert torch.allclose(made(x, 1, None, None), expected, atol=1e-6)


def test_a_mask_of_zeros_leaves_the_bias_of_the_head():
    made = network()
    answer = made(torch.ones(1, 3), 0, [torch.zeros(1, 4)], None)
    assert torch.allclose(answer[0], made.heads[0].mean[-1])


def test_the_layout_decides_which_heads_answer():
    x = torch.ones(2, 3)
    assert network()(x, 1, None, None).shape == (2, 3)
    assert network(Layout.GROWING)(x, 1, None, None).shape == (2, 5)
    assert len(network(Layout.SHARED).heads) == 1


@pytest.mark.parametrize("widths", [[4], [4, 5], []])
@pytest.mark.parametrize("noise", list(WeightNoise))
def test_only_noise_of_their_own_tells_equal_examples_of_a_draw_apart(generator, noise, widths):
    made = network(weight_noise=noise, widths=widths)
    rows = made(torch.ones(2, 3), 0, None, generator, draws=5).unflatten(0, (5, 2))
    assert torch.equal(rows[:, 0], rows[:, 1]) == (noise is not WeightNoise.EXAMPLE)
    assert len(rows[:, 0].unique(dim=0)) == 5


@pytest.mark.parametrize("noise", [WeightNoise.BATCH, WeightNoise.WEIGHTS])
def test_shared_noise_has_the_moments_of_an_examples_own(generator, noise):
    x = torch.randn(2, 3, generator=generator)
    with torch.no_grad():
        own, shared = (
            network(weight_noise=kind)(x, 0, None, generator, draws=20_000).unflatten(0, (-1, 2))
            for kind in (WeightNoise.EXAMPLE, noise)
        )
    for power in (1, 2):
        assert_mean(own**power - shared**power, 0.0)


@pytest.mark.parametrize("noise", [WeightNoise.BATCH, WeightNoise.WEIGHTS])
def test_activations_of_two_examples_covary_as_drawn_weights_make_them(generator, noise):
    """weights: cov = sum_i x_i x'_i s_i^2 + s_b^2; noise of the batch: the product of the two deviations."""
    layer = network(weight_noise=noise).hidden_layers()[0]
    x, variance = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]), torch.exp(torch.tensor(-1.0))
    made = network(weight_noise=noise)
    with torch.no_grad():
        drawn = made.draw(layer, x, 20_000, generator, first=True).unflatten(0, (-1, 2))
    centred = drawn - (x @ layer.mean[:-1] + layer.mean[-1]).detach()
    expected = variance * ((x[0] @ x[1] + 1) if noise is WeightNoise.WEIGHTS else (6.0 * 3.0) ** 0.5)
    assert_mean(centred[:, 0] * centred[:, 1], expected.item())
