"""Facts: what one text says, read once.

`note_wrappers.py` takes off what a note-taking program writes around a text, `word_classes.py`
tells words apart, `extraction.py` puts the typed tokens of a text together, `surface.py` reads what
stands between them.
"""

from __future__ import annotations

from echoless.matching.facts.extraction import (
    MAX_LENGTH,
    Facts,
    anchored,
    day_of,
    facts_of,
    remembered,
)

__all__ = ["MAX_LENGTH", "Facts", "anchored", "day_of", "facts_of", "remembered"]
