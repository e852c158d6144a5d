"""What the road compares: short memories as they are, long ones claim by claim.

A note of two thousand characters says twenty things. As one text it is like no other note, so its
claims are compared in its place: detectors propose pairs of claims, the judge decides them, and
`Units.derive` says what that means for the notes (see `matching/claims.py`), and which claims of
notes that stay apart repeat or contradict each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from echoless.blocking.pair_scores import PairSignals
from echoless.core.claims import MOST_CLAIMS
from echoless.core.groups import ClaimPair, Group
from echoless.core.model import (
    BY_IDS,
    Contradiction,
    Judged,
    Memory,
    Update,
    Verdict,
    flipped,
    in_one_file,
    merges,
    under,
    verdict_name,
)
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally
from echoless.matching.claims import (
    EQUAL,
    WHOLE,
    Note,
    derived,
    is_cut,
    loosely,
    may_say_again,
    note_of,
    reported,
)
from echoless.matching.facts import facts_of
from echoless.matching.guards import in_place, of_its_day

Place: TypeAlias = tuple[str, int]
"""A memory, and the place of one of its claims."""

COMMON: Final = 30
"""Notes with one claim beyond which it is a phrase of the house and is compared with no other
claim. As many as the pairs looked at for one memory."""

CAPPED: Final = f"claims beyond the first {MOST_CLAIMS:,} of a note, not compared"
"""Reason in the tally."""

_BETWEEN: Final = "\x00"
"""Stands in the id of a claim between the id of its memory and its place; no id holds it."""


class Derived(NamedTuple):
    """What verdicts on units mean for memories.

    Attributes:
        judged: Verdicts on pairs of memories, by ids.
        claims: Claims that repeat or contradict another claim, by memory and place.
        counts: How many pairs of claims got which verdict.
    """

    judged: list[Judged]
    claims: tuple[ClaimPair, ...]
    counts: Counter[str]


@dataclass(frozen=True, slots=True)
class Units:
    """The texts that a run compares, by id.

    Attributes:
        memories: Short memories, and a stand-in for each text among the claims of a scope.
        read: The same as the judge reads them.
        copies: Classes of equal short memories, and each claim alone, by the one that stands for
            the class.
        places: Where the claim of a stand-in is said, by its id.
        notes: The claims of each memory of a scope with a long one, by its id.
        long: Memories that are compared by their claims only.
    """

    memories: Mapping[str, Memory]
    read: Mapping[str, Memory]
    copies: Mapping[str, Sequence[str]]
    places: Mapping[str, Sequence[Place]]
    notes: Mapping[str, Note]
    long: AbstractSet[str]

    def owner(self, id_: str) -> str:
        """Returns the id of the memory a unit is of."""
        return self.places[id_][0][0] if id_ in self.places else id_

    def touched(self, ids: AbstractSet[str] | None) -> AbstractSet[str] | None:
        """Returns the units of some memories; None for all."""
        if ids is None or not self.places:
            return ids
        return ids | {u for u, own in self.places.items() if any(id_ in ids for id_, _ in own)}

    def whole(self, centres: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Returns the centres and their partners without the memories that are cut."""
        return {
            centre: [id_ for id_ in ids if id_ not in self.long]
            for centre, ids in centres.items()
            if centre not in self.long
        }

    def wanted(self, signals: PairSignals) -> PairSignals:
        """Returns the pairs that are judged: of memories, and of claims where a verdict matters.

        One of the two claims is of a long memory. And the pair may be told, or each claim of one
        note has a partner in the other: then the note may go behind it.
        """
        if not self.places:
            return signals
        pairs = list(signals)
        met = [[*self._met(a, b)] for a, b in pairs]
        partners: dict[tuple[str, str], set[int]] = defaultdict(set)
        for one, other in chain(chain.from_iterable(met), (each[:2] for each in self._equal())):
            partners[one[0], other[0]].add(one[1])
            partners[other[0], one[0]].add(other[1])
        held = {
            notes
            for notes, places in partners.items()
            if WHOLE in places or len(places) == len(self._note(notes[0]).claims)
        }
        keep = [
            not self.places.keys() & {*pair}
            or any(
                (one[0], other[0]) in held
                or (other[0], one[0]) in held
                or self._may_be_told(one, other)
                for one, other in places
            )
            for pair, places in zip(pairs, met, strict=True)
        ]
        return signals.some(np.flatnonzero(keep), crowds=signals.crowds)

    def _met(self, a: str, b: str, most: int = COMMON) -> Iterator[tuple[Place, Place]]:
        """Yields the places of two units, each with each, of which one is in a long memory."""
        ones = self.places.get(a, ((a, WHOLE),))[:most]
        others = self.places.get(b, ((b, WHOLE),))[:most]
        for one, other in product(ones, others):
            if not self.long.isdisjoint((one[0], other[0])):
                yield one, other

    def _may_be_told(self, one: Place, other: Place) -> bool:
        """Returns whether two claims may stand in a report; neighbours only if they are equal."""
        first, second = self._note(one[0]), self._note(other[0])
        if not may_say_again(first, one[1], second, other[1]):
            return False
        claim, again = first.claim(one[1]), second.claim(other[1])
        files = one[0] == other[0] or in_one_file(self.read[one[0]], self.read[other[0]])
        beside = files and claim.context == again.context
        return not beside or loosely(first.said(one[1])) == loosely(second.said(other[1]))

    def in_place(self, judged: Sequence[Judged]) -> list[Judged]:
        """Returns verdicts on memories that read what they stand under; those on claims stay.

        What stands above two claims decides in `derive`, as one text may stand in several notes.
        """
        read, claims = self.read, self.places.keys()
        return [
            j
            if j.a in claims or j.b in claims
            else Judged(j.a, j.b, in_place(read[j.a], read[j.b], j.verdict))
            for j in judged
        ]

    def derive(self, judged: Iterable[Judged], apart: AbstractSet[tuple[str, str]]) -> Derived:
        """Returns what verdicts on units mean for memories.

        Args:
            judged: Verdicts on pairs of units.
            apart: Pairs of memories a person decided to keep both of.
        """
        whole: list[Judged] = []
        counts: Counter[str] = Counter()
        by_pair: dict[tuple[str, str], dict[tuple[int, int], Verdict]] = defaultdict(dict)
        for one, other, verdict in (*self._equal(), *self._expanded(judged, whole, counts)):
            (a, at_a), (b, at_b), said = one, other, verdict
            if one > other:
                a, at_a, b, at_b, said = b, at_b, a, at_a, flipped(verdict)
            by_pair[a, b].setdefault((at_a, at_b), said)
        claims: list[ClaimPair] = []
        for (a, b), verdicts in sorted(by_pair.items()):
            if (a, b) in apart:
                continue
            notes = self._note(a), self._note(b)
            made = derived(*notes, verdicts) if a != b else None
            if made is not None:
                whole.append(Judged(a, b, made))
            claims += self._reported((a, notes[0]), (b, notes[1]), verdicts)
        return Derived(sorted(whole, key=BY_IDS), tuple(claims), counts)

    def _equal(self) -> Iterator[tuple[Place, Place, Verdict]]:
        """Yields the places of one text, each with each."""
        for own in self.places.values():
            if 1 < len(own) <= COMMON:
                for one, other in product(own, own):
                    if one < other and not self.long.isdisjoint((one[0], other[0])):
                        yield one, other, EQUAL

    def _expanded(
        self, judged: Iterable[Judged], whole: list[Judged], counts: Counter[str]
    ) -> Iterator[tuple[Place, Place, Verdict]]:
        """Yields verdicts on claims at each of their places; takes those on memories aside."""
        for each in judged:
            if each.a not in self.places and each.b not in self.places:
                whole.append(each)
                continue
            counts[verdict_name(each.verdict)] += 1
            most = 1 if isinstance(each.verdict, Update) else COMMON  # its side hangs on times
            for one, other in self._met(each.a, each.b, most):
                yield one, other, each.verdict

    def _note(self, id_: str) -> Note:
        """Returns the claims of a memory, with what it stands under itself."""
        return self.notes.get(id_) or _note(self.read[id_])

    def _reported(
        self, a: tuple[str, Note], b: tuple[str, Note], verdicts: Mapping[tuple[int, int], Verdict]
    ) -> Iterator[ClaimPair]:
        """Yields the claims of two notes, or of one, that are worth a line of a report."""
        (one, first), (other, second) = a, b
        for x, y in reported(first, second, verdicts):
            conflict = isinstance(verdicts[x, y], Update | Contradiction)
            dated = conflict and of_its_day(
                replace(self.read[one], content=first.said(x)),
                replace(self.read[other], content=second.said(y)),
                verdicts[x, y].evidence,
            )
            if not dated and self._may_be_told((one, x), (other, y)):
                span, again = first.claim(x).span, second.claim(y).span
                yield ClaimPair(one, other, span, again, verdicts[x, y])


