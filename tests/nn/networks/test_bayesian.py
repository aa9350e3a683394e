import torch

from hibnn.nn.layout import Layout
from hibnn.nn.networks.bayesian import BayesianMLP


def network(layout=Layout.MULTI):
    generator = torch.Generator().manual_seed(0)
    made = BayesianMLP(
        3,
        [4],
        layout,
        None,
        log_variance=-1.0,
        prior_variance=1.0,
        init_std=0.5,
        head_init_std=0.5,
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
