"""What forbids a merge whatever the similarity: a value, a name, a negation, a role that differs.

Each veto looks at one alignment and names the difference it sees, or says nothing. They are rules,
not weights: no score and no opinion outvotes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from echoless.judge.align import CONTENT, Alignment
from echoless.judge.facts import Facts, remembered
from echoless.judge.labels import relabelled, told_apart
from echoless.judge.language import exclusive
from echoless.judge.limits import Sides, conditional, foretold, limited, misread_name, other_tense
from echoless.judge.roles import denied, out_of_sequence
from echoless.judge.scan import Kind, Token
from echoless.model import Difference, DifferenceKind

VALUES: Final = frozenset(
    {Kind.NUMBER, Kind.UNIT, Kind.DATE, Kind.VERSION, Kind.IDENTIFIER, Kind.PATH}
)
ENTITIES: Final = frozenset({Kind.NAME, Kind.IDENTIFIER, Kind.PATH, Kind.VERSION})

_NAME: Final = frozenset({Kind.NAME})
_SCOPE: Final = frozenset({Kind.SCOPE})

KINDS: Final = {
    Kind.IDENTIFIER: DifferenceKind.IDENTIFIER,
    Kind.PATH: DifferenceKind.PATH,
    Kind.VERSION: DifferenceKind.VERSION,
    Kind.DATE: DifferenceKind.DATE,
    Kind.NUMBER: DifferenceKind.NUMBER,
    Kind.UNIT: DifferenceKind.UNIT,
    Kind.NEGATION: DifferenceKind.NEGATION,
    Kind.QUANTIFIER: DifferenceKind.QUANTIFIER,
    Kind.MODALITY: DifferenceKind.MODALITY,
    Kind.SCOPE: DifferenceKind.SCOPE,
    Kind.NAME: DifferenceKind.NAME,
    Kind.RELATION: DifferenceKind.POLARITY,
    Kind.WORD: DifferenceKind.DETAIL,
}
"""The kind of difference that a token without a counterpart makes."""

SAME_WORDING: Final = 0.8
"""Share of letters in common (`rapidfuzz.fuzz.ratio`, 0 to 1) from which two texts are one wording
with something exchanged, inclusive."""

_SEPARATORS: Final = re.compile(r"[-_.:/]")
_NAMED_BY_NUMBER: Final = re.compile(r"\d{3,}(?!00)\d\d|\d{4}\.\d{4,5}")
_VERSION: Final = re.compile(r"\d{1,2}\.\d{1,2}")
SAME_FRAME: Final = 0.6
"""Share of letters in common from which small words may be opposites, inclusive."""

_WHOLE: Final = frozenset({"!all", "!always", "!both"})
_EACH: Final = frozenset({"every", "each", "jeder", "jede", "jeden", "jedes", "jedem", "毎"})
_QUANTITIES: Final = frozenset(
    frozenset({f"!{one}", f"!{other}"})
    for one, other in (
        ("all", "some"),
        ("all", "few"),
        ("all", "only"),
        ("all", "half"),
        ("all", "most"),
        ("all", "sometimes"),
        ("always", "only"),
        ("always", "sometimes"),
        ("both", "only"),
        ("both", "either"),
        ("max", "min"),
        ("more", "less"),
        ("most", "few"),
        ("many", "few"),
        ("exactly", "almost"),
    )
)
_DUTIES: Final = frozenset(
    frozenset({f"!{one}", f"!{other}"})
    for one, other in (("may", "must"), ("future", "used to"), ("may", "used to"))
)


@dataclass(frozen=True, slots=True)
class Veto:
    """A difference that forbids a merge.

    Attributes:
        rule: Short name, for example `number-differs`.
        difference: What stands on either side.
    """

    rule: str
    difference: Difference


def vetoes(found: Alignment) -> tuple[Veto, ...]:
    """All differences that forbid merging an aligned pair, the most telling first."""
    made = [check(found) for check in _CHECKS]
    return tuple([veto for veto in made if veto is not None])


_STRESSING: Final = frozenset(
    {"一切", "決して", "絶対", "絶対に", "全く", "まったく", "全然", "けっして"}
)
"""Words that only stress the negation of their verb."""


def kind_of(token: Token) -> DifferenceKind:
    """The kind of difference a token makes.

    `1.29` is a version rather than an amount, and `77120` in `Order 77120` rather its name.
    """
    if token.key[:2] != "n:":
        return KINDS[token.kind]
    if _NAMED_BY_NUMBER.fullmatch(token.text):
        return DifferenceKind.IDENTIFIER
    if token.kind is Kind.NUMBER and _VERSION.fullmatch(token.text):
        return DifferenceKind.VERSION
    return KINDS[token.kind]


def _texts(tokens: Iterable[Token]) -> tuple[str, ...]:
    return tuple([token.text for token in tokens])


def _of(tokens: Sequence[Token], kinds: frozenset[Kind]) -> list[Token]:
    return [token for token in tokens if token.kind in kinds]


def _both(found: Alignment, kinds: frozenset[Kind]) -> Veto | None:
    """Tokens of some kinds left over on both sides."""
    if found.kinds_a.isdisjoint(kinds) or found.kinds_b.isdisjoint(kinds):
        return None
    a, b = _of(found.rest_a, kinds), _of(found.rest_b, kinds)
    kind = kind_of(a[0])
    return Veto(f"{kind.value}-differs", Difference(kind, _texts(a), _texts(b)))


def _opposites(found: Alignment) -> Veto | None:
    """`open` here, `closed` there; `not open` and `closed` are another matter."""
    if not found.found.opposites:
        return None
    weak = found.a.facts.lexicon.sets["weak"]
    pairs = [
        (one, other)
        for one, other in found.found.opposites
        # `on` and `off` are opposites in one frame and anything in another.
        if not (one in weak and other in weak) or found.letters >= SAME_FRAME
    ]
    odd = (len(denials(found.a.facts)) - len(denials(found.b.facts))) % 2
    if not pairs or odd:
        return None
    left, right = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    return Veto("polarity-differs", Difference(DifferenceKind.POLARITY, left, right))


def _exclusive(found: Alignment) -> Veto | None:
    """Values of one attribute that exclude each other: `tea` here, `coffee` there.

    A value both sides name is no difference.
    """
    if found.a.facts.language != found.b.facts.language:
        return None
    values_a = [(t, g) for t, g in zip(found.rest_a, found.known_a, strict=True) if g.places]
    values_b = [(t, g) for t, g in zip(found.rest_b, found.known_b, strict=True) if g.places]
    pairs = [
        (one.text, other.text)
        for one, x in values_a
        for other, y in values_b
        if exclusive(x.places, y.places)
    ]
    if not pairs:
        return None
    left, right = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    return Veto("value-differs", Difference(DifferenceKind.NAME, left, right))


def _values(found: Alignment) -> Veto | None:
    """A value here, another value there."""
    return _both(found, VALUES)


def _names(found: Alignment) -> Veto | None:
    """A name here, another there; an acronym may stand for words and is left to the weights.

    A single letter is no acronym: model A is not model B.
    """
    if Kind.NAME not in found.kinds_a and Kind.NAME not in found.kinds_b:
        return None
    if found.a.facts.language != found.b.facts.language:
        return None
    for left, right in ((_NAME, ENTITIES), (ENTITIES, _NAME)):
        a = [t for t in _of(found.rest_a, left) if not _acronym(t)]
        b = [t for t in _of(found.rest_b, right) if not _acronym(t)]
        if a and b:
            return Veto("name-differs", Difference(DifferenceKind.NAME, _texts(a), _texts(b)))
    return None


def _acronym(token: Token) -> bool:
    return len(token.text) > 1 and token.text.isupper()


def _longer_name(found: Alignment) -> Veto | None:
    """`kaede-office` is read as two words, `kaede-office-6g` as one name: they share its parts."""
    for rest, other, left in (
        (found.rest_a, found.rest_b, True),
        (found.rest_b, found.rest_a, False),
    ):
        if Kind.IDENTIFIER not in (found.kinds_a if left else found.kinds_b):
            continue
        for name in (t for t in rest if t.kind is Kind.IDENTIFIER):
            parts = {*_SEPARATORS.split(name.text.casefold())}
            shared = tuple(t.text for t in other if t.text.casefold() in parts)
            if shared:
                sides = ((name.text,), shared) if left else (shared, (name.text,))
                return Veto("identifier-differs", Difference(DifferenceKind.IDENTIFIER, *sides))
    return None


def _amounts(found: Alignment) -> Veto | None:
    """`All nurses` against `two of our five nurses`."""
    for whole, part, kinds in (
        (found.rest_a, found.rest_b, found.kinds_b),
        (found.rest_b, found.rest_a, found.kinds_a),
    ):
        if Kind.NUMBER not in kinds:
            continue
        all_of = [t for t in whole if t.key in _WHOLE and t.text.lower() not in _EACH]
        if all_of:
            sides = _texts(all_of), _texts(_of(part, frozenset({Kind.NUMBER})))
            a, b = sides if whole is found.rest_a else sides[::-1]
            return Veto("quantifier-differs", Difference(DifferenceKind.QUANTIFIER, a, b))
    return None


def _quantifiers(found: Alignment) -> Veto | None:
    """Quantities that cannot both hold; `all` may well be `always`, and `only` `except`."""
    return _clash(found, Kind.QUANTIFIER, _QUANTITIES)


def _clash(found: Alignment, kind: Kind, clashes: frozenset[frozenset[str]]) -> Veto | None:
    if kind not in found.kinds_a or kind not in found.kinds_b:
        return None
    a, b = ([t for t in rest if t.kind is kind] for rest in (found.rest_a, found.rest_b))
    if not any(frozenset({x.key, y.key}) in clashes for x in a for y in b):
        return None
    return Veto(f"{kind.value}-differs", Difference(KINDS[kind], _texts(a), _texts(b)))


def _scopes(found: Alignment) -> Veto | None:
    return _both(found, _SCOPE)


def _negations(found: Alignment) -> Veto | None:
    """An odd number of denials more on one side, and no word there that denies in itself.

    `Nobody but Owen` is `Owen alone`, and `sends no data` may be `is disabled`: a word of negative
    sense that is left over on the other side leaves the question to the weights.
    """
    a, b = denials(found.a.facts), denials(found.b.facts)
    if (len(a) - len(b)) % 2 == 0:
        return None
    fewer = found.known_a if len(a) < len(b) else found.known_b
    if any(gloss.negative for gloss in fewer):
        return None
    return Veto("negation-differs", Difference(DifferenceKind.NEGATION, _texts(a), _texts(b)))


@remembered
def denials(facts: Facts) -> tuple[Token, ...]:
    """Negations; `しか…ない` is `only` and denies nothing, `一切…ない` denies once."""
    found = [token for token in facts.tokens if token.kind is Kind.NEGATION]
    if facts.language == "ja":
        only = sum(token.text == "しか" for token in facts.tokens)
        plain = sum(token.text not in _STRESSING for token in found)
        found = [t for t in found if not plain or t.text not in _STRESSING][only:]
    return tuple(found)


def _duties(found: Alignment) -> Veto | None:
    """A duty against a choice."""
    return _clash(found, Kind.MODALITY, _DUTIES)


def _stages(found: Alignment) -> Veto | None:
    """One side speaks of what is not (yet, any more) so."""
    a = [t.text for t, g in zip(found.rest_a, found.known_a, strict=True) if g.unreal]
    b = [t.text for t, g in zip(found.rest_b, found.known_b, strict=True) if g.unreal]
    stages = found.a.facts.stage, found.b.facts.stage
    staged = None not in stages and stages[0] != stages[1]
    if bool(a) == bool(b) and not staged:
        return None
    return Veto("modality-differs", Difference(DifferenceKind.MODALITY, tuple(a), tuple(b)))


def _exchanged(found: Alignment) -> Veto | None:
    """In the same wording another word in the same place is another value."""
    if not found.exchanged or found.letters < SAME_WORDING:
        return None
    a, b = _texts(x for x, _ in found.exchanged), _texts(y for _, y in found.exchanged)
    return Veto("word-exchanged", Difference(KINDS[found.exchanged[0][0].kind], a, b))


def _order(found: Alignment) -> Veto | None:
    """The same things in other roles."""
    if not found.found.directed:
        return None
    a = tuple(one for one, _ in found.found.directed)
    b = tuple(other for _, other in found.found.directed)
    return Veto("direction-differs", Difference(DifferenceKind.ORDER, a, b))


def _roles(found: Alignment) -> Veto | None:
    """The same values behind other labels, or `cost` for `price` and `price` for `cost`."""
    a, b = found.a.facts, found.b.facts
    moved = relabelled(a, b) or told_apart(a, b)
    return None if moved is None else Veto("roles-differ", Difference(DifferenceKind.ORDER, *moved))


def _sequence(found: Alignment) -> Veto | None:
    """`Drain before you revoke` is not `Revoke first, then drain`."""
    alike = {match.b.key: match.a.key for match in found.alike}
    if not out_of_sequence(found.a.facts, found.b.facts, alike):
        return None
    return Veto("sequence-differs", Difference(DifferenceKind.ORDER))


def _denied(found: Alignment) -> Veto | None:
    """Both deny something, and each what the other states: `not A but B`, `not B but A`."""
    not_a, not_b = denied(found.a.facts), denied(found.b.facts)
    if not not_a or not not_b:
        return None
    alike = {match.b.key: match.a.key for match in found.alike}
    a = not_a & {alike.get(key, key) for key in found.b.facts.counts}
    b = {alike.get(key, key) for key in not_b} & found.a.facts.counts.keys()
    if not a or not b or a & b:
        return None
    both = tuple(sorted(a)), tuple(sorted(b))
    return Veto("denies-another", Difference(DifferenceKind.NEGATION, *both))


def _changed(found: Alignment) -> Veto | None:
    """One side alone tells of a change, and brings a name or an identifier of its own."""
    told = found.a.facts.update, found.b.facts.update
    if told[0] == told[1]:
        return None
    new = [
        t
        for t in (found.rest_a if told[0] else found.rest_b)
        if t.kind in ENTITIES and not (t.kind is Kind.NAME and t.text.isupper())
    ]
    if not new:
        return None
    sides = (_texts(new), ()) if told[0] else ((), _texts(new))
    return Veto("changed", Difference(KINDS[new[0].kind], *sides))


def _limited(found: Alignment) -> Veto | None:
    told = limited(found)
    if told is None:
        return None
    return Veto("limited-on-one-side", Difference(KINDS[told[0]], *told[1]))


def _told(
    rule: str, kind: DifferenceKind, look: Callable[[Alignment], Sides | None]
) -> Callable[[Alignment], Veto | None]:
    def check(found: Alignment) -> Veto | None:
        sides = look(found)
        return None if sides is None else Veto(rule, Difference(kind, *sides))

    return check


_CHECKS: Final[tuple[Callable[[Alignment], Veto | None], ...]] = (
    _opposites,
    _values,
    _names,
    _longer_name,
    _exclusive,
    _negations,
    _duties,
    _stages,
    _quantifiers,
    _amounts,
    _scopes,
    _order,
    _roles,
    _sequence,
    _denied,
    _changed,
    _limited,
    _told("tense-differs", DifferenceKind.MODALITY, other_tense),
    _told("not-yet", DifferenceKind.MODALITY, foretold),
    _told("condition-on-one-side", DifferenceKind.MODALITY, conditional),
    _told("name-differs", DifferenceKind.NAME, misread_name),
    _exchanged,
)

__all__ = ["CONTENT", "ENTITIES", "KINDS", "VALUES", "Veto", "vetoes"]
