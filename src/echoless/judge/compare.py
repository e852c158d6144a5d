"""Lay two texts side by side: what has no counterpart, and whether the order tells them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from echoless.judge.containment import contained
from echoless.judge.facts import Facts, remembered
from echoless.judge.gloss import Gloss, glosses
from echoless.judge.language import FOREIGN, Lexicon
from echoless.judge.loose import match_known
from echoless.judge.order import View, same_order, view
from echoless.judge.scan import Kind, Token
from echoless.judge.values import uncounted
from echoless.model import Side

_MAX_LOOSE: Final = 24


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts side by side.

    Attributes:
        only_a: Tokens of a without a counterpart, in order.
        only_b: Tokens of b without a counterpart, in order.
        shared: Number of tokens with a counterpart.
        ordered: With nothing left over: the order means the same.
        superset: The side that states all of the other and adds to it.
        narrows: What it adds limits the rest.
        cased: Tokens as written that differ in case where case may carry meaning, of a and of b.
        exact: The side whose values say more (`30 s` than `30`, `8 pm` than `at eight`).
        faint: Left over and set aside: words that say little (`contains`, `located`).
        tense: One states as done what the other states as an instruction or a habit.
        directed: Same words, led by other words of direction (`to Bob`, `from Bob`), of a and of b.
        opposites: Words of the two sides that are opposites of each other.
    """

    only_a: tuple[Token, ...]
    only_b: tuple[Token, ...]
    shared: int
    ordered: bool
    superset: Side | None
    narrows: bool
    cased: tuple[tuple[str, str], ...]
    exact: Side | None
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
    one, other, faint, alike = _matched(a, b)
    only_a, only_b = one.tokens, other.tokens
    len_a, len_b = len(a.tokens), len(b.tokens)
    apart = bool(only_a and only_b)
    ordered, superset, narrows = False, None, False
    if not apart:
        ordered, superset, narrows = _arrangement(only_a, only_b, view(a, alike), view(b, alike))
    return Comparison(
        only_a,
        only_b,
        min(len_a - len(only_a), len_b - len(only_b)),
        ordered,
        superset,
        narrows,
        cased=() if apart else _case_clashes(a, b),
        exact=None if apart else _more_exact(b, alike),
        faint=faint,
        tense=False if apart else _tense_differs(a, b),
        directed=() if apart else _directions_differ(a, b),
        opposites=_opposites(one, other),
    )


class _Rest(NamedTuple):
    """What one text has and the other does not, and what is known of each token."""

    facts: Facts
    tokens: tuple[Token, ...]
    known: list[Gloss]


def _rest(facts: Facts, tokens: Sequence[Token], language: str) -> _Rest:
    return _Rest(facts, tuple(tokens), glosses(tokens, facts, language))


def _matched(a: Facts, b: Facts) -> tuple[_Rest, _Rest, tuple[Token, ...], dict[int, str]]:
    """What no key and no second look matches, what is set aside, and what stands for what."""
    one, other = (
        _rest(a, _left_over(a, b), a.language),
        _rest(b, _left_over(b, a), a.language),
    )
    alike: dict[int, str] = {}
    many = max(len(one.tokens), len(other.tokens)) > _MAX_LOOSE
    if one.tokens and other.tokens and not many:
        left, right, alike = match_known(
            one.tokens,
            other.tokens,
            one.known,
            other.known,
            a.lexicon,
            slips=not (_is_foreign(a) or _is_foreign(b)),
        )
        if alike:
            one, other = _rest(a, left, a.language), _rest(b, right, a.language)
    for gloss in (*one.known, *other.known):
        if not gloss.faint:
            return one, other, (), alike
    if one.tokens and other.tokens and _one_wording(a, b, {*map(id, (*one.tokens, *other.tokens))}):
        return one, other, (), alike  # in the same wording `lives` and `works` say enough
    # Words that say little are set aside if then nothing is left over.
    faint = (*one.tokens, *other.tokens)
    alike.update((id(token), "") for token in faint)
    return _Rest(a, (), []), _Rest(b, (), []), faint, alike


