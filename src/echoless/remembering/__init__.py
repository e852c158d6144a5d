"""The door of a store: what is new comes in, what is known is counted, and why is said.

`guard.py` is the door, `answers.py` what it says. `index.py` finds what a text may repeat
(`shingled.py` by its wording, `pointed.py` by its vector) and is kept between processes by
`keeping.py`; `recognising.py` knows what came out of memory itself; `ruling.py` turns verdicts into
an answer.
"""

from __future__ import annotations

from echoless.remembering.answers import (
    Admitted,
    AlreadyKnown,
    Match,
    NeedsReview,
    Remembered,
    Updates,
)
from echoless.remembering.guard import Guard, remember

__all__ = [
    "Admitted",
    "AlreadyKnown",
    "Guard",
    "Match",
    "NeedsReview",
    "Remembered",
    "Updates",
    "remember",
]
