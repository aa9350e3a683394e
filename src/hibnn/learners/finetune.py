"""Fine-tuning: train on each task in turn and do nothing against forgetting. The lower bound."""

from hibnn.learners.gradient import GradientLearner
from hibnn.learners.method import GREY, Card, Look, Method
from hibnn.learners.network import NetworkOptions


class Finetune(GradientLearner):
    """Minimises the cross-entropy of the current task, from where the last one ended."""


METHOD = Method(
    "finetune",
    "trains on each task in turn; the lower bound",
    NetworkOptions,
    Finetune,
    Card("the network", "the lower bound of every comparison"),
    Look("finetune", GREY, ":", "1", "**"),
    prefers_single_head=True,
    bound=True,
)
