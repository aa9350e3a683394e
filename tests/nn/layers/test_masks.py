"""Relaxed masks of training steps."""

import pytest
import torch

from hibnn.nn.layers.masks import relaxed, relaxed_masks


@pytest.mark.parametrize(("sets", "rows"), [(1, 8), (3, 12), (3, 10), (2, 7)])
def test_masks_of_training_steps_and_their_gradients_are_relaxed_masks(sets, rows):
    location = torch.randn(sets, 5, dtype=torch.float64).requires_grad_()
    weight = torch.randn(rows, 5, dtype=torch.float64)
    found = []
    for draw in (relaxed_masks, lambda *given: relaxed(*given)[1]):
        z = draw(location, rows, 0.6, torch.Generator().manual_seed(1))
        found.append((z, *torch.autograd.grad((z * weight).sum(), location)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
