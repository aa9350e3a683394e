"""How a CSV file separates its columns and writes its decimals, found in its first lines, and its words for a gap.

Semicolons and decimal commas are what spreadsheets write in half of the world. `reading` asks here for every CSV file,
unless the command line says `--separator` and `--decimal`; `Dialect.sentence` tells the user what was found.
"""

import csv
import gzip
import io
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from hibnn.errors import UserError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
GAP_WORDS = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip
"""What `pandas.read_csv` takes for a missing value, so that a model sees the same in a file and in a data frame."""
HEAD_BYTES = 1 << 16
COMMA, POINT = re.compile(r"\s*[+-]?\d*,\d+\s*"), re.compile(r"\s*[+-]?\d*\.\d+\s*")


@dataclass(frozen=True)
class Dialect:
    """What stands between columns, and before decimals."""

    separator: str = ","
    decimal: str = "."

    def sentence(self, path: Path) -> str | None:
        """What is unusual about a file, or nothing."""
        words = SEPARATORS.get(self.separator, repr(self.separator))
        if self == Dialect():
            return None
        decimals = ", decimals with a comma" if self.decimal == "," else ""
        return f"{path} is read with {words} between columns{decimals}; --separator and --decimal say otherwise."


def find_dialect(path: Path, separator: str | None = None, decimal: str | None = None) -> Dialect:
    """The dialect of a file, as far as it is not given."""
    head = read_head(path) if separator is None or decimal is None else ""
    separator = detected_separator(head) if separator is None else separator
    decimal = detected_decimal(head, separator) if decimal is None else decimal
    if separator == decimal:
        raise UserError(f"{separator!r} cannot stand between columns and before decimals: choose another --separator.")
    return Dialect(separator, decimal)


def check_separator(word: str | None) -> str | None:
    """The character that a word on the command line stands for."""
    if word is None:
        return None
    character = {"tab": "\t", "\\t": "\t"}.get(word, word)
    if len(character) != 1 or character.isalnum() or not character.isascii() or character in "\"'\n\r\0.":
        raise UserError(f"--separator is one character such as ';', or the word tab, not {word!r}.")
    return character


def read_head(path: Path) -> str:
    """The first complete lines; nothing of a file that cannot be read, which the reader will say better."""
    if not path.is_file():  # a pipe would wait for a writer
        return ""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            content = file.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return ""
    text = content.decode("utf-8-sig", errors="replace")
    return text if len(content) < HEAD_BYTES else text.rpartition("\n")[0]


def detected_separator(head: str) -> str:
    """The one that gives the header the most columns, and the first row as many; a comma where several do."""
    counts = {}
    for separator in SEPARATORS:
        header, *rows = [*rows_of(head, separator, 2), [], []][:2]
        if not rows[0] or len(rows[0]) == len(header):
            counts[separator] = len(header)
    return max(counts, key=lambda separator: counts[separator], default=",")


def detected_decimal(head: str, separator: str) -> str:
    """A comma if some cells are numbers with a comma and none with a point."""
    if separator == ",":
        return "."
    cells = [cell for row in rows_of(head, separator, 200)[1:] for cell in row]
    commas = any(COMMA.fullmatch(cell) for cell in cells)
    return "," if commas and not any(POINT.fullmatch(cell) for cell in cells) else "."


def rows_of(text: str, separator: str, most: int) -> list[list[str]]:
    """The first rows of cells, as many as can be read."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=separator):
            rows.append(row)
            if len(rows) == most:
                break
    except csv.Error:
        pass
    return rows
