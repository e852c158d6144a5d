"""How much of a text says something, as a coarse class; and which additions say nothing.

Deterministic and explainable: each class comes with the kinds of junk that made it. It ranks copies
that say the same; it never makes copies of what differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple, cast

from echoless.junk import EMPTY, Junk, JunkPolicy
from echoless.model import Duplicate, Json, Judged, Memory, Subsumes, merges
from echoless.peeling import EMOJI, count, folded, peeled, sentences
from echoless.readings import Readings
from echoless.sources import digest_of

MAX_LENGTH: Final = 20_000
"""Characters looked at, as many as the judge reads."""

_MAX_SENTENCES: Final = 64
"""A memory of more is a document, in which a sentence may come again."""


class Grade(IntEnum):
    """Three steps, so that a hair's breadth never decides."""

    CLEAN = 0
    DRESSED = 1
    NOISY = 2


class Carried(NamedTuple):
    """What a text carries beside what it says.

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
    """A text with what it says told from what it carries.

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
        """Part of its words that says something, 0 to 1."""
        return self.said / self.words if self.words else 1.0

    @property
    def carried(self) -> Carried:
        """Without what it says."""
        return Carried(self.grade, self.found, self.length)


@lru_cache(maxsize=16_384)
def cleanliness(text: str, policy: JunkPolicy) -> Cleanliness:
    """Tell junk from content.

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
    found |= {kind for kind, holds in _THROUGH if kind in wanted and holds(body)}
    if Junk.MOJIBAKE in wanted and _is_broken(whole):
        found.add(Junk.MOJIBAKE)
    kinds = tuple(kind for kind in Junk if kind in found)
    return Cleanliness(
        grade=_grade(kinds, said, words, policy),
        found=kinds,
        said=said,
        words=words,
        length=len(text) if kinds else 0,
        body=body,
    )


def carried(texts: Iterable[str], policy: JunkPolicy, readings: Readings) -> dict[str, Carried]:
    """What each of many texts carries; kept from run to run.

    Args:
        texts: Any texts.
        policy: What counts as junk.
        readings: Of this run and earlier ones.
    """

    def read(text: str) -> Json:
        told = cleanliness(text, policy).carried
        return [int(told.grade), list(told.found), told.length]

    made = digest_of("cleanliness.py", "peeling.py", "junk.py", "matching", "text.py")
    found = readings.of(f"carried {made} {policy!r}", texts, read)
    return {
        text: _carried(told) or cleanliness(text, policy).carried for text, told in found.items()
    }


def _carried(told: Json) -> Carried | None:
    """As it was kept; None if it is damaged."""
    try:
        grade, found, length = cast("tuple[int, list[str], int]", told)
        return Carried(Grade(grade), tuple(map(Junk, found)), int(length))
    except (ValueError, TypeError):
        return None


def _grade(found: tuple[Junk, ...], said: int, words: int, policy: JunkPolicy) -> Grade:
    if not found:
        return Grade.CLEAN
    little = said < policy.floor * words
    return Grade.NOISY if little or set(found) & set(policy.damage) else Grade.DRESSED


def _body(text: str, policy: JunkPolicy, wanted: AbstractSet[Junk]) -> tuple[str, set[Junk]]:
    """What is left, and what came off: by name, then what the judge takes for a frame."""
    body, found = peeled(text, policy, wanted)
    if Junk.FRAME in wanted:
        inner = _unframed(body)
        if inner is not None:
            return inner, found | {Junk.FRAME}
    return body, found


def _unframed(body: str) -> str | None:
    """The body the judge reads, if it takes anything off that has no name here.

    Without it a frame that only the judge knows would count as content and could win.
    """
    from echoless.matching.languages import language_of, lexicon  # noqa: PLC0415
    from echoless.matching.note_wrappers import unframe  # noqa: PLC0415 - brings in lexicons
    from echoless.matching.values.tokens import LINE  # noqa: PLC0415
    from echoless.text import normalise, undress  # noqa: PLC0415

    flat = normalise(undress(body).replace("\n", f" {LINE} "))
    inner = unframe(flat, lexicon(language_of(body)))[0]
    if inner == flat or count(inner) >= count(flat):
        return None
    return inner.replace(LINE, "\n").strip()


def _distinct(body: str, policy: JunkPolicy) -> str:
    """Each sentence once, wherever it comes again, and whatever label it comes with."""
    parts = sentences(body)
    if len(parts) == 1 or len(parts) > _MAX_SENTENCES:
        return body
    seen: dict[str, str] = {}
    for at, part in enumerate(parts):
        bare, _ = peeled(part, policy, EMPTY & set(policy.kinds))
        seen.setdefault(folded(bare) if count(bare) >= 4 else f"{at}:", part)
    return "".join(seen.values())


# ------------------------------------------------------------------ additions that say nothing


def levelled(
    judged: Iterable[Judged], memories: Mapping[str, Memory], policy: JunkPolicy
) -> list[Judged]:
    """Verdicts in which a text that adds only junk does not count as saying more.

    The judge calls `The port is 5432. -- sent by agent 7` a superset of `The port is 5432.`, and a
    superset always survives: the noisy copy would hide the clean one. Such a pair says the same.

    Args:
        judged: Verdicts of a judge.
        memories: Their memories.
        policy: What counts as junk.
    """
    return [_level(each, memories, policy) for each in judged]


def _level(judged: Judged, memories: Mapping[str, Memory], policy: JunkPolicy) -> Judged:
    verdict = judged.verdict
    if not isinstance(verdict, Subsumes) or not merges(verdict):
        return judged
    a, b = memories[judged.a].content, memories[judged.b].content
    more, less = (a, b) if verdict.superset == "a" else (b, a)
    added = adds_only(more, less, policy)
    if not added:
        return judged
    note = f"adds only {', '.join(added)}"
    evidence = replace(verdict.evidence, rule="adds-junk", note=note)
    return Judged(judged.a, judged.b, Duplicate(evidence))


def adds_only(more: str, less: str, policy: JunkPolicy) -> tuple[Junk, ...]:
    """The kinds of junk by which one text exceeds another; none if it adds anything else.

    Only kinds of `EMPTY` are taken off, and the facts left have to be the same, in one order,
    with the times the judge takes for times of capture: `12.09.2025 14:00 – demo` may be a date.

    Args:
        more: The text that seems to say more.
        less: The other.
        policy: What counts as junk.
    """
    from echoless.matching.facts import facts_of  # noqa: PLC0415 - brings in lexicons

    if len(more) > MAX_LENGTH or len(less) > MAX_LENGTH:
        return ()
    empty = EMPTY & set(policy.kinds)
    (long, found), (short, _) = peeled(more, policy, empty), peeled(less, policy, empty)
    one, other = facts_of(long), facts_of(short)
    same = [t.key for t in one.tokens] == [t.key for t in other.tokens]
    if not same or not one.tokens or one.stamps != other.stamps:
        return ()
    return tuple(kind for kind in Junk if kind in found)


# ------------------------------------------------------------------ what runs through a text

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
_BURST: Final = re.compile(rf"(?:{EMOJI}\ufe0f?\s?){{2,}}")
_STAMMER: Final = re.compile(r"\b([^\W\d_]{2,40})\s+\1\b(?![/.=-]\w)", re.IGNORECASE)
_STAMMER_EAST: Final = re.compile("([\u3400-\u9fff\u30a1-\u30fc]{4,20})\\1")
_TWICE_RIGHT: Final = frozenset(
    (
        *("that", "had", "is", "bye", "very", "ha", "no", "so", "new", "blah"),
        *("sehr", "die", "der", "das", "den", "sie"),
    )
)
_LOUD: Final = re.compile(r"[!！]{2,}|[?？]{3,}")
_EAST: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_PROSE: Final = re.compile(r"[^\W\d_]+(?=[\s,])")
_OPENED: Final = re.compile(r"(?<![:;])(?<![:;]-)\(")
_WORD: Final = re.compile(r"\w+")
_SLIPS: Final = frozenset(
    (
        *(
            "teh",
            "adn",
            "taht",
            "hte",
            "thsi",
            "waht",
            "becuase",
            "recieve",
            "recieved",
            "recieves",
        ),
        *("seperate", "seperately", "occured", "occurence", "definately", "untill", "thier"),
        *("accross", "begining", "beleive", "calender", "enviroment", "existance", "happend"),
        *("prefered", "preferes", "tommorow", "truely", "wierd", "publically", "succesful"),
        *("succesfully", "neccessary", "databse", "dependancy", "refered", "transfered"),
        *("writting", "mornign", "lisens", "listnes", "alwasy", "wich", "knwo", "mesage"),
        *("nciht", "udn", "dei", "standart", "vorraus", "seperat", "maschiene", "agressiv"),
        *("addresse", "intresse", "warscheinlich", "nähmlich", "entgültig", "villeicht"),
    )
)
"""Without a dictionary only slips that are never right can be told; these are frequent ones."""


def _is_broken(text: str) -> bool:
    fine = text.isascii() and text.isprintable()  # as most texts are
    return not fine and bool(_BROKEN.search(text))


def _shouts(body: str) -> bool:
    if _LOUD.search(body):
        return True
    start = body[: len(body) // 4]
    if 10 * sum(map(str.islower, start)) > len(body):  # too many, whatever the rest is
        return False
    loud, soft = sum(map(str.isupper, body)), sum(map(str.islower, body))
    return loud + soft >= 12 and loud >= 9 * soft


def _is_small(body: str) -> bool:
    """Prose without a capital; what begins with a name of code (`src/`, `pytest-xdist`) may."""
    prose = _PROSE.match(body) and not _EAST.search(body)
    return bool(prose) and body == body.lower() != body.upper() and count(body) >= 4


def _stammers(body: str) -> bool:
    hits = (hit[1].casefold() for hit in _STAMMER.finditer(body))
    if any(word not in _TWICE_RIGHT for word in hits):
        return True
    return not body.isascii() and bool(_STAMMER_EAST.search(body))


def _slips(body: str) -> bool:
    return not _SLIPS.isdisjoint(_WORD.findall(body.casefold()))


def _is_cut(body: str) -> bool:
    if _CUT.search(body, max(0, len(body) - _CUT_LENGTH)):
        return True
    return "(" in body and len(_OPENED.findall(body)) > body.count(")")


_THROUGH: Final[tuple[tuple[Junk, Callable[[str], bool]], ...]] = (
    (Junk.HTML, lambda body: bool(_TAGGED.search(body))),
    (Junk.EMOJI, lambda body: not body.isascii() and bool(_BURST.search(body))),
    (Junk.SHOUTING, _shouts),
    (Junk.SMALL_LETTERS, _is_small),
    (Junk.STAMMER, _stammers),
    (Junk.SLIP, _slips),
    (Junk.CUT_OFF, _is_cut),
)
"""What is seen in the body and cannot be taken off. Of the body: a label must not hide it."""
