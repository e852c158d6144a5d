"""Grades how much junk a text carries, and finds additions that are nothing but junk.

Deterministic and explainable: each class comes with the kinds of junk that made it. It ranks copies
that say the same; it never makes copies of what differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from echoless.clustering.noise_patterns import count, folded, peeled, sentences
from echoless.core.model import Duplicate, Json, Judged, Memory, Subsumes, merges
from echoless.core.noise_policy import Junk, JunkPolicy
from echoless.core.optional import lazy_module
from echoless.core.text import normalise, undress
from echoless.core.text_facts_cache import Readings
from echoless.core.versions import edition

if TYPE_CHECKING:  # they bring in the lexicons
    from echoless.matching import facts, languages
    from echoless.matching.facts import note_wrappers
    from echoless.matching.values import tokens
else:
    facts = lazy_module("echoless.matching.facts")
    languages = lazy_module("echoless.matching.languages")
    note_wrappers = lazy_module("echoless.matching.facts.note_wrappers")
    tokens = lazy_module("echoless.matching.values.tokens")

MAX_LENGTH: Final = 20_000
"""Characters looked at, as many as the judge reads."""

_MAX_SENTENCES: Final = 64
"""A memory of more is a document, in which a sentence may come again."""


class Grade(IntEnum):
    """Cleanliness of a text in three coarse steps, so that tiny differences never decide."""

    CLEAN = 0
    DRESSED = 1
    NOISY = 2


class Carried(NamedTuple):
    """The junk that a text carries.

    Attributes:
        grade: The class.
        found: Kinds of junk it carries, in the order of `Junk`.
        length: Characters of a text that carries junk, 0 of one that carries none: for ties only.
    """

    grade: Grade
    found: tuple[Junk, ...]
    length: int


@dataclass(frozen=True, slots=True)
class Cleanliness:
    """A text divided into what it says and the junk it carries.

    Attributes:
        grade: The class.
        found: Kinds of junk it carries, in the order of `Junk`.
        said: Words that say something; a sentence said twice counts once.
        words: Words of the whole text.
        length: Characters of a text that carries junk, 0 of one that carries none: for ties only.
        body: What is left of it.
    """

    grade: Grade
    found: tuple[Junk, ...]
    said: int
    words: int
    length: int
    body: str

    @property
    def share(self) -> float:
        """Returns the share of its words that say something, 0 to 1."""
        return self.said / self.words if self.words else 1.0

    @property
    def carried(self) -> Carried:
        """Returns the junk alone, without the body."""
        return Carried(self.grade, self.found, self.length)


@lru_cache(maxsize=16_384)
def cleanliness(text: str, policy: JunkPolicy) -> Cleanliness:
    """Finds the junk of a text and grades the text.

    Args:
        text: Any text; more than `MAX_LENGTH` characters are not looked at.
        policy: What counts as junk.
    """
    wanted = frozenset(policy.kinds)
    whole = text[:MAX_LENGTH]
    body, found = _body(whole, policy, wanted)
    words = count(whole)
    left = words if body == whole else count(body)
    said = left
    if Junk.REPETITION in wanted:
        once = _distinct(body, policy)
        said = min(left if once == body else count(once), words)
    if said < left:
        found.add(Junk.REPETITION)
    if Junk.HTML in wanted and _TAGGED.search(body):
        found.add(Junk.HTML)
    if Junk.CUT_OFF in wanted and _is_cut(body):
        found.add(Junk.CUT_OFF)
    printable = whole.isascii() and whole.isprintable()  # as most texts are
    if Junk.MOJIBAKE in wanted and not printable and _BROKEN.search(whole):
        found.add(Junk.MOJIBAKE)
    kinds = tuple(kind for kind in Junk if kind in found)
    grade = Grade.DRESSED if kinds else Grade.CLEAN
    if kinds and (said < policy.floor * words or found & set(policy.damage)):
        grade = Grade.NOISY
    return Cleanliness(
        grade=grade,
        found=kinds,
        said=said,
        words=words,
        length=len(text) if kinds else 0,
        body=body,
    )


def carried(texts: Iterable[str], policy: JunkPolicy, readings: Readings) -> dict[str, Carried]:
    """Returns the junk that each of many texts carries, cached from run to run.

    Args:
        texts: Any texts.
        policy: What counts as junk.
        readings: Of this run and earlier ones.
    """

    def read(text: str) -> Json:
        junk = cleanliness(text, policy).carried
        return [int(junk.grade), list(junk.found), junk.length]

    read_texts = readings.of(f"carried {edition('noise')} {policy!r}", texts, read)
    return {
        text: _from_json(entry) or cleanliness(text, policy).carried
        for text, entry in read_texts.items()
    }


def _from_json(entry: Json) -> Carried | None:
    """Returns a cached entry as a value; None if it is damaged."""
    match entry:
        case [int(grade), list(kinds), int(length)]:
            try:
                return Carried(Grade(grade), tuple(map(Junk, kinds)), length)
            except ValueError:
                return None
        case _:
            return None


def _body(text: str, policy: JunkPolicy, wanted: AbstractSet[Junk]) -> tuple[str, set[Junk]]:
    """Returns what is left of a text without the junk at its ends, and the kinds of that junk.

    First comes off what has a name here, then what the judge takes for a frame. Otherwise a frame
    that only the judge knows would count as content and could win.
    """
    body, found = peeled(text, policy, wanted)
    if Junk.FRAME not in wanted:
        return body, found
    flat = normalise(undress(body).replace("\n", f" {tokens.LINE} "))
    words = languages.lexicon(languages.language_of(body))
    inner = note_wrappers.unframe(flat, words)[0]
    if inner == flat or count(inner) >= count(flat):
        return body, found
    return inner.replace(tokens.LINE, "\n").strip(), found | {Junk.FRAME}


def _distinct(body: str, policy: JunkPolicy) -> str:
    """Returns each sentence once, whatever label it comes with."""
    parts = sentences(body)
    if len(parts) == 1 or len(parts) > _MAX_SENTENCES:
        return body
    seen: dict[str, str] = {}
    for at, part in enumerate(parts):
        bare, _ = peeled(part, policy, set(policy.kinds))
        seen.setdefault(folded(bare) if count(bare) >= 4 else f"{at}:", part)
    return "".join(seen.values())


# ------------------------------------------------------------------ additions that say nothing


def levelled(
    judged: Iterable[Judged], memories: Mapping[str, Memory], policy: JunkPolicy
) -> list[Judged]:
    """Returns verdicts in which a text that adds only junk does not count as saying more.

    The judge calls `The port is 5432. -- sent by agent 7` a superset of `The port is 5432.`, and a
    superset always survives: the noisy copy would hide the clean one. Such a pair says the same.

    Args:
        judged: Verdicts of a judge.
        memories: Their memories.
        policy: What counts as junk.
    """
    verdicts: list[Judged] = []
    for each in judged:
        verdict, added = each.verdict, tuple[Junk, ...]()
        if isinstance(verdict, Subsumes) and merges(verdict):
            a, b = memories[each.a].content, memories[each.b].content
            more, less = (a, b) if verdict.superset == "a" else (b, a)
            added = adds_only(more, less, policy)
        if added:
            note = f"adds only {', '.join(added)}"
            evidence = replace(verdict.evidence, rule="adds-junk", note=note)
            verdicts.append(Judged(each.a, each.b, Duplicate(evidence)))
        else:
            verdicts.append(each)
    return verdicts


def adds_only(more: str, less: str, policy: JunkPolicy) -> tuple[Junk, ...]:
    """Returns the kinds of junk by which one text exceeds another; none if it adds anything else.

    Junk is taken off, and the facts left have to be the same, in one order, with the times the
    judge takes for times of capture: `12.09.2025 14:00 – demo` may be a date.

    Args:
        more: The text that seems to say more.
        less: The other.
        policy: What counts as junk.
    """
    if len(more) > MAX_LENGTH or len(less) > MAX_LENGTH:
        return ()
    wanted = frozenset(policy.kinds)
    (long, kinds), (short, _) = peeled(more, policy, wanted), peeled(less, policy, wanted)
    one, other = facts.facts_of(long), facts.facts_of(short)
    same = [t.value for t in one.tokens] == [t.value for t in other.tokens]
    if not same or not one.tokens or one.stamps != other.stamps:
        return ()
    return tuple(kind for kind in Junk if kind in kinds)


# ------------------------------------------------------------------ junk in the middle of a text

_BROKEN: Final = re.compile(
    "\ufffd|[ÃÂ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€|ï»¿"
    "|\x1b\\[[0-9;]{0,20}m|[\x01-\x08\x0e-\x1a]"
    "|(?:[ã-é][\u0080-\u00bf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ€]{1,2}){2}"
)
"""UTF-8 read as Latin-1 or Windows-1252, replacement and control characters, terminal colours."""

_CUT: Final = re.compile(
    r"(?:[,;(\[{、，—–]|\s-|\b(?:and|or|the|an|because|und|oder|weil|dass)|を)[.]?$", re.IGNORECASE
)
_CUT_LENGTH: Final = 16
"""Characters from the end in which it begins: twice what its longest alternative takes."""

_TAGGED: Final = re.compile(
    r"<(p|div|span|b|i|u|em|strong|font|li|ul)>[^<>]*</\1>|<br\s{0,9}/?>|&nbsp;|&amp;"
)
_OPENED: Final = re.compile(r"(?<![:;])(?<![:;]-)\(")


def _is_cut(body: str) -> bool:
    """Checks whether a text ends in the middle of a sentence or leaves a bracket open."""
    if _CUT.search(body, max(0, len(body) - _CUT_LENGTH)):
        return True
    return "(" in body and len(_OPENED.findall(body)) > body.count(")")
