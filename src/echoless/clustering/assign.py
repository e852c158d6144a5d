"""Puts verdicts into groups and chooses the survivor of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from echoless.clustering import survivor as survivors
from echoless.clustering.folding import (
    KEPT_SURVIVOR,
    PINNED,
    PRIOR_SURVIVOR,
    folded,
    folded_loosely,
)
from echoless.clustering.grouping import SAME_BYTES, SAME_TEXT, Bonds, gather
from echoless.clustering.noise_score import levelled
from echoless.core.groups import Group
from echoless.core.model import IN_FORCE, Judged, Memory
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.core.text_facts_cache import Readings


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
    readings: Readings | None = None,
) -> dict[str, tuple[str, ...]]:
    """Returns classes of equal texts, by the member that stands for the class.

    Args:
        memories: Those that are looked at.
        profile: Says which texts are one.
        prior: Survivors of earlier runs.
        apart: Pairs a person decided to keep both of.
        tally: Takes survivors that stay visible beside a better copy.
        readings: What was read of texts in earlier runs.
    """
    if profile.folding == "bytes":
        return folded(memories, profile, readings or Readings(None, tally))
    by_id = {memory.id: memory for memory in memories}
    order = survivors.rank(memories, profile.survivor, prior, profile.junk)
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
    verdicts = levelled(judged, memories, profile.junk)
    promises = {i: m.promise for i, m in memories.items() if m.promise is not IN_FORCE}
    bonds = Bonds(verdicts, given.copies, given.apart, copied=copied, promises=promises)
    ids = bonds.ids()
    bonded = [memories[i] for i in ids]
    standing = standing or survivors.Standing(profile.survivor, given.prior, profile.junk)
    order = standing.rank(bonded)
    centres = survivors.rank(bonded, profile.centre, set(), profile.junk) if profile.centre else ()
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


def _visible_by_protection(
    groups: Iterable[Group], bonds: Bonds, protected: Iterable[str]
) -> Iterator[str]:
    """Yields memories that stay visible only because they are protected."""
    by_class: dict[str, list[str]] = {}
    for id_ in protected:
        by_class.setdefault(bonds.rep(id_), []).append(id_)
    for group in groups if by_class else ():
        for near in bonds.near(bonds.rep(group.survivor)):
            yield from (i for i in by_class.get(near, ()) if bonds.hides(i, group.survivor))
