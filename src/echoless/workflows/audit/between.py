"""Reports duplicates across stores or namespaces; never plans an action on them.

The memories of all sides are compared as one, by the detectors and the judge of any other run, and
pairs of one side are left out: each store's own audit reports those. Long notes are compared as
whole texts here, not by passage.

Namespaces may be different users (law 7). So a memory meets one of another store only where both
namespaces have one name, or one of them belongs to nobody in particular: it has no name, or its
store is sectioned.

There is no plan for what this reports. Each hidden memory needs a visible survivor beside it (law
3), which `check` looks for and `undo` relies on; a survivor in another store can be edited, removed
or moved by its own program, with nobody there to notice. `import_into` brings both into one store.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from echoless.blocking.candidates import Preference, candidates, open_vectors
from echoless.clustering.assign import GroupingInput, fold, make_groups
from echoless.core.claims import weight
from echoless.core.eligibility import eligible
from echoless.core.garbage_collection import uncollected
from echoless.core.groups import Group, partners_in
from echoless.core.model import FILE, Json, Judged, Memory, flipped, merges
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.core.text import lazy_pattern
from echoless.core.verdict_sentences import sentence
from echoless.stores.base import Store, in_context
from echoless.stores.ledger import kept_apart
from echoless.stores.markdown.unit_memory import SEPARATOR
from echoless.stores.reading import visible_memories
from echoless.workflows.audit.report_parts import (
    HELD_KINDS,
    ReportedGroup,
    ReportedMember,
    ReportedPair,
    reported_group,
    reported_pair,
)
from echoless.workflows.dedupe.claims import Units
from echoless.workflows.dedupe.findings import held, unasked_note

if TYPE_CHECKING:
    from echoless.blocking.pair_scores import PairSignals
    from echoless.models.encoders.vectorizer import MemoryVectoriser

_REASONS: Final = lazy_pattern(r"(?<!\s)(?=\s*\n)\s++\*\*(?:Why|How to apply)\b.*", re.DOTALL)
"""What stands below a rule in a note of Claude Code: why, and how to apply it, which the same rule
in CLAUDE.md does not say (code.claude.com/docs/en/memory)."""

_SAYING: Final = 4
"""Words of a text that says the same under whatever heading; a shorter one only under its own."""
NOBODY: Final = ""
"""Family of memories that may meet those of any namespace."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """A memory and where it lies.

    Attributes:
        store: URL.
        namespace: Of the memory.
        id: Of the memory.
        content: Its text.
    """

    store: str
    namespace: str
    id: str
    content: str

    def to_json(self) -> dict[str, Json]:
        """Returns the place of the memory as in `--json`, without its text."""
        return {"store": self.store, "namespace": self.namespace, "id": self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Duplicates across stores or namespaces: all groups and pairs.

    Memories have ids of their own in it, which `places` explains. The survivor of a group is the
    memory that each member is compared with.

    Attributes:
        groups: Largest first.
        pairs: Of different sides; worst verdict first (`HELD_KINDS`), the closest of each first.
        places: Where each memory lies.
        left_out: Pairs beyond the budget, not judged.
        unmet: Namespaces that were not compared with those of other names in another store, sorted.
        tally: What was skipped, by store and id, and notes.
    """

    groups: tuple[ReportedGroup, ...] = ()
    pairs: tuple[ReportedPair, ...] = ()
    places: Mapping[str, Whereabouts] = field(default_factory=dict)
    left_out: int = 0
    unmet: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)

    @property
    def texts(self) -> Iterator[str]:
        """Yields the texts of all memories in it, whose words reasons quote."""
        parts = (*(group.ids for group in self.groups), *((p.a, p.b) for p in self.pairs))
        yield from (self.places[id_].content for ids in parts for id_ in ids)

    def to_json(self) -> dict[str, Json]:
        """Returns the report as in `--json`; texts are left out."""
        places = {id_: place.to_json() for id_, place in self.places.items()}

        def why(each: ReportedMember | ReportedPair) -> dict[str, Json]:
            return {"similarity": each.similarity, "evidence": each.evidence}

        return {
            "groups": [
                {
                    "first": places[group.survivor],
                    "why": group.why,
                    "members": [
                        {**places[m.id], "verdict": m.verdict, **why(m)} for m in group.members
                    ],
                }
                for group in self.groups
            ],
            "held": [
                {
                    "a": places[pair.a],
                    "b": places[pair.b],
                    "verdict": pair.verdict,
                    "difference": pair.difference,
                    **why(pair),
                }
                for pair in self.pairs
            ],
            "left_out": self.left_out,
            "not_compared": list(self.unmet),
            "skipped": dict(self.tally.counts),
            "notes": list(self.tally.notes),
        }


