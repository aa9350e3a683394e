"""Figures: functions of results that return a matplotlib figure and write nothing."""

from hibnn.report.figures.accuracy import accuracy_matrices, task_accuracies, training_time, width_study
from hibnn.report.figures.incremental import incremental_figure
from hibnn.report.figures.pruning import depth_study, pruning_curves
from hibnn.report.figures.sizes import held_out_curves
from hibnn.report.figures.structure import (
    active_neurons_by_layer,
    active_neurons_by_task,
    alpha_and_masks,
    inferred_structure,
    mask_matrices,
)
from hibnn.report.figures.uncertainty import entropy_histograms, reliability_diagram
from hibnn.report.style import save_figure

__all__ = [
    "accuracy_matrices",
    "active_neurons_by_layer",
    "active_neurons_by_task",
    "alpha_and_masks",
    "depth_study",
    "entropy_histograms",
    "held_out_curves",
    "incremental_figure",
    "inferred_structure",
    "mask_matrices",
    "pruning_curves",
    "reliability_diagram",
    "save_figure",
    "task_accuracies",
    "training_time",
    "width_study",
]
