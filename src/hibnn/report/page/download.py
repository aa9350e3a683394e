"""All results of a page as CSV, inside the page: a link that needs neither a server nor the script.

A row is a setting, as in the page's table, with numbers in full: shares are fractions, times seconds.
"""

import csv
import io
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from hibnn.files.spreadsheets import harmless
from hibnn.report.names import shown_method, widths_text
from hibnn.report.page.groups import neurons
from hibnn.runs.groups import Group

NUMBERS = {
    "accuracy": "acc",
    "forgetting": "forgetting",
    "tasks_inferred": "task_inference_accuracy",
    "ece": "ece",
    "log_loss": "nll",
    "numbers_kept": "parameters",
    "bytes_kept": "bytes",
    "seconds": "seconds",
}
"""Columns of means over seeds, and the metrics they hold."""


def results_csv(groups: Sequence[Group]) -> str:
    """A header and a row for each setting; what was not measured is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(_row(groups[0])) if groups else ["benchmark"], lineterminator="\r\n")
    writer.writeheader()
    for group in groups:
        writer.writerow({name: harmless(value) for name, value in _row(group).items()})
    return text.getvalue()


def data_link(text: str) -> str:
    """The address that holds the file itself."""
    return "data:text/csv;charset=utf-8," + quote(text, safe="", errors="replace")


def _row(group: Group) -> dict[str, Any]:
    counted = None if group.read_out else neurons(group)
    return {
        "benchmark": group.dataset,
        "scenario": group.scenario,
        "method": shown_method(group),
        "setting": group.variant,
        "widths": widths_text(group.widths),
        "granularity": group.granularity,
        "task_inference": group.config.get("task_inference"),
        "evaluated_on": group.evaluated_on,
        "seeds": len(group.finished),
        "unfinished": len(group.waiting),
        "accuracy_standard_error": group.error("acc"),
        **{name: group.mean(metric) for name, metric in NUMBERS.items()},
        "neurons": None if counted is None else counted[-1],
    }
