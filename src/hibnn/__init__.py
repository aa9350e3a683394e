"""Neural networks that size themselves: Bayesian continual learning with Indian Buffet Process priors."""

__version__ = "0.1.0"