@uncollected()
def between_stores(
    stores: Sequence[Store], settings: Settings, *, progress: Progress | None = None
) -> Between:
    """Finds duplicates across stores; reads only.

    Args:
        stores: Open. Their order does not matter.
        settings: Profile, encoder and caches; scope and verifier do not count.
        progress: Told how far each stage is.

    Raises:
        InputError: A store holds records that cannot be read.
        EncoderError: The embedding model failed.
    """
    union = _Union()
    for at, store in enumerate(sorted(stores, key=lambda each: each.url)):
        parts = store.capabilities.sectioned
        for memory in visible_memories(store, union.tally):
            family = NOBODY if parts else memory.namespace
            union.add(memory, store, side=store.url, family=family, at=at)
    union.part_families()
    return _compared(union, settings, progress)


@uncollected()
def between_namespaces(
    store: Store, settings: Settings, *, progress: Progress | None = None
) -> Between | None:
    """Finds what a document says in more than one namespace; reads only.

    Args:
        store: Open.
        settings: As for `between_stores`.
        progress: Told how far each stage is.

    Returns:
        None where namespaces may be users, where there is one, or where one is asked for.

    Raises:
        InputError: The store holds records that cannot be read.
        EncoderError: The embedding model failed.
    """
    sectioned = store.capabilities.sectioned and len(store.namespaces()) > 1
    if settings.namespace is not None or not sectioned:
        return None
    union = _Union()
    memories = list(visible_memories(store, Tally()))  # the store's own audit has its remarks
    for memory in memories:
        # `Status: active` below two headings is said of two things
        heading = memory.namespace.partition(SEPARATOR)[2].rpartition(SEPARATOR)[2]
        family = NOBODY if weight(memory.content) >= _SAYING else heading
        union.add(memory, store, side=memory.namespace, family=family, at=0)
    apart = kept_apart(store.ledger, {memory.id: memory for memory in memories})
    union.apart = {(_joined(0, a), _joined(0, b)) for a, b in apart}
    return _compared(union, settings, progress)


def _joined(at: int, id_: str) -> str:
    """Returns an id that is unique among all stores; it sorts by store, then by id."""
    return f"{at:06d}\0{id_}"


