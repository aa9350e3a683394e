"""CSV, Parquet and NPZ files as a sequence of record batches, so that a file need not fit into memory.

A CSV file may be compressed (.csv.gz); `dialect` finds how it separates columns and writes decimals. Its dates are left
as words, which `columns` reads. An NPZ file holds arrays `X` (rows, columns) and `y`; its columns are named x0, x1, ...
and y. It is read whole, and never unpickled. `table_model` reads everything through `TableFile.batches`;
what can be wrong with a file becomes a sentence here.
"""

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hibnn.errors import UserError
from hibnn.estimators.tables.columns import as_numbers, is_truth
from hibnn.estimators.tables.dialect import GAP_WORDS, Dialect, find_dialect
from hibnn.files.arrays import index_columns

BLOCK_BYTES = 1 << 22
"""Of a CSV file, parsed at once."""
MOST_ROWS, MOST_NUMBERS = 50_000, 8_000_000
"""Rows of a file, and numbers in them, that are held in memory at once."""
FEWEST_ROWS = 100
KEPT = "\0kept "
"""Before the name of a column that is given as the file has it."""
ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".npz": "npz"}


@dataclass(frozen=True)
class TableFile:
    """A file of a kind that is understood; `text` and `numbers` are columns whose type is known already.

    `labels` is a column that a CSV file gives as words, none of which means a missing value. Columns that are not
    among `only` are left out, unless it is empty. Those among `kept` are there once more, as the file has them, under a
    name that begins with `KEPT`.
    """

    path: Path
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    labels: str | None = None
    only: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dialect: Dialect | None = None
    """found in the file, unless given"""

    @property
    def spelt(self) -> bool:
        """Whether the file spells numbers as words, so that their type has to be found."""
        return kind_of(self.path) == "csv"

    @cached_property
    def form(self) -> Dialect:
        """How the file separates columns and writes decimals."""
        if not self.spelt:
            return Dialect()
        return find_dialect(self.path) if self.dialect is None else self.dialect

    @property
    def names(self) -> list[str]:
        """The names of its columns; the index of a data frame is one only if it is kept."""
        need_pyarrow()
        from pyarrow import parquet

        with readable(self.path):
            kind = kind_of(self.path)
            if kind == "csv":
                return csv_schema(self.path, self.form).names
            if kind == "npz":
                return npz_batch(self.path).schema.names
            schema = parquet.read_schema(self.path)
            index = index_columns(schema)
            return [name for name in schema.names if name not in index or name in self.kept]

    def batches(self, rows: int) -> Iterator[Any]:
        """Arrow tables of at most `rows` rows each, in the file's order."""
        arrow = need_pyarrow()
        with readable(self.path):
            pieces: list[Any] = []
            count = 0
            names = self.names
            check_names(self.path, names)
            wanted = [name for name in names if not self.only or name in self.only or name in self.kept]
            # readers choose where to cut; experiences are cut again, so that they depend on `rows` alone
            for batch in self._pieces(wanted, rows):
                while batch.num_rows:
                    piece = batch.slice(0, rows - count)
                    pieces.append(piece)
                    count += piece.num_rows
                    batch = batch.slice(piece.num_rows)
                    if count == rows:
                        yield arrow.Table.from_batches(pieces)
                        pieces, count = [], 0
            if pieces:
                yield arrow.Table.from_batches(pieces)

    def _pieces(self, columns: list[str], rows: int) -> Iterator[Any]:
        """Record batches as the reader of this kind of file gives them, of any size."""
        if self.spelt:
            return self._csv(columns)
        if kind_of(self.path) == "parquet":
            return self._parquet(columns, rows)
        return iter([self._with_kept(npz_batch(self.path).select(columns))])

    def _with_kept(self, batch: Any) -> Any:
        for name in self.kept:
            batch = batch.append_column(KEPT + name, batch[name])
        return batch

    def _parquet(self, columns: list[str], rows: int) -> Iterator[Any]:
        """Batches of one row group after another: an iterator over all groups reads ahead without bound."""
        from pyarrow import parquet

        with parquet.ParquetFile(self.path, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False):
                    yield self._with_kept(batch)

    def _csv(self, columns: list[str]) -> Iterator[Any]:
        """Blocks of lines, typed by the first block and by what the model knows of the columns."""
        from pyarrow import csv

        # words that mean a missing value are looked for afterwards: they may be labels
        form = self.form
        convert = csv_cells(column_types=self._types(columns), include_columns=columns, decimal_point=form.decimal)
        with csv.open_csv(self.path, csv_blocks(), csv_parsing(form), convert) as reader:
            for batch in reader:
                batch = with_gaps(self._with_kept(batch), self.labels)
                yield as_known(batch, [name for name in self.kept if name in self.numbers], form.decimal)

    def _types(self, columns: list[str]) -> dict[str, Any]:
        """The types of columns that the first block does not tell."""
        import pyarrow
        from pyarrow import types

        schema = [field for field in csv_schema(self.path, self.form) if field.name in columns]
        found: dict[str, Any] = {}
        for field in schema:
            kind, known = field.type, field.name in self.numbers
            if field.name in self.text or field.name == self.labels or field.name in self.kept:
                found[field.name] = pyarrow.string()
            # whole numbers are read as real ones: the first block may not show that others follow
            elif types.is_integer(kind) or (known and not types.is_boolean(kind) and not types.is_null(kind)):
                found[field.name] = pyarrow.float64()
            elif types.is_temporal(kind):
                found[field.name] = pyarrow.string()
        late = [field.name for field in schema if types.is_null(field.type) and field.name not in found]
        return found | late_types(self.path, self.form, late)


