"""Which neurons a task uses and how their number was found, kept with every run.

task{t}.layer{j}.z         Z for some examples (BSCL: for some inputs of the layer)
task{t}.layer{j}.active    how many neurons each example has active (BSCL: each input)
task{t}.sticks{s}.alpha    a_k of the sticks' posterior; a set for each layer, or one for all (HIBNN)
task{t}.layer{j}.curve     where held-out rows size the layer: numbers of fresh neurons, and the loss with so many
"""

import torch
from torch import Tensor

from hibnn.learners import Learner

EXAMPLES, STORED_ROWS = 1000, 100
ACTIVE = 0.1
"""A neuron is active for an example where its relaxed mask exceeds this (paper, footnote 5)."""


def structure_of(learner: Learner) -> dict[str, Tensor]:
    """Tensors named by task and layer; nothing for methods of fixed width."""
    masks = learner.masks(EXAMPLES, learner.setting.generator("structure", learner.task))
    curves = enumerate(learner.size_curves())
    kept = {f"task{learner.task}.layer{layer}.curve": curve.contiguous() for layer, curve in curves}
    for layer, z in enumerate(masks or []):
        name = f"task{learner.task}.layer{layer}"
        rows = torch.arange(0, len(z), max(1, len(z) // STORED_ROWS), device=z.device)[:STORED_ROWS]
        kept[f"{name}.z"] = z[rows].to(torch.float16).cpu().contiguous()
        kept[f"{name}.active"] = (z > ACTIVE).sum(-1).to(torch.int32).cpu()
    for number, alpha in enumerate(learner.stick_alphas() or []):
        kept[f"task{learner.task}.sticks{number}.alpha"] = alpha.cpu().contiguous()
    return kept


def median_active(kept: dict[str, Tensor]) -> list[float] | None:
    """The median number of active neurons of an example, for each layer."""
    return [float(value.median()) for name, value in kept.items() if name.endswith(".active")] or None
