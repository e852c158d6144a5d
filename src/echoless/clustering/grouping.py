"""Makes groups from verdicts; the same verdicts and order give the same groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from echoless.core.errors import UsageError
from echoless.core.groups import Group, Membership, grouped, partners_in
from echoless.core.model import (
    IN_FORCE,
    Duplicate,
    Evidence,
    Judged,
    Promise,
    Subsumes,
    Unsure,
    flipped,
    merges,
)
from echoless.core.text import numbered

SAME_BYTES: Final = Duplicate(Evidence(rule="same-bytes", how="exact", similarity=1.0))
SAME_TEXT: Final = Duplicate(Evidence(rule="same-text", how="exact", similarity=1.0))
"""Verdict on texts that were folded by their loose form."""


def joined_by_thirds(judged: Sequence[Judged]) -> list[Judged]:
    """Returns verdicts in which a third memory settles some of the unsure pairs.

    Where the judge is unsure whether R holds C, and sure that R holds B and that B and C say the
    same, R holds C. Of 167 copies in stores about persons 15 were lost without this.

    Args:
        judged: Verdicts between the representatives of identical memories.
    """
    same: dict[str, set[str]] = {}
    held: dict[str, set[str]] = {}
    for each in judged:
        for member, survivor in ((each.a, each.b), (each.b, each.a)):
            if each.hides(member, survivor):
                held.setdefault(survivor, set()).add(member)
            if isinstance(each.verdict, Duplicate):
                same.setdefault(member, set()).add(survivor)
    return [_by_third(each, same, held) for each in judged] if same else [*judged]


def _by_third(
    pair: Judged, same: Mapping[str, AbstractSet[str]], held: Mapping[str, AbstractSet[str]]
) -> Judged:
    """Returns an unsure pair as a merge if a third memory joins both sides, else unchanged."""
    evidence, none = pair.verdict.evidence, frozenset[str]()
    if not isinstance(pair.verdict, Unsure) or evidence.rule != "similar-in-meaning":
        return pair
    a_by = same.get(pair.b, none) & held.get(pair.a, none)
    b_by = same.get(pair.a, none) & held.get(pair.b, none)
    if not a_by and not b_by:
        return pair
    inferred = replace(evidence, rule="same-by-a-third", note=f"{min(a_by | b_by)} says the same")
    if a_by and b_by:
        return replace(pair, verdict=Duplicate(inferred))
    return replace(pair, verdict=Subsumes(inferred, "a" if a_by else "b"))


class Bonds:
    """Merge verdicts among memories, each class of identical texts taken as one.

    A class of byte-identical memories is judged once, through its representative: a verdict is a
    function of the contents, so it holds for every copy.
    """

    def __init__(
        self,
        judged: Iterable[Judged],
        copies: Mapping[str, Sequence[str]],
        apart: AbstractSet[tuple[str, str]] = frozenset(),
        *,
        copied: Duplicate = SAME_BYTES,
        promises: Mapping[str, Promise] | None = None,
    ) -> None:
        """Collects the merge verdicts.

        Args:
            judged: Verdicts between representatives; those that are no merge are ignored.
            copies: All members by representative (itself included).
            apart: Pairs of ids (smaller first) a person decided to keep both of; no bond, ever.
            copied: The verdict on two members of one class of `copies`.
            promises: How long, and for whom, memories are in force, by id; those that are without
                end and for all may be left out. A better promise has no bond to hide behind.
        """
        self._copied = copied
        self._promises = promises or {}
        self._apart = partners_in(apart)
        self._copies = {rep: tuple(ids) for rep, ids in copies.items() if len(ids) > 1}
        self._rep = {id_: rep for rep, ids in self._copies.items() for id_ in ids}
        self._judged = {(each.a, each.b): each for each in judged if merges(each.verdict)}
        self._near = partners_in(self._judged)
        self._subsets: dict[str, bool] = {}

    def ids(self) -> list[str]:
        """Returns every memory with at least one bond, sorted."""
        bonded = [i for rep in self._near for i in self.copies(rep)]
        copied = [i for ids in self._copies.values() for i in ids]
        return sorted({*bonded, *copied})

    def classes(self) -> list[tuple[str, ...]]:
        """Returns the members of each class of more than one."""
        return [ids for _, ids in sorted(self._copies.items())]

    def pairs(self) -> list[Judged]:
        """Returns merge verdicts between representatives that nobody keeps apart, by ids."""
        return [each for pair, each in sorted(self._judged.items()) if not self.kept_apart(*pair)]

    def rep(self, id_: str) -> str:
        """Returns the representative that was judged for a memory and its copies."""
        return self._rep.get(id_, id_)

    def copies(self, rep: str) -> tuple[str, ...]:
        """Returns all that a representative stands for, itself included."""
        return self._copies.get(rep, (rep,))

    def near(self, rep: str) -> list[str]:
        """Returns this representative, then those with a merge verdict with it, sorted."""
        return [rep, *sorted(self._near.get(rep, ()))]

    def neighbours(self, id_: str) -> list[str]:
        """Returns memories with a merge verdict with this one, sorted."""
        near = (i for other in self.near(self.rep(id_)) for i in self.copies(other))
        return sorted(i for i in near if i != id_ and not self.kept_apart(i, id_))

    def kept_apart(self, one: str, other: str) -> bool:
        """Checks whether a person decided to keep both of two memories."""
        return other in self._apart.get(one, ())

    def stays(self, id_: str, survivor: str) -> bool:
        """Checks whether a memory stays visible beside another one, whatever the two say."""
        return self.kept_apart(id_, survivor) or self.outlasts(id_, survivor)

    def keeps(self, id_: str) -> AbstractSet[str]:
        """Returns the memories a person decided to keep beside this one."""
        return self._apart.get(id_, frozenset())

    def outlasts(self, id_: str, other: str) -> bool:
        """Checks whether a memory stays in force where the other would not."""
        if not self._promises:
            return False
        promise = self._promises.get(id_, IN_FORCE)
        return not self._promises.get(other, IN_FORCE).covers(promise)

    def waiting(self, hidden: AbstractSet[str]) -> Iterator[tuple[str, str]]:
        """Yields visible memories with a visible one that says the same and is poorer in promise.

        Args:
            hidden: Members of the groups that were made.
        """
        for id_ in self.ids() if self._promises else ():
            if id_ in hidden:
                continue
            for near in self.neighbours(id_):
                covers = self.covers(self.rep(near), self.rep(id_))
                if near not in hidden and covers and self.outlasts(id_, near):
                    yield id_, near
                    break

    def between(self, one: str, other: str) -> Judged | None:
        """Returns the merge verdict on two memories, or None."""
        if self.kept_apart(one, other):
            return None
        a, b = sorted((one, other))
        rep_a, rep_b = self.rep(a), self.rep(b)
        if rep_a == rep_b:
            return Judged(a, b, self._copied)
        judged = self._judged.get((min(rep_a, rep_b), max(rep_a, rep_b)))
        if judged is None:
            return None
        return Judged(a, b, judged.verdict if rep_a < rep_b else flipped(judged.verdict))

    def hides(self, member: str, survivor: str) -> bool:
        """Checks whether a direct verdict lets `member` stand behind `survivor`."""
        if member == survivor or self.stays(member, survivor):
            return False
        return self.covers(self.rep(survivor), self.rep(member))

    def covers(self, survivor: str, member: str) -> bool:
        """Checks the same as `hides` for two representatives; one covers itself."""
        if survivor == member:
            return True
        judged = self._judged.get((min(survivor, member), max(survivor, member)))
        return judged is not None and judged.hides(member, survivor)

    def is_subset(self, id_: str) -> bool:
        """Checks whether another memory says all this one says, and more."""
        rep = self.rep(id_)
        if rep not in self._subsets:
            self._subsets[rep] = any(
                not self.covers(rep, other) and self.covers(other, rep)
                for other in self._near.get(rep, ())
                if not self.kept_apart(other, rep)
            )
        return self._subsets[rep]


def gather(
    grouping: str,
    bonds: Bonds,
    order: Sequence[str],
    protected: AbstractSet[str],
    centres: Sequence[str] = (),
) -> list[Group]:
    """Returns groups of at least two memories, by size (largest first), then by survivor.

    Args:
        grouping: `star`: the best-ranked memory takes everything it matches directly, then the next
            of those left. `transitive`: connected components, chains included. `closest`: classes
            of copies first, then pair by pair, the closest first: the worse of the two stands
            behind the better one, unless one of them is hidden already or the worse one is a
            survivor.
        bonds: The merge verdicts.
        order: Ids, best survivor first; must hold every id of `bonds`.
        protected: Never hidden (pinned, survivors of earlier runs).
        centres: Ids in the order in which stars are begun, where that is another one: the group is
            what matches the centre, and its survivor the best-ranked of them. A member that has no
            verdict with that survivor has none in the group either.

    Raises:
        UsageError: Unknown grouping.
    """
    rank = {id_: place for place, id_ in enumerate(order)}
    subset = {i: i not in protected and bonds.is_subset(i) for i in bonds.ids()}
    queue = sorted(subset, key=lambda i: (subset[i], i not in protected, rank[i]))
    match grouping:
        case "star":
            begun = [id_ for id_ in centres if id_ in rank] or queue
            groups = _stars(bonds, begun, protected)
            if centres:
                # the centre began the group; its best-ranked memory survives
                together = [[g.survivor, *(m.id for m in g.members)] for g in groups]
                groups = [_group(bonds, min(ids, key=rank.__getitem__), ids) for ids in together]
        case "transitive":
            groups = _components(bonds, queue, protected)
        case "closest":
            groups = _closest(bonds, rank, protected)
        case _:
            raise UsageError(f"Unknown grouping {grouping!r}. Known: star, transitive, closest.")
    return sorted(groups, key=lambda g: (-len(g.members), g.survivor))


def _stars(bonds: Bonds, queue: Sequence[str], protected: AbstractSet[str]) -> list[Group]:
    """Returns groups around the first free memory of the queue, then around the next.

    Args:
        bonds: The merge verdicts.
        queue: Ids in the order in which groups are begun.
        protected: Never a member.
    """
    free = set(queue)
    waiting = grouped((bonds.rep(id_), id_) for id_ in queue if id_ not in protected)
    groups: list[Group] = []
    for centre in queue:
        if centre not in free:
            continue
        free.discard(centre)
        rep = bonds.rep(centre)
        members = [
            id_
            for near in bonds.near(rep)
            if waiting.get(near) and bonds.covers(rep, near)
            for id_ in waiting[near]
            if id_ in free and not bonds.stays(id_, centre)
        ]
        free.difference_update(members)
        for near in {bonds.rep(id_) for id_ in members}:
            waiting[near] = [id_ for id_ in waiting[near] if id_ in free]
        if members:
            groups.append(_group(bonds, centre, members))
    return groups


def _closest(bonds: Bonds, rank: Mapping[str, int], protected: AbstractSet[str]) -> list[Group]:
    """Returns groups made pair by pair, copies first, then the closest pair."""

    def closeness(judged: Judged) -> tuple[object, ...]:
        lower, higher = sorted((numbered(judged.a), numbered(judged.b)))
        return (-judged.verdict.evidence.similarity, lower, higher)

    behind: dict[str, list[str]] = {}
    hidden: set[str] = set()
    for ids in bonds.classes():
        for best, others in _by_promise(bonds, sorted(ids, key=rank.__getitem__)):
            taken = [i for i in others if i not in protected and not bonds.kept_apart(i, best)]
            if taken:
                behind[best] = taken
                hidden.update(taken)
    for each in sorted(bonds.pairs(), key=closeness):
        survivor, other = sorted((each.a, each.b), key=rank.__getitem__)
        if hidden & {survivor, other} or other in behind or other in protected:
            continue
        if bonds.hides(other, survivor):
            behind.setdefault(survivor, []).append(other)
            hidden.add(other)
    return [_group(bonds, survivor, members) for survivor, members in behind.items()]


def _components(bonds: Bonds, queue: Sequence[str], protected: AbstractSet[str]) -> list[Group]:
    """Returns the connected components of the verdicts, each around its first of the queue."""
    place = {id_: at for at, id_ in enumerate(queue)}
    seen: set[str] = set()
    groups: list[Group] = []
    for start in queue:
        if start in seen:
            continue
        reached = _reached(bonds, start)
        seen |= reached
        ordered = [start, *sorted(reached - {start}, key=place.__getitem__)]
        for best, others in _by_promise(bonds, ordered):
            members = [id_ for id_ in others if id_ not in protected]
            if members:
                groups.append(_group(bonds, best, members))
    return groups


def _by_promise(bonds: Bonds, ordered: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the best of some memories with all it may stand for, then the best of those left."""
    left = list(ordered)
    while left:
        best, *others = left
        left = [id_ for id_ in others if bonds.outlasts(id_, best)]
        staying = set(left)
        yield best, [id_ for id_ in others if id_ not in staying]


def _reached(bonds: Bonds, start: str) -> set[str]:
    """Returns all that chains of verdicts join to a memory; enters each class of copies once."""
    reached, open_ = {start}, [start]
    flooded: set[str] = set()
    left: set[str] = set()
    while open_:
        id_ = open_.pop()
        rep, keeps = bonds.rep(id_), bonds.keeps(id_)
        if not keeps and rep in left:
            continue
        for near in bonds.near(rep):
            if near in flooded:
                continue
            new = [i for i in bonds.copies(near) if i not in reached and i not in keeps]
            reached.update(new)
            open_ += new
            if not keeps:
                flooded.add(near)
        if not keeps:
            left.add(rep)
    return reached


def _group(bonds: Bonds, survivor: str, ids: Iterable[str]) -> Group:
    """Returns the group of a survivor and other memories; the survivor may be among the ids."""
    members = (id_ for id_ in sorted(ids) if id_ != survivor)
    return Group(survivor, tuple(Membership(id_, bonds.between(id_, survivor)) for id_ in members))
