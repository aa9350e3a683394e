"""Answers as a file: CSV, compressed CSV or Parquet, written piece by piece and complete or not at all.

`hibnn predict` gives pieces as columns: answers as plain values, and Arrow columns of the file to be kept, which have
their own type in Parquet. In CSV, words that a spreadsheet would compute get a quote before them, unless `raw`.
"""

import csv
import gzip
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hibnn.errors import UserError
from hibnn.files.atomic import atomic_write
from hibnn.files.spreadsheets import harmless

Piece = Mapping[str, Any]
"""Columns by name, of equal length: lists, or Arrow columns."""
ENDINGS = {".csv": "csv", ".csv.gz": "csv.gz", ".parquet": "parquet"}


def output_kind(path: Path) -> str:
    """What a file's ending asks for; pipes and devices get CSV."""
    for ending, kind in ENDINGS.items():
        if path.name.lower().endswith(ending):
            return kind
    if str(path).startswith(("/dev/", "/proc/self/fd/")) or (path.exists() and not path.is_file()):
        return "csv"
    raise UserError(f"{path} has no known ending: name a .csv, .csv.gz or .parquet file.")


def write_pieces(path: Path, pieces: Iterable[Piece], raw: bool) -> None:
    """Write all pieces; an error in one of them leaves no file."""
    writers = {"csv": _csv_writer, "csv.gz": _csv_writer, "parquet": _parquet_writer}
    with atomic_write(path) as temporary, ExitStack() as stack:
        kind = output_kind(path)
        write = writers[kind](temporary, kind, raw, stack)
        for piece in pieces:
            write(piece)


def _csv_writer(path: Path, kind: str, raw: bool, stack: ExitStack) -> Callable[[Piece], None]:
    opener = gzip.open if kind == "csv.gz" else open
    writer = csv.writer(stack.enter_context(opener(path, "wt", newline="", encoding="utf-8")))
    begun = False

    def write(piece: Piece) -> None:
        nonlocal begun
        cell = (lambda value: value) if raw else harmless
        columns = [values if isinstance(values, list) else values.to_pylist() for values in piece.values()]
        if not begun:
            writer.writerow(map(cell, piece))
        writer.writerows(map(cell, row) for row in zip(*columns, strict=True))
        begun = True

    return write


def _parquet_writer(path: Path, _kind: str, _raw: bool, stack: ExitStack) -> Callable[[Piece], None]:
    import pyarrow
    from pyarrow import parquet

    writer: Any = None

    def write(piece: Piece) -> None:
        nonlocal writer
        table = pyarrow.table(dict(piece))
        if writer is None:
            writer = stack.enter_context(parquet.ParquetWriter(path, table.schema))
        writer.write_table(table.cast(writer.schema))

    return write
