"""Matching: what two memories are to each other.

`values/` cuts a text into typed values and words, `facts/` keeps what one text says,
`comparison.py` lays two texts side by side, `rules.py` names what they differ in, `rule_judge.py`
decides by that alone. `pair_model/` scores two texts, `decision.py` weighs scores and rules,
`judge.py` gives the verdict of the road, `explanation.py` says why. `batch/` judges many pairs.
"""

from typing import Final

MOST_PAIRS: Final = 4_000
"""Pairs of one namespace that may be merged and that a run asks the model about, those remembered
from earlier runs not counted. On two cores that is some twenty seconds, once (November 2026); the
next run goes on with the next pairs."""

LEFT_OUT: Final = "not put to the pair model: beyond the pairs of a run"
"""Counts pairs with which the next run goes on."""

VALUES_APART: Final = "not put to the pair model: other values, and no conflict by the rules"
"""Counts pairs that cannot be merged and are unlikely to conflict; no run asks about them."""
