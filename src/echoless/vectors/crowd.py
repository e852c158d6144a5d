"""What counts as a crowd; numbers only, so that nothing has to be loaded for them."""

from __future__ import annotations

from typing import Final

DENSE: Final = 0.9
"""Similarity from which a partner may be one of a crowd that says the same."""

SEEN_ENOUGH: Final = 1_000
"""Partners in a crowd a memory is compared with, in the order of survival, before the search for
closer ones ends: enough to see that it is a crowd, and what keeps the work linear."""
