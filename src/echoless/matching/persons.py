"""Names of persons: a first name before a surname, wherever in a text it stands.

Two persons of one surname are two persons. No list has all first names; a word with a capital
counts as one unless it is more common in small letters, as the vocabulary of the pair model tells:
`Use Prisma` names nobody, `James Barrow` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from rapidfuzz import fuzz

from echoless.core.model import Difference, DifferenceKind
from echoless.core.text import lazy_pattern
from echoless.matching.comparison import Comparison
from echoless.matching.facts import Facts, remembered
from echoless.matching.languages import fold, lexicon, whole_pieces
from echoless.matching.speech import is_imperative

_CAPITAL: Final = r"[^\W\d_a-zà-öø-ÿ\u3040-\u9fff][\w’-]*"
_BETWEEN: Final = (
    rf"(?:[ ](?:[\"“'(][^\W\d_][\w ]{{0,20}}[\"”')]|[^\W\d_]\.|{_CAPITAL}|"
    r"(?:van|von|de|der|den|del|della|di|da|dos|la|le|al|bin|ten|ter|zu)))"
)
_NAME: Final = lazy_pattern(
    rf"(?<![\w.’-])(?P<given>{_CAPITAL}\.?)(?P<between>{_BETWEEN}{{0,4}}?)"
    rf"[ ](?P<surname>{_CAPITAL})"
    r"(?!\.?\w)(?:,?[ ](?P<suffix>jun|sen|jr|sr|junior|senior|II|III)\b)?"
)
_QUOTES: Final = "\"“”'()"
_TITLES: Final = frozenset(
    {
        *("mr", "mrs", "ms", "dr", "prof", "sir", "lady", "lord", "frau", "herr", "herrn"),
        *("señor", "señora", "don", "doña", "monsieur", "madame", "mme"),
    }
)
_JOINING: Final = frozenset({"and", "&", "+", "und", "y", "e", "et", "en", "и"})
_YOUNGER: Final = frozenset({"jun", "jr", "junior"})
_MOST: Final = 40
"""Persons of one surname that are read: each is compared with each of the other text."""
_GENITIVES: Final = ("'s", "’s", "'", "’")
_BEFORE: Final = 40
"""Characters before a name in which another first name may stand: `Nora and Astrid Ekdal`."""
_LEAST: Final = 3
"""Letters of a surname: `St. Anna` is none."""
_ALIKE: Final = 200 / 3
"""Share of letters in common, in percent, from which a word that is common in small letters
(`Julio`, July in Spanish) is a first name beside another one, inclusive."""


@cache
def _common() -> Mapping[str, int]:
    """Returns the places of whole words in the vocabulary, the most common first."""
    places: dict[str, int] = {}
    for place, word in enumerate(whole_pieces()):
        places.setdefault(word, place)
    return places


@lru_cache(maxsize=65_536)
def _is_first_name(word: str) -> bool:
    """Returns whether a word with a capital is rather a name than a word of the language."""
    small, common = word.casefold(), _common()
    lex = lexicon("en")
    if is_imperative(small) or small in lex.months or small in lex.weekdays:
        return False
    if small in common:
        return common.get(word, len(common)) < common[small]
    return word in common or not small.endswith(("ed", "ing"))


class _Person(NamedTuple):
    """A first name with its nicknames, before a surname.

    Attributes:
        given: The first word, as written; an initial with its point.
        names: The first names, folded.
        age: `younger` or `elder`, where a suffix tells.
    """

    given: str
    names: frozenset[str]
    age: str

    @property
    def sure(self) -> bool:
        """Whether the first name is one by itself.

        The vocabulary, 2 MB, is read for it: only where two texts have a surname in common.
        """
        return len(self.names) > 1 or self.given.endswith(".") or _is_first_name(self.given)


@remembered
def _persons(facts: Facts) -> Mapping[str, list[_Person]]:
    """Returns the persons of each surname, which is folded."""
    persons: dict[str, list[_Person]] = {}
    at = 0
    while match := _NAME.search(facts.body, at):
        given, between, surname, suffix = match.group("given", "between", "surname", "suffix")
        at = match.end("given")
        for ending in _GENITIVES:
            surname = surname.removesuffix(ending)
        quoted = (word for word in between.split() if word[0] in _QUOTES)
        names = [given, *(word.strip(_QUOTES) for word in quoted)]
        coded = sum(map(str.isupper, surname[1:])) > 1
        shortened = given.endswith(".") and len(given) > len("J.")
        small = given.rstrip(".").casefold()
        if len(surname) < _LEAST or coded or shortened or small in _TITLES or is_imperative(small):
            continue
        before = facts.body[max(0, match.start() - _BEFORE) : match.start()].split()
        if before[-1:] and before[-1] in _JOINING:
            names += [word for word in before[-2:-1] if word[0].isupper()]
        age = "" if not suffix else "younger" if suffix.casefold() in _YOUNGER else "elder"
        folded = frozenset(fold(name, facts.language) for name in names)
        family = persons.setdefault(fold(surname, facts.language), [])
        person = _Person(given, folded, age)
        if person not in family and len(family) < _MOST:
            family.append(person)
    return persons


def other_person(texts: Comparison) -> Difference | None:
    """Finds two first names before one surname: `James Barrow`, `John Barrow`, `J. Barrow`."""
    a, b = _persons(texts.a), _persons(texts.b)
    for surname in sorted(a.keys() & b.keys()):
        pairs = [(x, y) for x in a[surname] for y in b[surname]]
        if any(x.names == y.names and x.age == y.age for x, y in pairs):
            continue
        pairs = [(x, y) for x, y in pairs if x.sure or y.sure]
        if pairs and all(_differ(x, y) for x, y in pairs):
            one, other = (tuple(sorted({each.given for each in side[surname]})) for side in (a, b))
            return Difference(DifferenceKind.PERSON, one, other)
    return None


def _differ(one: _Person, other: _Person) -> bool:
    """Returns whether two persons of a surname are, or may be, two."""
    if not one.names.isdisjoint(other.names):
        return bool(one.age and other.age and one.age != other.age)
    if one.sure and other.sure:
        return True
    return any(fuzz.ratio(x, y) >= _ALIKE for x in one.names for y in other.names)
