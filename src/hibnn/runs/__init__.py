"""One run: what it is (`experiment`), carrying it out (`run`, `trainer`), its folder, and reading it back (`record`).

Nothing is imported here, so that reading run folders does not load torch.
"""
