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

from echoless.core.expressions import lazy_pattern
from echoless.core.model import Difference, DifferenceKind
from echoless.core.shipped import shipped_text
from echoless.matching.comparison import Comparison
from echoless.matching.facts import Facts, remembered
from echoless.matching.languages import PIECES, WHOLE_PIECE, fold, lexicon
from echoless.matching.speech import is_imperative

_CAPITAL: Final = r"[^\W\d_a-zà-öø-ÿ\u3040-\u9fff][\w’-]*"
_BETWEEN: Final = (
    rf"(?:[ ](?:[\"“'(][^\W\d_][\w ]{{0,20}}[\"”')]|[^\W\d_]\.|{_CAPITAL}|"
    r"(?:van|von|de|der|den|del|della|di|da|dos|la|le|al|bin|ten|ter|zu)))"
)
_NAME: Final = lazy_pattern(
    rf"(?<![\w.])(?P<given>{_CAPITAL}\.?)(?P<between>{_BETWEEN}{{0,4}}?)[ ](?P<surname>{_CAPITAL})"
    r"(?!\.?\w)(?:,?[ ](?P<suffix>jun|sen|jr|sr|junior|senior|II|III)\b)?"
)
_NICKNAME: Final = lazy_pattern(r"[\"“'(]([^\W\d_]\w*)")
_TITLE: Final = lazy_pattern(
    r"\b(?:Mrs?|Ms|Dr|Prof|Sir|Lady|Lord|Frau|Herrn?|Señora?|Don|Doña|Monsieur|Madame|Mme)\b\.? ?"
)
_JOINED: Final = lazy_pattern(rf"({_CAPITAL}) (?:and|&|\+|und|y|e|et|en|и) $")
_YOUNGER: Final = frozenset({"jun", "jr", "junior"})
_GENITIVES: Final = ("'s", "’s", "'", "’")
_LEAST: Final = 3
"""Letters of a surname: `St. Anna` is none."""
_ALIKE: Final = 200 / 3
"""Share of letters in common, in percent, from which a word that is common in small letters
(`Julio`, July in Spanish) is a first name beside another one, inclusive."""


@cache
def _common() -> Mapping[str, int]:
    """Returns the places of whole words in the vocabulary, the most common first."""
    places: dict[str, int] = {}
    for place, word in enumerate(WHOLE_PIECE.findall(shipped_text(PIECES))):
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
        names: Folded; an initial with its point.
        age: `younger` or `elder`, where a suffix tells.
        sure: Whether the first name is one by itself, see `_is_first_name`.
    """

    names: frozenset[str]
    age: str
    sure: bool


@remembered
def _persons(facts: Facts) -> Mapping[str, list[_Person]]:
    """Returns the persons of each surname, which is folded."""
    persons: dict[str, list[_Person]] = {}
    body, at = _TITLE.sub("", facts.body), 0
    while match := _NAME.search(body, at):
        given, between, surname, suffix = match.group("given", "between", "surname", "suffix")
        at = match.end("given")
        for ending in _GENITIVES:
            surname = surname.removesuffix(ending)
        names = [given, *_NICKNAME.findall(between)]
        sure = len(names) > 1 or given.endswith(".") or _is_first_name(given)
        coded = sum(map(str.isupper, surname[1:])) > 1
        shortened = given.endswith(".") and len(given) > len("J.")
        if len(surname) < _LEAST or coded or shortened or is_imperative(given.casefold()):
            continue
        if joined := _JOINED.search(body[max(0, match.start() - 40) : match.start()]):
            names.append(joined.group(1))
        age = "" if not suffix else "younger" if suffix.casefold() in _YOUNGER else "elder"
        folded = frozenset(fold(name, facts.language) for name in names)
        persons.setdefault(fold(surname, facts.language), []).append(_Person(folded, age, sure))
        if sure:
            at = match.end("surname")
    return persons


def other_person(texts: Comparison) -> Difference | None:
    """Finds two first names before one surname: `James Barrow`, `John Barrow`, `J. Barrow`."""
    a, b = _persons(texts.a), _persons(texts.b)
    for surname in sorted(a.keys() & b.keys()):
        pairs = [(x, y) for x in a[surname] for y in b[surname] if x.sure or y.sure]
        if pairs and all(_differ(x, y) for x, y in pairs):
            one, other = (
                tuple(
                    sorted(frozenset().union(*(each.names for each in side[surname] if each.sure)))
                )
                for side in (a, b)
            )
            return Difference(DifferenceKind.PERSON, one, other)
    return None


def _differ(one: _Person, other: _Person) -> bool:
    """Returns whether two persons of a surname are, or may be, two."""
    if not one.names.isdisjoint(other.names):
        return bool(one.age and other.age and one.age != other.age)
    if one.sure and other.sure:
        return True
    return any(fuzz.ratio(x, y) >= _ALIKE for x in one.names for y in other.names)
