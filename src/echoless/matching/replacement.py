"""Says whether an older memory may be hidden behind a newer one with another value.

An update loses a value on purpose, so more is asked of it than of a copy: words and times agree on
which side is newer, and nothing but the replaced value is missing in the text that stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from echoless.core.model import Difference, DifferenceKind, Memory, Pair, Verdict, later
from echoless.matching import bounds
from echoless.matching.claims import note_of
from echoless.matching.comparison import Comparison
from echoless.matching.facts import facts_of
from echoless.matching.languages import Lexicon, language_of, lexicon, relations_of
from echoless.matching.rule_judge import OF, VALUES_OF_ONE, compared, other_end
from echoless.matching.values.tokens import Kind

_STATES: Final = frozenset({DifferenceKind.NEGATION, DifferenceKind.POLARITY})
_REPLACEABLE: Final = VALUES_OF_ONE | {DifferenceKind.NAME}
_MEASURED: Final = frozenset({DifferenceKind.NUMBER, DifferenceKind.UNIT})
_NARROWING: Final = frozenset({Kind.SCOPE, Kind.MODALITY})
"""Kinds of words that say where, when or whether: `in staging`, `may`."""
_PARTS: Final = frozenset(",;:()[]\u3001\u3002\uff0c")
"""Marks behind which a text says more."""
_PLANNED, _UNDER_WAY, _DONE = range(3)
"""Stages, see `Facts.stage`."""


def why_visible(older: Memory, newer: Memory, verdict: Verdict) -> str:
    """Returns why an older memory stays visible beside a newer one; empty where it may be hidden.

    Args:
        older: With the value that is replaced.
        newer: With the value in force.
        verdict: Of the two, with the older one on side a.
    """
    why = why_both_hold(older, newer, verdict)
    if why or _other_value(older, newer):
        return why
    return _lost(compared(older, newer), verdict.evidence.differences)


def why_both_hold(older: Memory, newer: Memory, verdict: Verdict) -> str:
    """Returns why a newer memory does not replace the value of an older one; empty if it does.

    Arguments as for `why_visible`.
    """
    if lack := newer.promise.lack(older.promise):
        return f"{newer.id} {lack}"
    if later(older, newer) == "a":
        return "its words call it the older one, and it was written later"
    held = {*note_of(newer.content).texts}
    if len([said for said in note_of(older.content).texts if said not in held]) > 1:
        return "it says more than the value that is replaced"
    differences, exchanged = verdict.evidence.differences, _other_value(older, newer)
    return _unlike(compared(older, newer), differences, exchanged=exchanged)


def _other_value(older: Memory, newer: Memory) -> bool:
    """Returns whether all that differs is one name or word at the end of each text.

    A figure stands alone, as what is beside it may be lost: `8080 behind nginx`.
    """
    ends = other_end(Pair(older, newer, {}))
    words = lexicon(language_of(newer.content))
    return ends is not None and all(_is_value(end.rstrip(" ."), words) for end in ends[:2])


def _is_value(end: str, words: Lexicon) -> bool:
    inner = {word.casefold() for word in end.split()[1:]}
    parted = (words.sets["prepositions"] | words.sets["conjunctions"]) - OF
    figure = any(map(str.isdecimal, end))
    return _PARTS.isdisjoint(end) and inner.isdisjoint(parted) and not (inner and figure)


def _unlike(texts: Comparison, differences: Sequence[Difference], *, exchanged: bool) -> str:
    """Returns why both texts may be true: a plan, an event, another place; empty if not.

    Args:
        texts: The older text on side a, the newer one on side b.
        differences: Of the verdict, with the same sides.
        exchanged: Whether all that differs is one value, so that a name in it adds nothing.
    """
    a, b = texts.a, texts.b
    if a.capped or b.capped:
        return "too long to compare"
    if a.stage is None and (b.stage == _PLANNED or (b.stage == _UNDER_WAY and not b.update)):
        return "the newer one tells of a plan"
    if a.stage == b.stage == _DONE and not b.update:
        return "both tell of what was done"
    if (end := bounds.passing(b)) and not bounds.passing(a):
        return f"only the newer one holds for a while: {end}"
    both = {each.kind for each in differences if each.a and each.b}
    if DifferenceKind.DATE in both and both & _MEASURED and not b.update:
        return "each tells of its own day"
    opposed = {word for each in differences if each.a for word in each.b}
    plain = b.update or exchanged
    kinds = _NARROWING if plain else {*_NARROWING, Kind.NAME, Kind.IDENTIFIER, Kind.PATH}
    own = [t.text for t in texts.only_b if t.kind in kinds and t.text not in opposed]
    return f"only the newer one says: {', '.join(own)}" if own else ""


def _lost(texts: Comparison, differences: Sequence[Difference]) -> str:
    """Returns what the older text says beyond the replaced value, as a reason; empty if nothing.

    Arguments as for `_unlike`.
    """
    replaced = [
        each.a
        for place, each in enumerate(differences)
        if (each.kind in _REPLACEABLE and 0 < len({*each.a}) <= len({*each.b}))
        or (place == 0 and each.kind in _STATES)
    ]
    relations = relations_of(texts.b.body)
    lost = [
        token
        for token in texts.only_a
        if not any(token.text in words for words in replaced)
        and not facts_of(token.text).update  # `now` was true then
        and not (token.kind is Kind.WORD and relations_of(token.text) & relations)
    ]
    added = any(token.kind is Kind.WORD for token in texts.only_b)
    if len(lost) == 1 and lost[0].kind is Kind.WORD and added and not replaced:
        return ""  # the word is the value: `prefers tea`, `now prefers coffee`
    words = ", ".join(dict.fromkeys(token.text for token in lost))
    return words and f"not in the text that stays: {words}"
