"""Abbreviations by initials, and identifiers taken apart into the words they are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from echoless.judge.language import Lexicon, fold, stem, units
from echoless.judge.scan import Kind, Token

_SPOKEN: Final = frozenset(
    {Kind.WORD, Kind.NAME, Kind.SCOPE, Kind.UNIT, Kind.RELATION, Kind.QUANTIFIER}
)
_ABBREVIATION: Final = re.compile(r"([A-Z](?:[A-Za-z]{0,4}[A-Z])?)(\d{0,3})")
_LETTER_AND_NUMBER: Final = {
    "P": frozenset({"priority", "prio", "prioritaet"}),
    "S": frozenset({"severity", "sev"}),
    "Q": frozenset({"quarter", "quartal", "quartals"}),
    "H": frozenset({"half", "halbjahr", "halbjahrs"}),
    "W": frozenset({"week"}),
    "KW": frozenset({"kalenderwoche", "woche"}),
}
"""One letter before a number stands for too many words to go by the letter alone."""

_PARTS: Final = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+|[^\W\d_A-Za-z]+")


def run_of_initials(parts: Sequence[Token], whole: Token) -> tuple[int, int] | None:
    """Where `whole` is spelled out in `parts`: first index and length, or None.

    `EOD` is `end of day`, `SLO` is `service level objective`, `LOD2` is `level of detail 2`.
    """
    found = _ABBREVIATION.fullmatch(whole.text.removesuffix("s"))
    if found is None or len(whole.text) > 9:
        return None
    letters, digits = found[1], found[2]
    if letters in _LETTER_AND_NUMBER and digits:
        return _numbered(parts, letters, digits)
    if len(letters) < 2:
        return None
    for at in range(len(parts)):
        length = _spells(parts, at, letters.upper(), first=True)
        if length is None:
            continue
        if not digits:
            return at, length
        if at + length < len(parts) and parts[at + length].key in {f"n:{digits}", f"#{digits}"}:
            return at, length + 1
    return None


def spelled_by(text: str) -> tuple[str, ...]:
    """Of what one must stand among the words that spell an abbreviation: letters or numbers.

    Returns:
        First letters (`S`), or keys of numbers (`n:1`) for `P1`; empty if it is no abbreviation.
    """
    found = _ABBREVIATION.fullmatch(text.removesuffix("s"))
    if found is None or len(text) > 9:
        return ()
    letters, digits = found[1], found[2]
    if letters in _LETTER_AND_NUMBER and digits:
        return f"n:{digits}", f"#{digits}"
    return (letters[0].upper(),) if len(letters) > 1 else ()


def initial(token_kind: Kind, text: str) -> str:
    """The letter with which a word may begin the spelling of an abbreviation."""
    if token_kind not in _SPOKEN or len(text) < 2:
        return ""
    return next((part[0].upper()[0] for part in text.split("-") if part), "")


def first_names(identifier: Token, lex: Lexicon) -> tuple[str, ...]:
    """Names of which one must stand among the words that name what an identifier names."""
    names = identifier.text.split(".")
    found = names[:1] if len(names) > 1 and all(names) else []
    return (*found, *words_of(identifier, lex)[:1])


def plain_stem(kind: Kind, text: str, lex: Lexicon) -> str:
    """The stem of a word that may stand in a name; empty for everything else."""
    return stem(fold(text, lex.language), lex.language) if kind in _SPOKEN else ""


def _numbered(parts: Sequence[Token], letters: str, digits: str) -> tuple[int, int] | None:
    """`P1` is `priority one`, `Q3` is `the third quarter`."""
    meant = {f"n:{digits}", f"#{digits}"}
    for at in range(len(parts) - 1):
        pair = parts[at : at + 2]
        for word, number in (pair, pair[::-1]):
            if (
                number.key in meant
                and word.text.casefold().replace("ä", "ae") in _LETTER_AND_NUMBER[letters]
            ):
                return at, 2
    return None


def _spells(parts: Sequence[Token], at: int, letters: str, *, first: bool) -> int | None:
    """How many tokens from `at` spell the letters; small words between them count or not."""
    if not letters:
        return 0
    token = parts[at] if at < len(parts) else None
    if token is None or token.kind not in _SPOKEN or len(token.text) < 2:
        return None
    if not first and token.mark:
        return None
    small = "" if first else "".join(word[0] for word in token.glue.split()).upper()
    initial = "".join(part[0] for part in token.text.split("-") if part).upper()
    for lead in {small, ""}:
        if letters.startswith(lead + initial):
            rest = _spells(parts, at + 1, letters[len(lead) + len(initial) :], first=False)
            if rest is not None:
                return rest + 1
    return None


def words_of(identifier: Token, lex: Lexicon) -> tuple[str, ...]:
    """The words of `dead_letter`, `retryCount` or `ttl_seconds`, without a unit at the end."""
    if identifier.kind not in {Kind.IDENTIFIER, Kind.PATH} or "/" in identifier.text:
        return ()
    text = identifier.text.lstrip("-#")
    if "." in text or not re.search(r"_|[a-z][A-Z]", text):
        return ()
    parts = [fold(part, lex.language) for part in _PARTS.findall(text)]
    if len(parts) > 1 and parts[-1] in units():
        parts.pop()
    return tuple(parts) if all(len(part) > 1 for part in parts) else ()


def run_of_words(parts: Sequence[Token], identifier: Token, lex: Lexicon) -> list[Token] | None:
    """The tokens that name what an identifier names, in any order, or None.

    `shipments.delivered_at` is `delivered_at` of `shipments`; `dead_letter` is a dead letter, but
    `dead-letter` is another identifier.
    """
    names = tuple(identifier.text.split("."))
    named = _all_named(parts, names, lex) if len(names) > 1 and all(names) else None
    if named is not None and any(token.kind is Kind.IDENTIFIER for token in named):
        return named
    words = words_of(identifier, lex)
    named = _all_named(parts, words, lex) if words else None
    if named is None or (len(named) > 1 and any(token.bare == "joined" for token in named)):
        return None
    return named


def _all_named(parts: Sequence[Token], names: tuple[str, ...], lex: Lexicon) -> list[Token] | None:
    found: list[Token] = []
    for name in names:
        wanted = stem(fold(name, lex.language), lex.language)
        token = next(
            (
                t
                for t in parts
                if t not in found
                and (t.text == name or plain_stem(t.kind, t.text, lex) == wanted or t.key == name)
            ),
            None,
        )
        if token is None:
            return None
        found.append(token)
    return found
