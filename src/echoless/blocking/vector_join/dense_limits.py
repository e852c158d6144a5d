"""Limits for crowds, which are many memories that say the same; this module loads nothing."""

from __future__ import annotations

from typing import Final

DENSE: Final = 0.9
"""Similarity from which a partner may belong to a crowd."""

SEEN_ENOUGH: Final = 1_000
"""Partners in a crowd that a memory is compared with, in the order of survival, before the search
for closer ones ends: enough to see that it is a crowd, and what keeps the work linear."""