class _Union:
    """Memories of all sides under ids of their own.

    Attributes:
        memories: By joined id, with the family as namespace.
        origin: Where each lies, by joined id.
        side: Side of each, by joined id.
        apart: Pairs of joined ids that a person keeps apart.
        unmet: Namespaces that are not compared with namespaces of other names.
        tally: What was skipped.
    """

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.origin: dict[str, Whereabouts] = {}
        self.side: dict[str, str] = {}
        self.apart: set[tuple[str, str]] = set()
        self.unmet: tuple[str, ...] = ()
        self.tally = Tally()

    def add(self, memory: Memory, store: Store, *, side: str, family: str, at: int) -> None:
        """Adds a memory of a side, as the judge reads it, without the reasons of a rule.

        It is told who says the same elsewhere, whoever reads it and under whatever heading.
        """
        id_ = _joined(at, memory.id)
        self.origin[id_] = Whereabouts(store.url, memory.namespace, memory.id, memory.content)
        self.side[id_] = side
        read = in_context(store, memory)
        place = {FILE: f"{at} {read.native[FILE]}"} if FILE in read.native else {}
        read = replace(read, native=place, promise=replace(read.promise, readers=None))
        rule = _REASONS.sub("", read.content)
        self.memories[id_] = replace(read, id=id_, namespace=family, content=rule or read.content)
        if rule and rule != read.content:
            self.tally.note("Of notes with **Why:** lines only the rule above them is compared.")

    def part_families(self) -> None:
        """Records the namespaces that were not compared, and drops namespaces without a partner."""
        sides: dict[str, set[str]] = {}
        for id_, memory in self.memories.items():
            sides.setdefault(memory.namespace, set()).add(self.side[id_])
        named = {name: own for name, own in sides.items() if name != NOBODY}
        everywhere = set().union(*named.values())
        if len(everywhere) > 1 and len(named) > 1:
            self.unmet = tuple(sorted(named))
        nobodys = sides.get(NOBODY, set())
        lonely = {name for name, own in named.items() if len(own | nobodys) < 2}
        self.memories = {i: m for i, m in self.memories.items() if m.namespace not in lonely}

    def meets(self, one: str, other: str) -> bool:
        """Returns whether two memories may be compared."""
        families = {self.memories[one].namespace, self.memories[other].namespace}
        return len(families) == 1 or NOBODY in families


def _compared(union: _Union, settings: Settings, progress: Progress | None) -> Between:
    """Returns what the sides have in common."""
    tally, tell = union.tally, progress or (lambda _stage, _done, _all: None)
    if len({union.side[id_] for id_ in union.memories}) < 2:
        return Between(unmet=union.unmet, tally=tally)
    # a star, because each member then has a direct verdict with the first (law 3)
    profile = replace(settings.profile, grouping="star", centre="", folding="bytes")
    settings = replace(settings, profile=profile)
    copies = fold(eligible(union.memories, {}, tally, profile), profile, set(), union.apart, tally)
    vectors = open_vectors(settings, tell)
    proposed, left_out = _proposed(union, copies, settings, vectors, tell)
    from echoless.workflows.dedupe import judging

    units = Units(union.memories, union.memories, copies, {}, {}, set())
    stage = judging.Judging(units, union.apart, settings, vectors, tally, tell)
    judged = stage.verdicts(stage.budgeted(proposed))
    left_out += stage.left_out
    if note := unasked_note(stage.unasked):
        tally.note(note)
    tell("grouping", 0, 0)
    groups = _groups(union, copies, judged, settings)
    pairs = _pairs(union, copies, judged)
    named = {*(id_ for g in groups for id_ in g.ids), *(id_ for p in pairs for id_ in (p.a, p.b))}
    readable = Tally()
    for reason, ids in tally.skipped.items():
        known = (union.origin[id_] for id_ in ids if id_ in union.origin)
        readable.skip(reason, *(f"{each.store} {each.id}" for each in known))
    readable.note(*tally.notes)
    return Between(
        groups=tuple(groups),
        pairs=tuple(pairs),
        places={id_: union.origin[id_] for id_ in sorted(named)},
        left_out=left_out,
        unmet=union.unmet,
        tally=readable,
    )


