"""Files that the package writes and reads back: atomic writes, JSON, TOML, tensors with metadata.

The cache of data sets, runs and saved estimators go through these; nothing is pickled.
"""
