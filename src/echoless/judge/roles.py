"""Who does what to whom: the same names and figures in exchanged roles, whatever the wording.

`Copied from S3 to Postgres` is not `Copied from Postgres to S3`; `3 apples and 5 pears` is not
`5 apples and 3 pears`. Each thing both texts name is looked at in its surroundings: if two of them
keep each other's company in the other text, they have changed places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from echoless.judge.facts import Facts, remembered
from echoless.judge.scan import Kind, Token

_THINGS: Final = frozenset(
    {
        Kind.NAME,
        Kind.NUMBER,
        Kind.DATE,
        Kind.VERSION,
        Kind.IDENTIFIER,
        Kind.PATH,
        Kind.SCOPE,
    }
)
_REACH: Final = 2
_MAX_THINGS: Final = 12


def crossed(a: Facts, b: Facts) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Pairs of things that keep each other's company in the other text.

    Yields:
        The keys of the two things as a has them, and as b has them.
    """
    near_a, near_b = _company(a), _company(b)
    shared = [key for key in near_a if key in near_b][:_MAX_THINGS]
    for at, one in enumerate(shared):
        for other in shared[at + 1 :]:
            turned = len(near_a[one] & near_b[other]) + len(near_a[other] & near_b[one])
            if not turned:
                continue
            if turned > len(near_a[one] & near_b[one]) + len(near_a[other] & near_b[other]):
                yield (one, other), (other, one)


@remembered
def _company(facts: Facts) -> dict[str, frozenset[str]]:
    """What stands around each thing that occurs once, by its key."""
    tokens = facts.tokens
    found: dict[str, frozenset[str]] = {}
    twice: set[str] = set()
    for at, token in enumerate(tokens):
        if token.kind in _THINGS:
            if token.key in found:
                twice.add(token.key)
            found[token.key] = frozenset(_around(tokens, at))
    return {key: company for key, company in found.items() if key not in twice}


def _around(tokens: Sequence[Token], at: int) -> Iterator[str]:
    """Small words before it, particles after it, and the words next to it in its clause."""
    for word in tokens[at].glue.split():
        yield f"<{word}"
    if at + 1 < len(tokens) and not tokens[at + 1].glue.isascii():
        yield f">{tokens[at + 1].glue}"
    for place in range(at + 1, min(at + 1 + _REACH, len(tokens))):
        if tokens[place].mark:
            break
        if tokens[place].kind not in _THINGS:
            yield f">{tokens[place].key}"
    for place in range(at - 1, max(-1, at - 1 - _REACH), -1):
        if tokens[place + 1].mark:
            break
        if tokens[place].kind not in _THINGS:
            yield f"<{tokens[place].key}"


# ------------------------------------------------------------------ before and after

_EARLIER_FIRST: Final = frozenset(
    (
        "before",
        "then",
        "afterwards",
        "subsequently",
        "until",
        "bevor",
        "ehe",
        "dann",
        "danach",
        "anschliessend",
        "bis",
        "前",
        "それから",
        "その後",
        "次",
    )
)
_LATER_FIRST: Final = frozenset(("after", "once", "nachdem", "sobald", "nach", "後", "てから"))


def out_of_sequence(a: Facts, b: Facts, alike: Mapping[str, str]) -> bool:
    """Whether what comes first in one text comes last in the other.

    Args:
        a: One text.
        b: The other.
        alike: Keys of a for keys of b that mean the same.
    """
    first_a, last_a = _halves(a)
    if not first_a or not last_a:
        return False
    first_b, last_b = ({alike.get(k, k) for k in half} for half in _halves(b))
    turned = len(first_a & last_b), len(last_a & first_b)
    straight = len(first_a & first_b) + len(last_a & last_b)
    return min(turned) > 0 and sum(turned) > straight


@remembered
def _halves(facts: Facts) -> tuple[set[str], set[str]]:
    """What is said to come first, and what last; empty without exactly one word of time."""
    places = [(at, word) for at, token in enumerate(facts.tokens) for word in _time_words(token)]
    if len({at for at, _ in places}) != 1:
        return set(), set()
    at, word = places[0]
    tokens = facts.tokens
    cut = at
    if at == 0:
        cut = next((i for i in range(1, len(tokens)) if "," in tokens[i].mark), len(tokens))
    left = {t.key for t in tokens[:cut] if t.kind is Kind.WORD}
    right = {t.key for t in tokens[cut:] if t.kind is Kind.WORD}
    leading = at == 0
    earlier_left = (word in _EARLIER_FIRST) != leading
    return (left, right) if earlier_left else (right, left)


def _time_words(token: Token) -> list[str]:
    words = (token.text.casefold(), *token.glue.split())
    return [w for w in words if w in _EARLIER_FIRST or w in _LATER_FIRST][:1]


# ------------------------------------------------------------------ what is denied


@remembered
def denied(facts: Facts) -> frozenset[str]:
    """Keys of the words a denial speaks of: those behind it in its clause; in Japanese before."""
    found: set[str] = set()
    tokens = facts.tokens
    for at, token in enumerate(tokens):
        if token.kind is not Kind.NEGATION:
            continue
        if facts.language == "ja":
            found.update(t.key for t in tokens[max(0, at - 2) : at])
            continue
        for other in tokens[at + 1 : at + 4]:
            if other.mark:
                break
            found.add(other.key)
    return frozenset(found)


def inverted(a: Facts, b: Facts) -> bool:
    """Whether two named things come in the other order, in the same voice."""
    if a.passive != b.passive:
        return False
    places_a, places_b = _places(a), _places(b)
    # A name at the start of a sentence looks like any word; the other text may know better.
    named = (_things(a) | _things(b)) & places_a.keys() & places_b.keys()
    if len(named) < 2:
        return False
    return sorted(named, key=places_a.__getitem__) != sorted(named, key=places_b.__getitem__)


@remembered
def _things(facts: Facts) -> frozenset[str]:
    """Keys of the things a text names."""
    return frozenset(token.key for token in facts.tokens if token.kind in _THINGS)


@remembered
def _places(facts: Facts) -> dict[str, int]:
    """Where each key stands that occurs once."""
    return {t.key: at for at, t in enumerate(facts.tokens) if facts.counts[t.key] == 1}
