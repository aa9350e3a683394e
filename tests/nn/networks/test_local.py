"""The network as one node of the graph, against the same network layer by layer."""

import pytest
import torch

from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.local import sample_with_kl


def network(widths, noise=WeightNoise.EXAMPLE, layout=Layout.MULTI):
    """With means, variances and priors that all differ, in double precision."""
    generator = torch.Generator().manual_seed(3)
    made = BayesianMLP(
        3,
        widths,
        layout,
        None,
        log_variance=-2.0,
        prior_variance=0.7,
        init_std=0.8,
        head_init_std=0.5,
        weight_noise=noise,
        generator=generator,
    )
    for _ in range(2):
        made.add_head(2, generator)
    made = made.double()
    with torch.no_grad():
        for tensor in (*made.parameters(), *made.buffers()):
            tensor.add_(0.3 * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    return made


def masks(widths, rows, always_on):
    return [torch.rand(rows, width - always_on, dtype=torch.float64).requires_grad_() for width in widths]


@pytest.mark.parametrize("layout", [Layout.MULTI, Layout.GROWING])
@pytest.mark.parametrize("noise", list(WeightNoise))
@pytest.mark.parametrize(("widths", "draws", "always_on"), [([4], 1, 0), ([4, 5], 3, 2), ([], 2, 0)])
def test_logits_divergence_and_gradients_are_those_of_single_layers(layout, noise, widths, draws, always_on):
    made, drawn = network(widths, noise, layout), masks(widths, 6 * draws, always_on)
    x = torch.randn(6, 3, dtype=torch.float64)
    logits, kl = made.forward_with_kl(x, 1, drawn, torch.Generator().manual_seed(0), draws)
    expected = made(x, 1, drawn, torch.Generator().manual_seed(0), draws)
    torch.testing.assert_close(logits, expected)
    torch.testing.assert_close(kl, made.kl_weights(1))
    wanted = [*drawn, *(p for layer in (*made.hidden_layers(), *made.heads_of(1)) for p in layer.parameters())]
    weight = torch.randn_like(logits)
    ours = torch.autograd.grad((logits * weight).sum() + 0.4 * kl, wanted)
    theirs = torch.autograd.grad((expected * weight).sum() + 0.4 * made.kl_weights(1), wanted)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_agree_with_finite_differences():
    made, drawn = network([4, 3]), masks([4, 3], 10, always_on=1)
    layers = [*made.hidden_layers(), *made.heads_of(0)]
    noises = [torch.randn(*shape, dtype=torch.float64) for shape in ((2, 5, 4), (10, 3), (10, 2))]

    def run(x, *given):
        return sample_with_kl(x, layers, given[:2], noises)

    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(run, (x, *drawn, *made.parameters()))
