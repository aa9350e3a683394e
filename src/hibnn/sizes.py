"""Sizes in bytes, as people write them: 784, 2MB, 1.5 MiB."""

import re

from hibnn.errors import UserError

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_bytes(label: str, text: str) -> int:
    """How many bytes a text such as "2MB" means; a unit must be given, because a bare number may count other things."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*", text)
    if found is None or found[2].upper() not in UNITS:
        raise UserError(f"{label} is a size such as 500kB, 2MB or 1.5MiB, not '{text}'.")
    return round(float(found[1]) * UNITS[found[2].upper()])


def format_bytes(count: float) -> str:
    """A size for people, in decimal units: 784 B, 12.3 kB, 8.55 MB."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"
