"""Layers, networks and likelihoods; they know nothing of tasks, benchmarks or runs."""
