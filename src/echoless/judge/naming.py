"""Name what two texts differ in: all differences, the deciding one first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from echoless.judge.align import CONTENT, Alignment
from echoless.judge.compare import Comparison
from echoless.judge.moved import moved_on
from echoless.judge.scan import Kind, Token
from echoless.judge.vetoes import KINDS, Veto, kind_of
from echoless.model import Difference, DifferenceKind

_RANK: Final = {kind: rank for rank, kind in enumerate(KINDS.values())}
_WHERE: Final = frozenset(("in", "on", "for", "at", "im", "bei", "fuer", "für"))
_PLAIN: Final = frozenset({Kind.WORD, Kind.RELATION, Kind.SCOPE})


def differences(found: Comparison | Alignment) -> tuple[Difference, ...]:
    """Differences by kind: opposites first, then kinds present on both sides, then the rest."""
    if isinstance(found, Alignment):
        rest_a, rest_b, opposites = found.rest_a, found.rest_b, found.found.opposites
    else:
        rest_a, rest_b, opposites = found.only_a, found.only_b, found.opposites
    texts_a, texts_b = _by_kind(rest_a), _by_kind(rest_b)
    kinds = sorted(texts_a.keys() | texts_b.keys(), key=_RANK.__getitem__)
    made = [Difference(k, tuple(texts_a.get(k, ())), tuple(texts_b.get(k, ()))) for k in kinds]
    if len(made) > 1:
        made.sort(
            key=lambda d: (
                not (d.a and d.b) and d.kind is not DifferenceKind.NEGATION,
                _RANK[d.kind],
            )
        )
    if opposites:
        left, right = tuple(x for x, _ in opposites), tuple(y for _, y in opposites)
        made.insert(0, Difference(DifferenceKind.POLARITY, left, right))
    return tuple(made)


def _by_kind(rest: Sequence[Token]) -> dict[DifferenceKind, list[str]]:
    found: dict[DifferenceKind, list[str]] = {}
    for token in rest:
        found.setdefault(kind_of(token), []).append(token.text)
    return found


def _of_kind(kind: DifferenceKind, a: Sequence[Token], b: Sequence[Token]) -> Difference:
    return Difference(
        kind,
        tuple([t.text for t in a if kind_of(t) is kind]),
        tuple([t.text for t in b if kind_of(t) is kind]),
    )


def naming(both: Alignment, against: Sequence[Veto], *, changed: bool) -> tuple[Difference, ...]:
    """All differences of texts that stay apart.

    Args:
        both: The alignment.
        against: The vetoes.
        changed: One is the newer: then another date may only be the day of the change.
    """
    rest = differences(both)
    first = next(_deciding(both, against, changed=changed), None)
    if first is None:
        first = next((d for d in rest if d.kind is not DifferenceKind.DETAIL), None)
        words = next((d for d in rest if d.kind is DifferenceKind.DETAIL), None)
        if words is not None and (first is None or not (first.a and first.b)):
            first = Difference(DifferenceKind.NAME, words.a, words.b)
    if first is None:
        return rest
    return (first, *(each for each in rest if each.kind is not first.kind))


def _deciding(both: Alignment, against: Sequence[Veto], *, changed: bool) -> Iterator[Difference]:
    """Candidates for the deciding difference, best first."""
    by_kind: dict[DifferenceKind, Difference] = {}
    for veto in against:
        by_kind.setdefault(veto.difference.kind, veto.difference)
    yield from _plainly(both, by_kind, changed=changed)
    denied = DifferenceKind.NEGATION in by_kind
    if DifferenceKind.POLARITY in by_kind and not changed:
        yield by_kind[DifferenceKind.POLARITY]
    for kind, token_kind in (
        (DifferenceKind.MODALITY, Kind.MODALITY),
        (DifferenceKind.QUANTIFIER, Kind.QUANTIFIER),
    ):
        told = any(t.kind is token_kind for t in (*both.rest_a, *both.rest_b))
        if kind in by_kind or (denied and told):
            yield by_kind.get(kind) or _of_kind(kind, both.rest_a, both.rest_b)
    if DifferenceKind.POLARITY in by_kind:
        yield by_kind[DifferenceKind.POLARITY]
    yield from _values(both, changed=changed)
    for kind in (DifferenceKind.NEGATION, DifferenceKind.ORDER, DifferenceKind.NAME):
        if kind in by_kind:
            yield by_kind[kind]
    for veto in against:
        kind = veto.difference.kind
        if kind is DifferenceKind.DETAIL:
            kind = DifferenceKind.NAME
        yield Difference(kind, veto.difference.a, veto.difference.b)


def _plainly(
    both: Alignment, by_kind: Mapping[DifferenceKind, Difference], *, changed: bool
) -> Iterator[Difference]:
    """Another role; or, of a change, what it changed to."""
    moved = moved_on(both)
    if moved is not None:
        yield moved
    if changed:  # `was moved to Thursday`: the day, not that it was moved
        for each in _values(both, changed=True):
            if each.kind is not DifferenceKind.NAME or DifferenceKind.POLARITY not in by_kind:
                yield each


def _values(both: Alignment, *, changed: bool) -> Iterator[Difference]:
    """Values and names that stand on both sides, in the order of the text."""
    late: list[Difference] = []
    seen: set[DifferenceKind] = set()
    exchanged = {id(x) for x, _ in both.exchanged}
    for token in both.rest_a:
        kind = kind_of(token)
        plain = token.kind in _PLAIN
        if kind in seen or (plain and id(token) not in exchanged):
            continue
        if plain:
            pairs = [(x.text, y.text) for x, y in both.exchanged if x.kind in CONTENT]
            scope = token.kind is Kind.SCOPE or _says_where(both, token)
            kind = DifferenceKind.SCOPE if scope else DifferenceKind.NAME
            made = Difference(kind, tuple(x for x, _ in pairs), tuple(y for _, y in pairs))
        else:
            made = _of_kind(kind, both.rest_a, both.rest_b)
            if kind is DifferenceKind.NAME and made.b and _says_where(both, token):
                made = Difference(DifferenceKind.SCOPE, made.a, made.b)
        seen.add(kind)
        if not (made.a and made.b) or token.kind in {Kind.NEGATION, Kind.MODALITY, Kind.QUANTIFIER}:
            continue
        if _other_unit(both.rest_a, both.rest_b):
            yield Difference(DifferenceKind.UNIT, made.a, made.b)
        if changed and kind is DifferenceKind.DATE:
            late.append(made)
        else:
            yield made
    yield from late


def _says_where(both: Alignment, token: Token) -> bool:
    """`In ledgerkit we …`: what opens the sentence says where the rest holds."""
    first = both.a.facts.tokens[0]
    return first is token and not _WHERE.isdisjoint(first.glue.split())


def _other_unit(a: Sequence[Token], b: Sequence[Token]) -> bool:
    """The same figure with another unit: `512 MB`, `512 GB`."""
    figures_a = {_figure(t): t.key for t in a if t.key.startswith("q:")}
    figures_a.pop("", None)  # written out: `vier Jahre`
    return any(figures_a.get(_figure(t), t.key) != t.key for t in b if t.key.startswith("q:"))


def _figure(token: Token) -> str:
    return "".join(c for c in token.text if c.isdigit() or c in ".,-−")
