"""Finds the junk that a text carries, grades the text, and finds additions that are only junk.

Deterministic and explainable: each class comes with the kinds of junk that made it. It ranks copies
that say the same; it never makes copies of what differs. What a note-taking program writes around
a text is taken off by the table of the judge (`matching/facts/note_wrappers.py`); the table here
has only what the judge counts as content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import IntEnum, StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from echoless.core.json_codec import json_object
from echoless.core.model import Duplicate, Judged, Memory, richer
from echoless.core.text import normalise, undress

MAX_LENGTH: Final = 20_000
"""Characters looked at, as many as the judge reads."""

_MAX_PEELS: Final = 24
_MAX_BRACES: Final = 20
_COMMAS: Final = str.maketrans(";|", ",,")
_WINDOW: Final = 2_000
"""Characters from the end in which a dump may begin: keeps the work linear."""

_TAIL: Final = 400
"""Characters from the end in which other junk may begin."""


class Junk(StrEnum):
    """Kinds of junk, in the words of a reason.

    `FRAME` is the text that a note-taking program writes around a note: labels, running numbers,
    times, tags.
    """

    SIGNATURE = "a signature"
    METADATA = "a metadata dump"
    FRAME = "a frame"
    REPETITION = "a repetition"
    MOJIBAKE = "broken characters"
    CUT_OFF = "a cut-off end"


_DAMAGE: Final = {Junk.MOJIBAKE, Junk.CUT_OFF}
"""What makes a text noisy at once."""

_FLOOR: Final = 0.55
"""A text is noisy, too, if less than this share of its words says something."""


class Grade(IntEnum):
    """Cleanliness of a text in three coarse steps, so that tiny differences never decide."""

    CLEAN = 0
    DRESSED = 1
    NOISY = 2


class Carried(NamedTuple):
    """The junk that a text carries.

    Attributes:
        grade: The class.
        kinds: Kinds of junk in the text, in the order of `Junk`.
        length: Characters of a text that carries junk, 0 of one that carries none: for ties only.
    """

    grade: Grade
    kinds: tuple[Junk, ...]
    length: int


@lru_cache(maxsize=16_384)
def cleanliness(text: str) -> Carried:
    """Finds the junk of a text and grades the text.

    Args:
        text: Any text; more than `MAX_LENGTH` characters are not looked at.
    """
    whole = text[:MAX_LENGTH]
    body, junk = peeled(whole)
    if _is_cut(body):
        junk.add(Junk.CUT_OFF)
    if not (whole.isascii() and whole.isprintable()) and _BROKEN.search(whole):  # few texts are so
        junk.add(Junk.MOJIBAKE)
    kinds = tuple(kind for kind in Junk if kind in junk)
    if not kinds:
        return Carried(Grade.CLEAN, (), 0)
    says_little = count(body) < _FLOOR * count(whole)
    grade = Grade.NOISY if says_little or junk & _DAMAGE else Grade.DRESSED
    return Carried(grade, kinds, len(text))


# ------------------------------------------------------------------ additions that say nothing


def levelled(judged: Iterable[Judged], memories: Mapping[str, Memory]) -> list[Judged]:
    """Returns verdicts in which a text that adds only junk does not count as saying more.

    The judge calls `The port is 5432. -- sent by agent 7` a superset of `The port is 5432.`, and a
    superset always survives: the noisy copy would hide the clean one. Such a pair says the same.

    Args:
        judged: Verdicts of a judge.
        memories: Their memories.
    """
    verdicts: list[Judged] = []
    for each in judged:
        verdict, added = each.verdict, tuple[Junk, ...]()
        side = richer(verdict)
        if side is not None:
            a, b = memories[each.a].content, memories[each.b].content
            more, less = (a, b) if side == "a" else (b, a)
            added = adds_only(more, less)
        if added:
            note = f"adds only {', '.join(added)}"
            evidence = replace(verdict.evidence, rule="adds-junk", note=note)
            verdicts.append(Judged(each.a, each.b, Duplicate(evidence)))
        else:
            verdicts.append(each)
    return verdicts


def adds_only(more: str, less: str) -> tuple[Junk, ...]:
    """Returns the kinds of junk by which one text exceeds another; none if it adds anything else.

    Junk is taken off, and the facts left have to be the same, in one order, with the times the
    judge takes for times of capture: `12.09.2025 14:00 – demo` may be a date.

    Args:
        more: The text that seems to say more.
        less: The other.
    """
    if len(more) > MAX_LENGTH or len(less) > MAX_LENGTH:
        return ()
    (long, kinds), (short, _) = peeled(more), peeled(less)
    from echoless.matching import facts

    one, other = facts.facts_of(long), facts.facts_of(short)
    same = [t.value for t in one.tokens] == [t.value for t in other.tokens]
    if not same or not one.tokens or one.stamps != other.stamps:
        return ()
    return tuple(kind for kind in Junk if kind in kinds)


# ------------------------------------------------------------------ junk at the ends

_OPEN, _CLOSE = r"[\[(（【]\s*", r"\s*[\])）】]"
_DAY: Final = r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?\.\d\d?\.\d{4}|\d{4}年\d\d?月\d\d?日)"
_CLOCK: Final = (
    r"(?:\d\d?:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?(?:Z|UTC|Uhr|[+-]\d\d:?\d\d))?|\d\d?時\d\d?分)"
)
_STAMP: Final = rf"{_DAY}(?:(?:T|,?\s*){_CLOCK})?"
_KEPT: Final = (
    r"(?:captured|saved|noted|stored|logged|erfasst|gespeichert|notiert"
    r"|記録日時|保存日時|記録|保存)"
)
"""Without brackets few words are safe: `Updated on 2026-01-05.` may speak of the thing."""

_CAPTURED: Final = (
    rf"(?:{_KEPT}|(?:last )?(?:recorded|updated|created|observed)|aufgezeichnet|aktualisiert|stand)"
)

_ON: Final = r"(?:\s+(?:at|on|am|um))?\W{0,3}"
_SAVED: Final = (
    r"(?:auto(?:matically)?[- ]?(?:saved?|stored|captured|generated)|saved automatically"
    r"|automatisch (?:gespeichert|erfasst|erstellt)|自動保存(?:済み)?|自動記録)"
)
_BOXED: Final = rf"{_OPEN}(?:(?:{_CAPTURED}{_ON})?{_STAMP}|{_SAVED}[^\])）】\n]{{0,40}}){_CLOSE}"
_LEVEL: Final = r"(?-i:TRACE|DEBUG|INFO|NOTICE|LOG)"
_LABEL: Final = (
    r"(?:(?:important )?notes?(?: to self)?|memory|remember|reminder|fyi|summary|notiz|merke"
    r"|hinweis|(?:zur )?erinnerung|zusammenfassung|メモ|覚え書き|備考|要約|記録|引き継ぎ)"
)
"""In whatever language the text is; the judge knows those of its own language."""

_COUNTED: Final = (
    r"(?:(?:(?:session|turn|note|memory|mem|sitzung|notiz|eintrag"
    r"|セッション|メモ|記録|会話|ターン)\s*#?\d+(?:/\d+)?[,;/·、]?\s*)+)"
)
_WRITER: Final = (
    r"(?:(?:the )?(?:agent|assistant|bot|claude|gpt|chatgpt|gemini|copilot|memory ?bot|assistent)"
    r"|エージェント|アシスタント|ボット)"
)
_BY: Final = (
    r"(?:(?:(?:sent|written|saved|recorded|generated|posted|noted|logged) )?(?:by|from|via)"
    r"|(?:(?:gesendet|geschrieben|erstellt|notiert|gespeichert) )?(?:von|durch|vom))"
)
_HANDED: Final = (
    r"(?:(?:please )?continue (?:from )?here(?: in the next session)?"
    r"|end of (?:the )?(?:handover|note|memory|summary|context|session)"
    r"|(?:this is )?(?:context|handover) for the next (?:agent|session)"
    r"|(?:bitte )?(?:hier )?in der nächsten sitzung (?:hier )?weitermachen"
    r"|ende der (?:übergabe|notiz|zusammenfassung|sitzung)"
    r"|次(?:回)?のセッション(?:で|に)(?:続き|続ける|引き継ぐ|引き継ぎ)|引き継ぎ(?:ここまで|終わり|以上))"
)
_CUT_MARK: Final = r"(?:…|\.{3}|truncated|cut(?: off)?|gekürzt|abgeschnitten|以下略|省略)"
_SOURCE: Final = r"(?:\s*[\[(]?[a-z][\w.-]{0,40}[\])]?)?"
_ZONE: Final = r"(?:Z|UTC|[+-]\d\d:?\d\d)?"
_BEFORE: Final = r"(?:(?<=[.!?。])\s*|\s*\n+"
_PATTERNS: Final[Mapping[Junk, tuple[str, ...]]] = {
    # Damage at the end comes off, too: it must not hide the junk before it.
    Junk.CUT_OFF: (rf"\s*(?:…|\.{{3,40}}|{_OPEN}{_CUT_MARK}{_CLOSE})$",),
    Junk.MOJIBAKE: ("\ufffd{1,40}$",),
    Junk.FRAME: (
        rf"^{_BOXED}\s*[:|–—-]?\s*",
        rf"^(?:\[?{_STAMP}\]?\s*[|:-]?\s*)?\[?{_LEVEL}\]?{_SOURCE}(?:\s*[:|–—-]\s+|(?<=\])\s+)",
        rf"^\d{{4}}-\d\d-\d\d(?:T\d|(?=\s\d\d:\d\d(?:\s\||:\d)))[\s\d:.,]*{_ZONE}\s*[:：|–—-]?\s*",
        rf"^{_OPEN}(?:{_LABEL}|{_COUNTED}|#?\d{{1,4}}\s*/\s*\d{{1,4}}){_CLOSE}\s*[:：]?\s*",
        rf"^(?:{_LABEL}|{_COUNTED})\s*[:：]\s*",
        rf"\s*{_BOXED}$",
        rf"{_BEFORE})(?:\w{{1,20}}\s*[:：]\s*)?{_KEPT}{_ON}(?:{_STAMP}|{_CLOCK})\s*[.。]?$",
        rf"{_BEFORE}|\s+[—–-]+\s+){_HANDED}\s*[.!。]?$",
    ),
    Junk.SIGNATURE: (
        rf"\s+(?:--+|[—–])\s*(?:{_BY}\s+)?{_WRITER}(?:[ #_-]*[\w.]{{0,12}}\d[\w.]{{0,12}})?$",
        rf"\s*\n(?:--[ \t]*\n(?:{_BY}\s+)?[^\n]{{1,40}}|{_WRITER}\s*#?\d{{0,6}}より)$",
    ),
}

_BLANKS: Final = re.compile(r"\s{4,}")
"""Long runs of white space make patterns that may begin with some quadratic: 4.5 s for 18,000."""

_FIELDS: Final = frozenset(
    (
        *("id", "uuid", "ts", "timestamp", "created", "created_at", "updated", "updated_at"),
        *("session", "session_id", "agent", "agent_id", "source", "confidence", "score"),
        *("importance", "tags", "turn", "hash", "embedding_model", "tokens", "memory_id"),
        *("last_seen",),
    )
)
"""Keys of metadata. A dump with any other key is content."""

_ALONE: Final = frozenset(
    ("ts", "timestamp", "session_id", "memory_id", "confidence", "created_at", "updated_at")
)
"""Fields that are metadata even alone; `(source: the audit)` may be a fact."""

_SENTENCE: Final = re.compile(r"[^\n]+?(?:[.!?]{1,8}(?=\s|$)|[。！？]{1,8}|$|(?=\n))\s*")
_BREAK: Final = re.compile(r"[.!?]\s|[。！？\n]")
"""Without one before its end a text is one sentence: most are, and need no look at each letter."""

_WORD: Final = re.compile(r"\w+")
_DENSE: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_TRAIT: Final = re.compile(r"""["']?([\w-]{1,40})["']?\s*[:=]\s*[^,;:=\n]{1,120}""")

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
"""Number of last characters in which the pattern must begin: twice its longest alternative."""

_OPENED: Final = re.compile(r"(?<![:;])(?<![:;]-)\(")


def _is_cut(body: str) -> bool:
    """Checks whether a text ends in the middle of a sentence or leaves a bracket open."""
    is_open = "(" in body and len(_OPENED.findall(body)) > body.count(")")
    return is_open or _CUT.search(body, max(0, len(body) - _CUT_LENGTH)) is not None


def peeled(text: str) -> tuple[str, set[Junk]]:
    """Returns what is left of a text without junk at its ends, and the kinds of that junk."""
    junk: set[Junk] = set()
    text = _BLANKS.sub(lambda run: "\n\n" if "\n" in run.group() else "  ", text.strip())
    steps = _steps()
    for _ in range(_MAX_PEELS):
        for kind, take in steps:
            rest = take(text)
            if rest != text and count(rest) >= 2:  # otherwise the junk is all the memory there is
                junk.add(kind)
                text = rest
                break
        else:
            break
    return text, junk


@cache
def _steps() -> tuple[tuple[Junk, Callable[[str], str]], ...]:
    """Returns functions that remove junk from one end of a text, in the order of use."""
    return (
        (Junk.REPETITION, _unrepeated),  # first: what comes off one of two equal ends hides it
        (Junk.METADATA, _undumped),
        *((kind, _taking(each)) for kind, some in _PATTERNS.items() for each in some),
        (Junk.FRAME, _unframed),
    )


def _taking(expression: str) -> Callable[[str], str]:
    """Returns a function that takes off what an expression finds at an end of a text."""
    pattern = re.compile(expression, re.IGNORECASE)
    at_end = expression.endswith("$")

    def take(text: str) -> str:
        hit = pattern.search(text, max(0, len(text) - _TAIL)) if at_end else pattern.match(text)
        if hit is None:
            return text
        return (text[: hit.start()] if at_end else text[hit.end() :]).strip()

    return take


def _unframed(text: str) -> str:
    """Returns the text without what the judge takes for a frame, unless a time stands in it.

    Such a time may be a date: `12.09.2025 14:00 – demo`.
    """
    from echoless.matching.values import tokens

    flat = normalise(undress(text).replace("\n", f" {tokens.LINE} "))
    from echoless.matching import languages
    from echoless.matching.facts import note_wrappers

    inner, stamps, _ = note_wrappers.unframe(flat, languages.lexicon(languages.language_of(text)))
    if stamps or inner == flat or count(inner) >= count(flat):
        return text
    return re.sub(rf" ?{tokens.LINE} ?", "\n", inner).strip()


def count(text: str) -> int:
    """Returns the number of words; two characters of Chinese or Japanese count as one."""
    if text.isascii():
        return len(_WORD.findall(text))
    dense = len(_DENSE.findall(text))
    return (dense + 1) // 2 + len(_WORD.findall(_DENSE.sub(" ", text)))


# ------------------------------------------------------------------ dumps and repetitions


def _undumped(text: str) -> str:
    """Returns the text without a dump of metadata at an end, if all of its keys are known."""
    for rest, keys in _dumps(text):
        if keys and keys <= _FIELDS and (len(keys) > 1 or keys <= _ALONE):
            return rest
    return text


def _dumps(text: str) -> Iterator[tuple[str, set[str]]]:
    """Yields what is left without a possible dump of metadata, and the keys of that dump."""
    front = re.match(r"---\s*\n((?:[\w-]+:[^\n]*\n)+)---\s*\n", text)
    if front:
        yield text[front.end() :].strip(), _keys(front[1].split("\n"))
    start = max(0, len(text) - _WINDOW)
    tail = text[start:]
    if tail.endswith("}"):
        for at, keys in _json_dumps(tail):
            yield text[: start + at].strip(), keys
    closed = tail.endswith(("]", ")", "）"))
    boxed = re.search(r"\s*[\[(（]([^\[\]()（）\n]{3,300})[\])）]$", tail) if closed else None
    if boxed:
        yield text[: start + boxed.start()].strip(), _keys(boxed[1].translate(_COMMAS).split(","))
    pairs = re.search(r"(?:\s+[\w-]{1,40}=[^\s=]{1,80})+$", tail) if "=" in tail else None
    if pairs:
        yield text[: start + pairs.start()].strip(), _keys(pairs.group().split())


def _json_dumps(tail: str) -> Iterator[tuple[int, set[str]]]:
    """Yields where JSON objects that end the text begin, the shortest first, and their keys."""
    start = len(tail)
    for _ in range(_MAX_BRACES):
        start = tail.rfind("{", 0, start)
        if start < 0:
            return
        if value := json_object(tail[start:]):
            yield start, {key.casefold() for key in value}


def _keys(parts: Iterable[str]) -> set[str]:
    """Returns the keys of `key: value` parts; an unreadable part gives a key nobody lists."""
    hits = [_TRAIT.fullmatch(part.strip()) for part in parts if part.strip()]
    return {hit[1].casefold() if hit else "" for hit in hits}


def sentences(text: str) -> list[str]:
    """Returns sentences and lines, white space behind them included."""
    if not _BREAK.search(text, 0, max(1, len(text) - 1)):
        return [text] if text else []
    return [hit.group() for hit in _SENTENCE.finditer(text)]


def _unrepeated(text: str) -> str:
    """Returns the text without sentences or whole texts that are repeated.

    A second line that begins the first one is repeated, too: its own end came off before.
    A sentence counts as repeated only directly behind itself: `Run the tests. Commit. Run the
    tests.` is an order of work and stays.
    """
    head, _, tail = text.partition("\n")
    if head.startswith(tail) and count(tail) >= 3:  # the second time without its end
        return head
    parts = sentences(text)
    if len(parts) == 1:
        return text
    keys = [" ".join(_WORD.findall(part.casefold())) for part in parts]
    for size in range(1, len(parts) // 2 + 1 if len(parts) <= 64 else 1):
        if len(parts) % size == 0 and keys == keys[:size] * (len(parts) // size):
            return "".join(parts[:size]).strip()
    once = [
        part
        for at, part in enumerate(parts)
        if not (at and keys[at] == keys[at - 1] and count(part) >= 3)
    ]
    return "".join(once).strip() if len(once) < len(parts) else text
