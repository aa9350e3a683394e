"""Tables of one's own, from Python and from CSV, Parquet and NPZ files.

`frames` (data frames) and `reading` (files, in pieces of bounded size; `dialect` for CSV) give Arrow tables. `encoding`
has the `TableEncoder`, which turns their columns into numbers: `learning` finds the rules, `columns` and `dates` apply
them, `graph` writes them as ONNX. `table_model` teaches an estimator with files; `writing` and `scores` serve answers.
pyarrow is an optional dependency, so it is imported where it is used.
"""
