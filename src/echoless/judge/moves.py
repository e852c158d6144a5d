"""The same words in other places: which pieces have moved, and may they?

Two texts of the same tokens differ by moved blocks: runs of tokens that stay together. Items of a
list may change places; so may clauses, and adjuncts that keep their preposition; and `is` may be
read both ways. What remains displaced after that has changed its role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.judge.order_view import View, without
from echoless.judge.scan import LINE, Kind, Token

_MAX_BLOCKS: Final = 10
_MAX_TOKENS: Final = 150
"""Tokens of a text beyond which nothing is looked for: finding blocks takes cubic time."""

_GOVERNING: Final = frozenset({Kind.RELATION, Kind.NEGATION, Kind.QUANTIFIER, Kind.NUMBER})
_ITEM_MARKS: Final = frozenset(",、・/&+|")
_CLAUSE_MARKS: Final = frozenset(f";.:!?。–—()[]{LINE}")
_ITEM_WORDS: Final = frozenset(
    ("and", "or", "plus", "und", "oder", "sowie", "と", "や", "および", "及び", "または")
)
_EVEN: Final = frozenset(("while", "whereas", "but", "während", "aber", "doch"))
"""Words that join clauses of one rank: either may come first."""

_COPULA: Final = frozenset(("is", "are", "was", "were", "ist", "sind", "war", "waren"))
_AROUND: Final = frozenset(("the", "a", "an", "der", "die", "das", "ein", "eine", "that", "what"))
_DEFINITE: Final = frozenset(("the", "der", "die", "das"))
_FIGURES: Final = ("n:", "q:", "d:", "t:", "y:")
_PAIRWISE: Final = frozenset(("respectively", "jeweils", "beziehungsweise", "それぞれ"))


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of tokens that stays together: `size` tokens from `a` in one text, `b` in the other."""

    a: int
    b: int
    size: int


def only_moved(a: View, b: View) -> bool:
    """Whether texts of the same tokens differ only in pieces that may change places.

    Symmetric. Never true where a piece of figures alone has moved, or where lists belong together
    member by member (`respectively`).
    """
    if len(a.keys) > _MAX_TOKENS or _pairwise(a) or _pairwise(b):
        return False
    for _ in range(_MAX_BLOCKS):
        blocks = _blocks(a.keys, b.keys)
        if len(blocks) > _MAX_BLOCKS:
            return False
        rest = _collapsed(blocks, a, b)
        if len(rest) <= 1:
            return True
        if (len(rest) == 2 and _copular(rest, a, b)) or _voiced(rest, a, b):
            return True
        adjunct = _adjunct(rest, a, b)
        if adjunct is None:
            return False
        a = without(a, set(range(adjunct.a, adjunct.a + adjunct.size)))
        b = without(b, set(range(adjunct.b, adjunct.b + adjunct.size)))
    return False


def _pairwise(text: View) -> bool:
    return any(not _PAIRWISE.isdisjoint((*t.glue.split(), t.text.casefold())) for t in text.tokens)


def _blocks(keys_a: Sequence[str], keys_b: Sequence[str]) -> list[_Block]:
    """Longest runs first, each token once; in the order of b."""
    free_a, free_b = set(range(len(keys_a))), set(range(len(keys_b)))
    found: list[_Block] = []
    while free_b:
        best = _Block(0, 0, 0)
        for i in sorted(free_b):
            for j in sorted(free_a):
                size = 0
                while (
                    i + size in free_b
                    and j + size in free_a
                    and keys_b[i + size] == keys_a[j + size]
                ):
                    size += 1
                if size > best.size:
                    best = _Block(j, i, size)
        if not best.size:
            return []
        found.append(best)
        free_a -= set(range(best.a, best.a + best.size))
        free_b -= set(range(best.b, best.b + best.size))
        if len(found) > _MAX_BLOCKS:
            break
    return sorted(found, key=lambda block: block.b)


def _collapsed(blocks: list[_Block], a: View, b: View) -> list[_Block]:
    """Take groups of blocks that may change places among themselves for one block."""
    changed = True
    while changed:
        changed = False
        for size in range(2, len(blocks) + 1):
            for at in range(len(blocks) - size + 1):
                group = blocks[at : at + size]
                if _contiguous(group) and _may_permute(group, a, b):
                    whole = _Block(
                        min(x.a for x in group), min(x.b for x in group), sum(x.size for x in group)
                    )
                    blocks = [*blocks[:at], whole, *blocks[at + size :]]
                    changed = True
                    break
            if changed:
                break
    return blocks


def _contiguous(group: Sequence[_Block]) -> bool:
    return max(x.a + x.size for x in group) - min(x.a for x in group) == sum(x.size for x in group)


