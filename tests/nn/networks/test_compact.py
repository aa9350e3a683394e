"""A network without what nothing reads or feeds says what the whole network says."""

from itertools import pairwise

import pytest
import torch

from hibnn.nn.layers.linear import WeightNoise
from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP
from hibnn.nn.networks.compact import compacted, needed

INPUTS, WIDTHS, OUTPUTS = 7, (6, 5, 4), 3


def new_network(generator, layout=Layout.MULTI, weight_noise=WeightNoise.EXAMPLE, heads=2):
    network = BayesianMLP(
        INPUTS,
        WIDTHS,
        layout,
        None,
        log_variance=-1.0,
        prior_variance=1.0,
        init_std=0.7,
        head_init_std=0.7,
        bias_init_std=0.3,
        weight_noise=weight_noise,
        generator=generator,
    )
    for _ in range(heads):
        network.add_head(OUTPUTS, generator)
    return network


def prune(network, share, generator):
    """Take a share of all weights and biases away, by chance."""
    for layer in (*network.hidden_layers(), *network.every_head()):
        take(layer, torch.rand(layer.mean.shape, generator=generator) < share)


@torch.no_grad()
def take(layer, gone):
    layer.mean[gone], layer.log_variance[gone] = 0.0, -torch.inf


def sparse_network(generator, share=0.7, **more):
    network = new_network(generator, **more)
    prune(network, share, generator)
    return network


def new_masks(rows, generator, skipped=0):
    """Hard masks of all neurons, or of all but the first of each layer."""
    return [torch.bernoulli(torch.full((rows, width - skipped), 0.6), generator=generator) for width in WIDTHS]


def left_one_by_one(hidden, head):
    """The same by definition: drop single neurons that are not read or not fed, until none is."""
    weights = [*(layer.clone() for layer in hidden), head.clone()]
    for _ in range(100):
        for below, above in pairwise(weights):
            for unit in range(below.shape[1]):
                if not below[:, unit].any() or not above[unit].any():
                    below[:, unit], above[unit] = False, False
    inputs = weights[0][:-1].any(1).nonzero().flatten().tolist()
    return [inputs, *(above[:-1].any(1).nonzero().flatten().tolist() for above in weights[1:])]


def there(text):
    return torch.tensor([[mark == "x" for mark in row] for row in text.split()])


def test_what_is_not_read_or_not_fed_goes_and_a_neuron_that_its_bias_feeds_stays():
    #            neurons: read and fed; not read; not fed; fed by its bias
    hidden = there("xx.. .... .x.. ...x")
    head = there("x. .. x. .x ..")
    assert [left.tolist() for left in needed([hidden], head)] == [[0], [0, 3]]


def test_what_only_feeds_a_neuron_that_is_not_read_goes_too():
    first, second, head = there("x. .x .."), there("x. .x .."), there("x . .")
    assert [left.tolist() for left in needed([first, second], head)] == [[0], [0], [0]]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.7, 0.8, 0.9, 1.0])
