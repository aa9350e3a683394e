"""Every table and figure of the paper from nothing: what must be run (`catalogue`), what is recorded (`records`), the rest.

`hibnn reproduce` runs what is missing and adds a line a run to `paper/records`; tables, figures and verdicts are made of
these lines alone. Nothing is imported here, so that reading records does not load torch.
"""
