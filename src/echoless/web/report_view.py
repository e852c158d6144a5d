"""What the HTML report says of an audit: its figures as charts, its groups and pairs with texts."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from echoless.core.connected_pairs import connected
from echoless.core.model import Memory
from echoless.core.timestamps import instant
from echoless.workflows.audit.namespace_report import ReportedGroup, ReportedMember, ReportedPair
from echoless.workflows.audit.report import Report

CLASSES: Final[Mapping[str, str]] = {
    "same": "The same text",
    "normalised": "Same but for case or punctuation",
    "facts": "The same facts",
    "words": "The same in other words",
    "more": "One says more",
    "similar": "Similar enough for this profile",
    "chain": "Joined through other members",
}
"""Classes of members of groups, from the plainest to the one that needs the closest look."""

_BY_RULE: Final = {
    "same-text": "same",
    "same-bytes": "same",
    "same-text-after-normalising": "normalised",
    "same-facts": "facts",
    "same-in-other-words": "words",
}

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "contradiction": ("Possible contradictions", "Both say something of one thing, and differ."),
    "unsure": ("For a person to decide", "Nothing is done with these pairs by itself."),
    "sibling": ("One pattern, different things", "Both are true of their own thing."),
    "subsumes": ("One limits the other", "One says when or where the other holds."),
}
"""Pairs that stay apart, in the order of the report; newer values have a section of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much of a report is written whole.

    Attributes:
        top: Largest groups.
        members: Members of each of these groups, and steps of a chain of values.
        pairs: Pairs of each kind that stay apart, chains, series and overlaps.
    """

    top: int = 100
    members: int = 10
    pairs: int = 20


@dataclass(frozen=True, slots=True)
class MemberView:
    """A memory behind a survivor.

    Attributes:
        id: Its id.
        memory: As it is now; None where it is gone.
        meaning: What it is to the survivor, in words.
        similarity: 0 to 1; None where nothing measured it.
        reason: Why, in one line; empty without a verdict.
    """

    id: str
    memory: Memory | None
    meaning: str
    similarity: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """Memories that say the same.

    Attributes:
        survivor: Id of the memory that would stay visible.
        memory: It, as it is now; None where it is gone.
        why: Why that one.
        size: Memories in the group.
        meanings: What members are to the survivor, in words, without repetition.
        same: Members with the survivor's text, letter for letter.
        others: Members with another text.
        left_out: Members that are not shown.
    """

    survivor: str
    memory: Memory | None
    why: str
    size: int
    meanings: tuple[str, ...]
    same: tuple[MemberView, ...]
    others: tuple[MemberView, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class ChainView:
    """Values of one thing, the oldest first.

    Attributes:
        steps: Those that are shown, by id with the memory, or None where it is gone.
        earlier: Older ones that are not shown.
        pair: The only pair, where there are two values.
    """

    steps: tuple[tuple[str, Memory | None], ...]
    earlier: int
    pair: ReportedPair | None


def class_of(member: ReportedMember) -> str:
    """Returns the class of a member of a group, a key of `CLASSES`."""
    if member.verdict is None:
        return "chain"
    if member.verdict == "subsumes":
        return "more"
    return _BY_RULE.get(member.rule or "", "similar")


def group_class(group: ReportedGroup) -> str:
    """Returns the class of a group: that of the member that needs the closest look."""
    order = list(CLASSES)
    return max(map(class_of, group.members), key=order.index, default="same")


class ReportView:
    """The parts of a report that are shown, with texts as they are now."""

    def __init__(self, report: Report, extent: Extent) -> None:
        """Chooses what is shown; `ids` says whose texts are needed for it.

        Args:
            report: The figures.
            extent: How much of them is written whole.
        """
        self._report = report
        self._extent = extent
        self.memories: Mapping[str, Memory] = {}
        self._held = _by_kind(report)
        self._chains = chains(self._held.pop("update", ()))

    @property
    def ids(self) -> set[str]:
        """Returns the memories whose texts the report shows."""
        some, extent = self._extent.pairs, self._extent
        ids: set[str] = set()
        for group in self._report.groups[: extent.top]:
            ids.update((group.survivor, *(m.id for m in group.members[: extent.members])))
        for pairs in self._held.values():
            ids.update(id_ for pair in pairs[:some] for id_ in pair.ids)
        for chain in self._chains[:some]:
            ids.update(chain.ids)
        ids.update(series.newest or series.members[0] for series in self._report.series[:some])
        ids.update(id_ for each in self._report.overlaps[:some] for id_ in (each.a, each.b))
        return ids

    def fill(self, memories: Mapping[str, Memory]) -> None:
        """Takes the texts over.

        Args:
            memories: By id, as the store holds them now.
        """
        self.memories = memories

    @property
    def _steps(self) -> int:
        """Returns how many values of a chain are shown: two at least."""
        return max(2, self._extent.members)

    @cached_property
    def groups(self) -> Sequence[GroupView]:
        """Returns the largest groups."""
        return [self._group(group) for group in self._report.groups[: self._extent.top]]

    @property
    def kinds(self) -> Sequence[tuple[str, str, str, Sequence[ReportedPair]]]:
        """Returns the pairs that stay apart, with name, title and meaning of their kind.

        Newer values have a part of their own.
        """
        return [(kind, *KINDS[kind], self._held[kind]) for kind in KINDS if self._held.get(kind)]

    @property
    def chain_count(self) -> int:
        """Returns how many chains of values there are."""
        return len(self._chains)

    @cached_property
    def chains(self) -> Sequence[ChainView]:
        """Returns chains of values, the longest first."""
        return [self._chain(chain) for chain in self._chains[: self._extent.pairs]]

    # -------------------------------------------------------------- one of each

    def _group(self, group: ReportedGroup) -> GroupView:
        survivor = self.memories.get(group.survivor)
        shown = group.members[: self._extent.members]
        views = [
            MemberView(
                member.id,
                self.memories.get(member.id),
                CLASSES[class_of(member)],
                member.similarity,
                member.sentence or member.evidence or "",
            )
            for member in shown
        ]
        text = None if survivor is None else survivor.content
        same = [view for view in views if view.memory is not None and view.memory.content == text]
        classes = {class_of(member) for member in group.members}
        return GroupView(
            group.survivor,
            survivor,
            group.why,
            len(group.members) + 1,
            tuple(meaning for name, meaning in CLASSES.items() if name in classes),
            tuple(same),
            tuple(view for view in views if view not in same),
            len(group.members) - len(shown),
        )

    def _chain(self, chain: Chain) -> ChainView:
        shown = in_order(chain, self.memories)[-self._steps :]
        steps = tuple((id_, self.memories.get(id_)) for id_ in shown)
        pair = chain.pairs[0] if len(chain.ids) == 2 else None
        return ChainView(steps, len(chain.ids) - len(shown), pair)


def _by_kind(report: Report) -> dict[str, Sequence[ReportedPair]]:
    """Returns the pairs that stay apart by verdict, the closest of each first."""
    kinds = dict(report.held_by_kind)
    narrowing = [pair for pair in report.held if pair.verdict not in kinds]
    if narrowing:
        kinds["subsumes"] = sorted(narrowing, key=lambda pair: (-pair.similarity, pair.ids))
    return kinds


# ------------------------------------------------------------------ chains of values


@dataclass(frozen=True, slots=True)
class Chain:
    """Memories that give newer and newer values of one thing.

    Attributes:
        ids: Sorted.
        pairs: Of an older and a newer one.
    """

    ids: tuple[str, ...]
    pairs: tuple[ReportedPair, ...]


def chains(updates: Iterable[ReportedPair]) -> Sequence[Chain]:
    """Returns updates that share memories as chains, the longest first.

    Args:
        updates: Pairs of which a is the older value.
    """
    made = [
        Chain(tuple(sorted({id_ for pair in pairs for id_ in pair.ids})), tuple(pairs))
        for pairs in connected(updates)
    ]
    return sorted(made, key=lambda chain: (-len(chain.ids), chain.ids))


def in_order(chain: Chain, memories: Mapping[str, Memory]) -> Sequence[str]:
    """Returns the ids of a chain, each behind all that a pair calls older; else by time.

    Where pairs go in a circle, the memory with the fewest older ones comes first.

    Args:
        chain: The chain.
        memories: By id, for their times; unknown times come first.
    """
    newer: dict[str, list[str]] = defaultdict(list)
    older = Counter(dict.fromkeys(chain.ids, 0))
    for pair in chain.pairs:
        newer[pair.a].append(pair.b)
        older[pair.b] += 1

    def place(id_: str) -> tuple[int, int, str]:
        memory = memories.get(id_)
        time = None if memory is None else instant(memory.updated_at or memory.created_at)
        return (older[id_], -(2**63) if time is None else time, id_)

    waiting = [place(id_) for id_ in chain.ids]
    heapq.heapify(waiting)
    ordered: dict[str, None] = {}
    while waiting:
        count, _, id_ = heapq.heappop(waiting)
        if id_ in ordered or count != older[id_]:
            continue
        ordered[id_] = None
        for each in newer[id_]:
            older[each] -= 1
            heapq.heappush(waiting, place(each))
    return tuple(ordered)