def cut(
    copies: Mapping[str, Sequence[str]],
    memories: Mapping[str, Memory],
    read: Mapping[str, Memory],
    profile: Profile,
    tally: Tally,
) -> Units:
    """Returns the units of a run; memories of a profile that reads no texts are never cut.

    Args:
        copies: Classes of equal memories, by the one that stands for the class.
        memories: By id.
        read: As the judge reads them.
        profile: Names judge and scopes.
        tally: Takes what is left out.
    """
    long = {id_ for id_ in copies if profile.judge == "full" and is_cut(read[id_].content)}
    if not long:
        return Units(memories, read, copies, {}, {}, long)
    scopes = {profile.scope_of(memories[id_]) for id_ in long}
    among = (id_ for id_ in copies if profile.scope_of(memories[id_]) in scopes)
    notes = {id_: _note(read[id_]) for id_ in among}
    notes = {id_: note for id_, note in notes.items() if len(note.claims) > 1}
    homes: dict[tuple[object, ...], list[Place]] = defaultdict(list)
    for id_ in sorted(notes):
        note, scope = notes[id_], profile.scope_of(memories[id_])
        if note.capped:
            tally.skip(CAPPED, id_)
        for at, (text, bare) in enumerate(zip(note.texts, note.bare, strict=True)):
            homes[*scope, text, bare].append((id_, at))
    homes = dict(_by_day(homes, read))
    common = sum(len(own) > COMMON for own in homes.values())
    if common:
        tally.note(f"{common:,} claims stand in more than {COMMON} notes and were not compared.")
    places = {f"{own[0][0]}{_BETWEEN}{own[0][1]:04}": own for own in homes.values()}
    rare = [
        id_
        for id_, ((owner, at), *more) in places.items()
        if len(more) < COMMON and not notes[owner].bare[at]
    ]
    claims = {}
    for id_ in rare:
        owner, at = places[id_][0]
        text = notes[owner].texts[at]
        claims[id_] = replace(memories[owner], id=id_, content=text, vectors=(), native={})
    classes = {id_: ids for id_, ids in copies.items() if id_ not in long}
    return Units(
        {**memories, **claims},
        {**read, **claims},
        {**classes, **{id_: (id_,) for id_ in rare}},
        places,
        notes,
        long,
    )


