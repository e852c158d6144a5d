"""Languages as data: what the judge knows about the words of one language.

Each language is one JSON file in `lexicon/`. A word that stands in none of the lists is a content
word. Adding a language means adding a file and a line to `LANGUAGES`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

LANGUAGES: Final = ("en", "de", "ja")
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_DETECT_WORDS: Final = 400

Groups: TypeAlias = Mapping[str, str]


def fold(word: str, language: str) -> str:
    """One spelling of a word: case folded, diacritics taken off, German umlauts written out."""
    word = word.casefold()
    if word.isascii():
        return word
    if language == "de":
        word = word.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    flat = unicodedata.normalize("NFD", word)
    # U+3099 and U+309A are the voicing marks of kana: there they make another syllable.
    kept = "".join(c for c in flat if not unicodedata.combining(c) or c in "\u3099\u309a")
    return unicodedata.normalize("NFC", kept).replace("ı", "i").replace("ł", "l").replace("ø", "o")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure as a multiple of its base unit."""

    base: str
    factor: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The words of one language, folded.

    Attributes:
        language: `en`, `de` or `ja`.
        sets: Word lists by name (`function`, `bland`, `qualifiers`, …).
        negation: Class by word or phrase.
        quantifiers: As above.
        modality: As above.
        stage: 0 planned, 1 under way, 2 done, by word.
        antonyms: The opposites of a word.
        confusable: Words that look like a slip of the pen for another word and are none.
        synonyms: The representative of a word's group.
        numbers: Value by number word.
        multipliers: Value by word or suffix (`million`, `k`).
        ordinals: Value by word.
        months: 1 to 12 by word.
        weekdays: 1 to 7 by word.
        times: Clock time by word.
        phrases: All entries of more than one word, longest first.
    """

    language: str
    sets: Mapping[str, frozenset[str]]
    negation: Groups
    quantifiers: Groups
    modality: Groups
    stage: Mapping[str, int]
    antonyms: Mapping[str, frozenset[str]]
    confusable: Mapping[str, frozenset[str]]
    synonyms: Groups
    numbers: Mapping[str, int]
    multipliers: Mapping[str, int]
    ordinals: Mapping[str, int]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    times: Groups
    phrases: tuple[str, ...]

    def has(self, name: str, word: str) -> bool:
        """Whether the folded word stands in the list of that name."""
        return word in self.sets[name]


_SETS: Final = (
    "markers",
    "articles",
    "prepositions",
    "conjunctions",
    "clauses",
    "function",
    "passive",
    "bland",
    "qualifiers",
    "update",
    "order",
    "significant",
    "weak",
    "relative_days",
    "scopes",
    "boilerplate",
    "frame_weak",
    "reversers",
    "faint",
    "anyone",
    "present",
    "past",
    "harmless",
    "hard_qualifiers",
    "sequence",
    "agent",
    "direction",
    "stative",
)


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of a language, read once."""
    path = files("echoless.judge") / "lexicon" / f"{language}.json"
    raw = json.loads(path.read_text(encoding="utf-8"))

    def each(words: Iterable[str]) -> list[str]:
        return [fold(word, language) for word in words]

    def grouped(name: str) -> dict[str, str]:
        return {word: key for key, words in raw[name].items() for word in each(words)}

    def valued(name: str) -> dict[str, int]:
        return {fold(word, language): int(value) for word, value in raw[name].items()}

    sets = {name: frozenset(each(raw[name])) for name in _SETS}
    negation, quantifiers, modality = (grouped(n) for n in ("negation", "quantifiers", "modality"))
    synonyms = {word: group[0] for group in map(each, raw["synonyms"]) for word in group}
    known = [*negation, *quantifiers, *modality, *synonyms, *sets["update"], *sets["qualifiers"]]
    phrases = {word for word in known if re.search(r"\W", word)} if language != "ja" else set()
    return Lexicon(
        language=language,
        sets=sets,
        negation=negation,
        quantifiers=quantifiers,
        modality=modality,
        stage={w: i for i, group in enumerate(raw["stages"]) for w in each(group)},
        antonyms=_both_ways(map(each, raw["antonyms"])),
        confusable=_both_ways(map(each, raw["confusable"])),
        synonyms=synonyms,
        numbers=valued("numbers"),
        multipliers=valued("multipliers"),
        ordinals=valued("ordinals"),
        months=valued("months"),
        weekdays=valued("weekdays"),
        times={fold(word, language): value for word, value in raw["times"].items()},
        phrases=tuple(sorted(phrases, key=lambda phrase: (-len(phrase), phrase))),
    )


def _both_ways(pairs: Iterable[list[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


@cache
def units() -> Mapping[str, Unit]:
    """Unit by spelling, lower case."""
    path = files("echoless.judge") / "lexicon" / "units.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    return {
        word.casefold(): Unit(base, Fraction(factor))
        for base, factors in raw.items()
        for factor, words in factors.items()
        for word in words
    }


def language_of(text: str) -> str:
    """Which lexicon fits a text: kana means Japanese, else the language with more of its markers.

    Returns:
        `en`, `de` or `ja`. English also stands for everything unknown: its capitals mean names.
    """
    head = text[:4_000]
    letters = sum(1 for c in head if c.isalpha())
    east = len(_KANA.findall(head)) + len(_HAN.findall(head))
    if _KANA.search(head) and 5 * east >= letters:
        return "ja"
    words = [word.casefold() for word in _WORDS.findall(head)[:_DETECT_WORDS]]
    german = sum(word in lexicon("de").sets["markers"] for word in words)
    english = sum(word in lexicon("en").sets["markers"] for word in words)
    umlauts = any(c in "äöüßÄÖÜ" for c in head)
    return "de" if german > english or (umlauts and german == english) else "en"
