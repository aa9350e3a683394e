"""Files of every kind we write or read ourselves: atomic writes, JSON, TOML, tensors with metadata."""
