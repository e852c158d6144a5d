"""The words by which a text denies, allows and bounds, by language: `lexicon/bindings.json`.

Each list is a class of words; `w*` stands for all words that begin so, `*w` for all that end so. An
entry of several words is a phrase. Japanese and Chinese, whose verbs end in their denial or stand
behind it, have patterns instead. A language without words there is read as if it bound nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from echoless.core.expressions import lazy_pattern
from echoless.core.shipped import shipped_json
from echoless.matching.facts import Facts, remembered

_CLASSES: Final = (
    *("silent", "permission", "request", "consent", "alone", "clause", "condition", "before"),
    *("only", "unless", "denied", "absent", "lack", "denial"),
)
_BOUNDS: Final = (
    *("place", "restricting", "reason", "general", "universal", "subject", "imperative"),
    *("auxiliary", "measuring", "plural", "since", "degree", "determiner"),
)
_PHRASES: Final = ("passing", "present", "leading", "interim", "partial")
"""Lists of phrases that are looked for in a whole text."""
MOST_WORDS: Final = 60
"""Words of a text up to which it is read. In longer ones a denial and what it denies stand in
statements of their own: of 1,919 right merges of written pairs the rules held 6 % without a limit
and without the agreement that `denial` asks for, and 1 % with both."""
_SCAN: Final = lazy_pattern(
    r"`[^`\n]{1,80}`|[^\W_]+(?:['-][^\W_]+)*'?|[.,;:!?()\n—–|⏎]|(?<=\s)-(?=\s)"
)
MARKS: Final = frozenset(".,;:!?()\n—–|⏎-")
_ELISION: Final = lazy_pattern(r"\b([ldnsjmtc]|qu)'(?=\w)")
_NUMBERED: Final = lazy_pattern(r"\b(?:no|nr|n)\.\s*(?=\d)")
_KANA: Final = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa]")
_HAN: Final = lazy_pattern("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True, eq=False)
class Speech:
    """The words of one language, folded by case."""

    language: str
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], frozenset[str]]]]
    prefixes: Sequence[tuple[str, str]]
    endings: tuple[str, ...]
    bounds: Mapping[str, frozenset[str]]
    east: bool
    patterns: Mapping[str, re.Pattern[str]]

    def classes(self, words: Sequence[str], at: int) -> tuple[int, frozenset[str]]:
        """Returns how many words the longest phrase from a place on has, and its classes."""
        for phrase, classes in self.phrases.get(words[at], ()):
            if len(phrase) == 1:
                return 1, classes | self._by_prefix(words[at])
            if tuple(words[at : at + len(phrase)]) == phrase:
                return len(phrase), classes
        return 1, self._by_prefix(words[at])

    def _by_prefix(self, word: str) -> frozenset[str]:
        return frozenset(name for prefix, name in self.prefixes if word.startswith(prefix))


@cache
def _raw() -> dict[str, Any]:
    raw: dict[str, Any] = shipped_json("matching/lexicon/bindings.json")
    return raw


@cache
def speech_of(language: str) -> Speech:
    """Returns the words of a language; an empty one for a language without words here."""
    raw = _raw().get(language, {})
    patterns = {name: re.compile(each) for name, each in raw.get("patterns", {}).items()}
    phrases: dict[tuple[str, ...], set[str]] = {}
    prefixes = []
    for name in _CLASSES:
        for entry in raw.get(name, ()):
            if entry.endswith("*"):
                prefixes.append((entry[:-1], name))
            else:
                phrases.setdefault(tuple(entry.split()), set()).add(name)
    by_word: dict[str, list[tuple[tuple[str, ...], frozenset[str]]]] = {}
    for phrase in sorted(phrases, key=lambda each: (-len(each), each)):
        by_word.setdefault(phrase[0], []).append((phrase, frozenset(phrases[phrase])))
    past = raw.get("past", ())
    patterns |= {name: _phrases(raw.get(name, ())) for name in _PHRASES if name not in patterns}
    return Speech(
        language,
        by_word,
        tuple(prefixes),
        tuple(each[1:] for each in past if each.startswith("*")),
        {name: frozenset(raw.get(name, ())) for name in _BOUNDS} | {"past": frozenset(past)},
        "patterns" in raw,
        patterns,
    )


def _phrases(entries: Sequence[str]) -> re.Pattern[str]:
    longest = sorted(entries, key=lambda each: (-len(each), each))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b" if entries else r"(?!)")


@cache
def _known() -> Mapping[str, tuple[str, ...]]:
    """Returns the languages in which a word has a class, by word."""
    known: dict[str, list[str]] = {}
    for language, raw in _raw().items():
        lists = (each for name, each in raw.items() if name != "patterns")
        words = {word for each in lists for word in each if " " not in word}
        for word in words:
            known.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in known.items()}


def plain(text: str) -> str:
    """Returns a text folded by case, with elisions cut off and `no. 14` without its `no.`."""
    return _NUMBERED.sub("", _ELISION.sub(r"\1' ", text.replace("’", "'").casefold()))


@remembered
def scanned(facts: Facts) -> tuple[str, ...]:
    """Returns the words and marks of a text; empty where it is too long to read."""
    scanned = _SCAN.findall(plain(facts.body[: 12 * MOST_WORDS]))
    words = sum(1 for each in scanned if each not in MARKS)
    return tuple(scanned) if words <= MOST_WORDS and len(facts.body) <= 12 * MOST_WORDS else ()


@remembered
def _votes(facts: Facts) -> Counter[str]:
    known = _known()
    return Counter(language for word in scanned(facts) for language in known.get(word, ()))


def language_of_pair(a: Facts, b: Facts) -> str:
    """Returns the language of two texts, as most of their small words say.

    Texts in a language without words here have none; a few words in doubt are English.
    """
    for script, language in ((_KANA, "ja"), (_HAN, "zh")):
        if script.search(a.body) or script.search(b.body):
            return language
    votes = _votes(a) + _votes(b)
    if not votes and not (a.body.isascii() and b.body.isascii()):
        return ""
    return max(votes, key=lambda each: (votes[each], each == a.language, each), default="en")


def finds(facts: Facts, speech: Speech, name: str) -> bool:
    """Returns whether a pattern of a language finds anything in a text."""
    return bool(speech.patterns[name].search(facts.body[: 12 * MOST_WORDS]))


@cache
def _imperatives() -> frozenset[str]:
    return frozenset(word for raw in _raw().values() for word in raw.get("imperative", ()))


def is_imperative(word: str) -> bool:
    """Returns whether a folded word is listed as an order of any language (`deploy`)."""
    return word in _imperatives()
