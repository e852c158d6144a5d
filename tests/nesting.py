"""Nesting that is a little too deep for the JSON parser of this Python, and no deeper than needed.

So a guard against it is tested at its bound, with what other parsers read or refuse.
"""

from __future__ import annotations

import json
from typing import Final


def _least() -> int:
    depth = 1_100  # Python 3.11 has a bound of 1,000
    while True:
        try:
            json.loads("[" * depth + "]" * depth)
        except RecursionError:
            return depth
        depth *= 2


DEPTH: Final = _least()
OPENED: Final = "[" * DEPTH
CLOSED: Final = "]" * DEPTH
