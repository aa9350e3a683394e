"""The paper's numbers: `published.csv` holds every number of its tables, one a line."""

import csv
from functools import cache
from importlib.resources import files

TABLES = {
    "mnist": "MNIST and its variants",
    "difficulty": "Tasks of increasing difficulty",
    "den": "DEN with and without time stamps",
    "bscl": "BSCL and IBNN",
}
"""The paper's tables of accuracies by their names in the file, and what they are about."""
Place = tuple[str, str, str]
"""Data set, scenario and method of a number."""


@cache
def published(table: str) -> dict[Place, dict[str, str]]:
    """A table of the paper: mnist (Table 1), difficulty, den, bscl or sizes; quantities by place, as printed there."""
    found: dict[Place, dict[str, str]] = {}
    with files("hibnn.report.tables").joinpath("published.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["table"] == table:
                place = (line["dataset"], line["scenario"], line["method"])
                found.setdefault(place, {})[line["quantity"]] = line["value"]
    return found


def published_methods(table: str) -> list[str]:
    """The methods of a table, in the paper's order."""
    return list(dict.fromkeys(method for *_, method in published(table)))


def published_text(table: str, dataset: str, scenario: str, method: str) -> str:
    """A cell as the paper prints it: mean ± standard error, or median (maximum, minimum); "-" where it has none."""
    cell = published(table).get((dataset, scenario, method))
    if cell is None:
        return "-"
    if "mean" in cell:
        return f"{cell['mean']} ± {cell['standard error']}"
    return f"{cell['median']} ({cell['maximum']}, {cell['minimum']})"


def published_at(dataset: str, scenario: str, method: str) -> tuple[dict[str, str] | None, str]:
    """The paper's number for a place, from the first of its tables that has it, with the way it is printed."""
    for table in TABLES:
        cell = published(table).get((dataset, scenario, method))
        if cell is not None:
            return cell, published_text(table, dataset, scenario, method)
    return None, "-"
