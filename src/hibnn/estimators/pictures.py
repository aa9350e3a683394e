"""A model as a picture: how probable each neuron of each layer is to be in use."""

from matplotlib.figure import Figure

from hibnn.estimators.common import ContinualEstimator
from hibnn.learners.sequential_bayes import SequentialBayes
from hibnn.nn.networks.ensemble import expected_masks


def model_figure(estimator: ContinualEstimator) -> Figure:
    """E[pi] of the neurons, a panel a layer, in the order of their sticks."""
    learner = estimator.model_.learner
    layers = expected_masks(learner.bayesian) if isinstance(learner, SequentialBayes) else []
    figure = Figure(figsize=(6, 2.2 * max(1, len(layers))), layout="constrained")
    for number, pi in enumerate(layers):
        axis = figure.add_subplot(len(layers), 1, number + 1)
        axis.bar(range(1, len(pi) + 1), pi.tolist(), width=1.0)
        axis.set(xlabel="neuron", ylabel="probability", ylim=(0, 1))
        axis.set_title(f"layer {number + 1}: {float(pi.sum()):.0f} of {len(pi)} neurons in use", fontsize=10)
    return figure
