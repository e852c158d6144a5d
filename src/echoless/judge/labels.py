"""Labels and what stands behind them: `Owner: Anna, reviewer: Ben` says who is what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from echoless.judge.facts import Facts, remembered
from echoless.judge.language import fold
from echoless.judge.scan import LINE, Kind, Token

_OPENS: Final = frozenset(":(=")
_ENDS: Final = frozenset(f".;!?。)]}}{LINE}")
_BEGINS: Final = _ENDS | frozenset(",、|/&+{[")
_JOINS: Final = frozenset(("and", "or", "und", "oder", "と", "や", "および", "または"))
_ALIKE: Final = 3
"""Letters at the beginning in common from which two words of one key are forms of one word."""

Label: TypeAlias = tuple[str, ...]


def relabelled(a: Facts, b: Facts) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What stands behind one label in one text, and behind another in the other.

    Both labels are in both texts: `Done: login. Todo: logout.` is not the same turned round,
    though all its words are there.

    Returns:
        `label: value` of a and of b, or None.
    """
    behind_a, behind_b = _labels(a), _labels(b)
    names = set(behind_a.values()) & set(behind_b.values())
    moved = [
        key
        for key, label in behind_a.items()
        if (other := behind_b.get(key, label)) != label
        and (names.issuperset((label, other)) or _are_others(label, other, a, b))
    ]
    if not moved:
        return None
    one, other = (
        tuple(f"{' '.join(each[key][1:])}: {key}" for key in moved) for each in (behind_a, behind_b)
    )
    return one, other


def _are_others(label: Label, other: Label, a: Facts, b: Facts) -> bool:
    """`Anna (host), Ben` and `Anna, Ben (host)`: both texts know who either of them is."""
    if label[0] != "(" or other[0] != "(" or not set(label[1:]).isdisjoint(other[1:]):
        return False
    return b.counts.keys() >= set(label[1:]) and a.counts.keys() >= set(other[1:])


@remembered
def _labels(facts: Facts) -> dict[str, Label]:
    """The label each key stands behind; of keys that stand in one place only."""
    found: dict[str, Label] = {}
    tokens = facts.tokens
    for label, value in _labelled(tokens):
        for token in value:
            if facts.counts[token.key] == 1:
                sign = "(" if "(" in value[0].mark else ":"
                found[token.key] = (sign, *(each.key for each in label))
    return found


def _labelled(tokens: tuple[Token, ...]) -> Iterator[tuple[tuple[Token, ...], tuple[Token, ...]]]:
    opening = [at for at in range(1, len(tokens)) if not _OPENS.isdisjoint(tokens[at].mark)]
    starts = [*(_start(tokens, at - 1) for at in opening), len(tokens)]
    for at, start, following in zip(opening, starts, starts[1:], strict=False):
        end = at + 1
        while end < following and _ENDS.isdisjoint(tokens[end].mark):
            end += 1
        yield tokens[start:at], tokens[at:end]


def _start(tokens: tuple[Token, ...], at: int) -> int:
    """Where the label begins that ends with a token."""
    while at and not _begins(tokens[at]):
        at -= 1
    return at


def _begins(token: Token) -> bool:
    marks, words = token.mark, token.glue.split()
    return not (_BEGINS | _OPENS).isdisjoint(marks) or not _JOINS.isdisjoint(words)


def told_apart(a: Facts, b: Facts) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Words of one meaning that both texts use beside each other, in another order.

    `Cost` and `price` may stand for each other in two texts, not where one text has both:
    `the price exceeds the cost`.

    Returns:
        The words as a has them, and as b has them, or None.
    """
    words_a, words_b = _beside(a), _beside(b)
    for key, one in words_a.items():
        other = words_b.get(key)
        if other is not None and one != other and sorted(one) == sorted(other):
            return one, other
    return None


@remembered
def _beside(facts: Facts) -> dict[str, tuple[str, ...]]:
    """By key, the words it stands for in a text, where they are not forms of one word."""
    found: dict[str, list[str]] = {}
    if len(facts.counts) == len(facts.tokens):
        return {}
    for token in facts.tokens:
        if token.kind is Kind.WORD and facts.counts[token.key] > 1:
            found.setdefault(token.key, []).append(fold(token.text, facts.language))
    return {
        key: tuple(words)
        for key, words in found.items()
        if len({word[:_ALIKE] for word in words}) > 1
    }
