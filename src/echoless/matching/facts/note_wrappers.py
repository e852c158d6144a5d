"""What a note-taking program wraps around a memory: labels, running numbers, capture times, tags.

Only a frame whose every word is a word about notes is taken off; `Ticket 37:` says something,
`note 37:` does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from echoless.core.json_codec import json_object
from echoless.core.text import lazy_pattern
from echoless.matching.languages import Lexicon, fold
from echoless.matching.values.patterns import LINE

_TAG: Final = lazy_pattern(r"^<(\w{1,20})(?:\s[^<>]{0,200})?>\s*(.+?)\s*</\1>$", re.DOTALL)
_BRACKET: Final = lazy_pattern(
    r"^(?:\[([^\[\]]{1,80})\]|\(([^()]{1,80})\)|【([^【】]{1,80})】)\s*[:,-]?\s*"
)
_LABEL: Final = lazy_pattern(
    r"^((?:[^.!?;|⏎]|(?<=\d)\.(?=\d)|(?<=no)\.|(?<=No)\.|(?<=Nr)\.){1,100}?)"
    r"(?:: | \| |\s[-–—]\s+|\s⏎\s)"
)
_RULE: Final = r"^(?:={3,}|-{3,})([^=⏎-]{1,60})(?:={3,}|-{3,})\s*"
_RULED: Final = lazy_pattern(_RULE)
_FIELD: Final = lazy_pattern(
    r"^(?:agent|bot|author|session|date|time|topic|source|channel|saved|recorded|captured|created)"
    r"(?:[ _]at)?\s?[:=]\s?[^⏎:=]{1,60}(?::\d\d[^⏎:=]{0,20}){0,2}\s⏎\s",
    re.IGNORECASE,
)
_LOG: Final = lazy_pattern(
    r"^(?P<at>\S{10,40}(?:\s\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?Z?)?)"
    r"(?:\s(?:[\w-]{0,30}(?:bot|agent|assistant)|\[?(?:INFO|DEBUG|NOTICE|NOTE)\]?|"
    r"(?:agent|bot|source|session|level|id|user_agent)=\S{1,40}))+"
    r"\s(?:saved|stored|noted|memory|note|remember(?:ed)?|fact|learned)\s?[:=]\s?(?P<body>.+)$"
)
_ATTRIBUTED: Final = lazy_pattern(
    r"^(?:the )?(?:assistant|agent|bot|ai) (?:has )?"
    r"(?:noted|recorded|remembered|logged|learned|observed|saved|stored)"
    r"(?: for (?:future|later)(?: (?:sessions?|reference|use))?)?,? that (?:one should )?",
    re.IGNORECASE,
)
_TAIL_BRACKET: Final = lazy_pattern(r"\s*(?:\(([^()]{1,80})\)|\[([^\[\]]{1,80})\])$")
_TAIL_RULE: Final = lazy_pattern(r"\s*(?:-{3,}|={3,})([^-=]{0,60})(?:-{3,}|={3,})$")
_HASHTAGS: Final = lazy_pattern(r"(\S*)((?:\s+#[^\W\d][\w-]*)+)$")
_FIRST_TAG: Final = lazy_pattern(r"^#([^\W\d][\w-]*)\s+")
_TAIL_SENTENCE: Final = lazy_pattern(r"(?<=[.!?。])\s+([^.!?:]{1,30}:[^.!?]{1,40})[.]?$")
_STAMP: Final = lazy_pattern(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ,]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
    r"\s?(?:Z|UTC|[+-]\d\d:?\d\d)?"
    r"|\d{1,2}\.\d{1,2}\.\d{4}(?:[ ,]+\d{1,2}:\d{2})?"
    r"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Mo|Di|Mi|Do|Fr|Sa|So)[.,]?\s)?"
    r"\d{1,2}\.?\s(?:Jan|Feb|Mar|Mär|Apr|May|Mai|Jun|Jul|Aug|Sep|Oct|Okt|Nov|Dec|Dez)[a-z]{0,6}\.?"
    r"(?:,?\s\d{4})?(?:[ ,]+\d{1,2}:\d{2}(?::\d{2})?)?"
)
_RECORD: Final = lazy_pattern(r"^(?:mem|memory|note|fact|obs|entry|record)[_-]\d+$")
_SESSION: Final = lazy_pattern(
    r"\b(session|sitzung|turn|chat|conversation|thread)"
    r"[ :=#-]{1,3}[0-9a-f-]{0,36}\d[0-9a-f-]{0,36}\b"
    r"|\b(session|sitzung)[ :=#]{1,3}[0-9a-f]{2,8}\b",
    re.IGNORECASE,
)
_AGENT: Final = lazy_pattern(r"\(?\b[\w]{1,30}-(?:bot|agent|assistant)\b\)?", re.IGNORECASE)
_NUMBERED: Final = lazy_pattern(
    r"^((?:[^\W\d_]+[ -]){0,2}(?:note|memo|memory|notiz|merkzettel))"
    r"\s?(?:no\.?|nr\.?|number)?\s?#?\d+\b",
    re.IGNORECASE,
)
_DOCUMENTS: Final = lazy_pattern(
    r"\b(?:delivery|credit|debit|release|sick|promissory|consignment|bank|dispatch|liefer)\b",
    re.IGNORECASE,
)
"""Notes that are papers of their own: `Delivery note 123` is about that paper."""

_COUNTER: Final = lazy_pattern(r"#?\d+(?:[/.]\d+)*%?")
_WORDS: Final = lazy_pattern(r"[^\W\d_]+")
_NUMBER_SIGN: Final = frozenset({"no", "nr", "number"})
_BODY_KEYS: Final = frozenset(
    {"memory", "note", "fact", "content", "text", "insight", "observation", "summary"}
)
_META_KEYS: Final = frozenset(
    {
        "id", "created", "created_at", "timestamp", "time", "date", "agent", "source", "tags",
        "type", "importance", "confidence", "score", "session", "session_id", "saved_at",
    }
)  # fmt: skip
_MIN_BODY: Final = 12


def unframe(text: str, lexicon: Lexicon) -> tuple[str, tuple[str, ...], bool]:
    """Takes the frame off.

    Args:
        text: Normalised text, line breaks as `LINE`.
        lexicon: Its language.

    Returns:
        The body, the capture times that stood in the frame, and whether there was a frame.
    """
    stamps: list[str] = []
    body = text
    for _ in range(8):
        shorter = _once(body, lexicon, stamps)
        if shorter == body or len(shorter) < _MIN_BODY:
            break
        body = shorter
    return body, tuple(stamps), body != text


def _once(text: str, lexicon: Lexicon, stamps: list[str]) -> str:
    text = text.strip(_AROUND)
    if text[:1] == "{" and text[-1:] == "}":
        return _wrapped(text)
    tag = _TAG.match(text) if text[:1] == "<" else None
    if tag and tag[1].casefold() in {"memory", "fact", "note", "entry", "observation"}:
        return tag[2]
    return _before(text, lexicon, stamps) or _behind(text, lexicon, stamps) or text


def _wrapped(text: str) -> str:
    """Returns the value of `{"memory": "…"}`."""
    fields = json_object(text.replace(LINE, " "))
    body = [key for key in fields if key.casefold() in _BODY_KEYS]
    said = fields[body[0]] if len(body) == 1 else None
    others = {key.casefold() for key in fields} - {key.casefold() for key in body}
    return said if isinstance(said, str) and others <= _META_KEYS else text


_AROUND: Final = f" {LINE}"
_LABEL_ENDS: Final = (": ", " | ", " - ", " – ", " — ", f" {LINE} ")
"""Signs without which a text has no label in front."""


def _opening(text: str) -> Iterator[re.Match[str]]:
    """Yields what may be a wrapper at the beginning of a text."""
    if text.startswith(("===", "---")):
        yield from filter(None, [_RULED.match(text)])
    if text[:1] in _BRACKETS:
        yield from filter(None, [_BRACKET.match(text)])
    head = text[:112]
    if any(sign in head for sign in _LABEL_ENDS):
        yield from filter(None, [_LABEL.match(text)])


def _ending(tail: str) -> Iterator[re.Match[str]]:
    """Yields what may be a wrapper at the end of a text."""
    last = tail.rstrip("\n")[-1:]
    if last in {")", "]"}:
        yield from filter(None, [_TAIL_BRACKET.search(tail)])
    if last in {"-", "="}:
        yield from filter(None, [_TAIL_RULE.search(tail)])
    if ":" in tail and any(sign in tail for sign in ".!?。"):
        yield from filter(None, [_TAIL_SENTENCE.search(tail)])


_BRACKETS: Final = frozenset("[(【")


def _before(text: str, lexicon: Lexicon, stamps: list[str]) -> str | None:
    """Returns the text without a wrapper at its beginning, or None if there is no wrapper."""
    log = _LOG.match(text) if text[:1].isdigit() or text[:1] == "[" else None
    if log and _STAMP.match(log["at"].strip("[]")):
        stamps.append(log["at"].strip("[]"))
        return log["body"].strip("\" '")
    said = _ATTRIBUTED.match(text) if text[:1] in "tTaAbB" else None
    if said and len(text) - said.end() >= _MIN_BODY:
        return text[said.end() :]
    for match in _opening(text):
        rest = text[match.end() :]
        inner = next(filter(None, match.groups()), "")
        if len(rest) >= _MIN_BODY and _is_frame(inner, lexicon, stamps):
            return _without_fields(rest, stamps) if match.re.pattern == _RULE else rest
    first = _FIRST_TAG.match(text) if text[:1] == "#" else None
    if first and lexicon.has("boilerplate", fold(first[1], lexicon.language)):
        return text[first.end() :]
    return None


def _without_fields(text: str, stamps: list[str]) -> str:
    """Returns a hand-over sheet without the lines that say who wrote it when."""
    text = text.lstrip(f" {LINE}")
    for _ in range(8):
        field = _FIELD.match(text)
        if not field or len(text) - field.end() < _MIN_BODY:
            break
        stamps.extend(_STAMP.findall(field.group()))
        text = text[field.end() :].lstrip(f" {LINE}")
    return text


def _behind(text: str, lexicon: Lexicon, stamps: list[str]) -> str | None:
    """Returns the text without a wrapper at its end, or None if there is no wrapper."""
    offset, tail = max(0, len(text) - 200), text[-200:]
    for match in _ending(tail):
        if _is_frame(next(filter(None, match.groups()), ""), lexicon, stamps):
            return text[: offset + match.start()]
    tags = _HASHTAGS.search(tail) if "#" in tail else None
    if tags and not _leads_on(tags[1], lexicon):
        return text[: offset + tags.start(2)]
    return None


def _leads_on(word: str, lexicon: Lexicon) -> bool:
    """Checks for a tag that belongs to the sentence: `in #ops` speaks of a channel."""
    folded = fold(word, lexicon.language)
    closed = ("prepositions", "articles", "conjunctions", "significant", "function")
    names = {"channel", "kanal", "tag", "label", "room", "hashtag"}
    return folded in names or any(lexicon.has(name, folded) for name in closed)


def _is_frame(inner: str, lexicon: Lexicon, stamps: list[str]) -> bool:
    """Returns whether all words are about notes; a lone number or an empty label is no frame."""
    if _RECORD.match(inner) or inner.strip().casefold() in {"end", "ende", "eof"}:
        return True
    matches, rest = [], inner
    if not (inner.isascii() and _NAME.fullmatch(inner)):
        matches = _STAMP.findall(inner)
        rest = _SESSION.sub(r" \1\2 ", _AGENT.sub(" ", _STAMP.sub(" ", inner)))
        numbered = _NUMBERED.match(rest)
        if numbered and not _DOCUMENTS.search(numbered[1]):
            rest = f"note {rest[numbered.end() :]}"
        rest = _COUNTER.sub(" ", rest)
    if not _all_about_notes(rest, lexicon, stamped=bool(matches)):
        return False
    stamps.extend(matches)
    return True


_NAME: Final = lazy_pattern(r"(?i:(?!sitzung|session)[^\W\d_]+(?: |$))+")
"""Words in which no stamp, number, agent or session stands."""
_CLOSED: Final = ("articles", "function", "prepositions")


def _all_about_notes(rest: str, lexicon: Lexicon, *, stamped: bool) -> bool:
    some, strong = False, False
    for written in _WORDS.findall(rest):
        word = fold(written, lexicon.language)
        if lexicon.has("boilerplate", word) or word in {"note", "memory"}:
            some = True
            strong = strong or not lexicon.has("frame_weak", word)
        elif word not in _NUMBER_SIGN and not any(lexicon.has(name, word) for name in _CLOSED):
            return False
    return strong or (stamped and (some or not _WORDS.search(rest)))
