"""Densities, reparameterised samplers and KL divergences of the distributions that the models are built from.

Plain functions of tensors: `hibnn.nn.layers` and `hibnn.factorisation` call them, and nothing here knows of networks.
Samplers take the generator they draw from. Divergences are elementwise and the caller sums; functions named `total_...`
give the sum and its gradient at once, for training steps in which per-op overhead dominates.
"""
