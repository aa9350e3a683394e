"""Weight pruning: how much of a Bayesian network can be taken away before it errs."""

from hibnn.evaluation.pruning.curve import GRID, Curve, pruning_curve
from hibnn.evaluation.pruning.ranking import Ranking, weight_layers
from hibnn.evaluation.pruning.removal import Removal

__all__ = ["GRID", "Curve", "Ranking", "Removal", "pruning_curve", "weight_layers"]
