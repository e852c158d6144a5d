"""A second look at what is left over: spelling, joined words, initials, a slip of the pen."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from rapidfuzz.distance import OSA

from echoless.judge.language import Lexicon, fold
from echoless.judge.scan import Kind, Token

_MIN_TYPO: Final = 6
_PLAIN: Final = frozenset({Kind.WORD, Kind.NAME, Kind.SCOPE})


def match_loosely(
    left: Sequence[Token], right: Sequence[Token], lex: Lexicon
) -> tuple[list[Token], list[Token], dict[int, str]]:
    """Match what the keys keep apart.

    Returns:
        What is left of both sides, and for the `id` of a matched token the key it stands for
        (an empty one for the further parts of a joined or spelled-out word).
    """
    alike: dict[int, str] = {}
    rest_a, rest_b = list(left), list(right)
    for same in (_same_spelling, _same_value, _slip):
        for one in list(rest_a):
            other = next((t for t in rest_b if same(one, t, lex)), None)
            if other is not None:
                alike[id(other)] = one.key
                rest_a.remove(one)
                rest_b.remove(other)
    _join(rest_a, rest_b, lex, alike)
    _join(rest_b, rest_a, lex, alike)
    return rest_a, rest_b, alike


def _same_spelling(one: Token, other: Token, lex: Lexicon) -> bool:
    if one.text.removesuffix("()") == other.text.removesuffix("()"):
        return True
    if (
        lex.synonyms.get(one.text.casefold()) == other.key
        or lex.synonyms.get(other.text.casefold()) == one.key
    ):
        return True
    if one.kind not in _PLAIN or other.kind not in _PLAIN:
        return False
    return fold(one.text, lex.language) == fold(other.text, lex.language)


def _same_value(one: Token, other: Token, lex: Lexicon) -> bool:
    del lex
    if {one.key[:2], other.key[:2]} == {"n:", "y:"}:
        return one.key[2:] == other.key[2:]
    for share, percent in ((one, other), (other, one)):
        if share.key[:2] == "n:" and percent.key.endswith(" percent"):
            return _fraction(share.key[2:]) * 100 == _fraction(percent.key[2:-8])
    return False


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return Fraction(-1, 7)


def _slip(one: Token, other: Token, lex: Lexicon) -> bool:
    """One letter too many, too few or two exchanged in a long plain word; never another letter.

    Another letter in place of one (`adapter`, `adopter`) is another word too often, and names may
    differ in any letter.
    """
    if one.kind is not Kind.WORD or other.kind is not Kind.WORD:
        return False
    x, y = fold(one.text, lex.language), fold(other.text, lex.language)
    if min(len(x), len(y)) < _MIN_TYPO or x[0] != y[0] or not (x.isascii() and y.isascii()):
        return False
    if x in lex.confusable.get(y, ()) or x in lex.antonyms.get(y, ()):
        return False
    exchanged = len(x) == len(y) and sorted(x) == sorted(y)
    return (len(x) != len(y) or exchanged) and OSA.distance(x, y, score_cutoff=1) == 1


def _join(parts: list[Token], wholes: list[Token], lex: Lexicon, alike: dict[int, str]) -> None:
    """Take out `web` `hook` against `webhook`, and `service` `level` `objective` against `SLO`."""
    for whole in list(wholes):
        if whole.kind not in _PLAIN:
            continue
        word = fold(whole.text, lex.language)
        run = _run_spelling(parts, word, lex) or _run_of_initials(parts, whole)
        if run is None:
            continue
        at, length = run
        alike[id(parts[at])] = whole.key
        alike.update((id(token), "") for token in parts[at + 1 : at + length])
        wholes.remove(whole)
        del parts[at : at + length]


def _run_spelling(parts: Sequence[Token], word: str, lex: Lexicon) -> tuple[int, int] | None:
    for at in range(len(parts) - 1):
        pair = parts[at : at + 2]
        # Only plain words: De Smet is not Desmet.
        if any(t.kind is not Kind.WORD for t in pair) or pair[1].mark:
            continue
        if "".join(fold(t.text, lex.language) for t in pair) == word:
            return at, 2
    return None


def _run_of_initials(parts: Sequence[Token], whole: Token) -> tuple[int, int] | None:
    letters = whole.text.removesuffix("s")
    length = len(letters)
    if not 2 <= length <= 6 or not letters.isalpha() or not letters.isupper():
        return None
    for at in range(len(parts) - length + 1):
        run = parts[at : at + length]
        spelled = "".join(t.text[0] for t in run).upper() == letters
        plain = all(t.kind in _PLAIN and len(t.text) > 2 for t in run)
        if spelled and plain and not any(t.mark or t.glue for t in run[1:]):
            return at, length
    return None
