"""CSV, Parquet and NPZ files as a sequence of record batches, so that a file need not fit into memory.

An NPZ file holds arrays `X` (rows, columns) and `y`; its columns are named x0, x1, ... and y. It is read whole,
and never unpickled. `table_model` reads everything through `TableFile.batches`; what can be wrong with a file becomes a
sentence here.
"""

import zipfile
import zlib
from collections import Counter
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
FEWEST_ROWS = 100


@dataclass(frozen=True)
class TableFile:
    """A file of a kind that is understood; `text` and `numbers` are columns whose type is known already.

    `labels` is a column that a CSV file gives as words, none of which means a missing value. Columns that are not
    among `only` are left out, unless it is empty.
    """

    path: Path
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    labels: str | None = None
    only: tuple[str, ...] = ()

    @property
    def spelt(self) -> bool:
        """Whether the file spells numbers as words, so that their type has to be found."""
        return self.path.suffix.lower() == ".csv"

    def batches(self, rows: int) -> Iterator[Any]:
        """Arrow tables of at most `rows` rows each, in the file's order."""
        arrow = need_pyarrow()
        with readable(self.path):
            kept: list[Any] = []
            count = 0
            names = column_names(self.path)
            check_names(self.path, names)
            # readers choose where to cut; experiences are cut again, so that they depend on `rows` alone
            for batch in self._pieces([name for name in names if name in self.only or not self.only], rows):
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

    def _pieces(self, columns: list[str], rows: int) -> Iterator[Any]:
        """Record batches as the reader of this kind of file gives them, of any size."""
        if self.spelt:
            return self._csv(columns)
        if self.path.suffix.lower() == ".parquet":
            return self._parquet(columns, rows)
        return iter([npz_batch(self.path).select(columns)])

    def _parquet(self, columns: list[str], rows: int) -> Iterator[Any]:
        """Batches of one row group after another: an iterator over all groups reads ahead without bound."""
        from pyarrow import parquet

        with parquet.ParquetFile(self.path, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                yield from file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)

    def _csv(self, columns: list[str]) -> Iterator[Any]:
        """Blocks of lines, typed by the first block and by what the model knows of the columns."""
        from pyarrow import csv

        # words that mean a missing value are looked for afterwards: they may be labels
        convert = csv.ConvertOptions(column_types=self._types(columns), include_columns=columns)
        with csv.open_csv(self.path, read_options=csv_blocks(), convert_options=convert) as reader:
            for batch in reader:
                yield with_gaps(batch, convert.null_values, self.labels)

    def _types(self, columns: list[str]) -> dict[str, Any]:
        """The types of columns that the first block does not tell."""
        import pyarrow
        from pyarrow import types

        schema = [field for field in csv_schema(self.path) if field.name in columns]
        found: dict[str, Any] = {}
        for field in schema:
            if field.name in self.text or field.name == self.labels:
                found[field.name] = pyarrow.string()
            # whole numbers are read as real ones: the first block may not show that others follow
            elif types.is_integer(field.type) or (field.name in self.numbers and not types.is_boolean(field.type)):
                found[field.name] = pyarrow.float64()
        late = [field.name for field in schema if types.is_null(field.type) and field.name not in found]
        return found | late_types(self.path, late)


def csv_blocks() -> Any:
    """How CSV files are cut."""
    from pyarrow import csv

    return csv.ReadOptions(block_size=BLOCK_BYTES)


def csv_schema(path: Path) -> Any:
    """The columns of a CSV file, with the types that its first block suggests."""
    from pyarrow import csv

    with csv.open_csv(path, read_options=csv_blocks()) as first:
        return first.schema


def late_types(path: Path, names: list[str]) -> dict[str, Any]:
    """Types of columns that are empty in the first block, found in the whole file: numbers, unless a word is there."""
    import pyarrow
    from pyarrow import csv

    found = dict.fromkeys(names, pyarrow.float64())
    if names:
        strings = dict.fromkeys(names, pyarrow.string())
        convert = csv.ConvertOptions(column_types=strings, include_columns=names, strings_can_be_null=True)
        with csv.open_csv(path, read_options=csv_blocks(), convert_options=convert) as reader:
            for batch in reader:
                found |= {name: pyarrow.string() for name in names if not spells_numbers(batch[name])}
    return found


def spells_numbers(words: Any) -> bool:
    """Whether all words are numbers."""
    import pyarrow

    try:
        words.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return False
    return True


def with_gaps(batch: Any, gap_words: list[str], labels: str | None) -> Any:
    """The batch with words that mean a missing value taken out, except in the column of labels."""
    import pyarrow
    from pyarrow import compute, types

    for number, field in enumerate(batch.schema):
        if types.is_string(field.type) and field.name != labels:
            gaps = compute.call_function("is_in", [batch[number]], compute.SetLookupOptions(pyarrow.array(gap_words)))
            nothing = pyarrow.scalar(None, pyarrow.string())
            batch = batch.set_column(number, field, compute.call_function("if_else", [gaps, nothing, batch[number]]))
    return batch


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
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name.lower(): native(file[name]) for name in file.files if name.lower() in ("x", "y")}
    except (ValueError, EOFError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} cannot be read as npz ({error}).") from None
    x, y = arrays.get("x"), arrays.get("y")
    if x is None or x.ndim != 2 or x.dtype.kind not in "biuf":
        raise UserError(f"{path} needs an array X of numbers with rows and columns (and y, to learn from).")
    columns = {f"x{number}": column for number, column in enumerate(x.T)}
    if y is not None:
        if y.ndim != 1 or len(y) != len(x) or y.dtype.kind not in "biufU":
            raise UserError(f"{path} needs one number or word in y for each row of X.")
        columns["y"] = y
    return pyarrow.RecordBatch.from_pydict({name: pyarrow.array(values) for name, values in columns.items()})


def native(values: Any) -> Any:
    """An array of a type and byte order that pyarrow knows."""
    return values.astype(np.float64 if values.dtype.kind == "f" else values.dtype.newbyteorder("="), copy=False)


def column_names(path: Path) -> Sequence[str]:
    """The names of a file's columns."""
    need_pyarrow()
    from pyarrow import parquet

    with readable(path):
        suffix = path.suffix.lower()
        if suffix == ".csv":
            return csv_schema(path).names
        if suffix == ".parquet":
            return parquet.read_schema(path).names
        if suffix == ".npz":
            return npz_batch(path).schema.names
        raise UserError(f"{path} is of no known kind: give a .csv, .parquet or .npz file.")


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise UserError(f"{path} has several columns called {name!r}: rename them.")


def rows_in_memory(columns: int) -> int:
    """How many rows are held at once: 50,000, fewer with more than 160 encoded columns, but never under 100."""
    return max(FEWEST_ROWS, min(MOST_ROWS, MOST_NUMBERS // columns))
