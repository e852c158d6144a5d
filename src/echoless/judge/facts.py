"""What one text says, as typed tokens, taken out once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from echoless.judge.frames import unframe
from echoless.judge.language import Lexicon, fold, language_of, lexicon
from echoless.judge.scan import LINE, Token, scan
from echoless.judge.words import Reader
from echoless.text import normalise, undress

MAX_LENGTH: Final = 20_000
"""Characters looked at. What is longer is capped and never merged unless the texts are equal."""

MAX_CODE_MARKS: Final = 1_000
"""Finding code spans is quadratic in the number of back quotes; beyond this they are left alone."""

LONG_TEXT: Final = 120
"""Tokens from which a vector is no evidence of sameness: models see the first 256 tokens, or a
mean in which one fact does not count (0.999 for 600 words with one different fact)."""

_CODE: Final = re.compile(r"`([^`\n]{1,80})`")
_CODE_WORD: Final = re.compile(r"[^\W\d_]+")
_ENUMERATOR: Final = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+", re.MULTILINE)
_RULE: Final = re.compile(r"^[ \t|:=+-]{3,}$", re.MULTILINE)
_LIST_SIGN: Final = re.compile(r"^[ \t]*([-+>])[ \t]*(?=[\d.$€£])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Facts:
    """What one text says.

    Attributes:
        normal: Normal form, case kept.
        signs: Signs before figures at line starts: minus, plus, greater than, or bullets.
        language: Whose lexicon was used.
        tokens: All tokens that carry meaning, in order.
        counts: How often each key occurs.
        weak: Small words that count only as one half of an opposite (`on` of on/off).
        times: `present`, `past` or both, by the forms of "to be".
        trailing: Function words after the last token.
        stamps: Capture times that stood in a frame around the text.
        stative: The text states what is, not what happened.
        passive: There is a passive voice in it.
        ordered: Its list is a sequence (steps, ranks).
        update: It says that something is new or has changed.
        stage: 0 planned, 1 under way, 2 done; None where it does not say.
        capped: Only the first `MAX_LENGTH` characters were looked at.
    """

    normal: str
    signs: tuple[str, ...]
    language: str
    tokens: tuple[Token, ...]
    counts: Mapping[str, int]
    weak: frozenset[str]
    times: frozenset[str]
    trailing: tuple[str, ...]
    stamps: tuple[str, ...]
    stative: bool
    passive: bool
    ordered: bool
    update: bool
    stage: int | None
    capped: bool

    @property
    def long(self) -> bool:
        """Too long for a vector to be evidence."""
        return len(self.tokens) > LONG_TEXT // 2

    @property
    def lexicon(self) -> Lexicon:
        """The words of its language."""
        return lexicon(self.language)


@lru_cache(maxsize=65_536)
def facts_of(text: str) -> Facts:
    """Take the facts out of a text.

    Args:
        text: Any text; more than `MAX_LENGTH` characters are cut off.
    """
    quoted = text.count("`") > MAX_CODE_MARKS
    capped = quoted or len(text) > MAX_LENGTH
    head = text[:MAX_LENGTH].replace("`", " ") if quoted else text[:MAX_LENGTH]
    lines = _ENUMERATOR.sub("", _RULE.sub("", head))
    lex = lexicon(language_of(head))
    flat = normalise(undress(lines).replace("\n", f" {LINE} "))
    body, stamps, _ = unframe(flat, lex)
    coded = frozenset(w for span in _CODE.findall(head) for w in _CODE_WORD.findall(span))
    reader = Reader(lex, coded)
    tokens = tuple(reader.read(list(scan(body, lex))))
    spoken = [fold(w, lex.language) for w in re.findall(r"[^\W\d_]+", body)]
    words = set(spoken)
    return Facts(
        normal=text if quoted else normalise(text),
        signs=tuple(_LIST_SIGN.findall(head)),
        language=lex.language,
        tokens=tokens,
        counts=Counter(token.key for token in tokens),
        weak=frozenset(words & lex.sets["weak"]),
        times=frozenset(name for name in ("present", "past") if words & lex.sets[name]),
        trailing=reader.trailing,
        stamps=stamps,
        stative=_stative(spoken, lex),
        passive=bool(words & (lex.sets["passive"] | lex.sets["agent"])),
        ordered=bool(words & lex.sets["sequence"]) or "→" in body or "->" in body,
        update=_has(lex.sets["update"], words, body, lex),
        stage=_stage(words, body, lex),
        capped=capped,
    )


def _stative(spoken: list[str], lex: Lexicon) -> bool:
    """The first verb says what is (`likes`), not what happened (`deployed`)."""
    for word in spoken:
        if word in lex.sets["stative"]:
            return True
        if word.endswith("ed") or word in {"was", "were", "wurde", "hat"}:
            return False
    return lex.language == "ja"


def _has(entries: frozenset[str], words: set[str], body: str, lex: Lexicon) -> bool:
    if lex.language == "ja":
        return any(entry in body for entry in entries)
    low = body.casefold()
    return bool(words & entries) or any(" " in entry and entry in low for entry in entries)


def _stage(words: set[str], body: str, lex: Lexicon) -> int | None:
    if lex.language == "ja":
        found = [index for word, index in lex.stage.items() if word in body]
    else:
        found = [lex.stage[word] for word in words if word in lex.stage]
    return max(found, default=None)
