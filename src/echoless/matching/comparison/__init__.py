"""Comparison: two texts side by side, token by token.

`alignment.py` says what is shared, what is left over on either side, and whether one text states
all of the other and only adds to it.
"""

from __future__ import annotations

from echoless.matching.comparison.alignment import Comparison, Relation, compare

__all__ = ["Comparison", "Relation", "compare"]