def kind_of(path: Path) -> str:
    """What a file's name says it is."""
    name = path.name.lower()
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise UserError(f"{path} is of no known kind: give a .csv, .csv.gz, .parquet or .npz file.")


def csv_blocks() -> Any:
    """How CSV files are cut."""
    from pyarrow import csv

    return csv.ReadOptions(block_size=BLOCK_BYTES)


def csv_parsing(form: Dialect) -> Any:
    """How they are split into cells; a quoted cell may have several lines, wherever a block ends."""
    from pyarrow import csv

    return csv.ParseOptions(delimiter=form.separator, newlines_in_values=True)


def csv_cells(**options: Any) -> Any:
    """How cells become values."""
    from pyarrow import csv

    return csv.ConvertOptions(null_values=GAP_WORDS, **options)


def csv_schema(path: Path, form: Dialect) -> Any:
    """The columns of a CSV file, with the types that its first block suggests."""
    from pyarrow import csv

    with csv.open_csv(path, csv_blocks(), csv_parsing(form), csv_cells(decimal_point=form.decimal)) as first:
        return first.schema


def late_types(path: Path, form: Dialect, names: list[str]) -> dict[str, Any]:
    """Types of columns that are empty in the first block, found in the whole file: words, unless they spell others."""
    import pyarrow
    from pyarrow import csv

    possible = {name: [pyarrow.float64(), pyarrow.bool_()] for name in names}
    if names:
        strings = dict.fromkeys(names, pyarrow.string())
        convert = csv_cells(column_types=strings, include_columns=names, strings_can_be_null=True)
        with csv.open_csv(path, csv_blocks(), csv_parsing(form), convert) as reader:
            for batch in reader:
                for name in names:
                    possible[name] = [kind for kind in possible[name] if spells(batch[name], kind, form.decimal)]
    return {name: kinds[0] if kinds else pyarrow.string() for name, kinds in possible.items()}


def spells(words: Any, kind: Any, decimal: str) -> bool:
    """Whether all words that are there are numbers, or truth values."""
    import pyarrow

    if kind == pyarrow.bool_():
        return words.null_count == len(words) or is_truth(words.unique())
    try:
        plain_words(words, decimal).cast(kind)
    except pyarrow.ArrowInvalid:
        return False
    return True


def plain_words(words: Any, decimal: str) -> Any:
    """Spelt numbers with a decimal point, without the spaces around them, which the reader of numbers ignores too."""
    import pyarrow
    from pyarrow import compute

    options = compute.ReplaceSubstringOptions(decimal, ".")
    trimmed = compute.call_function("utf8_trim_whitespace", [words.cast(pyarrow.string())])
    return trimmed if decimal == "." else compute.call_function("replace_substring", [trimmed], options)


def as_known(batch: Any, names: Sequence[str], decimal: str) -> Any:
    """The batch with these columns of words as numbers; a column that holds others is left for `columns` to refuse."""
    import pyarrow

    for name in names:
        try:
            numbers = pyarrow.array(as_numbers(plain_words(batch[name], decimal)), from_pandas=True)
        except ValueError:
            continue
        batch = batch.set_column(batch.schema.get_field_index(name), name, numbers)
    return batch


def with_gaps(batch: Any, labels: str | None) -> Any:
    """The batch with words that mean a missing value taken out, except in the column of labels."""
    from pyarrow import types

    for number, field in enumerate(batch.schema):
        if types.is_string(field.type) and field.name != labels and not field.name.startswith(KEPT):
            batch = batch.set_column(number, field, without_gaps(batch[number]))
    return batch


def without_gaps(words: Any) -> Any:
    """Words, of which those that mean a missing value are taken out."""
    import pyarrow
    from pyarrow import compute

    gaps = compute.call_function("is_in", [words], compute.SetLookupOptions(pyarrow.array(GAP_WORDS)))
    return compute.call_function("if_else", [gaps, pyarrow.scalar(None, pyarrow.string()), words])


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
        raise UserError(f"{path} cannot be read as {kind_of(path)} ({first}).") from None
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


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise UserError(f"{path} has several columns called {name!r}: rename them.")


def rows_in_memory(columns: int) -> int:
    """How many rows are held at once: 50,000, fewer with more than 160 encoded columns, but never under 100."""
    return max(FEWEST_ROWS, min(MOST_ROWS, MOST_NUMBERS // columns))
