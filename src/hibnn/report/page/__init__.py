"""The report as one page of HTML: runs in, a self-contained file out."""

from hibnn.report.page.render import page_of, write_page

__all__ = ["page_of", "write_page"]
