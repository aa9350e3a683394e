"""Tables from Python as Arrow tables: pandas, polars and everything else that speaks Arrow, dictionaries, arrays.

`encoding.TableEncoder` reads all its inputs through `as_table`; the estimators ask `is_table` whether an input has
named columns, or is an array and theirs to check. An array's columns are called x0, x1, ..., as those of an NPZ file.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from hibnn.errors import UserError
from hibnn.estimators.tables.reading import need_pyarrow

ARRAYS: dict[str, Any] = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": 0}


def is_table(values: Any) -> bool:
    """Whether these are named columns; without pyarrow, numbers in a data frame are left to scikit-learn."""
    if sparse.issparse(values):  # one kind of which is a dictionary
        return False
    if isinstance(values, Mapping):
        return True
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        named = all(isinstance(name, str) for name in values.columns)
        return named and (find_spec("pyarrow") is not None or any(kind.kind not in "biuf" for kind in values.dtypes))
    # a series speaks Arrow too, and has no columns
    return hasattr(values, "__arrow_c_stream__") and (hasattr(values, "columns") or hasattr(values, "column_names"))


def as_table(values: Any, names: Sequence[str] | None = None) -> Any:
    """An Arrow table; `names` are those of an array's columns."""
    arrow = need_pyarrow()
    try:
        table = _table(arrow, values, names)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError) as error:
        said = ", ".join(str(word) for word in error.args)
        raise UserError(f"the table cannot be read ({said}): use one kind of values in each column.") from None
    name, count = Counter(table.column_names).most_common(1)[0] if table.num_columns else ("", 0)
    if count > 1:
        raise UserError(f"the table has several columns called {name!r}: rename them.")
    return table


def _table(arrow: Any, values: Any, names: Sequence[str] | None) -> Any:
    if isinstance(values, arrow.Table):
        return values
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        return arrow.Table.from_pandas(values.rename(columns=str), preserve_index=False).replace_schema_metadata()
    if isinstance(values, Mapping) and not sparse.issparse(values):
        return arrow.table({str(name): column_of(arrow, column) for name, column in values.items()})
    if hasattr(values, "__arrow_c_stream__"):
        return without_views(arrow, arrow.table(values))
    array = check_array(values, **ARRAYS)
    names = [f"x{number}" for number in range(array.shape[1])] if names is None else names
    if len(names) != array.shape[1]:
        raise UserError(
            f"X has {array.shape[1]} features, but TableEncoder is expecting {len(names)} features as input."
        )
    return arrow.table({name: column_of(arrow, column) for name, column in zip(names, array.T, strict=True)})


def without_views(arrow: Any, table: Any) -> Any:
    """The table with words as Arrow's functions know them; polars gives a form that few of them do."""
    for number, field in enumerate(table.schema):
        if arrow.types.is_string_view(field.type):
            table = table.set_column(number, field.name, table[number].cast(arrow.string()))
    return table


def column_of(arrow: Any, values: Any) -> Any:
    """A list or an array as an Arrow column; NaN among words is a missing word."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "OUT":
        values = [None if isinstance(value, float) and np.isnan(value) else value for value in values.tolist()]
    return arrow.array(values, from_pandas=True)
