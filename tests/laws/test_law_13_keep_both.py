"""Law 13: "keep both" is remembered; an unchanged pair is not asked about again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from echoless import Memory, apply, find, keep_both, plan, undo
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, quick, safe, world


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(pinned=False))
def test_kept_pairs_are_not_proposed_until_one_of_them_changes(
    kind: str, told: list[Memory]
) -> None:
    with world(kind, told) as store:
        groups = find(store, safe()).groups
        pairs = [(g.survivor, m.id) for g in groups for m in g.members]
        assert keep_both(store, pairs) == len(pairs)
        again = {
            frozenset((g.survivor, m.id)) for g in find(store, safe()).groups for m in g.members
        }
        assert again.isdisjoint(frozenset(pair) for pair in pairs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_text_is_asked_about_again_but_new_tags_are_not(kind: str) -> None:
    told = [Memory(id=f"m-{n}", content="Both were meant.") for n in range(2)]
    with world(kind, told) as store:
        keep_both(store, [("m-1", "m-0")])
        assert find(store, safe()).groups == ()
        with store.writing():
            store.put([replace(told[0], tags=("new",))])
        found = find(store, safe())
        assert found.groups == ()
        assert found.tally.counts == {"kept both": 2}
        with store.writing():
            store.put([replace(m, content="Both were changed.") for m in told])
        assert len(find(store, safe()).groups) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_undo_can_remember_its_pairs(kind: str) -> None:
    told = [Memory(id=f"m-{n}", content="Both were meant.") for n in range(3)]
    with world(kind, told) as store:
        run = apply(store, plan(find(store, safe())))
        assert undo(store, run.id).kept == 0
        assert len(find(store, safe()).groups) == 1
        run = apply(store, plan(find(store, safe())))
        assert undo(store, run.id, keep_both=True).kept == 2
        (group,) = find(store, safe()).groups
        assert (group.survivor, [m.id for m in group.members]) == ("m-1", ["m-2"])
