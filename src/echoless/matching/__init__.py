"""Matching: what two memories are to each other.

`values/` cuts a text into typed values and words, `facts/` keeps what one text says,
`comparison.py` lays two texts side by side, `rules.py` names what they differ in, `rule_judge.py`
decides by that alone. `pair_model/` scores two texts, `decision.py` weighs scores and rules,
`judge.py` gives the verdict of the road, `explanation.py` says why. `batch/` judges many pairs.
"""

from typing import Final

MOST_PAIRS: Final = 4_000
"""Pairs of one namespace that may be merged and that a run asks the pair model about, the likeliest
first. On two cores that is some twenty seconds, once: the scores are cached (November 2026)."""
