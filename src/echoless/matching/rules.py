"""The rules: what two texts may differ in, in one table.

A rule looks at one comparison and returns a difference or None. Its force says what the difference
forbids. To add a rule: write a function, add a row to `RULES`, add an example to
`tests/matching/test_rules.py`; `docs/generate_rules.py` writes the table of
`docs/reference/rules.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from sys import intern
from types import MappingProxyType
from typing import Final, NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from echoless.core.model import Difference, DifferenceKind, Evidence
from echoless.core.text import lazy_pattern
from echoless.matching import bindings, bounds
from echoless.matching.comparison import Comparison
from echoless.matching.facts import Facts, remembered
from echoless.matching.facts.extraction import capitals, has_case, past, signs, small_words, words
from echoless.matching.languages import Lexicon, fold
from echoless.matching.persons import other_person
from echoless.matching.values.equivalence import ZONES
from echoless.matching.values.patterns import MARKS
from echoless.matching.values.tokens import ClockTime, Kind, Number, Token, Value


class Force(IntEnum):
    """What a difference forbids, from nothing to everything."""

    NAMES = 0
    """Nothing: the rule only names the difference."""
    HOLDS = 1
    """A merge by rules alone; the pair model may know better."""
    IN_ONE_WORDING = 2
    """A merge of two texts in nearly one wording: there it is the whole difference."""
    VETOES = 3
    """Every merge, whatever the pair model says."""


class Rule(NamedTuple):
    """A row of the table.

    Attributes:
        name: Name of the rule in evidence.
        kind: Kind of the difference.
        force: What the difference forbids.
        find: Returns the difference, or None where there is none; without it the rule names the
            tokens of its kind that only one text has.
        between: Whether the rule reads the signs between words: only if neither text has an extra
            word.
        everywhere: Whether the rule reads both: what two forms of one name have apart, the stems of
            words do not tell.
        languages: Languages of the rule, one of which a text must have; empty for all.
    """

    name: str
    kind: DifferenceKind
    force: Force
    find: Callable[[Comparison], Difference | None] | None = None
    between: bool = False
    everywhere: bool = False
    languages: frozenset[str] = frozenset()

    def reads(self, texts: Comparison) -> bool:
        """Checks whether the rule has anything to say of two texts that leave no word over."""
        if not (self.everywhere or self.between):
            return False
        return not self.languages or not self.languages.isdisjoint(
            (texts.a.language, texts.b.language)
        )


class Finding(NamedTuple):
    """A difference with its rule."""

    rule: Rule
    difference: Difference


KINDS: Final[Mapping[Kind, DifferenceKind]] = MappingProxyType(
    {
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
        Kind.RELATION: DifferenceKind.DETAIL,
        Kind.WORD: DifferenceKind.DETAIL,
    }
)
"""The kind of difference that a token without a counterpart makes."""

_NAMED_BY_NUMBER: Final = lazy_pattern(r"\d{3,}(?!00)\d\d|\d{4}\.\d{4,5}")
_VOWELS: Final = frozenset(MARKS)
_SHORT: Final = 3
"""Letters up to which every change of case may tell another word."""


def kind_of(token: Token) -> DifferenceKind:
    """Returns the kind of difference a token makes.

    `1.29` is a version rather than an amount, and `77120` in `Order 77120` its name.
    """
    if not isinstance(token.value, Number):
        return KINDS[token.kind]
    if _NAMED_BY_NUMBER.fullmatch(token.text):
        return DifferenceKind.IDENTIFIER
    if token.kind is Kind.NUMBER and _is_version(token.text):
        return DifferenceKind.VERSION
    return KINDS[token.kind]


def _is_version(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 2 and all(part.isdecimal() and len(part) <= 2 for part in parts)


@remembered
def _kinds(facts: Facts) -> tuple[DifferenceKind, ...]:
    """Returns the kind of difference that each token of a text makes."""
    return tuple([kind_of(token) for token in facts.tokens])


def _texts(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(intern(token.text) for token in tokens)


def _opposites(texts: Comparison) -> Difference | None:
    """Finds `open` against `closed`."""
    if not texts.opposites:
        return None
    left, right = zip(*texts.opposites, strict=True)
    return Difference(DifferenceKind.POLARITY, left, right)


def _order(texts: Comparison) -> Difference | None:
    """Finds `from S3 to Postgres` against `from Postgres to S3`."""
    if texts.ordered:
        return None
    return Difference(DifferenceKind.ORDER, _texts(texts.a.tokens), _texts(texts.b.tokens))


def _small_words(texts: Comparison) -> Difference | None:
    """Finds `to Bob` against `from Bob`, `is down` against `was down`."""
    a, b = small_words(texts.a), small_words(texts.b)
    if a == b:
        return None
    one, other = (Counter(word for some in said for word in some) for said in (a, b))
    left, right = (tuple(sorted(rest.elements())) for rest in (one - other, other - one))
    return Difference(DifferenceKind.DETAIL, left, right)


def _signs(texts: Comparison) -> Difference | None:
    """Finds `Ready?` against `Ready.`, `A & B` against `A % B`."""
    a, b = signs(texts.a), signs(texts.b)
    if a == b:
        return None
    one, other = (tuple(sign for _, sign in side) for side in (a, b))
    return Difference(DifferenceKind.DETAIL, one, other)


def _capitals(texts: Comparison) -> Difference | None:
    """Finds `TLS` against `tls`, where both texts write some words with a capital."""
    if not (has_case(texts.a) and has_case(texts.b)):
        return None
    a, b = capitals(texts.a), capitals(texts.b)
    only_a, only_b = _in_other_case(a, words(texts.b)), _in_other_case(b, words(texts.a))
    if not only_a and not only_b:
        return None
    return Difference(DifferenceKind.NAME, only_a, only_b)


def _in_other_case(capitals: frozenset[str], others: frozenset[str]) -> tuple[str, ...]:
    """Returns words with a capital that the other text writes in small letters or other case.

    `PIOTR` and `Piotr` are one name, `Mb` and `MB` are two units.
    """
    small = {word.casefold() for word in others if word.islower() or len(word) <= _SHORT}
    return tuple(sorted(w for w in capitals - others if w.casefold() in small))


def _hidden(texts: Comparison) -> Difference | None:
    """Characters that nobody sees: `no\u200bw` is read as `now`, and was written as two words."""
    a, b = texts.a.hidden, texts.b.hidden
    if a == b:
        return None
    return Difference(DifferenceKind.DETAIL, tuple(map(ascii, a)), tuple(map(ascii, b)))


def _vowels(texts: Comparison) -> Difference | None:
    """Finds other vowel signs in words of the same letters, where both texts have some."""
    words = zip(texts.a.tokens, texts.b.tokens, strict=False)
    marked = ((x, y) for x, y in words if x.text != y.text)
    pair = next((z for z in marked if not any(_VOWELS.isdisjoint(t.text) for t in z)), None)
    return Difference(DifferenceKind.DETAIL, *map(_texts, zip(pair))) if pair else None


def _tense(texts: Comparison) -> Difference | None:
    """Finds `Deployed the gateway` reports, `Deploy the gateway` instructs."""
    a, b = past(texts.a), past(texts.b)
    if a == b:
        return None
    return Difference(DifferenceKind.MODALITY, tuple(sorted(a - b)), tuple(sorted(b - a)))


_ALIKE: Final = 200 / 3
"""Share of letters in common, in percent, from which two words are spelled alike, inclusive."""
_ALIKE_ORDINARY: Final = 80
"""The same for two ordinary words: `cat` and `rat` are no names that somebody mistook."""
_LEAST_SLIPPED: Final = 5
"""Letters of a word from which a slip of the pen is told from another word."""
_SPELLED: Final = frozenset({Kind.WORD, Kind.IDENTIFIER})


def _near_words(texts: Comparison) -> Difference | None:
    """Finds `Use prisma here` against `Use prism here`: two names, or a typo of a rare word.

    No list has the names of all tools and packages, so a person decides where one word is all that
    differs. A slip of the pen in an ordinary word is none.
    """
    if texts.only_a and texts.only_b and len(texts.only_a) > 1 and len(texts.only_b) > 1:
        return None
    a, b, lex = texts.a.tokens, texts.b.tokens, texts.a.lexicon
    left = [*zip(texts.only_a, texts.only_b, strict=False)]
    alone = len(texts.only_a) == len(texts.only_b) == 1
    pairs = left if left else [(x, y) for x, y in zip(a, b, strict=False) if x.text != y.text]
    if len(pairs) != 1 or not (alone or pairs[0][0].text.islower()):
        return None
    ((x, y),) = pairs
    one, other = fold(x.text, lex.language), fold(y.text, lex.language)
    same = one == other or lex.synonyms.get(one, one) == lex.synonyms.get(other, other)
    alike = fuzz.ratio(one, other)
    if same or alike < _ALIKE:
        return None
    words = Kind.WORD in {x.kind, y.kind} <= _SPELLED  # two identifiers have a rule of their own
    if not words or one == one.upper() or _beside(a, x) != _beside(b, y):
        return None
    # which words are ordinary is asked last: it takes a list of a hundred thousand
    if alike < _ALIKE_ORDINARY and lex.knows(one) and lex.knows(other):
        return None
    if _slipped(one, other, lex):
        return None
    return Difference(DifferenceKind.NAME, _texts((x,)), _texts((y,)))


def _beside(tokens: Sequence[Token], word: Token) -> list[Value]:
    """Returns the values around a word, its own left out."""
    around = tokens[max(0, word.place - 1) : word.place + 2]
    return ["" if token is word else token.value for token in around]


def _slipped(one: str, other: str, lex: Lexicon) -> bool:
    """Checks for two letters exchanged, one too many or one too few within an ordinary word."""
    short, long = sorted((one, other), key=len)
    if len(short) < len(long):
        spots = range(1, len(long) - 1)
        slip = any(short == long[:at] + long[at + 1 :] for at in spots)
    else:
        slip = sorted(one) == sorted(other) and OSA.distance(one, other) == 1
    return slip and len(short) >= _LEAST_SLIPPED and lex.knows(one) != lex.knows(other)


def _zones(texts: Comparison) -> Difference | None:
    """Finds `10:00 utc` against `10:00 cet`; `utc` and `gmt` are one zone."""
    a, b = _zoned(texts.a, texts.only_a), _zoned(texts.b, texts.only_b)
    if not a or not b or {*a.values()} == {*b.values()}:
        return None
    return Difference(DifferenceKind.DATE, tuple(a), tuple(b))


def _zoned(facts: Facts, tokens: Sequence[Token]) -> dict[str, int]:
    """Returns the zones right behind a clock time, with their hours; elsewhere `west` is a word."""
    return {
        intern(token.text): ZONES[token.text.upper()]
        for token in tokens
        if token.text.upper() in ZONES and isinstance(_beside(facts.tokens, token)[0], ClockTime)
    }


def _captured(texts: Comparison) -> Difference | None:
    """Returns the same event noted at two times may be two events; a lasting state is one."""
    a, b = texts.a, texts.b
    lasting = a.stative and b.stative and not a.relative
    if lasting or not a.stamps or not b.stamps or a.stamps == b.stamps:
        return None
    return Difference(DifferenceKind.DATE, a.stamps, b.stamps)


def _plain(kind: DifferenceKind, force: Force) -> Rule:
    return Rule(f"{kind.value}-differs", kind, force)


def _between(
    name: str,
    kind: DifferenceKind,
    force: Force,
    find: Callable[[Comparison], Difference | None],
    *languages: str,
) -> Rule:
    return Rule(name, kind, force, find, between=True, languages=frozenset(languages))


RULES: Final[tuple[Rule, ...]] = (
    Rule("permission-differs", DifferenceKind.PERMISSION, Force.VETOES, bindings.permission),
    Rule("denial-differs", DifferenceKind.DENIAL, Force.VETOES, bindings.denial),
    Rule("bound-on-one-side", DifferenceKind.BOUND, Force.VETOES, bounds.bound),
    Rule("other-person", DifferenceKind.PERSON, Force.VETOES, other_person, everywhere=True),
    Rule("polarity-differs", DifferenceKind.POLARITY, Force.IN_ONE_WORDING, _opposites),
    _plain(DifferenceKind.IDENTIFIER, Force.VETOES),
    _plain(DifferenceKind.PATH, Force.VETOES),
    _plain(DifferenceKind.VERSION, Force.VETOES),
    _plain(DifferenceKind.DATE, Force.VETOES),
    _plain(DifferenceKind.NUMBER, Force.VETOES),
    _plain(DifferenceKind.UNIT, Force.VETOES),
    _plain(DifferenceKind.NEGATION, Force.IN_ONE_WORDING),
    _plain(DifferenceKind.QUANTIFIER, Force.IN_ONE_WORDING),
    _plain(DifferenceKind.MODALITY, Force.IN_ONE_WORDING),
    _plain(DifferenceKind.SCOPE, Force.IN_ONE_WORDING),
    _plain(DifferenceKind.NAME, Force.IN_ONE_WORDING),
    # Behind the names, which tell `UTC` and `CET` as a sibling or a contradiction.
    Rule("zone-differs", DifferenceKind.DATE, Force.VETOES, _zones),
    Rule("near-words", DifferenceKind.NAME, Force.VETOES, _near_words),
    Rule("words-differ", DifferenceKind.DETAIL, Force.NAMES),
    _between("captured-at-other-times", DifferenceKind.DATE, Force.HOLDS, _captured),
    _between("order-differs", DifferenceKind.ORDER, Force.IN_ONE_WORDING, _order),
    _between("tense-differs", DifferenceKind.MODALITY, Force.IN_ONE_WORDING, _tense, "en"),
    _between("small-words-differ", DifferenceKind.DETAIL, Force.HOLDS, _small_words),
    _between("signs-differ", DifferenceKind.DETAIL, Force.HOLDS, _signs),
    # No model sees these well, so none overrules them.
    _between("vowel-signs-differ", DifferenceKind.DETAIL, Force.VETOES, _vowels),
    _between("hidden-characters", DifferenceKind.DETAIL, Force.VETOES, _hidden),
    _between("capitals-differ", DifferenceKind.NAME, Force.VETOES, _capitals),
    _between("near-forms", DifferenceKind.NAME, Force.VETOES, _near_words),
)
"""All rules, the most telling first."""

_FIRST: Final = {rule.kind: rule.force for rule in reversed(RULES)}
"""What a difference of a kind forbids: as the first rule of that kind says."""
VALUES: Final = frozenset(
    kind for kind, force in _FIRST.items() if force is Force.VETOES and kind not in bindings.KINDS
)
"""Kinds of difference that forbid every merge where both sides have one."""
WORDED: Final = frozenset(kind for kind, force in _FIRST.items() if force is Force.IN_ONE_WORDING)
"""Kinds that forbid a merge in nearly one wording."""
HOLDING: Final = frozenset(rule.name for rule in RULES if rule.between)
"""Rules of texts that leave no word over: what differs stands between the words."""
FIRM: Final = frozenset(
    r.name for r in RULES if r.force is Force.VETOES and r.find and r.kind not in bindings.KINDS
)
"""Rules that no model overrules, whatever kind of difference they tell; but see `SLIP`."""
SPELLED_ALIKE: Final = frozenset({"near-words", "near-forms"})
"""Rules on one word that differs in a few letters: a name, or a slip of the pen."""
SLIP: Final = 0.9
"""Chance of the same from which it is a slip, inclusive. Of 713 near names of the generator, and of
102 written by hand, none reached it; of 52 slips that the rules had held 41 did."""
FIRM_IN_ONE_WORDING: Final = frozenset(
    rule.name for rule in RULES if rule.between and rule.force is Force.IN_ONE_WORDING
)
"""Rules that no model overrules if the two wordings are nearly equal."""
_OPEN: Final = {DifferenceKind.NAME: (False,), DifferenceKind.NEGATION: (True,)}
"""Differences that forbid no merge in one wording, by whether both sides have one."""
_YIELDING: Final = frozenset({DifferenceKind.QUANTIFIER, DifferenceKind.MODALITY})
"""Differences of one side that forbid no merge where the model is sure (`Always run the tests`)."""
YIELD: Final = 0.72
"""Chance of the same from which these yield, inclusive. Of 64 labelled pairs that they alone held
from here on 64 are the same (November 2026)."""
ONE_WORDING: Final = 0.85
"""Share of letters in common (`rapidfuzz.fuzz.ratio`, 0 to 1) from which two texts are nearly one
wording, inclusive."""


_WITHIN: Final = tuple(rule for rule in RULES if not rule.between)


def _facing(texts: Comparison) -> frozenset[str]:
    """Returns figures that stand in one place and look like two kinds: port `51821`, port `4881`.

    Digits alone do not tell a name from an amount or a year. Apart, each would be a difference of
    one side only, which forbids nothing.
    """
    one, other = ([t for t in s if t.text.isdecimal()] for s in (texts.only_a, texts.only_b))
    pairs = ((x, y) for x in one for y in other if kind_of(x) is not kind_of(y))
    a, b = texts.a.tokens, texts.b.tokens
    return frozenset(t.text for x, y in pairs if _before(a, x) == _before(b, y) for t in (x, y))


def _before(tokens: Sequence[Token], word: Token) -> tuple[Value, str, str]:
    """Returns the value before a word, and what stands between the two."""
    return _beside(tokens, word)[0], word.mark, word.glue


def _of_words(texts: Comparison) -> Iterator[Finding]:
    """Yields the differences of two texts of which one has words that the other has not."""
    left: dict[DifferenceKind, tuple[list[str], list[str]]] = {}
    facing = _facing(texts)
    for side, (facts, tokens) in enumerate(((texts.a, texts.only_a), (texts.b, texts.only_b))):
        kinds = _kinds(facts)
        for token in tokens:
            kind = DifferenceKind.NUMBER if token.text in facing else kinds[token.place]
            # interned: the verdicts on a million pairs keep what they name, mostly the same words
            left.setdefault(kind, ([], []))[side].append(intern(token.text))
    for rule in _WITHIN:
        if rule.find is not None:
            named = rule.find(texts)
        else:
            sides = left.get(rule.kind)
            named = Difference(rule.kind, tuple(sides[0]), tuple(sides[1])) if sides else None
        if named is not None:
            yield Finding(rule, named)


def findings(texts: Comparison) -> list[Finding]:
    """Returns all differences of two texts: differences with words on both sides first."""
    if texts.only_a or texts.only_b:
        made = [*_of_words(texts)]
    else:
        read = ((r, r.find(texts)) for r in RULES if r.find is not None and r.reads(texts))
        made = [Finding(rule, named) for rule, named in read if named is not None]
    if len(made) < 2:
        return made
    # A denial on one side is told as if both sides had one.
    made.sort(
        key=lambda each: (
            not (
                (each.difference.a and each.difference.b)
                or each.rule.kind is DifferenceKind.NEGATION
            )
        )
    )
    return made


def _one_place(difference: Difference) -> bool:
    """Returns whether the paths of both sides end alike: `docs/topics/x.md`, `./x.md`, `x.md/`."""
    if difference.kind is not DifferenceKind.PATH or len(difference.a) != len(difference.b):
        return False
    sides = ([f"/{path.strip('./')}" for path in side] for side in (difference.a, difference.b))
    return all(a.endswith(b) or b.endswith(a) for a, b in zip(*sides, strict=True))


def _exchanged(evidence: Evidence) -> bool:
    """Returns whether two words changed places and nothing else: `A, not B` and `B, not A`."""
    if len(evidence.differences) != 1 or evidence.rule not in FIRM_IN_ONE_WORDING:
        return False
    (difference,) = evidence.differences
    moved = [(x, y) for x, y in zip(difference.a, difference.b, strict=False) if x != y]
    return len(difference.a) > len(moved) == 2 and moved[0] == moved[1][::-1]


def forbidden(evidence: Evidence, letters: float) -> bool:
    """Returns whether what the rules found forbids a merge whatever the pair model says.

    A word that may be a name is a slip of the pen where the model is sure, see `SLIP`. A duty or
    quantity that one side alone names yields to it, see `YIELD`.

    Args:
        evidence: Of the verdict of the rules; its `chance` where the model was asked.
        letters: Share of letters in common, 0 to 1.
    """
    near = letters >= ONE_WORDING
    if evidence.rule in SPELLED_ALIKE and (evidence.chance or 0.0) >= SLIP:
        return any(d.kind in VALUES and d.a and d.b for d in evidence.differences)
    if evidence.rule in FIRM or _exchanged(evidence):
        return True
    if near and evidence.rule in FIRM_IN_ONE_WORDING:
        return True
    # A denial or a duty on one side tells two texts apart; a value or a name has to stand on both.
    # Two denials of one thing (`none configured`, `not configured`) are the model's to compare.
    sure = (evidence.chance or 0.0) >= YIELD
    return any(
        d.kind in bindings.KINDS
        or (d.kind in VALUES and d.a and d.b and not _one_place(d))
        or (d.kind in WORDED and near and not _is_open(d, sure=sure))
        for d in evidence.differences
    )


def _is_open(difference: Difference, *, sure: bool) -> bool:
    """Returns whether a difference forbids no merge in one wording."""
    both = bool(difference.a and difference.b)
    yields = sure and not both and difference.kind in _YIELDING
    return yields or both in _OPEN.get(difference.kind, ())
