"""Values passed from stage to stage: memories, candidates, pairs, verdicts and their evidence.

All are frozen. None of them does input or output. Times are kept as the text the store holds
(`instant` in `core/timestamps.py` reads them), vectors as float32 little-endian bytes, so that
writing back what was read changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter, le
from typing import Final, Literal, TypeAlias

from echoless.core.text import has_utf8, unreadable
from echoless.core.timestamps import instant

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]
Side: TypeAlias = Literal["a", "b"]

EMPTY: Final[JsonObject] = {}

VOLATILE: Final = "volatile"
"""Key of `Memory.native` under which an adapter lists what the program behind the store changes by
itself. `importance` is known here: where it fades without anyone's edit, it counts as a recall.
So are `created_at` and `updated_at`: some programs stamp what they take with the time of now."""

UNDER: Final = "under"
"""Key of `Memory.native` under which an adapter lists what a text stands under, outermost first:
its file, headings, the lead of its list. The judge reads it (`matching.guards.in_place`)."""

FIRST_LINE: Final = "line"
"""Key of `Memory.native` under which an adapter says in which line of its file a text begins."""

FILE: Final = "file"
"""Key of `Memory.native` under which an adapter of texts in files says in which file one stands."""

UNFOUND: Final = "unfound"
"""Key of `Memory.native` under which an adapter says why its program's search does not find it."""

STEP: Final = "1."
"""Last part of `UNDER` of an item of a numbered list."""


class Provenance(StrEnum):
    """Origin of a memory, most trusted first: words of a person rank above derived text."""

    USER_AUTHORED = "user_authored"
    VERBATIM = "verbatim"
    EXTRACTED = "extracted"
    DERIVED = "derived"
    UNKNOWN = "unknown"

    @property
    def trust(self) -> int:
        """Returns 4 for `user_authored` down to 0 for `unknown`."""
        return _TRUST[self]


_TRUST: Final = {word: trust for trust, word in enumerate(reversed(Provenance))}


@dataclass(frozen=True, slots=True)
class Link:
    """A reference from one memory to another.

    Attributes:
        target: Id of the other memory. It need not exist in the same store.
        kind: Free word of the store, for example `similar` or `caused_by`.
        data: What else the store keeps with the link.
    """

    target: str
    kind: str = "related"
    data: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """An embedding with the identity of the model that made it.

    Attributes:
        model: Name and version. Vectors of different models never meet.
        data: float32, little-endian, `4 * dimensions` bytes.
    """

    model: str
    data: bytes

    @property
    def dimensions(self) -> int:
        """Returns the number of components."""
        return len(self.data) // 4

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.model == other.model and self.data == other.data

    def __hash__(self) -> int:
        return hash((self.model, self.data))


_ENDLESS: Final = 2**70
"""Later than the year 9999 in nanoseconds since 1970, and more than any number of readers."""


@dataclass(frozen=True, slots=True)
class Promise:
    """How long, and for whom, a memory stays in force in the program that owns it, and is found.

    Attributes:
        until: Time at which the owning program drops the memory, as the store writes it; None for
            no end.
        retired: Why it is no longer in force, such as `struck out` or `archived`; empty if it is.
        readers: Agents that load it by themselves; None where all readers of the store do.
        unfound: Why the owning program's search does not find it, such as `it has no vector`; empty
            if it does, or searches nothing.
    """

    until: str | None = None
    retired: str = ""
    readers: frozenset[str] | None = None
    unfound: str = ""

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        """Returns a sort key: a promise comes before every promise it covers.

        A time that cannot be read counts as one at which everything has ended.
        """
        end = _ENDLESS if self.until is None else instant(self.until)
        readers = _ENDLESS if self.readers is None else len(self.readers)
        until = _ENDLESS if end is None else -end
        return bool(self.retired), bool(self.unfound), until, -readers

    def covers(self, other: Promise) -> bool:
        """Returns whether a memory of this promise may stand for one of another.

        It ends no earlier, is retired or not found only where the other is, and all who read the
        other read it.
        """
        return self is other or not self.lack(other)

    def lack(self, other: Promise) -> str:
        """Returns in half a sentence why it may not stand for one of another promise."""
        retired, unfound, ends, _ = map(le, self.rank, other.rank)
        if not retired:
            return "is retired"
        if not unfound:
            return f"is not found by its program, as {self.unfound}"
        if not ends:
            return "would expire"
        wide = self.readers is None or (other.readers is not None and other.readers <= self.readers)
        return "" if wide else "is read by fewer agents"


