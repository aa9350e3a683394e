"""A table as a value, and how it is written: Markdown, LaTeX, CSV."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LONG = 40
"""A LaTeX table of more rows may break across pages."""
SPECIAL = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "→": r"$\to$",
    "–": "--",
    "ε": r"$\epsilon$",
    "α": r"$\alpha$",
}


@dataclass(frozen=True)
class Table:
    """Rows of words under a header; `breaks` are the rows at which a new group begins."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    breaks: tuple[int, ...] = ()


def markdown(table: Table) -> str:
    """A page: title, note, and the table in pipes."""
    lines = [_pipes(table.header), "|" + "---|" * len(table.header), *(_pipes(row) for row in table.rows)]
    return f"# {table.title}\n\n{table.note}\n\n" + "\n".join(lines) + "\n"


def latex(table: Table) -> str:
    """A table with booktabs rules; a long one as a longtable."""
    columns = "l" * len(table.header)
    head = f"\\toprule\n{_ampersands(table.header)}\n\\midrule"
    body = []
    for number, row in enumerate(table.rows):
        body += ["\\midrule"] if number in table.breaks and number > 0 else []
        body.append(_ampersands(row))
    caption = f"\\caption{{{escape(table.title)}. {escape(table.note)}}}"
    inside = "\n".join(body)
    if len(table.rows) > LONG:
        return (
            f"% needs the packages booktabs and longtable\n\\begin{{longtable}}{{{columns}}}\n{caption}\\\\\n{head}\n"
            f"\\endhead\n{inside}\n\\bottomrule\n\\end{{longtable}}\n"
        )
    return (
        f"% needs the package booktabs\n\\begin{{table}}\n\\centering\n{caption}\n\\begin{{tabular}}{{{columns}}}\n"
        f"{head}\n{inside}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def comma_separated(table: Table) -> str:
    """Header and rows as CSV, with quotes where a cell needs them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.header, *table.rows])
    return text.getvalue()


WRITERS: dict[str, Callable[[Table], str]] = {"md": markdown, "tex": latex, "csv": comma_separated}


def escape(words: str) -> str:
    """Words for LaTeX: every special character means itself."""
    return "".join(SPECIAL.get(sign, sign) for sign in words)


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _ampersands(cells: Sequence[str]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"
