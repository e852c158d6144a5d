"""Gather verdicts into groups, and choose who survives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from echoless import survivor as survivors
from echoless.candidates import KEPT_SURVIVOR, PRIOR_SURVIVOR, folded, folded_loosely
from echoless.cleanliness import levelled
from echoless.groups import SAME_BYTES, SAME_TEXT, Bonds, Group, gather
from echoless.model import Judged, Memory
from echoless.profiles import Profile
from echoless.readings import Readings
from echoless.settings import Settings
from echoless.stores.base import Protects, Store
from echoless.tally import Tally


def fold(
    memories: Sequence[Memory],
    profile: Profile,
    prior: AbstractSet[str],
    apart: AbstractSet[tuple[str, str]],
    tally: Tally,
    readings: Readings | None = None,
) -> dict[str, tuple[str, ...]]:
    """Classes of texts that are one without a judge, by the member that stands for them.

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
    """Puts memories that stand for their copies in the order of survivors, roughly.

    Args:
        memories: By id.
        copies: Classes by the one that stands for them; it stands where the best of them would.
        profile: Names the order.
        prior: Survivors of earlier runs.
    """
    key = survivors.roughly(profile.survivor, prior)

    def of_best(memory: Memory) -> tuple[float | str, ...]:
        ids = copies.get(memory.id, (memory.id,))
        return key(memory) if len(ids) == 1 else min(key(memories[id_]) for id_ in ids)

    def order(some: Sequence[Memory]) -> list[Memory]:
        return sorted(some, key=of_best)

    return order


def protected_among(
    store: Store, memories: Mapping[str, Memory], prior: AbstractSet[str]
) -> dict[str, str]:
    """Why memories stay visible whatever they say, by id."""
    found = dict.fromkeys(prior & memories.keys(), PRIOR_SURVIVOR)
    found.update((id_, "pinned") for id_, memory in memories.items() if memory.pinned)
    if isinstance(store, Protects):
        dear = (id_ for id_, memory in memories.items() if store.protected(memory))
        found.update((id_, "protected by its store") for id_ in dear if id_ not in found)
    return found


def make_groups(
    memories: Mapping[str, Memory],
    judged: Sequence[Judged],
    copies: Mapping[str, Sequence[str]],
    apart: AbstractSet[tuple[str, str]],
    prior: AbstractSet[str],
    protected: Mapping[str, str],
    settings: Settings,
    tally: Tally,
    standing: survivors.Standing | None = None,
) -> tuple[tuple[Group, ...], dict[str, str]]:
    """Groups, largest first, and why each survivor survives, by its id.

    Args:
        memories: By id.
        judged: Verdicts between those that stand for their copies.
        copies: Members of each class of copies, by the one that stands for them.
        apart: Pairs a person decided to keep both of.
        prior: Survivors of earlier runs.
        protected: Why memories stay visible whatever they say, by id.
        settings: Have the profile.
        tally: Takes what stays visible, and why.
        standing: The order of survivors, if it has read some of the memories already.
    """
    profile = settings.profile
    copied = SAME_BYTES if profile.folding == "bytes" else SAME_TEXT
    bonds = Bonds(levelled(judged, memories, profile.junk), copies, apart, copied=copied)
    ids = bonds.ids()
    there = [memories[i] for i in ids]
    standing = standing or survivors.Standing(profile.survivor, prior, profile.junk)
    order = standing.rank(there)
    centres = survivors.rank(there, profile.centre, set(), profile.junk) if profile.centre else ()
    groups = tuple(gather(profile.grouping, bonds, order, protected.keys() & set(ids), centres))
    for a, b in apart:
        tally.skip("kept both", a, b)
    _note_protected(groups, bonds, protected, tally)
    if profile.grouping == "closest":
        _note_outranked(bonds, order, prior, tally)
    return groups, {
        g.survivor: survivors.why_first(g, memories.__getitem__, standing) for g in groups
    }


def _note_protected(
    groups: Iterable[Group],
    bonds: Bonds,
    protected: Mapping[str, str],
    tally: Tally,
) -> None:
    """Count memories that stay visible only because they are protected."""
    shown: dict[str, list[str]] = {}
    for id_ in protected:
        shown.setdefault(bonds.rep(id_), []).append(id_)
    for group in groups if shown else ():
        for near in bonds.near(bonds.rep(group.survivor)):
            for id_ in shown.get(near, ()):
                if bonds.hides(id_, group.survivor):
                    tally.skip(f"{protected[id_]}, kept visible", id_)


def _note_outranked(
    bonds: Bonds, order: Sequence[str], prior: AbstractSet[str], tally: Tally
) -> None:
    """Count survivors of earlier runs that a better memory would have taken."""
    place = {id_: at for at, id_ in enumerate(order)}
    for kept in sorted(prior & place.keys()):
        for near in bonds.neighbours(kept):
            if place[near] < place[kept] and bonds.hides(kept, near):
                tally.skip(KEPT_SURVIVOR, kept)