IN_FORCE: Final = Promise()
"""Promise of a memory that is in force without end, for all who read the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing an agent remembers.

    Attributes:
        id: Unique in its store, not empty.
        content: The text.
        namespace: Scope; memories of two namespaces are never merged. May be empty.
        type: The store's own word for the kind of memory. May be empty.
        tags: In the store's order.
        importance: In the store's own unit, or None if it keeps none.
        access_count: How often it was recalled, at least 0.
        created_at: Time as the store writes it, normally ISO 8601; None if unknown.
        updated_at: As above.
        last_accessed: As above.
        provenance: Where it came from.
        links: References to other memories.
        pinned: A pinned memory is never hidden or removed; as a survivor it may gain metadata.
        metadata: The store's metadata object.
        vectors: At most one for a model.
        extra: Fields of the store that echoless does not interpret; carried along unchanged.
        native: What the adapter needs to put the record back exactly as it was (its raw line, its
            place). Opaque to everyone else, but for `VOLATILE`, `UNDER`, `FIRST_LINE` and
            `FILE`; not part of equality or of the fingerprint.
        owners: Fields of the record that look like owners and are no part of the namespace, such as
            `user=ann&wing=blue`; memories of two are never merged either. Not part of equality.
        promise: What the adapter reads from the record of how long, and for whom, it is in force.
            Not part of equality or of the fingerprint, as the record itself is.
    """

    id: str
    content: str
    namespace: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    importance: float | None = None
    access_count: int = 0
    created_at: str | None = None
    updated_at: str | None = None
    last_accessed: str | None = None
    provenance: Provenance = Provenance.UNKNOWN
    links: tuple[Link, ...] = ()
    pinned: bool = False
    metadata: JsonObject = field(default_factory=dict)
    vectors: tuple[Vector, ...] = ()
    extra: JsonObject = field(default_factory=dict)
    native: JsonObject = field(default_factory=dict, compare=False, repr=False)
    owners: str = field(default="", compare=False)
    promise: Promise = field(default=IN_FORCE, compare=False)


def under(memory: Memory) -> tuple[str, ...]:
    """Returns what a text stands under, see `UNDER`; nothing where its adapter lists nothing."""
    listed = memory.native.get(UNDER, ())
    return tuple(map(str, listed)) if isinstance(listed, list | tuple) else ()


def in_one_file(a: Memory, b: Memory) -> bool | None:
    """Returns whether two texts stand in one file; None where one stands in none."""
    files = a.native.get(FILE), b.native.get(FILE)
    return None if None in files else files[0] == files[1]


def line_of(memory: Memory, offset: int) -> int:
    """Returns the line of a place in a text: in its file, or in the text where it has no file.

    Args:
        memory: Any.
        offset: In characters from the start of the text.
    """
    first = memory.native.get(FIRST_LINE, 1)
    return (first if isinstance(first, int) else 1) + memory.content.count("\n", 0, offset)


def later(a: Memory, b: Memory) -> Side | None:
    """Returns the side that was made later; None where the times do not tell."""
    one, other = instant(a.created_at), instant(b.created_at)
    if one is None or other is None or one == other:
        return None
    return "a" if one > other else "b"


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
"""Made once: `json.dumps` makes one for each value, which takes longer than a short value does."""


def canonical(value: Json) -> str:
    """Returns the canonical JSON text of a value: sorted keys, no spaces, ASCII."""
    return _CANONICAL.encode(value)


