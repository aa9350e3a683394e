"""Looking runs up: records of run folders, an index over many of them, filters, groups over seeds.

Nothing here needs torch, so that an answer does not wait for it.
"""

from hibnn.lookup.index import results

__all__ = ["results"]