def _proposed(
    union: _Union,
    copies: Mapping[str, Sequence[str]],
    settings: Settings,
    vectors: MemoryVectoriser | None,
    tell: Progress,
) -> tuple[PairSignals, int]:
    """Returns the pairs of different sides that may meet, and how many are beyond the budget.

    Texts are folded within a family and looked at in one partition: whose family is nobody's meets
    all others there.
    """
    profile = settings.profile
    partition = tuple(name for name in profile.partition if name != "namespace")
    settings = replace(settings, profile=replace(profile, partition=partition))
    sizes = Counter(union.side[id_] for id_ in union.memories)
    largest = min(sizes, key=lambda side: (-sizes[side], side))
    some = {i for i, ids in copies.items() if any(union.side[each] != largest for each in ids)}
    proposed = candidates(
        union.memories, copies, settings, union.tally, tell, vectors, Preference(some)
    )
    rows = [
        row
        for row, pair in enumerate(proposed.signals)
        if union.meets(*pair) and len({union.side[i] for rep in pair for i in copies[rep]}) > 1
    ]
    import numpy as np

    signals = proposed.signals.some(np.array(rows, dtype=np.int64))
    return signals, proposed.left_out


def _groups(
    union: _Union, copies: Mapping[str, Sequence[str]], judged: Sequence[Judged], settings: Settings
) -> list[ReportedGroup]:
    """Returns groups with more than one side, one family at a time, largest first.

    With the memories of a family those of nobody are grouped; what these say among each other is
    told once, in their own turn.
    """
    groups: list[tuple[Group, Mapping[str, str]]] = []
    reported: dict[str, list[AbstractSet[str]]] = {}
    near = partners_in((each.a, each.b) for each in judged if merges(each.verdict))
    named = {memory.namespace for memory in union.memories.values()} - {NOBODY}
    for family in (*sorted(named), NOBODY):
        own = _with_nobodys(union, copies, family, near)
        classes = {rep: copies[rep] for rep in own}
        given = GroupingInput(union.memories, classes, union.apart, set(), {})
        some = [each for each in judged if each.a in own and each.b in own]
        made, reasons = make_groups(some, given, settings, Tally())
        for group in made:
            ids = {group.survivor, *(member.id for member in group.members)}
            known = any(ids <= earlier for earlier in reported.get(group.survivor, ()))
            if known or all(union.memories[id_].namespace != family for id_ in ids):
                continue
            if len({union.side[id_] for id_ in ids}) > 1:
                groups.append((group, reasons))
                for id_ in ids:
                    reported.setdefault(id_, []).append(ids)
    groups.sort(key=lambda each: (-len(each[0].members), each[0].survivor, each[0].members[0].id))

    def named_group(group: Group, reasons: Mapping[str, str]) -> ReportedGroup:
        first = group.survivor
        named = {first: "the first"}
        return reported_group(group, reasons[first], None, lambda id_: named.get(id_, "this one"))

    return [named_group(*each) for each in groups]


def _with_nobodys(
    union: _Union, copies: Iterable[str], family: str, near: Mapping[str, AbstractSet[str]]
) -> set[str]:
    """Returns the representatives of a family, and those of nobody within two bonds of them."""
    own = {rep for rep in copies if union.memories[rep].namespace == family}
    for _ in range(2 if family else 0):
        beside = {other for rep in own for other in near.get(rep, ())}
        own |= {rep for rep in beside if union.memories[rep].namespace == NOBODY}
    return own


def _pairs(
    union: _Union, copies: Mapping[str, Sequence[str]], judged: Iterable[Judged]
) -> list[ReportedPair]:
    """Returns pairs worth a person's eye, worst verdict first.

    A class of equal texts is named by its first memory that lies on another side.
    """
    pairs = []
    for each in judged:
        if held(each.verdict):
            pair = reported_pair(each)
            classes = product(copies[pair.a], copies[pair.b])
            a, b = next((a, b) for a, b in classes if union.side[a] != union.side[b])
            said = sentence(each.verdict if pair.a == each.a else flipped(each.verdict))
            pairs.append(replace(pair, a=a, b=b, sentence=said))

    def place(pair: ReportedPair) -> tuple[str, ...]:
        a, b = union.origin[pair.a], union.origin[pair.b]
        return a.store, a.id, b.store, b.id

    kinds = {kind: at for at, kind in enumerate(HELD_KINDS)}
    return sorted(pairs, key=lambda pair: (kinds[pair.verdict], -pair.similarity, place(pair)))
