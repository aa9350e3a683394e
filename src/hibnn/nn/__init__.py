"""Layers, networks and likelihoods: what learners (`hibnn.learners`) train and estimators predict with.

They know of heads, but nothing of data sets, benchmarks or runs.
"""
