"""Tables: values made from results, written as Markdown, LaTeX or CSV."""

from hibnn.report.tables.averages import percent
from hibnn.report.tables.comparison import COMPARISONS, Comparison, comparison_table
from hibnn.report.tables.published import published, published_text
from hibnn.report.tables.table import WRITERS, Table, comma_separated, latex, markdown

__all__ = [
    "COMPARISONS",
    "WRITERS",
    "Comparison",
    "Table",
    "comma_separated",
    "comparison_table",
    "latex",
    "markdown",
    "percent",
    "published",
    "published_text",
]
