"""Cells of CSV files, which spreadsheets open too: answers of `hibnn predict`, tables of the report."""

from typing import Any


def harmless(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a quote before words that begin like one, but not numbers."""
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