def _one_wording(a: Facts, b: Facts, left: set[int]) -> bool:
    """Whether two texts are one wording in which words that are left over stand for each other."""
    if len(a.tokens) != len(b.tokens):
        return False
    articles = a.lexicon.sets["articles"]
    return all(
        one.mark == other.mark
        and {*one.glue.split()} ^ {*other.glue.split()} <= articles
        and (id(one) in left) == (id(other) in left)
        for one, other in zip(a.tokens, b.tokens, strict=True)
    )


@remembered
def _is_foreign(facts: Facts) -> bool:
    """Whether small words are of a language without a lexicon.

    There nobody knows which words are a letter apart: `poisson`, `poison`.
    """
    return any(token.text.casefold() in FOREIGN for token in facts.tokens)


def _arrangement(
    only_a: Sequence[Token], only_b: Sequence[Token], a: View, b: View
) -> tuple[bool, Side | None, bool]:
    if only_a:
        added = contained(b, a)
        return False, "a" if added else None, added == "narrows"
    if only_b:
        added = contained(a, b)
        return False, "b" if added else None, added == "narrows"
    return same_order(a, b), None, False


_SAYS_MORE: Final = frozenset(("q:n:", "t:n:", "t:c:"))
"""Beginnings of keys: the first tells a unit, or the half of the day, the second does not."""


def _more_exact(b: Facts, alike: Mapping[int, str]) -> Side | None:
    sides = set[Side]()
    for token in b.tokens if alike else ():
        key = alike.get(id(token), token.key)
        if key[:2] + token.key[:2] in _SAYS_MORE and not uncounted(key):
            sides.add("a")
        elif token.key[:2] + key[:2] in _SAYS_MORE and not uncounted(token.key):
            sides.add("b")
    return sides.pop() if len(sides) == 1 else None


def _left_over(one: Facts, other: Facts) -> list[Token]:
    counts = other.counts
    if one.counts == counts:
        return []
    if len(one.counts) == len(one.tokens):
        return [token for token in one.tokens if token.key not in counts]
    room = dict(counts)
    left: list[Token] = []
    for token in one.tokens:
        if room.get(token.key, 0):
            room[token.key] -= 1
        else:
            left.append(token)
    return left


# ------------------------------------------------------------------ case, tense, opposites


@remembered
def _texts(facts: Facts) -> dict[str, set[str]]:
    """How each key is written."""
    found: dict[str, set[str]] = {}
    for token in facts.tokens:
        found.setdefault(token.key, set()).add(token.text)
    return found


def _case_clashes(a: Facts, b: Facts) -> tuple[tuple[str, str], ...]:
    """Acronyms of one side that the other writes in lower case (`TLS`, `tls`).

    Where a whole text is written small, names and all, case is a habit and tells nothing.
    """
    texts_a, texts_b = _texts(a), _texts(b)
    clashes = [
        (min(texts_a[key]), min(texts_b[key]))
        for key in _written_otherwise(a, b)
        if min(texts_a[key]).casefold() == min(texts_b[key]).casefold()
        and (any(map(_acronym, texts_a[key])) != any(map(_acronym, texts_b[key])))
    ]
    if clashes and (_written_small(a, b) or _written_small(b, a) or _shouted(a) or _shouted(b)):
        return ()
    return tuple(clashes)


def _written_otherwise(a: Facts, b: Facts) -> list[str]:
    """Keys of both texts that neither writes as the other does, sorted."""
    texts_a, texts_b = _texts(a), _texts(b)
    return sorted(
        [k for k, texts in texts_a.items() if k in texts_b and texts.isdisjoint(texts_b[k])]
    )


def _acronym(text: str) -> bool:
    return len(text) > 1 and text.isupper()


def _shouted(facts: Facts) -> bool:
    """Whether most words are in capitals: then capitals tell nothing."""
    words = [t.text for t in facts.tokens if t.text.isalpha() and len(t.text) > 1]
    return len(words) > 2 and 2 * sum(map(str.isupper, words)) > len(words)


