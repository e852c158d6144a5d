"""Lay two texts side by side: what has no counterpart, and whether the order tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.judge.containment import contained
from echoless.judge.facts import Facts
from echoless.judge.language import Lexicon, fold
from echoless.judge.loose import match_loosely
from echoless.judge.order import View, same_order, view
from echoless.judge.scan import Kind, Token
from echoless.model import Side

_MAX_LOOSE: Final = 24


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts side by side.

    Attributes:
        only_a: Tokens of a without a counterpart, in order.
        only_b: Tokens of b without a counterpart, in order.
        shared: Number of tokens with a counterpart.
        coverage_a: Share of a's tokens with a counterpart, 0 to 1.
        coverage_b: As above.
        ordered: With nothing left over: the order means the same.
        superset: The side that states all of the other and adds to it.
        cased: Tokens as written that differ in case where case may carry meaning, of a and of b.
        faint: Left over and set aside: words that say little (`contains`, `located`).
        tense: One states as done what the other states as an instruction or a habit.
        directed: Same words, led by other words of direction (`to Bob`, `from Bob`), of a and of b.
        opposites: Words of the two sides that are opposites of each other.
    """

    only_a: tuple[Token, ...]
    only_b: tuple[Token, ...]
    shared: int
    coverage_a: float
    coverage_b: float
    ordered: bool
    superset: Side | None
    cased: tuple[tuple[str, str], ...]
    faint: tuple[Token, ...]
    tense: bool
    directed: tuple[tuple[str, str], ...]
    opposites: tuple[tuple[str, str], ...]

    @property
    def two_sided(self) -> bool:
        """Both say something the other does not."""
        return bool(self.only_a) and bool(self.only_b)


def compare(a: Facts, b: Facts) -> Comparison:
    """Lay the facts of two texts side by side."""
    only_a, only_b = _left_over(a, b), _left_over(b, a)
    alike: dict[int, str] = {}
    if only_a and only_b and max(len(only_a), len(only_b)) <= _MAX_LOOSE:
        only_a, only_b, alike = match_loosely(only_a, only_b, a.lexicon)
    only_a, only_b, faint = _without_faint(only_a, only_b, a.lexicon, alike)
    len_a, len_b = len(a.tokens), len(b.tokens)
    shared = min(len_a - len(only_a), len_b - len(only_b))
    ordered, superset = False, None
    if not (only_a and only_b):
        ordered, superset = _arrangement(only_a, only_b, view(a, alike), view(b, alike))
    return Comparison(
        only_a=tuple(only_a),
        only_b=tuple(only_b),
        shared=shared,
        coverage_a=(len_a - len(only_a)) / len_a if len_a else 0.0,
        coverage_b=(len_b - len(only_b)) / len_b if len_b else 0.0,
        ordered=ordered,
        superset=superset,
        cased=() if only_a and only_b else _case_clashes(a, b),
        faint=faint,
        tense=False if only_a and only_b else _tense_differs(a, b),
        directed=() if only_a and only_b else _directions_differ(a, b),
        opposites=_opposites(only_a, only_b, a, b),
    )


def _without_faint(
    only_a: list[Token], only_b: list[Token], lex: Lexicon, alike: dict[int, str]
) -> tuple[list[Token], list[Token], tuple[Token, ...]]:
    """Set words aside that say little, if then nothing is left over."""
    faint = [t for t in (*only_a, *only_b) if lex.has("faint", t.text.casefold())]
    gone = {id(t) for t in faint}
    rest_a = [t for t in only_a if id(t) not in gone]
    rest_b = [t for t in only_b if id(t) not in gone]
    if not faint or rest_a or rest_b:
        return only_a, only_b, ()
    alike.update((id(t), "") for t in faint)
    return rest_a, rest_b, tuple(faint)


def _arrangement(
    only_a: Sequence[Token], only_b: Sequence[Token], a: View, b: View
) -> tuple[bool, Side | None]:
    if only_a:
        return False, "a" if contained(b, a) else None
    if only_b:
        return False, "b" if contained(a, b) else None
    return same_order(a, b), None


def _left_over(one: Facts, other: Facts) -> list[Token]:
    if one.counts == other.counts:
        return []
    room = dict(other.counts)
    left: list[Token] = []
    for token in one.tokens:
        if room.get(token.key, 0):
            room[token.key] -= 1
        else:
            left.append(token)
    return left


