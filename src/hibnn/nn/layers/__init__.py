"""Layers: Bayesian linear maps, and the masks that decide which of their neurons or weights are in use."""
