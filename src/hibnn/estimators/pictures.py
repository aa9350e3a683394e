"""A model as a picture: how many neurons of each layer answer for each task."""

from matplotlib.figure import Figure

from hibnn.estimators.common import ContinualEstimator
from hibnn.estimators.model import Model
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.neurons import layer_neurons


def model_figure(estimator: ContinualEstimator) -> Figure:
    """The neurons that each task reads, a panel a layer, in the order the tasks were learned."""
    model = estimator.model_
    names = [str(task.name) for task in model.tasks]
    layers = list(zip(*(task_neurons(model, head) for head in range(len(names))), strict=True))
    figure = Figure(figsize=(6, 2.2 * max(1, len(layers))), layout="constrained")
    for number, counts in enumerate(layers):
        axis = figure.add_subplot(len(layers), 1, number + 1)
        bars = axis.bar(range(len(names)), counts)
        axis.bar_label(bars, fmt="%.0f")
        axis.set_xticks(range(len(names)), names)
        axis.set(xlabel="task", ylabel="neurons")
        axis.set_title(f"layer {number + 1}", fontsize=10)
    return figure


def task_neurons(model: Model, head: int) -> list[float]:
    """How many neurons of each layer answer for a task, counted as `n_active_` counts them for all tasks."""
    learner = model.learner
    if not isinstance(learner, SequentialBayes):
        return layer_neurons(learner.active_units(), model.options.widths)
    means = learner.neurons.expected_masks(head)
    active = None if means is None else [float(layer.sum()) for layer in means]
    return layer_neurons(active, learner.network_of(head)[0].widths)
