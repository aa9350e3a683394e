"""Values, samplers and divergences of the distributions the models are built from, as plain functions."""
