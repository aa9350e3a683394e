"""The paper's numbers: `published.csv` holds every number of its tables, one a line."""

import csv
from functools import cache
from importlib.resources import files

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


def published_text(table: str, dataset: str, scenario: str, method: str) -> str:
    """A cell as the paper prints it: mean ± standard error, or median (maximum, minimum); "-" where it has none."""
    cell = published(table).get((dataset, scenario, method))
    if cell is None:
        return "-"
    if "mean" in cell:
        return f"{cell['mean']} ± {cell['standard error']}"
    return f"{cell['median']} ({cell['maximum']}, {cell['minimum']})"