def _written_small(small: Facts, other: Facts) -> bool:
    """Whether a name or a weekday that the other writes with a capital is written small.

    So it is where there is no capital at all.
    """
    if small.normal.islower() and len(small.tokens) > 2:
        return True
    texts = _texts(small)
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
    past_a, past_b = _past(a), _past(b)
    return any(key in a.counts and key in b.counts and key.isalpha() for key in past_a ^ past_b)


@remembered
def _past(facts: Facts) -> frozenset[str]:
    """Keys of words that are written as done, wherever they stand."""
    return frozenset(
        key
        for key, texts in _texts(facts).items()
        if all(text.casefold().endswith("ed") for text in texts)
    )


def _directions_differ(a: Facts, b: Facts) -> tuple[tuple[str, str], ...]:
    if a.language == "ja":
        return _endings_differ(a, b)
    led_a, led_b = _led(a), _led(b)
    return tuple(
        (f"{' '.join(sorted(led_a[key]))} {key}", f"{' '.join(sorted(led_b[key]))} {key}")
        for key in sorted(led_a.keys() & led_b.keys())
        if led_a[key].isdisjoint(led_b[key])
    )


def _endings_differ(a: Facts, b: Facts) -> tuple[tuple[str, str], ...]:
    """Japanese says tense, voice, will and direction in syllables between the words."""
    if a.counts != b.counts:
        return ()
    harmless = a.lexicon.sets["harmless"]

    def endings(facts: Facts) -> list[str]:
        words = {w for t in facts.tokens for w in t.glue.split()}
        words.update(facts.trailing if facts.tokens else ())
        return sorted(words - harmless)

    one, other = endings(a), endings(b)
    return () if one == other else ((" ".join(one), " ".join(other)),)


@remembered
def _led(facts: Facts) -> dict[str, set[str]]:
    """Words of direction before each key that is led by one."""
    direction = facts.lexicon.sets["direction"]
    found: dict[str, set[str]] = {}
    for token in facts.tokens:
        words = direction & {*token.glue.split()}
        if words:
            found.setdefault(token.key, set()).update(words)
    return found


def _opposites(one: _Rest, other: _Rest) -> tuple[tuple[str, str], ...]:
    (a, only_a, known_a), (b, only_b, known_b) = one, other
    lex = a.lexicon
    weak_a, weak_b = a.weak - b.weak, b.weak - a.weak
    weakly = (weak_a or weak_b) and (
        _weakly(weak_a, weak_b, known_b, lex) or _weakly(weak_b, weak_a, known_a, lex)
    )
    if not weakly and not _against(known_a, known_b):
        return ()
    left = {g.folded: t.text for g, t in zip(known_a, only_a, strict=True) if g.names}
    right = {g.folded: t.text for g, t in zip(known_b, only_b, strict=True) if g.names}
    left.update({word: word for word in weak_a})
    right.update({word: word for word in weak_b})
    return tuple(
        (left[one], right[other])
        for one in sorted(left)
        for other in sorted(right)
        if _are_opposites(one, other, lex, small=one in weak_a or other in weak_b)
    )


def _against(left: Sequence[Gloss], right: Sequence[Gloss]) -> bool:
    """Whether a word of one side may be the opposite of one of the other."""
    return _names_opposite(left, right) or _names_opposite(right, left)


def _weakly(
    weak: frozenset[str], others: frozenset[str], known: Sequence[Gloss], lex: Lexicon
) -> bool:
    """Whether a small word of one side may be the opposite of a word of the other."""
    sought = [each for word in weak for each in lex.antonyms.get(word, ())]
    if not sought:
        return False
    return not others.isdisjoint(sought) or any(gloss.folded in sought for gloss in known)


def _names_opposite(one: Sequence[Gloss], other: Sequence[Gloss]) -> bool:
    sought = [name for gloss in one for name in gloss.against]
    return bool(sought) and not {n for gloss in other for n in gloss.names}.isdisjoint(sought)


def _are_opposites(one: str, other: str, lex: Lexicon, *, small: bool) -> bool:
    return other in lex.antonyms.get(one, ()) if small else lex.opposed(one, other)
