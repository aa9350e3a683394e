import torch

from hibnn.distributions.normal import kl_normal
from hibnn.nn.layers.linear import BayesianLinear, gaussian_start
from statistics_helpers import assert_mean


def layer(inputs=3, outputs=2, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    mean = torch.randn(inputs + 1, outputs, generator=generator, dtype=dtype)
    made = BayesianLinear(mean, -2.0, 0.7)
    with torch.no_grad():
        made.log_variance.add_(torch.rand(mean.shape, generator=generator, dtype=dtype))
    return made


def test_local_noise_has_the_moments_of_drawn_weights(generator):
    made = layer(dtype=torch.float32)
    x = torch.tensor([[0.5, -1.0, 2.0]])
    noise = torch.randn(20_000, 1, 2, generator=generator)
    activations = made(x, noise)[:, 0].detach()
    weights = made.mean + torch.exp(made.log_variance / 2) * torch.randn(20_000, 4, 2, generator=generator)
    drawn = torch.einsum("i,nio->no", torch.cat([x[0], torch.ones(1)]), weights).detach()
    assert_mean(activations - drawn, torch.zeros(2))
    assert_mean(activations.square() - drawn.square(), torch.zeros(2))


def test_equal_examples_get_noise_of_their_own(generator):
    made = layer(dtype=torch.float32)
    x = torch.ones(2, 3)
    first, second = made(x, torch.randn(2, 2, generator=generator))
    assert not torch.equal(first, second)


def test_gradients_agree_with_finite_differences(generator):
    made = layer()
    x = torch.randn(4, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    for shape in ((4, 2), (5, 4, 2)):
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)

        def run(x, mean, log_variance, noise=noise):
            return torch.func.functional_call(made, {"mean": mean, "log_variance": log_variance}, (x, noise))

        inputs = (x, made.mean.detach().requires_grad_(), made.log_variance.detach().requires_grad_())
        assert torch.autograd.gradcheck(run, inputs)


def test_the_divergence_is_zero_once_the_posterior_is_the_prior():
    made = layer()
    expected = kl_normal(made.mean, made.log_variance, made.prior_mean, made.prior_log_variance).sum()
    assert torch.allclose(made.kl(), expected)
    made.posterior_becomes_prior()
    assert made.kl().abs() < 1e-9
    assert made.prior_mean.data_ptr() != made.mean.data_ptr()


def test_new_weights_are_cut_normal_and_biases_zero(generator):
    mean = gaussian_start(400, 50, 0.1, generator)
    assert (mean[-1] == 0).all()
    assert mean.abs().max() <= 0.2
    assert_mean(mean[:-1].flatten(), torch.tensor(0.0))
    assert (gaussian_start(4, 2, 0.0, generator) == 0).all()
