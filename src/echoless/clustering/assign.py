"""Folds equal texts, puts verdicts into groups and chooses the survivor of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from echoless.blocking.pair_scores import PairSignals
from echoless.clustering import survivor as survivors
from echoless.clustering.grouping import SAME_BYTES, SAME_TEXT, Bonds, gather, joined_by_thirds
from echoless.clustering.noise_score import levelled
from echoless.core.groups import KEPT_SURVIVOR, PINNED, PRIOR_SURVIVOR, Group, grouped
from echoless.core.model import BY_IDS, IN_FORCE, Judged, Memory
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.core.text import loose
from echoless.core.timestamps import instant
from echoless.matching.fields import limits

READ_FOR_DAYS: Final = 2_000
"""Characters up to which identical texts are read for days told from the day of writing."""

DAY: Final = 86_400 * 10**9
"""Nanoseconds."""

Classes: TypeAlias = Mapping[tuple[object, ...], Sequence[Memory]]
"""Memories by partition, text and, where vectors count, vector: one key for a class of copies."""


def folded(memories: Iterable[Memory], profile: Profile) -> dict[str, tuple[str, ...]]:
    """Returns classes of identical texts of one partition, by the smallest id of the class.

    To a judge that reads, `the demo is tomorrow` of two days are two texts. Where stored vectors
    alone decide, one text with two vectors, or with none, is not one class.

    Args:
        memories: Each id once.
        profile: Names the partition, and whether days and vectors count.
    """
    classes: dict[tuple[object, ...], list[Memory]] = {}
    for memory in memories:
        key = _class_of(memory, memory.content, profile)
        if profile.encoder == "stored":
            comparable = any(vector.data.strip(b"\0") for vector in memory.vectors)
            key = (*key, memory.vectors if comparable else memory.id)
        classes.setdefault(key, []).append(memory)
    by_day = _split_by_day(classes) if profile.judge == "full" else {}
    copies: dict[str, tuple[str, ...]] = {}
    for key, same in classes.items():
        for ids in by_day.get(key) or [[memory.id for memory in same]]:
            copies[min(ids)] = tuple(sorted(ids))
    return copies


def _class_of(memory: Memory, text: str, profile: Profile) -> tuple[object, ...]:
    """Returns what two memories of one class have in common."""
    return (*profile.scope_of(memory), text, limits(memory))


def _split_by_day(classes: Classes) -> dict[tuple[object, ...], list[list[str]]]:
    """Returns ids by day of writing, for classes whose text names a day relative to it."""
    by_day: dict[tuple[object, ...], list[list[str]]] = {}
    for key, same in classes.items():
        if len(same) == 1 or len(same[0].content) > READ_FOR_DAYS:
            continue
        moments = ((instant(memory.created_at), memory.id) for memory in same)
        days = grouped((None if at is None else at // DAY, id_) for at, id_ in moments)
        if len(days) > 1:
            by_day[key] = list(days.values())
    from echoless.matching import facts

    return {
        key: days
        for key, days in by_day.items()
        if facts.facts_of(classes[key][0].content).relative
    }


def folded_loosely(
    ranked: Iterable[Memory],
    profile: Profile,
    prior: AbstractSet[str],
    apart: AbstractSet[tuple[str, str]],
    tally: Tally,
) -> dict[str, tuple[str, ...]]:
    """Returns classes of texts of one partition that are equal in loose form, by the best of them.

    Args:
        ranked: Memories, best survivor first.
        profile: Names the partition.
        prior: Survivors of earlier runs; one that is not the best of its class stands alone and is
            counted.
        apart: Pairs a person decided to keep both of; they are not folded.
        tally: Takes survivors that stand alone.
    """
    classes = grouped((_class_of(m, loose(m.content), profile), m.id) for m in ranked)
    copies: dict[str, tuple[str, ...]] = {}
    for best, *others in classes.values():
        joined = [best]
        for other in others:
            if other in prior:
                tally.skip(KEPT_SURVIVOR, other)
            if other in prior or (min(best, other), max(best, other)) in apart:
                copies[other] = (other,)
            else:
                joined.append(other)
        copies[best] = tuple(sorted(joined))
    return copies


@dataclass(frozen=True, slots=True)
class GroupingInput:
    """The memories of a run and what is known of them before they are grouped.

    Attributes:
        memories: By id.
        copies: Members of each class of identical memories, by the representative.
        apart: Pairs a person decided to keep both of.
        prior: Survivors of earlier runs.
        protected: Why memories stay visible whatever they say, by id.
    """

    memories: Mapping[str, Memory]
    copies: Mapping[str, Sequence[str]]
    apart: AbstractSet[tuple[str, str]]
    prior: AbstractSet[str]
    protected: Mapping[str, str]


def fold(
    memories: Sequence[Memory],
    profile: Profile,
    prior: AbstractSet[str],
    apart: AbstractSet[tuple[str, str]],
    tally: Tally,
) -> dict[str, tuple[str, ...]]:
    """Returns classes of equal texts, by the member that stands for the class.

    Args:
        memories: Those that are looked at.
        profile: Says which texts are one.
        prior: Survivors of earlier runs.
        apart: Pairs a person decided to keep both of.
        tally: Takes survivors that stay visible beside a better copy.
    """
    if profile.folding == "bytes":
        return folded(memories, profile)
    by_id = {memory.id: memory for memory in memories}
    order = survivors.rank(memories, profile.survivor, prior)
    return folded_loosely((by_id[i] for i in order), profile, prior, apart, tally)


def best_first(
    memories: Mapping[str, Memory],
    copies: Mapping[str, Sequence[str]],
    profile: Profile,
    prior: AbstractSet[str],
) -> Callable[[Sequence[Memory]], list[Memory]]:
    """Returns a function that sorts memories in the order of survivors, without reading the texts.

    Args:
        memories: By id.
        copies: Classes of identical memories by the representative, which ranks as the best member.
        profile: Names the order.
        prior: Survivors of earlier runs.
    """
    key = survivors.Standing(profile.survivor, prior, reads=False).key

    def of_best(memory: Memory) -> tuple[float | str, ...]:
        ids = copies.get(memory.id, (memory.id,))
        return key(memory) if len(ids) == 1 else min(key(memories[id_]) for id_ in ids)

    def order(some: Sequence[Memory]) -> list[Memory]:
        return sorted(some, key=of_best)

    return order


def make_groups(
    judged: Sequence[Judged],
    given: GroupingInput,
    settings: Settings,
    tally: Tally,
    standing: survivors.Standing | None = None,
) -> tuple[tuple[Group, ...], dict[str, str]]:
    """Returns groups, largest first, and the reason for each survivor by its id.

    Args:
        judged: Verdicts between the representatives of identical memories.
        given: The memories, and what is known of them.
        settings: Have the profile.
        tally: Takes what stays visible, and why.
        standing: The order of survivors, if it has read some of the memories already.
    """
    profile, memories, protected = settings.profile, given.memories, given.protected
    copied = SAME_BYTES if profile.folding == "bytes" else SAME_TEXT
    verdicts = levelled(judged, memories)
    promises = {i: m.promise for i, m in memories.items() if m.promise is not IN_FORCE}
    bonds = Bonds(verdicts, given.copies, given.apart, copied=copied, promises=promises)
    ids = bonds.ids()
    bonded = [memories[i] for i in ids]
    standing = standing or survivors.Standing(profile.survivor, given.prior)
    order = standing.rank(bonded)
    centres = survivors.rank(bonded, profile.centre, set()) if profile.centre else ()
    groups = tuple(gather(profile.grouping, bonds, order, protected.keys() & set(ids), centres))
    own = {PINNED, PRIOR_SURVIVOR}
    by_store = {id_: why for id_, why in protected.items() if why not in own}
    for a, b in given.apart:
        tally.skip("kept both", a, b)
    for id_, poorer in bonds.waiting({m.id for group in groups for m in group.members}):
        lack = memories[poorer].promise.lack(memories[id_].promise)
        tally.skip(f"stays, as the one to keep {lack}", id_)
    for id_ in _visible_by_protection(groups, bonds, protected):
        tally.skip(f"{protected[id_]}, kept visible", id_)
    if profile.grouping == "closest":
        place = {id_: at for at, id_ in enumerate(order)}
        for earlier in sorted(given.prior & place.keys()):
            for near in bonds.neighbours(earlier):
                if place[near] < place[earlier] and bonds.hides(earlier, near):
                    tally.skip(KEPT_SURVIVOR, earlier)
    return groups, {
        g.survivor: by_store.get(g.survivor) or survivors.why(g, memories.__getitem__, standing)
        for g in groups
    }


ROUNDS: Final = 8
"""Times memories may be taken to the survivor their own one stands behind."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """The groups of a run.

    Attributes:
        judged: All verdicts, by ids: those given, and those asked for meanwhile.
        groups: Largest first.
        reasons: Why each survivor survives, by its id.
    """

    judged: Sequence[Judged]
    groups: tuple[Group, ...]
    reasons: Mapping[str, str]


def group(
    judged: Sequence[Judged],
    given: GroupingInput,
    settings: Settings,
    tally: Tally,
    signals: PairSignals,
    ask: Callable[[Mapping[str, Sequence[str]]], Sequence[Judged]],
) -> Grouped:
    """Groups memories, and compares those that are stranded (see `stranded`) with survivors.

    Args:
        judged: Verdicts between the representatives of identical memories.
        given: The memories, and what is known of them.
        settings: Have the profile.
        tally: Takes what stays visible, and why.
        signals: What the detectors measured of the pairs judged.
        ask: Judges survivors with some ids each.
    """
    standing = survivors.Standing(settings.profile.survivor, given.prior)
    verdicts, more = list[Judged](), judged
    for left in reversed(range(ROUNDS + 1)):
        verdicts = joined_by_thirds(sorted([*verdicts, *more], key=BY_IDS))
        groups, reasons = make_groups(verdicts, given, settings, tally, standing)
        centres = stranded(signals, verdicts, groups, given.copies) if left else {}
        more = ask(centres) if centres else ()
        if not more:
            break
    return Grouped(verdicts, groups, reasons)


def _visible_by_protection(
    groups: Iterable[Group], bonds: Bonds, protected: Iterable[str]
) -> Iterator[str]:
    """Yields memories that stay visible only because they are protected."""
    by_class = grouped((bonds.rep(id_), id_) for id_ in protected)
    for group in groups if by_class else ():
        for near in bonds.near(bonds.rep(group.survivor)):
            yield from (i for i in by_class.get(near, ()) if bonds.hides(i, group.survivor))


# ------------------------------------------------------------------ stranded memories


def stranded(
    signals: PairSignals,
    judged: Sequence[Judged],
    groups: Iterable[Group],
    copies: Mapping[str, Sequence[str]],
) -> dict[str, list[str]]:
    """Returns memories that stayed visible only because their match is hidden behind a survivor.

    Args:
        signals: What the detectors measured.
        judged: All verdicts so far.
        groups: Made from them.
        copies: Classes of identical texts by their representative.

    Returns:
        By survivor, the memories to compare with it, sorted: the memory or its own survivor
        matches a memory the survivor hides, and the pair is not judged yet. If a memory says more
        than a member of a group, the whole group is compared with this memory, which must survive.
    """
    if signals.crowds is None:
        return {}
    places = np.flatnonzero(signals.crowds.crowded | signals.crowds.cut)
    crowded = {signals.ids[place] for place in places.tolist()}
    stands_for = {id_: rep for rep, ids in copies.items() if len(ids) > 1 for id_ in ids}
    behind = {
        stands_for.get(m.id, m.id): stands_for.get(group.survivor, group.survivor)
        for group in groups
        for m in group.members
    }
    led = grouped((centre, other) for other, centre in behind.items())
    joins, says_more = _towards(behind, judged)
    joins |= {(other, to) for one, to in joins for other in led.get(one, ())}
    joins = {(one, to) for one, to in joins if one in crowded or _pair(one, to) in signals}
    wanted = {(one, says_more.get(centre, centre)) for one, centre in joins}
    for other, centre in behind.items():
        if centre in says_more:
            wanted |= {(other, says_more[centre]), (centre, says_more[centre])}
    asked = {_pair(one, centre) for one, centre in wanted}
    known = asked.intersection((each.a, each.b) for each in judged)
    left = (pair for pair in sorted(wanted) if pair[0] != pair[1] and _pair(*pair) not in known)
    return grouped((centre, one) for one, centre in left)


def _pair(one: str, other: str) -> tuple[str, str]:
    """Returns two ids, the smaller first."""
    return (one, other) if one < other else (other, one)


def _towards(
    behind: Mapping[str, str], judged: Iterable[Judged]
) -> tuple[set[tuple[str, str]], dict[str, str]]:
    """Returns visible memories that match a hidden one, and memories that say more than a survivor.

    Returns:
        Pairs (visible memory, survivor of its hidden match), and by survivor a memory that says
        more.
    """
    joins: set[tuple[str, str]] = set()
    says_more: dict[str, str] = {}
    for each in judged:
        for one, other in ((each.a, each.b), (each.b, each.a)):
            centre = behind.get(other, other)
            if behind.get(one, one) != one or centre == other:
                continue
            if each.hides(one, other):
                joins.add((one, centre))
            elif each.hides(other, one):
                says_more[centre] = min(one, says_more.get(centre, one))
    return joins, says_more
