"""The words by which a text denies, allows and bounds, by language: `lexicon/bindings.json`.

Each list is a class of words; `w*` stands for all words that begin so, `*w` for all that end so. An
entry of several words is a phrase. Japanese and Chinese, whose verbs end in their denial or stand
behind it, have patterns instead. A language without words there is read as if it bound nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from echoless.core.shipped import shipped_json
from echoless.core.text import lazy_pattern
from echoless.matching.facts import Facts, remembered

_PHRASES: Final = (
    *("silent", "permission", "request", "consent", "alone", "clause", "condition", "before"),
    *("only", "unless", "denied", "absent", "lack", "denial"),
    *("passing", "present", "leading", "interim", "partial"),
)
"""Classes whose entries may be phrases."""
TIMES: Final = frozenset({"passing", "present", "leading", "interim"})
"""Classes of words that tell for how long."""
MOST_WORDS: Final = 60
"""Words of a text up to which it is read. In longer ones a denial and what it denies stand in
statements of their own: of 1,919 right merges of written pairs the rules held 6 % without a limit
and without the agreement that `denial` asks for, and 1 % with both."""
_LONGEST: Final = 12 * MOST_WORDS
"""Characters of a text up to which it is read."""
_SCAN: Final = lazy_pattern(
    r"(?:no|nr|n)\.(?=\s*\d)|`[^`\n]{1,80}`|[^\W_]+(?:['-][^\W_]+)*'?"
    r"|[.,;:!?()\n—–|⏎]|(?<=\s)-(?=\s)"
)
MARKS: Final = frozenset(".,;:!?()\n—–|⏎-")
_NONE: Final = frozenset[str]()
_ELIDED: Final = frozenset(["l", "d", "n", "s", "j", "m", "t", "c", "qu"])


class Word(NamedTuple):
    """A word or a phrase of a text, and what it does there.

    Attributes:
        text: Folded by case.
        classes: Lists that have it; of a mark none.
    """

    text: str
    classes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """The words of one language, folded by case.

    Attributes:
        language: Its code; empty for a language without words here.
        sets: Words by class.
        endings: Of verbs that tell what happened.
        patterns: Of Japanese and Chinese, by what they find.
    """

    language: str
    sets: Mapping[str, frozenset[str]]
    endings: tuple[str, ...]
    patterns: Mapping[str, re.Pattern[str]]
    _phrases: Mapping[str, Sequence[tuple[tuple[str, ...], frozenset[str]]]]
    _prefixes: Sequence[tuple[str, str]]
    _beginnings: tuple[str, ...]

    @property
    def east(self) -> bool:
        """Whether patterns read the language."""
        return bool(self.patterns)

    def has(self, name: str, word: str) -> bool:
        """Returns whether a word is of a class by itself."""
        return name in self._longest((word,), 0)[1]

    def begun_by(self, words: AbstractSet[str]) -> frozenset[str]:
        """Returns the classes of which an entry begins with one of some words."""
        known = [own for word in self._phrases.keys() & words for _, own in self._phrases[word]]
        return frozenset().union(*known, *map(self._prefixed, words))

    def words(self, scanned: Sequence[str]) -> list[Word]:
        """Returns the words, phrases and marks of a text with their classes."""
        parts, at = list[Word](), 0
        while at < len(scanned):
            text = scanned[at]
            count, classes = (1, _NONE) if text in MARKS else self._longest(scanned, at)
            if count == 1 and not classes and "-" in text and text not in MARKS:
                parts += [Word(piece, self._longest((piece,), 0)[1]) for piece in text.split("-")]
            else:
                parts.append(Word(" ".join(scanned[at : at + count]), classes))
            at += count
        return parts

    def _longest(self, words: Sequence[str], at: int) -> tuple[int, frozenset[str]]:
        """Returns how many words the longest phrase from a place on has, and its classes."""
        begun = self._prefixed(words[at])
        for phrase, classes in self._phrases.get(words[at], ()):
            if tuple(words[at : at + len(phrase)]) == phrase:
                return len(phrase), classes | begun if len(phrase) == 1 else classes
        return 1, begun

    def _prefixed(self, word: str) -> frozenset[str]:
        if not word.startswith(self._beginnings):
            return _NONE
        return frozenset(name for start, name in self._prefixes if word.startswith(start))


@cache
def _raw() -> dict[str, Any]:
    raw: dict[str, Any] = shipped_json("matching/lexicon/bindings.json")
    return raw


@cache
def speech_of(language: str) -> Speech:
    """Returns the words of a language; an empty one for a language without words here."""
    raw = _raw().get(language, {})
    patterns = {name: lazy_pattern(each) for name, each in raw.get("patterns", {}).items()}
    phrases: dict[tuple[str, ...], set[str]] = {}
    for name in _PHRASES:
        for entry in raw.get(name, ()):
            phrases.setdefault(tuple(entry.split()), set()).add(name)
    by_word: dict[str, list[tuple[tuple[str, ...], frozenset[str]]]] = {}
    prefixes = []
    for phrase in sorted(phrases, key=lambda each: (-len(each), each)):
        if phrase[-1].endswith("*"):
            prefixes += [(phrase[0][:-1], name) for name in sorted(phrases[phrase])]
        by_word.setdefault(phrase[0], []).append((phrase, frozenset(phrases[phrase])))
    sets = defaultdict[str, frozenset[str]](frozenset)
    sets |= {name: frozenset(entries) for name, entries in raw.items() if name != "patterns"}
    endings = tuple(each[1:] for each in raw.get("past", ()) if each.startswith("*"))
    beginnings = tuple(start for start, _ in prefixes)
    return Speech(language, sets, endings, patterns, by_word, prefixes, beginnings)


@cache
def _known() -> Mapping[str, tuple[str, ...]]:
    """Returns the languages in which a word has a class, by word."""
    known: dict[str, list[str]] = {}
    for language, raw in _raw().items():
        lists = (each for name, each in raw.items() if name != "patterns")
        for word in {word for each in lists for word in each if " " not in word}:
            known.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in known.items()}


@remembered
def scanned(facts: Facts) -> tuple[str, ...]:
    """Returns the words and marks of a text; empty where it is too long to read.

    What is elided stands alone: `l'eau` are two words.
    """
    if len(facts.body) > _LONGEST:
        return ()
    parts: list[str] = []
    for text in _SCAN.findall(facts.body.replace("’", "'").casefold()):
        head, elision, rest = text.partition("'")
        parts += [f"{head}'", rest] if elision and rest and head in _ELIDED else [text]
    words = sum(1 for each in parts if each not in MARKS)
    return tuple(parts) if words <= MOST_WORDS else ()


@remembered
def classes_in(facts: Facts, speech: Speech) -> frozenset[str]:
    """Returns the classes of which an entry begins with a word of a text; in the East all.

    A class that is not among them has no word there, which `words_of` would tell in more time.
    """
    if speech.east:
        return frozenset(_PHRASES)
    words = scanned(facts)
    return speech.begun_by({*words}.union(*(word.split("-") for word in words if "-" in word)))


@remembered
def words_of(facts: Facts, speech: Speech) -> list[Word]:
    """Returns the words of a text with their classes."""
    return speech.words(scanned(facts))


@remembered
def _votes(facts: Facts) -> Counter[str]:
    known = _known()
    return Counter(language for word in scanned(facts) for language in known.get(word, ()))


@remembered
def _script(facts: Facts) -> str:
    if facts.body.isascii():
        return ""
    kana = any("\u3041" <= sign <= "\u30fa" for sign in facts.body)
    han = kana or any("\u4e00" <= sign <= "\u9fff" for sign in facts.body)
    return "ja" if kana else "zh" if han else ""


def language_of_pair(a: Facts, b: Facts) -> str:
    """Returns the language of two texts, as most of their small words say.

    Texts in a language without words here have none; a few words in doubt are English.
    """
    scripts = {_script(a), _script(b)} - {""}
    if scripts:
        return min(scripts)
    votes = _votes(a) + _votes(b)
    if not votes and not (a.body.isascii() and b.body.isascii()):
        return ""
    return max(votes, key=lambda each: (votes[each], each == a.language, each), default="en")


def found_in(facts: Facts, speech: Speech, name: str) -> str:
    """Returns what a list or a pattern of Japanese or Chinese finds in a text; empty if nothing."""
    body = facts.body[:_LONGEST] + "。"  # a past form ends a text, or stands before a mark
    if name in speech.patterns:
        match = speech.patterns[name].search(body)
        return match.group() if match else ""
    return next((entry for entry in sorted(speech.sets[name]) if entry in body), "")


@cache
def _imperatives() -> frozenset[str]:
    return frozenset(word for raw in _raw().values() for word in raw.get("imperative", ()))


def is_imperative(word: str) -> bool:
    """Returns whether a folded word is listed as an order of any language (`deploy`)."""
    return word in _imperatives()
