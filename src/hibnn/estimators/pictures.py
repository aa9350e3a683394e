"""A model as a picture: how many neurons of each layer answer for each task."""

from matplotlib.figure import Figure

from hibnn.estimators.common import ContinualEstimator
from hibnn.learners.sequential_bayes import SequentialBayes


def model_figure(estimator: ContinualEstimator) -> Figure:
    """The neurons that each task reads, a panel a layer, in the order the tasks were learned."""
    model = estimator.model_
    names = [str(task.name) for task in model.tasks]
    widths = [task_widths(model.learner, head) for head in range(len(names))]
    layers = list(zip(*widths, strict=True))
    figure = Figure(figsize=(6, 2.2 * max(1, len(layers))), layout="constrained")
    for number, counts in enumerate(layers):
        axis = figure.add_subplot(len(layers), 1, number + 1)
        bars = axis.bar(range(len(names)), counts)
        axis.bar_label(bars)
        axis.set_xticks(range(len(names)), names)
        axis.set(xlabel="task", ylabel="neurons")
        axis.set_title(f"layer {number + 1}", fontsize=10)
    return figure


def task_widths(learner: object, head: int) -> list[int]:
    """How many neurons of each layer answer for a task; none where the method has no such layers."""
    return learner.network_of(head)[0].widths if isinstance(learner, SequentialBayes) else []
