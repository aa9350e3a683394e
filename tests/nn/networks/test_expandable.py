"""The network that grows: what joining, leaving and splitting do to its answers."""

import pytest
import torch

from hibnn.nn.networks.expandable import ExpandableMLP, leading_block, logits


@pytest.fixture(params=[(5,), (5, 4), (5, 4, 3)])
def network(request, generator):
    network = ExpandableMLP(6, request.param, generator)
    network.add_head(2, generator)
    torch.nn.init.normal_(network.head(0)[0], generator=generator)
    return network


@pytest.fixture
def x(generator):
    return torch.randn(30, 6, generator=generator)


def test_new_units_read_but_are_not_read_yet(network, x, generator):
    before, widths = network(x, 0), network.widths
    network.expand(3, generator)
    assert network.widths == [width + 3 for width in widths]
    assert torch.allclose(network(x, 0), before, atol=1e-6)
    for (weight, bias), first in zip(network.layers(), widths, strict=True):
        assert weight[first:].all()
        assert bias[first:].all()


def test_the_network_of_earlier_widths_answers_exactly_as_before(network, x, generator):
    before, head, widths = network(x, 0), network.head(0), network.widths
    network.expand(3, generator)
    for parameter in network.body.parameters():
        parameter.data[parameter == 0] = 1.0
    assert torch.equal(logits(x, leading_block(network.layers(), widths), head), before)


def test_dropping_useless_units_changes_no_answer(network, x, generator):
    widths = network.widths
    network.expand(4, generator)
    torch.nn.init.normal_(network.head(0)[0], generator=generator)
    for (weight, bias), first in zip(network.layers(), widths, strict=True):
        weight.data[first : first + 2], bias.data[first : first + 2] = 0.0, 0.0
    before = network(x, 0)
    network.drop_useless(widths)
    assert network.widths == [width + 2 for width in widths]
    assert torch.allclose(network(x, 0), before, atol=1e-6)


def test_units_whose_readers_are_all_useless_are_useless_and_old_units_stay(generator):
    network = ExpandableMLP(6, (5, 4), generator)
    network.add_head(2, generator)
    network.expand(3, generator)
    network.drop_useless([5, 4])
    assert network.widths == [5, 4]


def test_copies_take_the_place_of_their_originals(network, x):
    """If all that changed is split, the latest head answers as if nothing had gone back."""
    originals = [(weight.detach() * 0, bias.detach() + 1) for weight, bias in network.layers()]
    before, widths = network(x, 0), network.widths
    network.split([torch.arange(width) for width in widths], originals)
    assert network.widths == [2 * width for width in widths]
    assert torch.allclose(network(x, 0), before, atol=1e-6)
    for layer, original in zip(leading_block(network.layers(), widths), originals, strict=True):
        assert torch.equal(layer[0], original[0])
        assert torch.equal(layer[1], original[1])


def test_an_older_unit_keeps_reading_the_original_and_not_the_copy(generator):
    network = ExpandableMLP(6, (5, 4), generator)
    network.add_head(2, generator)
    upper = network.layers()[1][0].detach().clone()
    network.split([torch.tensor([1, 3]), torch.tensor([2])], [(w.detach(), b.detach()) for w, b in network.layers()])
    weight = network.layers()[1][0]
    assert torch.equal(weight[:4], torch.cat([upper, torch.zeros(4, 2)], 1))
    assert torch.equal(weight[4, 5:], upper[2, [1, 3]])
    assert not weight[4, [1, 3]].any()
