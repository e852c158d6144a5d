"""Languages as data: the lexicon that the judge reads for one language.

Each language is one JSON file in `lexicon/`. A word that stands in none of the lists is a content
word. Adding a language means adding a file and a line to `LANGUAGES`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from echoless.core.groups import partners_in
from echoless.core.shipped import shipped_json, shipped_text
from echoless.core.text import lazy_pattern
from echoless.core.text import words as cut

LANGUAGES: Final = ("en", "de", "ja")
_KANA: Final = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa]")
_EAST: Final = lazy_pattern("[\u3041-\u30ff\u4e00-\u9fff]")
_HAN: Final = lazy_pattern("[\u4e00-\u9fff]")
WORDS: Final = lazy_pattern(r"[^\W\d_]+")
"""Runs of letters."""
_UMLAUTS: Final = frozenset("äöüßÄÖÜ")
_DETECT_WORDS: Final = 400
_HEAD: Final = 4_000
"""Characters of a text that tell its language."""

_LAST_NATIVE: Final = 9
"""Classes of combining marks up to here make another letter: dots, voicing of kana, viramas."""

_KEEP: Final = frozenset(
    (
        *("news", "less", "this", "thus", "always", "during", "need", "speed", "hundred", "thing"),
        *("something", "anything", "everything", "nothing", "morning", "evening", "ceiling"),
        *("clothing", "wedding"),
    )
)
"""Words that end like a form of another word and are none."""

_ENDINGS_DE: Final = ("innen", "ern", "en", "er", "em", "es", "e", "n", "s")
_LEAST: Final = {"en": 4, "de": 4, "ja": 2}
"""Letters a word needs before a negating prefix: `un` + `it` is no opposite of `it`."""

_PIECES: Final = "matching/pair_model/weights/pieces.json"
"""Pieces of words with how common they are; one that begins a word has `\u2581` in front."""
_WHOLE_PIECE: Final = lazy_pattern(r'(?<=")\u2581([^"\\]*)(?=",)')

Groups: TypeAlias = Mapping[str, str]
Opposites: TypeAlias = Mapping[str, frozenset[str]]


def fold(word: str, language: str) -> str:
    """Returns a word in small letters without diacritics, German umlauts written out."""
    word = word.casefold()
    if word.isascii():
        return word
    if language == "de":
        word = word.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    flat = unicodedata.normalize("NFD", word)
    marks = {c for c in set(flat) if unicodedata.combining(c) > _LAST_NATIVE}
    bare = flat.translate(dict.fromkeys(map(ord, marks))) if marks else flat
    return unicodedata.normalize("NFC", bare).replace("ı", "i").replace("ł", "l").replace("ø", "o")


@cache
def stem(word: str, language: str) -> str:
    """Returns a light stem: plural, participle and case endings off."""
    if len(word) < 4 or word in _KEEP or not word.isalpha():
        return word
    return _stem_de(word) if language == "de" else _stem_en(word)


def _stem_de(word: str) -> str:
    for ending in _ENDINGS_DE:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _stem_en(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and not word.endswith("eing"):
        return _undouble(word, word[:-3])
    if word.endswith("ed") and not word.endswith("eed"):
        return _undouble(word, word[:-2])
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _undouble(word: str, base: str) -> str:
    if len(base) < 3 or set(base).isdisjoint("aeiouy"):
        return word
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiouls":
        return base[:-1]
    return base[:-1] if base.endswith("e") and len(base) > 3 else base


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
        antonyms: The opposites of a word, as written.
        prefixes: What turns a word into its opposite (`un`, `non`).
        persons: Class of a pronoun by its form in small letters: first, second, third person.
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
    antonyms: Opposites
    prefixes: tuple[str, ...]
    persons: Groups
    synonyms: Groups
    numbers: Mapping[str, int]
    multipliers: Mapping[str, int]
    ordinals: Mapping[str, int]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    times: Groups
    phrases: tuple[str, ...]

    def has(self, name: str, word: str) -> bool:
        """Returns whether the folded word stands in the list of that name."""
        return word in self.sets[name]

    def knows(self, word: str) -> bool:
        """Returns whether a folded word is ordinary: listed itself or by its stem."""
        return not _ordinary(self).isdisjoint((word, stem(word, self.language)))

    def opposed(self, one: str, other: str) -> bool:
        """Checks whether two folded words are opposites: as written, by stem or by a prefix.

        `allows` and `denied` are, and `assigned` and `unassigned`.
        """
        if other in self.antonyms.get(one, ()):
            return True
        short, long = sorted((one, other), key=len)
        if len(short) >= _LEAST[self.language] and long.removesuffix(short) in self.prefixes:
            return True
        stems = _opposite_stems(self.language)
        return stem(other, self.language) in stems.get(stem(one, self.language), ())


_SETS: Final = (
    "articles",
    "prepositions",
    "conjunctions",
    "function",
    "bland",
    "qualifiers",
    "update",
    "outdated",
    "significant",
    "weak",
    "relative_days",
    "scopes",
    "boilerplate",
    "frame_weak",
    "reversers",
    "stative",
)
_AS_WRITTEN: Final = ("retracting",)


@cache
def _raw(language: str) -> dict[str, Any]:
    raw: dict[str, Any] = shipped_json(f"matching/lexicon/{language}.json")
    return raw


@cache
def _markers(language: str) -> frozenset[str]:
    return frozenset(fold(word, language) for word in _raw("shared")["markers"][language])


@cache
def listed(name: str) -> frozenset[str]:
    """Returns the words of one list in all languages, cut by `core.text.words`, and their stems.

    Args:
        name: `neutral_headings` (words of headings that limit nothing: what every document of rules
            has; names of parts, places, systems, states, occasions are none of them), `pointing`
            (words that point to what stands around a text) or `pointing_first` (the same, where
            they come first).
    """
    written = " ".join(_raw("shared")[name])  # of texts of any language
    return frozenset(form for word in cut(written) for form in (word, stem(word, "en")))


def _folded(groups: Sequence[Sequence[str]], language: str) -> list[list[str]]:
    """Groups of words, folded in one go: a call for each word would take most of the time."""
    text = "\n".join("\t".join(group) for group in groups)
    return [line.split("\t") for line in fold(text, language).split("\n")] if groups else []


@cache
def lexicon(language: str) -> Lexicon:
    """Returns the lexicon of a language, read once."""
    raw = _raw(language)

    def each(words: Iterable[str]) -> list[str]:
        return [fold(word, language) for word in words]

    def grouped(name: str) -> dict[str, str]:
        return {word: key for key, words in raw[name].items() for word in each(words)}

    def valued(name: str) -> dict[str, int]:
        return {fold(word, language): int(value) for word, value in raw[name].items()}

    sets = {name: frozenset(each(raw[name])) for name in _SETS}
    sets |= {name: frozenset(raw[name]) for name in _AS_WRITTEN}
    negation, quantifiers, modality = (grouped(n) for n in ("negation", "quantifiers", "modality"))
    synonyms = {word: group[0] for group in _folded(raw["synonyms"], language) for word in group}
    known = [*negation, *quantifiers, *modality, *synonyms]
    known += [w for name in ("update", "qualifiers", "prepositions") for w in sets[name]]
    phrases = {word for word in known if re.search(r"\W", word)} if language != "ja" else set()
    return Lexicon(
        language=language,
        sets=sets,
        negation=negation,
        quantifiers=quantifiers,
        modality=modality,
        stage={w: i for i, group in enumerate(raw["stages"]) for w in each(group)},
        antonyms=_both_ways(_folded(raw["antonyms"], language)),
        prefixes=tuple(raw["prefixes"]),
        persons={word: key for key, words in raw["persons"].items() for word in words},
        synonyms=synonyms,
        numbers=valued("numbers"),
        multipliers=valued("multipliers"),
        ordinals=valued("ordinals"),
        months=valued("months"),
        weekdays=valued("weekdays"),
        times={fold(word, language): value for word, value in raw["times"].items()},
        phrases=tuple(sorted(phrases, key=lambda phrase: (-len(phrase), phrase))),
    )


SEVERAL: Final = "several"
"""Name in the registry of what tells a relation with several values at once."""


@cache
def _relations() -> Mapping[str, re.Pattern[str]]:
    """Returns patterns of relations with one value at a time, and of `SEVERAL`."""
    raw: dict[str, list[str]] = shipped_json("matching/lexicon/relations.json")
    made = {}
    for name, words in raw.items():
        patterns = (re.escape(w) if _EAST.search(w) else rf"\b{re.escape(w)}\b" for w in words)
        made[name] = re.compile("|".join(patterns), re.IGNORECASE)
    return made


@lru_cache(maxsize=65_536)
def relations_of(text: str) -> frozenset[str]:
    """Returns the relations with one value at a time that a text tells: `residence`, `work`.

    `SEVERAL` stands for all that have several at once: `speaks`, `likes`, `owns`.
    """
    return frozenset(name for name, words in _relations().items() if words.search(text))


@cache
def whole_pieces() -> tuple[str, ...]:
    """Returns the words that the pair model has whole, as written, the most common first."""
    # read as text: as JSON it takes a third of a second
    return tuple(_WHOLE_PIECE.findall(shipped_text(_PIECES)))


@cache
def _ordinary(lex: Lexicon) -> frozenset[str]:
    """Returns words of a lexicon with their stems, and those the pair model has whole."""
    words = {*lex.antonyms, *lex.synonyms, *lex.stage}.union(*lex.sets.values())
    pieces = whole_pieces()
    plain = [piece.casefold() for piece in pieces if piece.isascii()]
    marked = "\n".join(piece for piece in pieces if not piece.isascii())
    stems = (stem(word, lex.language) for word in words)
    return frozenset(words.union(stems, plain, fold(marked, lex.language).split("\n")))


@cache
def _opposite_stems(language: str) -> Opposites:
    """Returns the stems of the opposites of a stem, made when first asked for."""
    pairs = _folded(_raw(language)["antonyms"], language)
    return _both_ways([stem(one, language), stem(other, language)] for one, other in pairs)


_AS_STEM: Final = "stem "
_UNTURNED: Final = "without "
"""Before a word that is not meant as written: no folded word has a space."""
_PREFIX: Final = "prefix "
_ANY: Final = "any "


@lru_cache(maxsize=65_536)
def opposites(lex: Lexicon, word: str) -> frozenset[str]:
    """Returns keys of the opposites of a folded word, see `opposable`."""
    stems = _opposite_stems(lex.language).get(stem(word, lex.language), ())
    return frozenset(
        {
            *lex.antonyms.get(word, ()),
            *(f"{_AS_STEM}{each}" for each in stems),
            *_without_prefix(lex, word),
            f"{_UNTURNED}{word}",
            # a word that is a prefix itself is the opposite of any shorter one that long words have
            _PREFIX,
            *([_ANY] if word in lex.prefixes else ()),
        }
    )


@lru_cache(maxsize=65_536)
def opposable(lex: Lexicon, word: str) -> frozenset[str]:
    """Returns keys by which other words find a folded word as their opposite.

    Of two words that are `opposed`, the first looks for something that the second offers; so
    thousands of words of two texts need not be compared one by one. Not the other way round:
    `until` offers `til`.
    """
    return frozenset(
        {
            word,
            f"{_AS_STEM}{stem(word, lex.language)}",
            *(f"{_UNTURNED}{each}" for each in _without_prefix(lex, word)),
            _ANY,
            *([_PREFIX] if word in lex.prefixes else ()),
        }
    )


def _without_prefix(lex: Lexicon, word: str) -> list[str]:
    return [word.removeprefix(each) for each in lex.prefixes if word.startswith(each)]


def _both_ways(pairs: Iterable[Sequence[str]]) -> dict[str, frozenset[str]]:
    return {word: frozenset(others) for word, others in partners_in(pairs).items()}


@cache
def units() -> Mapping[str, Unit]:
    """Returns the unit of each spelling, folded by case; `tools/units.py` makes the file."""
    raw = shipped_json("matching/lexicon/units.json")
    return {word: Unit(base, Fraction(factor)) for word, (base, factor) in raw.items()}


def is_marked(text: str) -> bool:
    """Returns whether a word that marks English or German stands in a text of ASCII letters."""
    words = {*WORDS.findall(text[:_HEAD].lower())} if text.isascii() else set[str]()
    return not words.isdisjoint(_markers("en") | _markers("de"))


def language_of(text: str) -> str:
    """Returns the language of a text: kana means Japanese, else the one with most markers.

    Returns:
        `en`, `de` or `ja`. English also stands for everything unknown: its capitals mean names.
    """
    head = text[:_HEAD]
    if not head.isascii() and _KANA.search(head):
        letters = sum(map(str.isalpha, head))
        if 5 * (len(_KANA.findall(head)) + len(_HAN.findall(head))) >= letters:
            return "ja"
    if head.isascii():  # as below, in half of the time
        words = WORDS.findall(head.lower())[:_DETECT_WORDS]
    else:
        words = [word.casefold() for word in WORDS.findall(head)[:_DETECT_WORDS]]
    german = sum(map(_markers("de").__contains__, words))
    english = sum(map(_markers("en").__contains__, words))
    umlauts = not _UMLAUTS.isdisjoint(head)
    return "de" if german > english or (umlauts and german == english) else "en"