# ------------------------------------------------------------------ case, tense, opposites


def _texts(tokens: Iterable[Token]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for token in tokens:
        found.setdefault(token.key, set()).add(token.text)
    return found


def _case_clashes(a: Facts, b: Facts) -> tuple[tuple[str, str], ...]:
    """Acronyms of one side that the other writes in lower case (`TLS`, `tls`).

    Where a whole text is written small, names and all, case is a habit and tells nothing.
    """
    texts_a, texts_b = _texts(a.tokens), _texts(b.tokens)
    clashes = [
        (min(texts_a[key]), min(texts_b[key]))
        for key in sorted(texts_a.keys() & texts_b.keys())
        if texts_a[key].isdisjoint(texts_b[key])
        and min(texts_a[key]).casefold() == min(texts_b[key]).casefold()
        and (any(map(_acronym, texts_a[key])) != any(map(_acronym, texts_b[key])))
    ]
    if clashes and (_written_small(a, b) or _written_small(b, a)):
        return ()
    return tuple(clashes)


def _acronym(text: str) -> bool:
    return len(text) > 1 and text.isupper()


def _written_small(small: Facts, other: Facts) -> bool:
    """Whether a name or a weekday that the other writes with a capital is written small."""
    texts = _texts(small.tokens)
    return any(
        t.kind in {Kind.NAME, Kind.DATE}
        and t.text.istitle()
        and not t.mark
        and any(text.islower() for text in texts.get(t.key, ()))
        for t in other.tokens
    )


def _tense_differs(a: Facts, b: Facts) -> bool:
    """`is` against `was`; `Deployed the gateway` reports, `Deploy the gateway` instructs.

    A passive may be either.
    """
    if a.times and b.times and a.times.isdisjoint(b.times):
        return True
    if a.passive or b.passive or a.language != "en" or b.language != "en":
        return False
    texts_a, texts_b = _texts(a.tokens), _texts(b.tokens)
    return any(
        _all_past(texts_a[key]) != _all_past(texts_b[key])
        for key in texts_a.keys() & texts_b.keys()
        if key.isalpha()
    )


def _all_past(texts: set[str]) -> bool:
    return all(text.casefold().endswith("ed") for text in texts)


def _directions_differ(a: Facts, b: Facts) -> tuple[tuple[str, str], ...]:
    led_a, led_b = _led(a), _led(b)
    if a.language == "ja":
        return _endings_differ(a, b)
    return tuple(
        (f"{' '.join(sorted(led_a[key]))} {key}", f"{' '.join(sorted(led_b[key]))} {key}")
        for key in sorted(led_a.keys() & led_b.keys())
        if led_a[key].isdisjoint(led_b[key])
    )


def _endings_differ(a: Facts, b: Facts) -> tuple[tuple[str, str], ...]:
    """Japanese says tense, voice, will and direction in syllables between the words."""
    harmless = a.lexicon.sets["harmless"]

    def endings(facts: Facts) -> list[str]:
        words = (w for t in facts.tokens for w in (*t.glue.split(), *facts.trailing))
        return sorted({word for word in words if word not in harmless})

    one, other = endings(a), endings(b)
    if one == other or a.counts != b.counts:
        return ()
    return ((" ".join(one), " ".join(other)),)


def _led(facts: Facts) -> dict[str, set[str]]:
    """Words of direction before each key that is led by one."""
    direction = facts.lexicon.sets["direction"]
    found: dict[str, set[str]] = {}
    for token in facts.tokens:
        words = direction & {*token.glue.split()}
        if words:
            found.setdefault(token.key, set()).update(words)
    return found


def _opposites(
    only_a: Sequence[Token], only_b: Sequence[Token], a: Facts, b: Facts
) -> tuple[tuple[str, str], ...]:
    lex = a.lexicon
    # `always` against `never` has a kind of its own.
    own = {Kind.NEGATION, Kind.QUANTIFIER, Kind.MODALITY}
    right = {fold(t.text, lex.language): t.text for t in only_b if t.kind not in own}
    left = {fold(t.text, lex.language): t.text for t in only_a if t.kind not in own}
    right.update({w: w for w in b.weak - a.weak})
    left.update({w: w for w in a.weak - b.weak})
    return tuple(
        (left[word], right[other])
        for word in left
        for other in sorted(lex.antonyms.get(word, frozenset()) & right.keys())
    )
