"""Which judge this is: a digest of all that its verdicts are made with."""

from __future__ import annotations

from functools import cache

import rapidfuzz

from echoless.sources import digest_of


@cache
def edition() -> str:
    """Names source, lexicons, weights, and the libraries that read letters.

    Another edition may give another verdict, so none is taken over from it.
    """
    made = digest_of("judge", "text.py", "times.py", "model.py", "vectors/scale.py")
    return f"{made} {rapidfuzz.__version__}"
