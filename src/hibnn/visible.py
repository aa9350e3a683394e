"""Words from files and arguments as a terminal may see them: whatever prints names and reasons does it through this."""

import re

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move the cursor, colour, reverse or break what is printed, and bytes of names that are no text."""


def visible(words: object) -> str:
    """Words with control characters written out, as in `\\x1b`; rich must get them with `markup=False` or as Text."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), str(words))
