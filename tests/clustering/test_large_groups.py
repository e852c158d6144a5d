"""Classes of thousands are gathered as small ones are, by work that grows with their size."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.clustering.grouping import Bonds, gather
from echoless.core.model import Duplicate, Evidence, Judged, Subsumes, flipped

SAME = Duplicate(Evidence("test", "lexical", 0.9))
MORE = Subsumes(Evidence("test", "lexical", 0.9), "a")
REPS = "adgjm"
COPIES = {"a": ("a", "b", "c"), "d": ("d", "e", "f"), "g": ("g", "h", "i"), "j": ("j", "k", "l")}
IDS = "abcdefghijklm"


def plainly(how: str, bonds: Bonds, order: Sequence[str], protected: AbstractSet[str]) -> object:
    """As the words of `gather` say, pair by pair."""
    rank = {id_: at for at, id_ in enumerate(order)}
    subset = {i: i not in protected and bonds.is_subset(i) for i in bonds.ids()}
    queue = sorted(subset, key=lambda i: (subset[i], i not in protected, rank[i]))
    free, found = set(queue), {}
    for centre in queue:
        if centre not in free:
            continue
        free.discard(centre)
        members: list[str] = []
        if how == "transitive":
            reached = {centre}
            while more := {n for i in reached for n in bonds.neighbours(i)} - reached:
                reached |= more
            members = [i for i in reached if i != centre and i not in protected]
            free -= reached
        else:
            for near in [i for i in queue if i in free and i not in protected]:
                if bonds.hides(near, centre):
                    members.append(near)
        free.difference_update(members)
        if members:
            found[centre] = sorted(members)
    return found


pairs = st.dictionaries(
    st.tuples(st.sampled_from(REPS), st.sampled_from(REPS)).filter(lambda p: p[0] < p[1]),
    st.sampled_from([SAME, MORE, flipped(MORE)]),
)
apart = st.sets(
    st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)).filter(lambda p: p[0] < p[1]), max_size=6
)


@pytest.mark.parametrize("how", ["star", "transitive"])
@given(pairs, apart, st.permutations(IDS), st.sets(st.sampled_from(IDS), max_size=5))
def test_classes_are_gathered_as_their_members_would_be_one_by_one(
    how: str,
    judged: dict[tuple[str, str], Duplicate | Subsumes],
    kept: set[tuple[str, str]],
    order: list[str],
    protected: set[str],
) -> None:
    bonds = Bonds([Judged(a, b, verdict) for (a, b), verdict in judged.items()], COPIES, kept)
    found = gather(how, bonds, order, protected)
    assert {g.survivor: [m.id for m in g.members] for g in found} == plainly(
        how, bonds, order, protected
    )


class CountedBonds(Bonds):
    """Counts the questions about single memories."""

    asked = 0

    def kept_apart(self, one: str, other: str) -> bool:
        CountedBonds.asked += 1
        return super().kept_apart(one, other)


@pytest.mark.parametrize("how", ["star", "transitive", "closest"])
@pytest.mark.parametrize("pinned", [False, True])
def test_the_work_grows_with_a_class_and_not_with_its_square(how: str, pinned: bool) -> None:
    size = 3_000
    ids = [f"m-{at:05d}" for at in range(size)]
    half = size // 2
    copies = {ids[0]: tuple(ids[:half]), ids[half]: tuple(ids[half:])}
    CountedBonds.asked = 0
    bonds = CountedBonds([Judged(ids[0], ids[half], SAME)], copies)
    found = gather(how, bonds, ids, set(ids) if pinned else set())
    visible = size if pinned else 2 if how == "closest" else 1
    assert sum(len(group.members) for group in found) == size - visible
    assert CountedBonds.asked < 10 * size
