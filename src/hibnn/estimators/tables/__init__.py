"""Tables of one's own: what `hibnn fit` and `hibnn predict` do with CSV, Parquet and NPZ files.

`reading` gives a file as pieces of bounded size, `encoding` turns their columns into numbers, and `table_model` teaches
an estimator with them. pyarrow is an optional dependency, so it is imported where it is used.
"""
