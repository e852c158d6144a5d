"""Who does what, in one wording with one word exchanged: does what they share still do the same?"""

from __future__ import annotations

from typing import Final

from echoless.judge.align import Alignment
from echoless.judge.facts import Facts
from echoless.judge.scan import Kind, Token
from echoless.judge.vetoes import SAME_FRAME
from echoless.model import Difference, DifferenceKind

_ROLES: Final = frozenset({Kind.NAME, Kind.WORD})


def moved_on(both: Alignment) -> Difference | None:
    """What two texts share stands in another role: `Ui imports core`, `core imports types`.

    Args:
        both: Their alignment.

    Returns:
        The difference in order, the one exchanged word first in a and last in b; None where nothing
        moved, more than one word is exchanged, or the wordings have too little in common to tell.
    """
    if len(both.rest_a) != 1 or len(both.rest_b) != 1 or both.letters < SAME_FRAME:
        return None
    gone, come = both.rest_a[0], both.rest_b[0]
    if gone.kind is not come.kind or gone.kind not in _ROLES:
        return None
    after_a, after_b = _sides(both.a.facts, gone), _sides(both.b.facts, come)
    moved = [
        key
        for key, behind in after_a.items()
        if after_b.get(key, behind) != behind and _stands_for(both, key, gone, come)
    ]
    if not moved:
        return None
    return Difference(DifferenceKind.ORDER, (gone.text, *moved), (*moved, come.text))


def _sides(facts: Facts, token: Token) -> dict[str, bool]:
    """Whether each key that stands once stands behind a token."""
    at = next(place for place, each in enumerate(facts.tokens) if each is token)
    return {
        each.key: place > at
        for place, each in enumerate(facts.tokens)
        if facts.counts[each.key] == 1 and place != at
    }


def _stands_for(both: Alignment, key: str, gone: Token, come: Token) -> bool:
    """A shared word is a name, or stands in one text where the exchanged one does in the other."""
    a, b = both.a, both.b
    if any(t.key == key and t.kind is Kind.NAME for t in (*a.facts.tokens, *b.facts.tokens)):
        return True
    before_a = {w.key: slot[0] for w, slot in zip(a.words, a.slots, strict=True)}
    before_b = {w.key: slot[0] for w, slot in zip(b.words, b.slots, strict=True)}
    led_a, led_b = before_a.get(gone.key), before_b.get(come.key)
    return (led_a and before_b.get(key) == led_a) or (led_b and before_a.get(key) == led_b) or False