def _may_permute(group: Sequence[_Block], a: View, b: View) -> bool:
    in_a = sorted(group, key=lambda block: block.a)
    if list(group) == in_a:
        return True  # in the same order: they were only held apart by what has moved
    if any(_figures(a.keys[x.a : x.a + x.size]) for x in group):
        return False
    cuts = [a.tokens[x.a] for x in in_a[1:]] + [b.tokens[x.b] for x in group[1:]]
    if not all(_same_lead(x, a, b) for x in group):
        return False
    if _governed(in_a[0].a, a) or _governed(group[0].b, b):
        return False
    if all(_item_cut(token) for token in cuts):
        return True
    edges = _edges(in_a[0].a, in_a[-1], a, in_a[-1].a) and _edges(
        group[0].b, group[-1], b, group[-1].b
    )
    return edges and all(_item_cut(token) or _clause_cut(token) for token in cuts)


def _governed(start: int, text: View) -> bool:
    """Whether a word before the group belongs to its first member alone: `if`, `before`, `not`."""
    if not start:
        return False
    token = text.tokens[start - 1]
    return token.kind in _GOVERNING or text.lexicon.has("clauses", token.key)


def _edges(start: int, last: _Block, text: View, last_start: int) -> bool:
    end = last_start + last.size
    begins = start == 0 or _clause_cut(text.tokens[start]) or _item_cut(text.tokens[start])
    ends = end == len(text.tokens) or _clause_cut(text.tokens[end]) or _item_cut(text.tokens[end])
    return begins and ends


def _item_cut(token: Token) -> bool:
    return not _ITEM_MARKS.isdisjoint(token.mark) or not _ITEM_WORDS.isdisjoint(token.glue.split())


def _clause_cut(token: Token) -> bool:
    words = token.glue.split()
    return not _CLAUSE_MARKS.isdisjoint(token.mark) or not _EVEN.isdisjoint(words)


def _figures(keys: Sequence[str]) -> bool:
    return all(key.startswith(_FIGURES) for key in keys)


def _lead(token: Token, text: View) -> frozenset[str]:
    """Words that tell what the piece behind them is to the rest."""
    if not token.glue:
        return frozenset()
    places, clauses = text.lexicon.sets["prepositions"], text.lexicon.sets["clauses"]
    words = frozenset(token.glue.split()) - _EVEN
    return (words & places) | (words & clauses)


def _opening(token: Token, text: View, block: _Block) -> frozenset[str]:
    """As `_lead`; a token of its own may be such a word too (`after`), if something follows it."""
    if token.kind is Kind.RELATION and block.size > 1:
        return _lead(token, text) | {token.key}
    return _lead(token, text)


def _same_lead(block: _Block, a: View, b: View) -> bool:
    return _lead(a.tokens[block.a], a) == _lead(b.tokens[block.b], b)


def _copular(blocks: Sequence[_Block], a: View, b: View) -> bool:
    """`The owner is Anna` is `Anna is the owner`."""
    first, second = blocks
    if not first.a > second.a:
        return False
    cuts = a.tokens[first.a], b.tokens[second.b]
    glues = [{*token.glue.split()} for token in cuts]
    plain = all(g & _COPULA and not g - _COPULA - _AROUND for g in glues)
    definite = any(g & _DEFINITE for g in glues)
    return plain and definite and not any(token.mark for token in cuts)


def _voiced(blocks: Sequence[_Block], a: View, b: View) -> bool:
    """`The lab analyses samples` is `Samples are analysed by the lab`."""
    in_a = sorted(blocks, key=lambda block: block.a)
    in_b = sorted(blocks, key=lambda block: block.b)
    starts_a, starts_b = {x: x.a for x in blocks}, {x: x.b for x in blocks}
    return _told_passively(in_a, a, in_b, b, starts_b) or _told_passively(
        in_b, b, in_a, a, starts_a
    )


def _told_passively(
    told: Sequence[_Block],
    active: View,
    turned: Sequence[_Block],
    passive: View,
    turned_starts: Mapping[_Block, int],
) -> bool:
    words = active.lexicon.sets["agent"]
    agents = [x for x in turned if words & {*passive.tokens[turned_starts[x]].glue.split()}]
    if len(agents) != 1 or told[0] is not agents[0] or len(told) > 3:
        return False
    if any(words & {*token.glue.split()} for token in active.tokens):
        return False
    deed, deed_turned = told[1:], [x for x in turned if x is not agents[0]]
    if list(deed) == deed_turned:
        return True
    verb = passive.tokens[turned_starts[deed[0]]]
    return not passive.lexicon.sets["passive"].isdisjoint(verb.glue.split())


def _adjunct(blocks: Sequence[_Block], a: View, b: View) -> _Block | None:
    """A block that keeps its own preposition or clause word, the only one of its kind."""
    leads = [(_opening(a.tokens[x.a], a, x), _opening(b.tokens[x.b], b, x)) for x in blocks]
    agent = a.lexicon.sets["agent"]
    for block, (one, other) in zip(blocks, leads, strict=True):
        alone = sum(one in told for told in leads) == 1
        if one and one == other and alone and not one & agent:
            return block
    for block in blocks:
        # A day may stand anywhere without a word before it.
        token = a.tokens[block.a]
        dated = token.kind is Kind.DATE and block.size == 1
        if dated and sum(t.kind is Kind.DATE for t in a.tokens) == 1:
            return block
    return None
