"""Matching: what two memories are to each other.

`fields.py` reads the marks around a note, `pair_model/` scores two texts, `decision.py` weighs
scores and rules, `judge.py` gives the verdict, `explanation.py` says why. The rules themselves are
still in `echoless.judge`.
"""

from typing import Final

MOST_PAIRS: Final = 4_000
"""Pairs a run asks the model about, those remembered from earlier runs not counted. On two cores
that is some twenty seconds, once (November 2026); the next run goes on with the next pairs."""

LEFT_OUT: Final = "not put to the pair model: beyond the pairs of a run"
