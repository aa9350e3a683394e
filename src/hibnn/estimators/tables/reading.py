"""CSV, Parquet and NPZ files as a sequence of record batches, so that a file need not fit into memory.

An NPZ file holds arrays `X` (rows, columns) and `y`; its columns are named x0, x1, ... and y. It is read whole,
and never unpickled. `table_model` reads everything through `TableFile.batches`; what can be wrong with a file becomes a
sentence here.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hibnn.errors import UserError

BLOCK_BYTES = 1 << 22
"""Of a CSV file, parsed at once."""
MOST_ROWS, MOST_NUMBERS = 50_000, 8_000_000
"""Rows of a file, and numbers in them, that are held in memory at once."""


@dataclass(frozen=True)
class TableFile:
    """A file of a kind that is understood; `text` and `numbers` are columns whose type is known already."""

    path: Path
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def batches(self, rows: int) -> Iterator[Any]:
        """Arrow tables of at most `rows` rows each, in the file's order."""
        arrow = need_pyarrow()
        with readable(self.path):
            kept: list[Any] = []
            count = 0
            # readers choose where to cut; experiences are cut again, so that they depend on `rows` alone
            for batch in self._pieces(rows):
                while batch.num_rows:
                    piece = batch.slice(0, rows - count)
                    kept.append(piece)
                    count += piece.num_rows
                    batch = batch.slice(piece.num_rows)
                    if count == rows:
                        yield arrow.Table.from_batches(kept)
                        kept, count = [], 0
            if kept:
                yield arrow.Table.from_batches(kept)

    def _pieces(self, rows: int) -> Iterator[Any]:
        """Record batches as the reader of this kind of file gives them, of any size."""
        suffix = self.path.suffix.lower()
        if suffix == ".csv":
            return self._csv()
        if suffix == ".parquet":
            from pyarrow import parquet

            return self._parquet(parquet, rows)
        if suffix == ".npz":
            return iter([npz_batch(self.path)])
        raise UserError(f"{self.path} is of no known kind: give a .csv, .parquet or .npz file.")

    def _parquet(self, parquet: Any, rows: int) -> Iterator[Any]:
        """Batches of one row group after another: an iterator over all groups reads ahead without bound."""
        with parquet.ParquetFile(self.path, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                yield from file.iter_batches(rows, row_groups=[group], use_threads=False)

    def _csv(self) -> Iterator[Any]:
        """Blocks of lines, typed by the first block and by what the model knows of the columns."""
        import pyarrow
        from pyarrow import csv

        options = csv.ReadOptions(block_size=BLOCK_BYTES)
        with csv.open_csv(self.path, read_options=options) as first:
            schema = first.schema
        # whole numbers are read as real ones: the first block may not show that others follow
        types = {field.name: pyarrow.float64() for field in schema if pyarrow.types.is_integer(field.type)}
        types |= {name: pyarrow.float64() for name in self.numbers} | {name: pyarrow.string() for name in self.text}
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        with csv.open_csv(self.path, read_options=options, convert_options=convert) as reader:
            yield from reader


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what can be wrong with a file into a sentence."""
    import pyarrow

    try:
        if not path.is_file():
            raise UserError(f"there is no file {path}.")
        if path.stat().st_size == 0:
            raise UserError(f"{path} is empty: give a file with a header and rows.")
        yield
    except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise UserError(f"{path} cannot be read as {path.suffix[1:]} ({first}).") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error}).") from None


def need_pyarrow() -> Any:
    """The module pyarrow, or a UserError that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise UserError("tables need pyarrow: pip install 'hibnn[tabular]'.") from None
    return pyarrow


def npz_batch(path: Path) -> Any:
    """The arrays X and y of an NPZ file as one record batch."""
    import pyarrow

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, EOFError) as error:
        raise UserError(f"{path} cannot be read as npz ({error}).") from None
    if "X" not in arrays or arrays["X"].ndim != 2:
        raise UserError(f"{path} needs an array X with rows and columns (and y, to learn from).")
    columns = {f"x{number}": column for number, column in enumerate(arrays["X"].T)}
    if "y" in arrays:
        if len(arrays["y"]) != len(arrays["X"]) or arrays["y"].ndim != 1:
            raise UserError(f"{path} needs one number in y for each row of X.")
        columns["y"] = arrays["y"]
    return pyarrow.RecordBatch.from_pydict({name: pyarrow.array(values) for name, values in columns.items()})


def column_names(path: Path) -> Sequence[str]:
    """The names of a file's columns."""
    for table in TableFile(path).batches(1):
        return table.column_names
    raise UserError(f"{path} has no rows.")


def rows_in_memory(path: Path) -> int:
    """How many rows of a file are held at once: 50,000, fewer with more than 160 columns, but never under 100."""
    return max(100, min(MOST_ROWS, MOST_NUMBERS // len(column_names(path))))
