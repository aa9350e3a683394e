"""How good a model is: evaluation on test sets, metrics of the accuracy matrix, what seeds can say, pruning."""
