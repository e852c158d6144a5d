"""Law 8: metadata is never lost in a merge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Link, Memory, apply, find, plan
from echoless.core.model import canonical
from echoless.core.timestamps import instant
from echoless.execution.field_merge import united
from tests.conformance.stores import plan_by_hand, simple
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, quick, safe, world


@quick
@given(told=worlds(max_size=5))
def test_everything_known_is_united_or_recorded_as_a_conflict(told: list[Memory]) -> None:
    if not told:
        return
    survivor, *members = told
    new, conflicts = united(survivor, members)
    group = {m.id for m in told}
    noted = {(c.id, c.key) for c in conflicts}
    assert new.content == survivor.content
    assert new.access_count == sum(m.access_count for m in told)
    assert set(new.tags) == {tag for m in told for tag in m.tags}
    known = [m.importance for m in told if m.importance is not None]
    assert new.importance == (max(known) if known else None)
    for memory in told:
        for link in memory.links:
            outdone = (memory.id, f"links.{link.kind}.{link.target}") in noted
            assert link in new.links or link.target in group or outdone
        for where, mine, its in (
            ("metadata", new.metadata, memory.metadata),
            ("extra", new.extra, memory.extra),
        ):
            for key, value in its.items():
                same = canonical(mine[key]) == canonical(value)
                assert same or (memory.id, f"{where}.{key}") in noted
    created = [t for m in told if (t := instant(m.created_at)) is not None]
    assert instant(new.created_at) == (min(created) if created else instant(new.created_at))
    accessed = [t for m in told if (t := instant(m.last_accessed)) is not None]
    assert not accessed or instant(new.last_accessed) == max(accessed)


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(), action=st.sampled_from(["merge", "delete"]))
def test_the_store_holds_the_union_after_the_run(
    kind: str, told: list[Memory], action: str
) -> None:
    originals = {m.id: m for m in told}
    with world(kind, told) as store:
        preview = plan(find(store, safe(action=action)))
        apply(store, preview)
        after = {m.id: m for m in store.scan()}
        for each in preview.actions:
            expected, _ = united(originals[each.survivor], [originals[m.id] for m in each.members])
            assert after[each.survivor].tags == expected.tags
            assert after[each.survivor].access_count == expected.access_count
            assert after[each.survivor].metadata == expected.metadata


@pytest.mark.parametrize("kind", KINDS)
def test_links_to_a_removed_memory_move_to_its_survivor_and_conflicts_are_recorded(
    kind: str,
) -> None:
    told = [
        simple(1, metadata={"k": 1}),
        simple(2, metadata={"k": 2, "n": 3}),
        simple(3, links=(Link("m-2", "caused_by", {"c": 1}), Link("x"))),
    ]
    with world(kind, told) as store:
        run = apply(store, plan_by_hand(store, [("m-1", "m-2")], "delete"))
        after = {m.id: m for m in store.scan()}
        assert after["m-1"].metadata == {"k": 1, "n": 3}
        assert after["m-3"].links == (Link("m-1", "caused_by", {"c": 1}), Link("x"))
        (event,) = store.ledger.events(run.id, "action_started")
        assert event.data["conflicts"] == [{"id": "m-2", "key": "metadata.k", "kept": 1, "lost": 2}]
