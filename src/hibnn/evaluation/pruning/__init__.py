"""Weight pruning: how much of a Bayesian network can be taken away before it errs."""

from hibnn.evaluation.pruning.curve import GRID, Curve, pruning_curve, sparsity
from hibnn.evaluation.pruning.ranking import Ranking, scores, weight_layers
from hibnn.evaluation.pruning.removal import Removal, kept_weights, pruned

__all__ = [
    "GRID",
    "Curve",
    "Ranking",
    "Removal",
    "kept_weights",
    "pruned",
    "pruning_curve",
    "scores",
    "sparsity",
    "weight_layers",
]