def test_neurons_that_are_left_are_those_of_the_definition(share, generator):
    for _ in range(20):
        sizes = zip((INPUTS, *WIDTHS), (*WIDTHS, OUTPUTS), strict=True)
        *hidden, head = [torch.rand(below + 1, above, generator=generator) >= share for below, above in sizes]
        assert [left.tolist() for left in needed(hidden, head)] == left_one_by_one(hidden, head)


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("skipped", [None, 0, 2])
def test_at_the_means_the_logits_are_the_same(layout, share, skipped, generator):
    x = torch.randn(9, INPUTS, generator=generator, dtype=torch.float64)
    masks = None if skipped is None else [mask.double() for mask in new_masks(9, generator, skipped)]
    network = sparse_network(generator, share, layout=layout).double()
    part = compacted(network, 1)
    torch.testing.assert_close(part(x, masks, None), network(x, 1, masks, None), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight_noise", WeightNoise)
@pytest.mark.parametrize("masked", [False, True])
def test_draws_have_the_same_moments(weight_noise, masked, generator):
    draws, x = 40_000, torch.randn(1, INPUTS, generator=generator)
    network = sparse_network(generator, 0.2, weight_noise=weight_noise)
    take(network.hidden_layers()[1], (slice(2, 4),))  # two neurons of the first layer are not read
    take(network.hidden_layers()[2], (slice(None), 0))  # one of the last is not fed
    part = compacted(network, 0)
    assert part.network.widths == [4, 5, 3]
    moments = []
    for ask in (lambda *rest: network(x, 0, *rest), lambda *rest: part(x, *rest)):
        logits = ask(new_masks(draws, generator) if masked else None, generator, draws).detach().double()
        squares = torch.cat([logits, logits.square(), logits * logits.roll(1, 1)], 1)
        moments.append((squares.mean(0), squares.var(0) / draws))
    (own, own_error), (left, left_error) = moments
    assert (own - left).abs().le(5 * (own_error + left_error).sqrt()).all()


def test_where_no_weight_is_gone_the_network_answers_itself(generator):
    network, x = new_network(generator), torch.randn(4, INPUTS, generator=generator)
    with torch.no_grad():
        network.hidden_layers()[0].mean.zero_()  # their noise is left
    part = compacted(network, 1)
    assert part.network is network
    same = [torch.Generator().manual_seed(3) for _ in range(2)]
    assert torch.equal(part(x, None, same[0], 5), network(x, 1, None, same[1], 5))


def test_a_weight_without_variance_is_not_gone(generator):
    network, x = new_network(generator), torch.randn(4, INPUTS, generator=generator)
    with torch.no_grad():
        network.hidden_layers()[1].log_variance.fill_(-torch.inf)
    part = compacted(network, 0)
    assert part.network.widths == list(WIDTHS)
    same = [torch.Generator().manual_seed(3) for _ in range(2)]
    torch.testing.assert_close(part(x, None, same[0], 5), network(x, 0, None, same[1], 5))


def test_a_weight_without_a_mean_goes_on_adding_noise(generator):
    network = sparse_network(generator, 0.1)
    with torch.no_grad():
        network.hidden_layers()[1].mean.zero_()
    assert compacted(network, 0).network.widths == list(WIDTHS)


@pytest.mark.parametrize("weight_noise", WeightNoise)
def test_equal_examples_share_what_they_shared(weight_noise, generator):
    part = compacted(sparse_network(generator, 0.1, weight_noise=weight_noise), 0)
    first, second = part(torch.ones(2, INPUTS), None, generator)
    assert torch.allclose(first, second) is (weight_noise is not WeightNoise.EXAMPLE)


def test_only_what_is_left_is_drawn(generator):
    network = sparse_network(generator, 0.8)
    part, drawn = compacted(network, 0), torch.Generator().manual_seed(3)
    before = drawn.get_state()
    part(torch.randn(1, INPUTS, generator=generator), None, drawn, 1)
    counted = torch.Generator()
    counted.set_state(before)
    for count in (*part.network.widths, OUTPUTS):
        torch.randn((1, count), generator=counted)
    assert torch.equal(drawn.get_state(), counted.get_state())


def test_the_network_is_not_changed(generator):
    network = sparse_network(generator)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    compacted(network, 0)(torch.randn(2, INPUTS, generator=generator), None, generator, 3)
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_without_hidden_layers_only_inputs_can_go(generator):
    network = BayesianMLP(3, [], Layout.SHARED, None, log_variance=-1.0, prior_variance=1.0, init_std=0.5,
                          head_init_std=0.5, generator=generator)  # fmt: skip
    network.add_head(2, generator)
    with torch.no_grad():
        (head,) = network.every_head()
        head.mean[1], head.log_variance[1] = 0.0, -torch.inf
    x, part = torch.randn(4, 3, generator=generator), compacted(network, 0)
    assert part.inputs.tolist() == [0, 2]
    torch.testing.assert_close(part(x, None, None), network(x, 0, None, None))
