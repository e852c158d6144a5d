"""Bounds: a place, a time, a condition, a circle, an amount or an end that one statement has alone.

A general, habitual, imperative or negated statement does not follow from one with bounds: `deploys
need approval` and the same `in the payments repository` are two rules. What happened, or what is so
for one person or thing, does: there a place or a time only says more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from rapidfuzz.distance import Levenshtein

from echoless.core.model import Difference, DifferenceKind
from echoless.matching.comparison import Comparison
from echoless.matching.facts import Facts, remembered
from echoless.matching.speech import (
    MARKS,
    Speech,
    Word,
    classes_in,
    found_in,
    language_of_pair,
    scanned,
    speech_of,
    words_of,
)
from echoless.matching.values.tokens import ClockTime, DialTime, Kind, Token, WordClass

_TURNING: Final = frozenset({Kind.NEGATION, Kind.MODALITY})
"""Kinds of words that two wordings of one rule may have apart: `never`, `do not`."""
_EVER: Final = WordClass("always")
"""Bounds nothing, and may be left out of a rule: `always test`, `test except for docs`."""
_HOLDING: Final = frozenset({"leading", "interim"})
"""Classes of words by which a text holds a while."""
_HEAD: Final = 32
"""Characters at the beginning of a Japanese or Chinese text in which its first bound stands."""
_NONE: Final = frozenset[str]()
_CLAUSE_MARKS: Final = frozenset(".,;:!?()—–\n|。、；：⏎")


def bound(texts: Comparison) -> Difference | None:
    """Finds a bound that only one text has: `deploys need approval in the payments repository`.

    A general, habitual, imperative or negated statement does not follow from one with bounds. What
    happened, or what is so for one person or thing, does: there a place or a time only says more.
    """
    speech = speech_of(texts.language)
    ends = [_end(facts, speech) for facts in (texts.a, texts.b)]
    if any(ends) and not all(ends) and _unbound(texts.b if ends[0] else texts.a, speech):
        return Difference(DifferenceKind.BOUND, *((each,) if each else () for each in ends))
    if speech.east and (added := _added_east(texts.a.body, texts.b.body)):
        poor = texts.b if added[0] else texts.a
        if _general(poor, speech) and not _episodic(poor, speech):
            return Difference(DifferenceKind.BOUND, *((each,) if each else () for each in added))
    own = [
        [t for t in side if t.kind not in _TURNING and t.value != _EVER]
        for side in (texts.only_a, texts.only_b)
    ]
    if all(own) or not any(own):
        return None
    more = "a" if own[0] else "b"
    poor, rich, extra = (
        (texts.b, texts.a, texts.only_a) if more == "a" else (texts.a, texts.b, texts.only_b)
    )
    words = next(_narrowing(poor, rich, extra, speech), None)
    if words is None:
        return None
    said = (" ".join(words),)
    sides = (said, ()) if more == "a" else ((), said)
    return Difference(DifferenceKind.BOUND, *sides)


def _added_east(a: str, b: str) -> tuple[str, str] | None:
    """Returns what one of two texts without spaces adds within the other's clauses, by side."""
    short, long = sorted((a, b), key=len)
    edits = [each for each in Levenshtein.opcodes(short, long) if each.tag != "equal"]
    if not edits or any(each.tag != "insert" for each in edits):
        return None
    added = "".join(long[each.dest_start : each.dest_end] for each in edits)
    if not _CLAUSE_MARKS.isdisjoint(added) or "，" in added:
        return None
    return (added, "") if long == a else ("", added)


@remembered
def _end(facts: Facts, speech: Speech) -> str:
    """Returns the words at the head of a text, or such as `for now`, by which it holds a while."""
    timed = scanned(facts) and not _HOLDING.isdisjoint(classes_in(facts, speech))
    if not timed or _episodic(facts, speech):
        return ""
    if speech.east:
        head = (each for each in sorted(speech.sets["leading"]) if each in facts.body[:_HEAD])
        return next(head, "") or found_in(facts, speech, "interim")
    words = words_of(facts, speech)
    held = (word for word in words if "interim" in word.classes)
    return words[0].text if "leading" in words[0].classes else next(held, Word("", _NONE)).text


def _unbound(facts: Facts, speech: Speech) -> bool:
    """Returns whether nothing in a text tells when, or under which condition, it holds."""
    sets = speech.sets
    bound = not sets["restricting"].isdisjoint(scanned(facts)) or any(
        "condition" in word.classes and word.text not in sets["place"]
        for word in words_of(facts, speech)
    )
    dated = any(
        token.kind is Kind.DATE and not isinstance(token.value, ClockTime | DialTime)
        for token in facts.tokens
    )
    return not (bound or dated or _passing(facts, speech, {"passing", "present"}))


def passing(facts: Facts) -> str:
    """Returns the words with which a text says that it holds for a while; empty if none."""
    return _passing(facts, speech_of(language_of_pair(facts, facts)), {"passing"})


