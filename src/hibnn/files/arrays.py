"""Tables of numbers with one column of labels, from CSV, NPZ and Parquet files.

Only Parquet needs pyarrow. An NPZ file holds arrays `x` (rows, columns) and `y`; nothing is ever unpickled.
"""

import csv
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hibnn.errors import UserError

LARGEST = 4 << 30
"""Bytes of a file."""


@dataclass(frozen=True)
class Table:
    """Rows of a file: the names of its columns, their numbers, and a label a row."""

    columns: tuple[str, ...]
    x: NDArray[Any]
    y: NDArray[Any]


def read_table(path: Path, target: str | None) -> Table:
    """A file with its labels, which in CSV and Parquet are the column `target`."""
    readers: dict[str, Callable[[Path, str | None], Table]] = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise UserError(f"{path} is of no known kind: give a .csv, .parquet or .npz file.")
    if not path.is_file():
        raise UserError(f"there is no file {path}.")
    if path.stat().st_size == 0:
        raise UserError(f"{path} is empty: give a file with rows.")
    if path.stat().st_size > LARGEST:
        raise UserError(f"{path} is larger than {LARGEST >> 30} GB, and tasks are held in memory: use a part of it.")
    try:
        table = readers[path.suffix.lower()](path, target)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read ({error}).") from None
    if not len(table.y):
        raise UserError(f"{path} has no rows.")
    return table


def _csv(path: Path, target: str | None) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        empty = next(rows, None) is None
    place = _place(path, header, target)
    if empty:
        raise UserError(f"{path} has no rows.")
    others = [number for number in range(len(header)) if number != place]
    layout: dict[str, Any] = {"delimiter": ",", "skiprows": 1, "quotechar": '"', "comments": None, "ndmin": 2}
    try:
        x = np.loadtxt(path, np.float32, usecols=others, encoding="utf-8-sig", **layout)
        y = np.loadtxt(path, str, usecols=[place], encoding="utf-8-sig", **layout)[:, 0]
    except ValueError as error:
        found = re.search(r"could not convert string (.*) to float32 at row (\d+), column (\d+)", str(error))
        if found is None:
            raise UserError(f"{path} cannot be read as csv ({error}).") from None
        column = header[int(found[3]) - 1]
        raise _no_numbers(path, column, f"{found[1]} in row {int(found[2]) + 1}") from None
    return Table(tuple(header[number] for number in others), x, y)


def _npz(path: Path, target: str | None) -> Table:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name.lower(): file[name] for name in file.files}
    except (ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise UserError(f"{path} cannot be read as npz ({error}).") from None
    if "x" not in arrays or "y" not in arrays or arrays["x"].ndim != 2 or len(arrays["x"]) != arrays["y"].size:
        raise UserError(f"{path} needs an array x with rows and columns, and an array y with a label for each row.")
    return Table(tuple(f"x{number}" for number in range(arrays["x"].shape[1])), arrays["x"], arrays["y"].ravel())


def _parquet(path: Path, target: str | None) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError("Parquet files need pyarrow: pip install 'hibnn[tabular]'.") from None
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise UserError(f"{path} cannot be read as parquet ({str(error).splitlines()[0]}).") from None
    index = index_columns(table.schema)
    table = table.select([place for place, name in enumerate(table.column_names) if name not in index])
    place = _place(path, table.column_names, target)
    labels, others = table.column(place), table.remove_column(place)
    for field in others.schema:
        if not (pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type)):
            raise _no_numbers(path, field.name, f"values of type {field.type}")
    if labels.null_count:
        raise UserError(f"{path} has rows without a label in {target}: drop them first.")
    columns = [column.to_numpy(zero_copy_only=False).astype(np.float32) for column in others.columns]
    x = np.column_stack(columns) if columns else np.empty((len(labels), 0), np.float32)
    return Table(tuple(others.column_names), x, np.array(labels.to_pylist()))


def index_columns(schema: Any) -> list[Any]:
    """Columns of a Parquet file that were a data frame's index, and are none for `pandas.read_parquet` either."""
    try:
        return [*schema.pandas_metadata["index_columns"]]
    except (ValueError, KeyError, TypeError):  # nothing that pandas wrote
        return []


def _place(path: Path, header: list[str], target: str | None) -> int:
    if target is None:
        raise UserError(f'{path} has several columns: name the one with the labels (target = "...").')
    if target not in header:
        raise UserError(f"{path} has no column '{target}' to be the target; it has {', '.join(header)}.")
    return header.index(target)


def _no_numbers(path: Path, column: str, found: str) -> UserError:
    return UserError(f"the column {column} of {path} holds {found}, no number: encode categories as numbers first.")
