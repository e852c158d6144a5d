"""What a note-taking program wraps around a memory: labels, running numbers, capture times, tags.

Only a frame whose every word is a word about notes is taken off; `Ticket 37:` says something,
`note 37:` does not.
"""

from __future__ import annotations

import re
from typing import Final

from echoless.judge.language import Lexicon, fold
from echoless.judge.scan import LINE

_TAG: Final = re.compile(r"^<(\w{1,20})(?:\s[^<>]{0,200})?>\s*(.+?)\s*</\1>$", re.DOTALL)
_BRACKET: Final = re.compile(
    r"^(?:\[([^\[\]]{1,80})\]|\(([^()]{1,80})\)|【([^【】]{1,80})】)\s*[:,-]?\s*"
)
_LABEL: Final = re.compile(r"^([^.!?;|⏎]{1,100}?)(?::| \||\s[-–—])\s+")
_TAIL_BRACKET: Final = re.compile(r"\s*(?:\(([^()]{1,80})\)|\[([^\[\]]{1,80})\])$")
_TAIL_RULE: Final = re.compile(r"\s*(?:-{3,}|={3,})([^-=]{0,60})(?:-{3,}|={3,})$")
_HASHTAGS: Final = re.compile(r"(?:\s+#[^\W\d][\w-]*)+$")
_TAIL_SENTENCE: Final = re.compile(r"(?<=[.!?。])\s+([^.!?:]{1,30}:[^.!?]{1,40})[.]?$")
_STAMP: Final = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ,]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
    r"\s?(?:Z|UTC|[+-]\d\d:?\d\d)?"
    r"|\d{1,2}\.\d{1,2}\.\d{4}(?:[ ,]+\d{1,2}:\d{2})?"
)
_RECORD: Final = re.compile(r"^(?:mem|memory|note|fact|obs|entry|record)[_-]\d+$")
_COUNTER: Final = re.compile(r"#?\d+(?:[/.]\d+)*%?")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_MIN_BODY: Final = 12


def unframe(text: str, lexicon: Lexicon) -> tuple[str, tuple[str, ...], bool]:
    """Take the frame off.

    Args:
        text: Normalised text, line breaks as `LINE`.
        lexicon: Its language.

    Returns:
        The body, the capture times that stood in the frame, and whether there was a frame.
    """
    stamps: list[str] = []
    body = text
    for _ in range(6):
        shorter = _once(body, lexicon, stamps)
        if shorter == body or len(shorter) < _MIN_BODY:
            break
        body = shorter
    return body, tuple(stamps), body != text


def _once(text: str, lexicon: Lexicon, stamps: list[str]) -> str:
    text = text.strip(f" {LINE}")
    tag = _TAG.match(text)
    if tag and tag[1].casefold() in {"memory", "fact", "note", "entry", "observation"}:
        return tag[2]
    for pattern in (_BRACKET, _LABEL):
        found = pattern.match(text)
        inner = next((g for g in found.groups() if g), "") if found else ""
        if found and len(text) - found.end() >= _MIN_BODY and _is_frame(inner, lexicon, stamps):
            return text[found.end() :]
    for pattern in (_TAIL_BRACKET, _TAIL_RULE, _TAIL_SENTENCE):
        found = pattern.search(text[-160:])
        inner = next((g for g in found.groups() if g), "") if found else ""
        if found and _is_frame(inner, lexicon, stamps):
            return text[: max(0, len(text) - 160) + found.start()]
    tags = _HASHTAGS.search(text[-200:])
    return text[: max(0, len(text) - 200) + tags.start()] if tags else text


def _is_frame(inner: str, lexicon: Lexicon, stamps: list[str]) -> bool:
    """Whether all words are about notes; a lone number or an empty label is no frame."""
    if _RECORD.match(inner):
        return True
    found = _STAMP.findall(inner)
    rest = _COUNTER.sub(" ", _STAMP.sub(" ", inner))
    words = [fold(word, lexicon.language) for word in _WORDS.findall(rest)]
    boilerplate = [lexicon.has("boilerplate", word) for word in words]
    closed = ("articles", "function", "prepositions")
    fits = all(
        known or any(lexicon.has(name, word) for name in closed)
        for word, known in zip(words, boilerplate, strict=True)
    )
    strong = any(
        known and not lexicon.has("frame_weak", word)
        for word, known in zip(words, boilerplate, strict=True)
    )
    if fits and (strong or (found and not words) or (found and any(boilerplate))):
        stamps.extend(found)
        return True
    return False