def _passing(facts: Facts, speech: Speech, names: AbstractSet[str]) -> str:
    if speech.east:
        return found_in(facts, speech, "passing")
    before = ""
    for word in words_of(facts, speech):
        if word.classes & names and before not in speech.sets["since"]:
            return word.text  # `since this week` has no end
        before = word.text
    return ""


@remembered
def _episodic(facts: Facts, speech: Speech) -> bool:
    """Returns whether a text tells what happened, not what holds."""
    if speech.east:
        return bool(found_in(facts, speech, "past"))
    words = scanned(facts)
    if not words or words[0] in speech.sets["imperative"] or speech.has("denial", words[0]):
        return not words
    for before, word in zip(("", *words), words, strict=False):
        if before in speech.sets["auxiliary"] or before in speech.sets["determiner"]:
            continue  # `is signed`, `a signed letter`
        if word in speech.sets["past"]:
            return True
        if word.endswith(speech.endings) and not word.endswith("eed"):
            return True
    return False


@remembered
def _general(facts: Facts, speech: Speech) -> bool:
    """Returns whether a statement is about all of a kind: a rule, a denial, a bare plural."""
    if speech.east:
        return bool(found_in(facts, speech, "general"))
    words, sets = [word for word in scanned(facts) if word not in MARKS], speech.sets
    if len(words) < 2:
        return False
    if any("denial" in word.classes for word in words_of(facts, speech)):
        return True
    if words[0] in sets["imperative"] or not sets["universal"].isdisjoint(words[:2]):
        return True
    if words[0] in sets["subject"] or words[0] in sets["auxiliary"]:
        return False
    plural = words[0].endswith(("s", "en")) and any(
        words[1] in sets[name] for name in ("plural", "imperative", "general")
    )
    return plural or not sets["general"].isdisjoint(words)


def _runs(extra: Sequence[Token]) -> Iterator[list[Token]]:
    """Yields what one text adds, stretch by stretch; a mark begins another one."""
    run: list[Token] = []
    for token in extra:
        if run and (token.place != run[-1].place + 1 or token.mark):
            yield run
            run = []
        run.append(token)
    if run:
        yield run


def _narrowing(
    poor: Facts, rich: Facts, extra: Sequence[Token], speech: Speech
) -> Iterator[tuple[str, ...]]:
    """Yields the words of each bound among the words that one text adds.

    Args:
        poor: Says less.
        rich: Says more.
        extra: What it adds.
        speech: Language of both.
    """
    happened = _episodic(poor, speech)
    general, sets, added = _general(poor, speech), speech.sets, {t.place for t in extra}
    denies = any(token.kind is Kind.NEGATION for token in poor.tokens)
    for run in _runs(extra):
        first = run[0]
        apart = first.place > 0 and not _CLAUSE_MARKS.isdisjoint(first.mark)
        if not speech.language and not apart:  # nobody knows what it does
            yield tuple(token.text for token in run)
        opening = [*first.glue.split(), *first.text.casefold().split()]
        said = (*first.glue.split(), *(token.text for token in run))
        if all(token.kind is Kind.RELATION or _asks(token, speech) for token in run):
            continue  # `first`, `before you ask`: `permission` compares these
        restricts = len(said) > 1 and _restricts(opening, run, speech)
        if happened:
            folded = [word for part in said for word in part.casefold().split()]
            if any("partial" in word.classes for word in speech.words(folded)):
                yield said
            continue
        if apart:
            begins = _restricts(opening[:1], run, speech) and "(" not in first.mark
            if restricts and begins and first.place - 1 not in added:
                yield said
            continue
        if not sets["reason"].isdisjoint(opening):
            continue
        before = rich.tokens[first.place - 1] if first.place else first
        narrow = general and (
            speech.east
            or opening[0] in sets["place"]
            or any(token.kind is Kind.SCOPE for token in run)
            or (denies and not first.glue and before.kind is Kind.DATE)
        )
        if restricts or narrow or _circle(opening, run):
            yield said


def _asks(token: Token, speech: Speech) -> bool:
    word = token.text.casefold()
    return any(speech.has(name, word) for name in ("consent", "request", "alone", "lack"))


def _restricts(opening: Sequence[str], run: Sequence[Token], speech: Speech) -> bool:
    """Returns whether a stretch begins with a condition, an end, or a limit in figures."""
    if not speech.sets["restricting"].isdisjoint(opening):
        return True
    if not speech.sets["degree"].isdisjoint(token.text.casefold() for token in run):
        return True
    figures = any(token.kind in {Kind.NUMBER, Kind.UNIT} for token in run)
    return figures and not speech.sets["measuring"].isdisjoint(opening)


def _circle(opening: Sequence[str], run: Sequence[Token]) -> bool:
    """Returns whether a stretch names a circle of many: `for contractors`, `for free accounts`."""
    bare = opening[:1] == ["for"] and len(opening) == 2 and len(run) <= 2
    bare = bare and not any(token.kind in {Kind.NUMBER, Kind.UNIT} for token in run)
    return bare and run[-1].text.endswith("s") and run[-1].kind is Kind.WORD
