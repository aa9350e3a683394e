"""Classes of a task that an experience lacks, or that are new to it: what a head of many classes needs to go on.

A month may bring some classes of a task and not the others. Its rows then say how the classes present differ among
themselves, and nothing of those absent. So that these are neither forgotten nor confused with classes they never met,
inputs drawn from their densities stand in for them while the network learns, half as many as the present classes have
rows on average (generative replay, Shin et al. 2017; the densities are those that tell tasks apart, and learn from real
rows only). Where there is no density, the likelihood leaves absent classes out (`hibnn.nn.likelihoods`).
`hibnn.continual` calls this when a known head takes up another experience.
"""

import math
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hibnn.benchmarks.base import Split
from hibnn.tasks.task_inference import TaskInference

SHARE = 0.5
"""Rows that are drawn for an absent class, as a share of the mean number of rows of the classes present."""


def with_absent_classes(split: Split, inference: TaskInference, task: int, seed: int) -> Split:
    """An experience of a known task, and drawn inputs of the task's other classes as far as they have densities.

    Densities ignore what moves on with time, such as a date in years. A class that is new has been seen with the dates
    of this experience alone, which say nothing against it at earlier ones; so classes that are not new get drawn inputs
    too, with the ignored columns about zero, near the first experience.
    """
    drawn = inference.draw_rows(task) if task < len(inference.fresh) else None
    if drawn is None:
        return split
    labels, ignored = drawn.labels.numpy(), inference.densities.transform.ignored
    present, counts = np.unique(split.y, return_counts=True)
    dated_and_new = ignored is not None and not np.isin(present, labels).all()
    wanted = math.ceil(SHARE * float(counts.mean()))
    order = np.random.default_rng(seed).permutation(len(labels))
    asked = [label for label in np.unique(labels) if dated_and_new or label not in present]
    if not asked:
        return split
    rows = np.concatenate([order[labels[order] == label][:wanted] for label in asked])
    inputs = drawn.x.numpy()[rows].astype(np.float32)
    if ignored is not None:  # an absent class has the dates of this experience, or they would give it away
        like = np.random.default_rng(seed).integers(len(split), size=len(rows))
        absent = ~np.isin(labels[rows], present)
        inputs = np.where(ignored.numpy() & absent[:, None], split.x[like], inputs)
    x = np.concatenate([split.x, inputs])
    weights = None if split.weights is None else np.append(split.weights, np.ones(len(rows), np.float32))
    return Split(x, np.concatenate([split.y, labels[rows]]), weights)


def keep_scales(inference: TaskInference, task: int, before: Tensor, labels: NDArray[np.int64]) -> None:
    """Let classes without a row in this experience keep the scales that their examples had."""
    fresh = inference.fresh[task]
    absent = torch.ones(len(before), dtype=torch.bool)
    absent[torch.from_numpy(np.unique(labels[labels < len(before)]))] = False
    scales = fresh.scales.clone()
    scales[: len(before)][absent] = before[absent]
    inference.fresh[task] = replace(fresh, scales=scales)
