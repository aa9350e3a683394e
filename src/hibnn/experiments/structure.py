"""Which neurons a task uses, kept with every run: Z for some examples, how many each example has active, and E[pi]."""

import torch
from torch import Tensor

from hibnn.learners import Learner

EXAMPLES, STORED_ROWS = 1000, 100
ACTIVE = 0.1
"""A neuron is active for an example where its relaxed mask exceeds this (paper, footnote 5)."""


def structure_of(learner: Learner) -> dict[str, Tensor]:
    """Tensors named by task and layer; nothing for methods of fixed width."""
    masks = learner.masks(EXAMPLES, learner.setting.generator("structure", learner.task))
    if masks is None:
        return {}
    kept: dict[str, Tensor] = {}
    for layer, z in enumerate(masks):
        name = f"task{learner.task}.layer{layer}"
        kept[f"{name}.z"] = z[:STORED_ROWS].to(torch.float16).cpu().contiguous()
        kept[f"{name}.active"] = (z > ACTIVE).sum(-1).to(torch.int32).cpu()
    return kept


def median_active(kept: dict[str, Tensor]) -> list[float] | None:
    """The median number of active neurons of an example, for each layer."""
    return [float(value.median()) for name, value in kept.items() if name.endswith(".active")] or None
