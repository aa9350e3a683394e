"""Every table and figure of the paper from nothing: the runs they need (`catalogue`), and what is recorded (`records`).

`hibnn reproduce` runs what is missing and adds a line a run to `paper/records`; tables, figures and verdicts are made
of these lines alone. Nothing is imported here, so that reading records does not load torch.
"""
