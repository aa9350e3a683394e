"""Which task an example belongs to, when nobody says: one function, so that another rule can take its place.

    p(t | x)  proportional to  exp(-score_t(x) / temperature)

The score of a classifier's task is its predictive entropy as a share of the largest possible, log of the number of its
classes: a head that knows the example is sure of its answer. The score of a regressor's task is the logarithm of the
standard deviation that its posterior adds.
"""

from jaxtyping import Float
from torch import Tensor

TEMPERATURE = 0.1


def task_probabilities(scores: Float[Tensor, "tasks rows"]) -> Float[Tensor, "tasks rows"]:
    """How probable each task is for each example; they sum to one over the tasks."""
    return (-scores / TEMPERATURE).softmax(0)