def _by_day(
    homes: Mapping[tuple[object, ...], list[Place]], read: Mapping[str, Memory]
) -> Iterator[tuple[tuple[object, ...], list[Place]]]:
    """Yields the places of each text; `tomorrow` of two days is two texts."""
    for key, own in homes.items():
        days = defaultdict[str | None, list[Place]](list)
        for place in own:
            days[read[place[0]].created_at].append(place)
        if len(days) > 1 and facts_of(str(key[-2])).relative:
            yield from (((*key, day), some) for day, some in days.items())
        else:
            yield key, own


def _note(memory: Memory) -> Note:
    """Returns the claims of a memory under all that it stands under itself."""
    note, above = note_of(memory.content), tuple(map(loosely, under(memory)))
    if not above:
        return note
    claims = (
        replace(claim, context=(*above, *claim.context), headings=claim.headings + len(above))
        for claim in note.claims
    )
    whole = replace(note.whole, context=above, headings=len(above))
    return note._replace(whole=whole, claims=tuple(claims))


def visible(claims: Iterable[ClaimPair], groups: Iterable[Group]) -> tuple[ClaimPair, ...]:
    """Returns the pairs of claims whose memories no group hides: its survivor says what they say.

    What many notes say is told from one to the next, and not of each two of them.

    Args:
        claims: By memory and place.
        groups: Of the run.
    """
    hidden = {member.id for group in groups for member in group.members}
    staying = [each for each in claims if hidden.isdisjoint((each.a, each.b))]
    joined: dict[tuple[str, tuple[int, int]], tuple[str, tuple[int, int]]] = {}
    shown = []
    for each in staying:
        one, other = (each.a, each.span_a), (each.b, each.span_b)
        while one in joined:
            one = joined[one]
        while other in joined:
            other = joined[other]
        if one != other or isinstance(each.verdict, Update | Contradiction):
            shown.append(each)
        if one != other and merges(each.verdict):
            joined[max(one, other)] = min(one, other)
    return tuple(shown)
