"""Layers: Bayesian linear maps, and the buffets that decide which of their neurons are in use."""
