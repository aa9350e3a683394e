"""Which task a row belongs to, when nobody says: densities of the tasks' inputs, or how sure the tasks' heads are.

    p(t | x)  proportional to  exp(e_t(x) / temperature)            (`hibnn.tasks`)

Of every experience some rows are held out of the densities, to size them and to learn the temperature. The network
learns from these rows too if the experience is small; if not, they also say how far densities can be trusted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.datasets import hold_out
from hibnn.errors import UserError
from hibnn.estimators.mixture import GaussianPrediction
from hibnn.learners import Setting
from hibnn.tasks import TaskInference, held_out_count
from hibnn.tasks.density import DensityOptions

ENOUGH_ROWS = 1000
"""Experiences of so many rows can spare those that are held out."""
ROWS_AT_ONCE = 4096


def new_inference(
    task_inference: str, setting: Setting, scaling: str | None, density: Mapping[str, Any] | None
) -> TaskInference:
    """An inference of tasks that has seen none; columns that differ in kind are not standardised row by row."""
    try:
        options = replace(DensityOptions(standardise=scaling == "examples"), **dict(density or {}))
    except TypeError as error:
        raise UserError(f"density has an option that there is not, or of the wrong type ({error}).") from None
    if options.of != "inputs":
        raise UserError("an estimator's densities are of inputs: leave density's 'of' out.")
    return TaskInference(task_inference, setting, options=options)


def divide(split: Split, seed: int) -> tuple[Split, Split]:
    """An experience without the rows that are held out, and those; a class keeps its only row."""
    if len(split) < 2:
        return split, Split(split.x[:0], split.y[:0])
    train, held = hold_out(split.y, count=held_out_count(len(split)), seed=seed)
    spared = np.isin(split.y[held], split.y[train])
    train, held = np.sort(np.concatenate([train, held[~spared]])), held[spared]
    return Split(split.x[train], split.y[train]), Split(split.x[held], split.y[held])


def uses_densities(inference: TaskInference, heads: Sequence[int]) -> bool:
    """Not if there are none, nor if the task is told and its network answers alone."""
    return inference.has_density and (len(heads) > 1 or inference.pooling.exponents != (1.0, 0.0))


def joint_densities(inference: TaskInference, x: np.ndarray, heads: Sequence[int]) -> list[Tensor]:
    """log n_y p(x | y, t) under some tasks, a few thousand rows at a time; nothing without densities.

    In double precision, so that the answer for a row depends on no other row.
    """
    parts = [inference.joint(rows.double(), heads) for rows in torch.from_numpy(x).split(ROWS_AT_ONCE)]
    return [torch.cat(one) for one in zip(*parts, strict=True)]


def useful_densities(inference: TaskInference, x: np.ndarray, heads: Sequence[int]) -> list[Tensor]:
    """Those that say something of the answer."""
    return joint_densities(inference, x, heads) if uses_densities(inference, heads) else []


def real_evidence(
    inference: TaskInference, answers: Sequence[GaussianPrediction], joint: Sequence[Tensor]
) -> Float[Tensor, "tasks rows"]:
    """What speaks for a regressor's tasks: densities, or else a posterior that adds little deviation."""
    if joint:
        return inference.evidence([], joint)
    return -torch.stack([0.5 * one.epistemic.double().clamp(min=1e-12).log() for one in answers])
