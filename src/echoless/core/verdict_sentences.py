"""Verdicts as clauses of plain English for a person, made from their structured evidence.

A clause names the verdict first and then the words that decide it: `was March, now May`.
It quotes words of memories, so whoever prints it masks secrets as in any other reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, assert_never

from echoless.core.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Related,
    Sibling,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    adds_fact,
    richer,
)
from echoless.core.secrets import shortened

_MOST: Final = 3
"""Words named of each text."""
_LONGEST: Final = 40
"""Characters of a quoted word, which may be a whole passage."""
_LONGEST_NOTE: Final = 160

_NOUNS: Final[Mapping[DifferenceKind, str]] = MappingProxyType(
    {
        DifferenceKind.NUMBER: "another number",
        DifferenceKind.DATE: "another date",
        DifferenceKind.VERSION: "another version",
        DifferenceKind.IDENTIFIER: "another identifier",
        DifferenceKind.PATH: "another path",
        DifferenceKind.NAME: "another name",
        DifferenceKind.NEGATION: "a yes against a no",
        DifferenceKind.POLARITY: "the opposite",
        DifferenceKind.MODALITY: "another duty or state",
        DifferenceKind.ORDER: "another order of the words",
        DifferenceKind.SCOPE: "another place or condition",
        DifferenceKind.QUANTIFIER: "another amount",
        DifferenceKind.UNIT: "another unit",
        DifferenceKind.LANGUAGE: "another language",
        DifferenceKind.DETAIL: "other words",
        DifferenceKind.PERMISSION: "another permission",
        DifferenceKind.DENIAL: "they deny other things",
        DifferenceKind.BOUND: "a bound that one of them has alone",
        DifferenceKind.PERSON: "another person",
    }
)
_SAID_WITH_NOT: Final = frozenset({DifferenceKind.DENIAL, DifferenceKind.PERMISSION})
"""Kinds whose words already say `not`."""
_NOUNS_BY_RULE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "captured-at-other-times": "noted at another time",
        "capitals-differ": "other capitals",
        "other-words-in-one-frame": "other words in one long frame",
        "near-forms": "a word that may be a name",
        "near-words": "a word that may be a name",
        "hidden-characters": "characters that nobody sees",
        "signs-differ": "other punctuation",
        "small-words-differ": "other small words",
        "status-changed": "another status",
        "tense-differs": "another tense",
        "under-other-headings": "another heading",
        "vowel-signs-differ": "other vowel signs",
        "zone-differs": "another time zone",
    }
)

_SAME: Final[Mapping[str, str]] = MappingProxyType(
    {
        "same-bytes": "the same text",
        "same-text": "the same text",
        "same-text-after-normalising": "the same text but for its spelling",
        "same-claims": "the same, claim by claim",
        "similar-enough": "similar enough to count as the same",
        "adds-junk": "the same, with additions that say nothing",
        "verifier-says-same": "the same",
        "same-by-a-third": "the same, as a third memory shows",
        "asked-for": "the same, as it was asked for",
        "by-hand": "the same, as a person said",
    }
)
"""Clauses of duplicates by rule; any other rule compares what the words say."""
_REWORDED: Final = "the same in other words"
_UNDECIDED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "claims-left-over": "alike as a whole, but not claim by claim",
        "too-long-to-compare": "too long to compare",
        "nothing-to-compare": "nothing in them to compare",
        "not-compared": "not compared",
        "dated-once": "the one that says less tells when",
        "status-told-once": "the same words, but only one says in what state it is",
        "struck-out": "the same words, but not the same ones are struck out",
    }
)
"""Clauses of undecided pairs whose differences are not what holds them."""
_NOTED: Final = frozenset({"verifier-says-same", "asked-for", "not-compared"})
"""Rules whose note is a reason for a person."""


def sentence(verdict: Verdict, a: str = "the first", b: str = "the second") -> str:
    """Returns a clause that tells a person what two memories are to each other.

    The verdict comes first, then at most three of the words that decide it from each text. Nothing
    is masked: the words may be parts of secrets.

    Args:
        verdict: With its evidence.
        a: What side a is called, for example its id.
        b: What side b is called.
    """
    evidence, names = verdict.evidence, (a, b)
    match verdict:
        case Duplicate():
            said = _SAME.get(evidence.rule, _REWORDED)
        case Subsumes(superset=side):
            said = _more(verdict, names, side) if adds_fact(verdict) else _REWORDED
        case Update(newer=side):
            said = _newer(evidence.differences, names, side)
        case Contradiction():
            said = _against(evidence.differences, names)
        case Sibling():
            said = _other_thing(evidence.rule, evidence.differences, names)
        case Related():
            said = _with("one topic, other facts", evidence.differences, names)
        case Distinct():
            said = "about something else"
        case Unsure():
            said = _undecided(verdict, names)
        case _:
            assert_never(verdict)
    if evidence.rule in _NOTED and evidence.note:
        return f"{said}; {shortened(evidence.note, _LONGEST_NOTE)}"
    return said


def _more(verdict: Subsumes, names: tuple[str, str], side: Side) -> str:
    longer, shorter = names if side == "a" else names[::-1]
    rule = verdict.evidence.rule
    if rule == "more-exact":
        return f"{longer} is more exact"
    if rule == "claims-contained":
        return f"{longer} says all that {shorter} says, and more"
    added = _only(verdict.evidence.differences, side)
    said = f"{longer} says more"
    return f"{said}: {_list(added)}" if added else said


def _newer(differences: Sequence[Difference], names: tuple[str, str], side: Side) -> str:
    """Returns what is newer: the value that replaces another, or what was added or left out."""
    name = names[0] if side == "a" else names[1]
    first = differences[0] if differences else Difference(DifferenceKind.DETAIL)
    if first.a and first.b:
        new, old = (first.a, first.b) if side == "a" else (first.b, first.a)
        was, now = _apart(old, new)
        return f"was {_series(was)}, now {_series(now)}"
    if added := _only(differences, side):
        return f"newer: {name} adds {_list(added, quote=True)}"
    if left_out := _only(differences, "b" if side == "a" else "a"):
        return f"newer: {name} leaves out {_list(left_out, quote=True)}"
    return f"newer: {name}"


def _against(differences: Sequence[Difference], names: tuple[str, str]) -> str:
    first = differences[0] if differences else Difference(DifferenceKind.DETAIL)
    if first.a and first.b and first.kind is not DifferenceKind.ORDER:
        one, other = _apart(first.a, first.b)
        return f"may not both be true: {_series(one)} or {_series(other)}"
    return _with("may not both be true", differences, names)


def _other_thing(rule: str, differences: Sequence[Difference], names: tuple[str, str]) -> str:
    if not differences or differences[0].kind is DifferenceKind.DETAIL:
        return _with("another thing", differences, names)
    return _what_differs(rule, differences, names)


def _undecided(verdict: Unsure, names: tuple[str, str]) -> str:
    evidence = verdict.evidence
    side = richer(verdict)
    if side is not None:
        return f"{names[side == 'b']} adds: {_list(_only(evidence.differences, side))}"
    if evidence.rule in _UNDECIDED:
        return _UNDECIDED[evidence.rule]
    differs = _what_differs(evidence.rule, evidence.differences, names)
    return f"perhaps the same, but {differs}" if differs else "perhaps the same"


def _with(said: str, differences: Sequence[Difference], names: tuple[str, str]) -> str:
    """Returns a clause with the words of the deciding difference behind it."""
    first = differences[0] if differences else None
    if first is None or first.kind is DifferenceKind.ORDER:
        return said
    if first.a and first.b:
        return f"{said}: {_not(first.a, first.b)}"
    return f"{said}: {_one_sided(differences, names)}" if first.a or first.b else said


def _what_differs(rule: str, differences: Sequence[Difference], names: tuple[str, str]) -> str:
    """Returns the deciding difference with its kind; empty where none is named."""
    if not differences:
        return ""
    first = differences[0]
    noun = _NOUNS_BY_RULE.get(rule, _NOUNS[first.kind])
    if first.kind is DifferenceKind.ORDER or rule == "hidden-characters":
        return noun
    if rule == "capitals-differ" and (first.a or first.b):
        return f"{noun} in {_list((*first.a, *first.b))}"
    if first.a and first.b and first.kind in _SAID_WITH_NOT:
        return f"{noun}: {_series(first.a)} or {_series(first.b)}"
    if first.a and first.b:
        return f"{noun}: {_not(first.a, first.b)}"
    return _one_sided(differences, names) if first.a or first.b else noun


def _one_sided(differences: Sequence[Difference], names: tuple[str, str]) -> str:
    """Returns which side alone has words, where the deciding difference has one side only."""
    side: Side = "a" if differences[0].a else "b"
    name = names[0] if side == "a" else names[1]
    return f"only {name} says {_list(_only(differences, side), quote=True)}"


def _only(differences: Iterable[Difference], side: Side) -> tuple[str, ...]:
    """Returns the words that only one side has, without repetition."""
    own = ((one.a, one.b) if side == "a" else (one.b, one.a) for one in differences)
    return tuple(dict.fromkeys(word for words, others in own if not others for word in words))


def _not(words: Sequence[str], others: Sequence[str]) -> str:
    """Returns a clause with the words of one side and the opposed words of the other side."""
    one, other = _apart(words, others)
    return f"{_series(one)}, not {_series(other)}"


def _apart(words: Sequence[str], others: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Returns both lists with each word once, without those in both if each has others, too."""
    one, other = (
        [word for word in dict.fromkeys(side) if word not in beside]
        for side, beside in ((words, others), (others, words))
    )
    return (one, other) if one and other else (words, others)


def _series(words: Sequence[str]) -> str:
    """Returns words of one side as a series: a comma would run on into the other side."""
    named = [shortened(word, _LONGEST) for word in words[:_MOST]]
    left = len(words) - len(named)
    return f"{', '.join(named)} and {left:,} more" if left else " and ".join(named)


def _list(words: Sequence[str], *, quote: bool = False) -> str:
    """Returns the first words of a list, and how many more there are."""
    named = [shortened(word, _LONGEST) for word in words[:_MOST]]
    if quote:
        named = [f'"{word}"' for word in named]
    left = len(words) - len(named)
    return ", ".join(named) + (f" and {left:,} more" if left > 0 else "")
