"""Fine-tuning: train on each task in turn and do nothing against forgetting. The lower bound."""

from hibnn.learners.gradient import GradientLearner


class Finetune(GradientLearner):
    """Minimises the cross-entropy of the current task, from where the last one ended."""
