"""Reads what stands between the tokens of a text: signs, capitals, function words, endings.

Two texts of the same tokens may still differ there. This only ever holds a merge by rules back.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from echoless.core.expressions import lazy_pattern
from echoless.core.text import undress
from echoless.matching.facts.extraction import Facts, remembered
from echoless.matching.languages import WORDS, Lexicon
from echoless.matching.values.tokens import Kind

_PARTING: Final = lazy_pattern(
    r"(?<![.,;:!…])[.,;:!…]+(?=\s|$)|(?<!\d)[\"'“”„«»‘’「」『』]|[。、，；：！・–—]|(?<=\w)[’'](?=\w)"
)
"""Signs that only part sentences and phrases, or quote them."""
_PLAIN: Final = lazy_pattern(r"[\w\s]+")
_START: Final = lazy_pattern(r"(?:^|[.!?:。|\n])[\s\"'(*_`-]*[^\W\d_]+")


@remembered
def signs(facts: Facts) -> tuple[tuple[int, str], ...]:
    """Returns the signs that may mean something, each with the number of tokens before it.

    Signs inside a token are read with it: `15:00`, `-3 °C`, `src/a.py`.
    """
    left = _PARTING.sub(" ", undress(facts.body))
    placed: list[tuple[int, str]] = []
    at = 0
    for place, token in enumerate(facts.tokens):
        start = left.find(token.text, at)
        if start >= 0:
            placed.extend((place, sign) for sign in _PLAIN.sub("", left[at:start]))
            at = start + len(token.text)
    placed.extend((len(facts.tokens), sign) for sign in _PLAIN.sub("", left[at:]))
    return tuple(placed)


@remembered
def capitals(facts: Facts) -> frozenset[str]:
    """Returns the words with a capital, as written; the first word of a sentence is left out."""
    starts = {match.end() for match in _START.finditer(facts.body)}
    matches = (each for each in WORDS.finditer(facts.body) if each.end() not in starts)
    return frozenset(each.group() for each in matches if not each.group().islower())


@remembered
def words(facts: Facts) -> frozenset[str]:
    """Returns the words of a text as written."""
    return frozenset(WORDS.findall(facts.body))


def has_case(facts: Facts) -> bool:
    """Returns whether capitals tell anything: the text is written neither small nor in capitals."""
    return not facts.body.islower() and not facts.body.isupper()


_POINTING: Final = frozenset(
    {"his", "her", "hers", "its", "their", "my", "your", "our", "sein", "seine", "ihr", "ihre"}
)
"""Words that stand like an article and say whose."""
_CASES: Final = frozenset({"den", "dem", "des", "einen", "einem", "eines"})
"""German articles that say who does what to whom."""
_HELPING: Final = frozenset({"do", "does", "did"})


@cache
def silent(lex: Lexicon) -> frozenset[str]:
    """Returns the function words of a language that say nothing: articles, `does`."""
    return (lex.sets["articles"] | _HELPING) - lex.persons.keys() - _POINTING - _CASES


@remembered
def small_words(facts: Facts) -> tuple[tuple[str, ...], ...]:
    """Returns the function words before each token and at the end: `to`, `from`, `was`, `his`.

    Articles say nothing and are left out.
    """
    still = silent(facts.lexicon)
    said = (*(token.glue.split() for token in facts.tokens), facts.trailing)
    return tuple(tuple(word for word in some if word not in still) for some in said)


@remembered
def past(facts: Facts) -> frozenset[str]:
    """Returns the English words of a text that are written as done."""
    if facts.language != "en":
        return frozenset()
    words = (t.text.casefold() for t in facts.tokens if t.kind is Kind.WORD)
    return frozenset(word for word in words if word.endswith("ed"))
