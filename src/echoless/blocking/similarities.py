"""Figures that detectors and the write guard share.

They stand in a module of their own because the modules of the detectors load all joins, which a
process that remembers one text does not need.
"""

from __future__ import annotations

from typing import Final

DECIMALS: Final = 6
"""Cosines are rounded before they are compared or shown, so that what is shown explains what was
decided."""

LEXICAL_THRESHOLD: Final = 0.25
"""Finds 86 % of the gold pairs of the development store at 1.3 candidates for each memory, 28 % at
0.60. One step lower, 0.20, finds 90 % for twice the candidates, and their number grows with the
store: 10,000 made-up texts already give 11 for each at 0.25 (`benchmarks/results/detectors.md`)."""

CASE_KEPT: Final = 1.0
"""Similarity of two texts whose normal forms are equal with their case kept."""

CASE_FOLDED: Final = 0.999
"""Similarity of two texts that are equal only once case is folded.

Below 1 so that a reader, and the judge, can tell the tiers apart: `TLS` and `tls`, or two paths
that differ in case, may be two things.
"""


DENSE: Final = 0.9
"""Similarity from which a partner may belong to a crowd."""

SEEN_ENOUGH: Final = 1_000
"""Partners in a crowd that a memory is compared with, in the order of survival, before the search
for closer ones ends: enough to see that it is a crowd, and what keeps the work linear."""
