"""Tables: values made from results, written as Markdown, LaTeX or CSV."""

from hibnn.report.tables.averages import Result, group, markdown, percent, results_below

__all__ = ["Result", "group", "markdown", "percent", "results_below"]
