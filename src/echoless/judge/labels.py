"""Labels and what stands behind them: `Owner: Anna, reviewer: Ben` says who is what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from echoless.judge.facts import Facts, remembered
from echoless.judge.language import fold
from echoless.judge.scan import LINE, Kind, Token

_BRACKETS: Final = frozenset("([")
_OPENS: Final = frozenset(":=—–") | _BRACKETS
_LISTED: Final = frozenset(f",;、{LINE}")
_SENTENCE: Final = frozenset(f".;!?。{LINE}")
_ENDS: Final = _SENTENCE | frozenset(")]}")
_BEGINS: Final = _ENDS | frozenset(",、|/&+{")
_JOINS: Final = frozenset(("and", "or", "und", "oder", "と", "や", "および", "または"))
_TITLES: Final = frozenset(("mr", "mrs", "ms", "dr", "prof", "st", "no", "vs"))
_ALIKE: Final = 3
"""Letters at the beginning in common from which two words of one key are forms of one word."""

_IN_LIST: Final = "("
_LONGEST: Final = 64
"""Words a label has at most: what is longer is no label."""
_PLAIN: Final = ":"

Label: TypeAlias = tuple[str, ...]
"""How it leads to what stands behind it, and its keys."""


def relabelled(a: Facts, b: Facts) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What stands behind one label in one text, and behind another in the other.

    Both labels are in both texts: `Done: login. Todo: logout.` is not the same turned round,
    though all its words are there.

    Returns:
        `label: value` of a and of b, or None.
    """
    behind_a, behind_b = _labels(a), _labels(b)
    names = frozenset().union(*behind_a.values()) & frozenset().union(*behind_b.values())
    moved = [
        key
        for key, labels in behind_a.items()
        if (others := behind_b.get(key, labels)) != labels
        and (names >= labels ^ others or _are_others(labels - others, others - labels, a, b))
    ]
    if not moved:
        return None
    one, other = (
        tuple(f"{' '.join(each[1:])}: {key}" for key in moved for each in sorted(behind[key]))
        for behind in (behind_a, behind_b)
    )
    return one, other


def _are_others(left: frozenset[Label], right: frozenset[Label], a: Facts, b: Facts) -> bool:
    """`Anna (host), Ben` and `Anna, Ben (host)`: both texts know who either of them is."""
    if not left or not right or any(label[0] != _IN_LIST for label in left | right):
        return False
    parts = [frozenset(key for label in side for key in label[1:]) for side in (left, right)]
    if not parts[0].isdisjoint(parts[1]):
        return False
    return b.counts.keys() >= parts[0] and a.counts.keys() >= parts[1]


@remembered
def _labels(facts: Facts) -> dict[str, frozenset[Label]]:
    """The labels each key stands behind; of keys that stand nowhere else."""
    found: dict[str, set[Label]] = {}
    times: Counter[str] = Counter()
    tokens = facts.tokens
    for start, at, end in _labelled(tokens):
        after = tokens[end].mark if end < len(tokens) else LINE
        listed = not _LISTED.isdisjoint(after) and not _BRACKETS.isdisjoint(tokens[at].mark)
        label = (_IN_LIST if listed else _PLAIN, *sorted(t.key for t in tokens[start:at]))
        for token in tokens[at:end]:
            found.setdefault(token.key, set()).add(label)
            times[token.key] += 1
    return {k: frozenset(labels) for k, labels in found.items() if times[k] == facts.counts[k]}


def _labelled(tokens: Sequence[Token]) -> Iterator[tuple[int, int, int]]:
    """Where each label begins, where what stands behind it, and where that ends."""
    opening = [at for at in range(1, len(tokens)) if not _OPENS.isdisjoint(tokens[at].mark)]
    starts = [*(_start(tokens, at) for at in opening), len(tokens)]
    for at, start, following in zip(opening, starts, starts[1:], strict=False):
        end = at + 1
        while end < following and _ENDS.isdisjoint(tokens[end].mark):
            end += 1
        yield start, at, end


def _start(tokens: Sequence[Token], opening: int) -> int:
    """Where the label begins that ends before a token; `AWS (Amazon):` is one.

    Looked for among a bounded number of words: without it 5,000 brackets took 9.6 seconds.
    """
    at, closed = opening - 1, ")" in tokens[opening].mark
    first = max(0, opening - _LONGEST)
    while at > first and (not _begins(tokens[at]) or (closed and "(" in tokens[at].mark)):
        at -= 1
    return at


def _begins(token: Token) -> bool:
    marks, words = token.mark, token.glue.split()
    return not (_BEGINS | _OPENS).isdisjoint(marks) or not _JOINS.isdisjoint(words)


def told_apart(a: Facts, b: Facts) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Words of one meaning that both texts use beside each other, in another order.

    `Cost` and `price` may stand for each other in two texts, not where one text has both:
    `the price exceeds the cost`. Whole clauses may change places.

    Returns:
        The words as a has them, and as b has them, or None.
    """
    words_a, words_b = _beside(a), _beside(b)
    for key, one in words_a.items():
        other = words_b.get(key)
        if other is not None and one != other and sorted(one) == sorted(other):
            return None if _clauses(a) == _clauses(b) else (one, other)
    return None


@remembered
def _beside(facts: Facts) -> dict[str, tuple[str, ...]]:
    """By key, the words it stands for in a text, where they are not forms of one word."""
    found: dict[str, list[str]] = {}
    if len(facts.counts) == len(facts.tokens):
        return {}
    for token in facts.tokens:
        aside = not _BRACKETS.isdisjoint(token.mark)  # `Postgres (pg)`: two names of one thing
        if token.kind is Kind.WORD and facts.counts[token.key] > 1 and not aside:
            found.setdefault(token.key, []).append(fold(token.text, facts.language))
    return {
        key: tuple(words)
        for key, words in found.items()
        if len({word[:_ALIKE] for word in words}) > 1 and len(words) == facts.counts[key]
    }


def _clauses(facts: Facts) -> Counter[tuple[str, ...]]:
    """Words between marks, as written."""
    return Counter(
        tuple(fold(facts.tokens[at].text, facts.language) for at in piece)
        for piece in pieces(facts.tokens, _SENTENCE | _LISTED)
    )


def scattered(
    a: tuple[Sequence[Token], Sequence[str]], b: tuple[Sequence[Token], Sequence[str]]
) -> bool:
    """Whether the same words are spread over sentences, or records, in two ways.

    `Found by Ana. Bo fixed it.` is not `Found by Bo. Ana fixed it.`

    Args:
        a: Tokens of one text, and the key of each.
        b: The same of the other, under the keys of a.
    """
    one, other = (
        [tuple(sorted(keys[at] for at in piece)) for piece in pieces(tokens, _SENTENCE)]
        for tokens, keys in (a, b)
    )
    return 1 < len(one) == len(other) and Counter(one) != Counter(other)


def pieces(tokens: Sequence[Token], marks: frozenset[str]) -> list[list[int]]:
    """Places of tokens between marks."""
    found: list[list[int]] = []
    for at, token in enumerate(tokens):
        abbreviated = token.mark == "." and token.glue.rpartition(" ")[2] in _TITLES
        if not found or not (marks.isdisjoint(token.mark) or abbreviated):
            found.append([])
        found[-1].append(at)
    return found