def digest(value: Json) -> str:
    """Returns SHA-256 of the canonical text, first 32 hexadecimal digits (128 bits)."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()[:32]


def unstorable(memory: Memory) -> str | None:
    """Returns what keeps the texts of a memory out of a database, or None.

    Returns:
        A half sentence such as `a NUL character at position 7`.
    """
    times = (memory.created_at, memory.updated_at, memory.last_accessed)
    plain = (t for t in (memory.namespace, memory.type, *times) if t and not has_utf8(t))
    return next(filter(None, map(unreadable, (memory.content, memory.id, *plain))), None)


def fingerprint(memory: Memory) -> str:
    """Returns a digest of a memory's state that changes when someone edits it.

    Covers everything but `access_count`, `last_accessed`, `native` and what is volatile: a recall
    is no edit, and a plan refused because of it could never be applied to a store in use.

    Returns:
        32 hexadecimal digits.
    """
    return _print(memory, _volatile(memory))


def _volatile(memory: Memory) -> frozenset[str]:
    names = memory.native.get(VOLATILE, ())
    return frozenset(map(str, names)) if isinstance(names, list | tuple) else frozenset()


def _print(memory: Memory, volatile: frozenset[str]) -> str:
    return digest(
        [
            memory.id,
            memory.content,
            memory.namespace,
            memory.type,
            list(memory.tags),
            None if "importance" in volatile else memory.importance,
            None if "created_at" in volatile else memory.created_at,
            None if "updated_at" in volatile else memory.updated_at,
            memory.provenance.value,
            [[link.target, link.kind, link.data] for link in memory.links],
            memory.pinned,
            memory.metadata,
            sorted([v.model, hashlib.sha256(v.data).hexdigest()] for v in memory.vectors),
            memory.extra,
        ]
    )


def same(one: Memory | None, other: Memory | None) -> bool:
    """Returns whether two states are equal but for counters of recall: no edit in between."""
    if one is None or other is None:
        return one is other
    volatile = _volatile(one) | _volatile(other)
    return _print(one, volatile) == _print(other, volatile)


def identical(one: Memory | None, other: Memory | None) -> bool:
    """Returns whether two states are equal in all a store holds, counters of recall included."""
    if one is None or other is None:
        return one is other
    counters = one.access_count == other.access_count and one.last_accessed == other.last_accessed
    return counters and same(one, other)


# --------------------------------------------------------------------------- look at and decide


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """A pair of memories that a detector proposes, with its similarity.

    Attributes:
        a: The smaller id.
        b: The larger id.
        how: Name of the detector.
        similarity: 0 to 1, higher is closer, in the detector's own measure.
    """

    a: str
    b: str
    how: str
    similarity: float

    def __post_init__(self) -> None:
        if not self.a < self.b:
            raise ValueError(f"a candidate is ordered by id: {self.a!r} is not before {self.b!r}")


def candidate(one: str, other: str, how: str, similarity: float) -> Candidate:
    """Returns a candidate of two ids in any order."""
    a, b = (one, other) if one < other else (other, one)
    return Candidate(a, b, how, similarity)


@dataclass(frozen=True, slots=True)
class Pair:
    """Input of the judge: both memories, and the similarity each detector measured.

    Attributes:
        a: One memory.
        b: The other.
        signals: Similarity by detector name, 0 to 1. Not empty.
    """

    a: Memory
    b: Memory
    signals: Mapping[str, float]

    @property
    def best(self) -> tuple[str, float]:
        """Returns the detector with the highest similarity, and that similarity; ties by name."""
        return min(self.signals.items(), key=lambda item: (-item[1], item[0]))


class DifferenceKind(StrEnum):
    """Kinds of difference between two texts."""

    NUMBER = "number"
    DATE = "date"
    VERSION = "version"
    IDENTIFIER = "identifier"
    PATH = "path"
    NAME = "name"
    NEGATION = "negation"
    POLARITY = "polarity"
    MODALITY = "modality"
    ORDER = "order"
    SCOPE = "scope"
    QUANTIFIER = "quantifier"
    UNIT = "unit"
    LANGUAGE = "language"
    DETAIL = "detail"
    PERMISSION = "permission"
    DENIAL = "denial"
    BOUND = "bound"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Difference:
    """One named difference: the tokens that only one side has.

    Attributes:
        kind: Kind of the tokens.
        a: Tokens only in a, as written there, in order.
        b: Tokens only in b.
    """

    kind: DifferenceKind
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The reasons for a verdict, as data.

    Attributes:
        rule: Short name of the rule that decided, for example `same-text` or `number-differs`.
        how: Detector with the highest similarity.
        similarity: That similarity, 0 to 1.
        differences: Named differences, the deciding one first.
        note: Anything else worth a half sentence.
        veto: Whether a named difference, or what kept the texts from being compared, stands against
            merging so firmly that no opinion of a model may overrule it. Such a pair is never asked
            about.
        chance: Probability that both state the same, 0 to 1, where the decision was asked.
    """

    rule: str
    how: str
    similarity: float
    differences: tuple[Difference, ...] = ()
    note: str = ""
    veto: bool = False
    chance: float | None = None

    @property
    def difference(self) -> DifferenceKind | None:
        """Returns the kind of the deciding difference; None where nothing of substance differs."""
        return self.differences[0].kind if self.differences else None

    def line(self) -> str:
        """Returns one line for a person: the rule, then each difference as `kind: a | b`."""
        parts = [self.rule.replace("-", " ")]
        for each in self.differences:
            left = " ".join(each.a) or "(nothing)"
            right = " ".join(each.b) or "(nothing)"
            parts.append(f"{each.kind.value}: {left} | {right}")
        if self.note:
            parts.append(self.note)
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _WithEvidence:
    """What every verdict has."""

    evidence: Evidence


class Duplicate(_WithEvidence):
    """Verdict that both say the same."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Subsumes(_WithEvidence):
    """Verdict that one text says all of the other and more.

    Attributes:
        superset: The side that says more and has to survive.
    """

    superset: Side


@dataclass(frozen=True, slots=True)
class Update(_WithEvidence):
    """Verdict that both texts give one attribute different values, and one value is newer.

    Attributes:
        newer: The side that holds now.
    """

    newer: Side


class Contradiction(_WithEvidence):
    """Verdict that not both can be true, and nothing says which one is newer."""

    __slots__ = ()


class Sibling(_WithEvidence):
    """Verdict that both have one template but name other entities: both are true."""

    __slots__ = ()


class Related(_WithEvidence):
    """Verdict that both texts have one topic and state different facts."""

    __slots__ = ()


class Distinct(_WithEvidence):
    """Verdict that both share nothing but words."""

    __slots__ = ()


class Unsure(_WithEvidence):
    """Verdict that a person or a model has to decide; never acted on by itself."""

    __slots__ = ()


Verdict: TypeAlias = (
    Duplicate | Subsumes | Update | Contradiction | Sibling | Related | Distinct | Unsure
)


def verdict_name(verdict: Verdict) -> str:
    """Returns `duplicate`, `subsumes`, … as written in plans, reports and JSON."""
    return type(verdict).__name__.lower()


BY_IDS: Final = attrgetter("a", "b")
"""Order of verdicts."""


def merges(verdict: Verdict) -> bool:
    """Returns whether the verdict by itself lets one memory be hidden behind the other."""
    return isinstance(verdict, Duplicate | Subsumes)


ADDS: Final = "adds-only"
"""Rule of a pair of which one states all of the other and adds to it; the pair model may merge it,
rules alone do not."""
IN_OTHER_WORDS: Final = "adds-in-other-words"
"""Rule of a pair of which, as the pair model alone says, one states all of the other."""


def richer(verdict: Verdict) -> Side | None:
    """Returns the side that says all the other says, and more; None if there is none."""
    if isinstance(verdict, Subsumes):
        return verdict.superset
    if verdict.evidence.rule != ADDS:
        return None
    return "a" if any(each.a for each in verdict.evidence.differences) else "b"


def adds_fact(verdict: Subsumes) -> bool:
    """Returns whether the richer side says a fact more, not one word (`owns` for `has`) more."""
    evidence = verdict.evidence
    if evidence.rule != IN_OTHER_WORDS:
        return True
    one_sided = (each for each in evidence.differences if not (each.a and each.b))
    added = [each.kind for each in one_sided for _ in getattr(each, verdict.superset)]
    return len(added) > 1 or not _WORDING.issuperset(added)


_WORDING: Final = frozenset({DifferenceKind.DETAIL, DifferenceKind.NEGATION})
"""Kinds of a difference that two wordings of one fact may have."""


def flipped(verdict: Verdict) -> Verdict:
    """Returns the same verdict with the two sides exchanged."""
    old = verdict.evidence
    exchanged = tuple([Difference(d.kind, d.b, d.a) for d in old.differences])
    evidence = Evidence(
        old.rule, old.how, old.similarity, exchanged, old.note, old.veto, old.chance
    )
    match verdict:
        case Subsumes(superset=side):
            return Subsumes(evidence, "b" if side == "a" else "a")
        case Update(newer=side):
            return Update(evidence, "b" if side == "a" else "a")
        case _:
            return type(verdict)(evidence)


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair of ids with its verdict; `a` is the smaller id and the verdict's side a.

    Attributes:
        a: The smaller id.
        b: The larger id.
        verdict: As judged with a on side a.
    """

    a: str
    b: str
    verdict: Verdict

    def hides(self, member: str, survivor: str) -> bool:
        """Returns whether the verdict allows `member` to be hidden behind `survivor`."""
        match self.verdict:
            case Duplicate():
                return {member, survivor} == {self.a, self.b}
            case Subsumes(superset=side):
                return survivor == (self.a if side == "a" else self.b) and member != survivor
            case _:
                return False


def judged_as(one: str, other: str, verdict: Verdict) -> Judged:
    """Returns a pair with its verdict, given with `one` on side a."""
    return Judged(one, other, verdict) if one < other else Judged(other, one, flipped(verdict))


def older_and_newer(pair: Judged) -> tuple[str, str]:
    """Returns the ids of the older and the newer memory of an update."""
    assert isinstance(pair.verdict, Update)
    return (pair.b, pair.a) if pair.verdict.newer == "a" else (pair.a, pair.b)
