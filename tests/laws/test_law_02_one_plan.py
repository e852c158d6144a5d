"""Law 2: one plan drives preview and execution, is used once, and refuses what changed since."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, apply, find, plan
from echoless.core.errors import PlanForeign, PlanUsed
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, picture, quick, safe, world

ACTIONS = st.sampled_from(["mark", "merge", "delete"])


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(), action=ACTIONS)
def test_execution_reaches_the_counts_of_the_preview(
    kind: str, told: list[Memory], action: str
) -> None:
    with world(kind, told) as store:
        preview = plan(find(store, safe(action=action)))
        run = apply(store, preview)
        assert run.counts == preview.counts
        assert run.refused == ()
        hidden = {m.id for a in preview.actions for m in a.members}
        if action == "delete":
            assert hidden.isdisjoint(m.id for m in store.scan())
        else:
            assert store.ledger.marks().keys() == hidden


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds())
def test_every_action_names_its_reason_and_the_fingerprint_of_every_record(
    kind: str, told: list[Memory]
) -> None:
    with world(kind, told) as store:
        for action in plan(find(store, safe())).actions:
            assert action.why
            assert len(action.fingerprint) == 32
            assert action.members
            for member in action.members:
                assert len(member.fingerprint) == 32
                assert member.evidence


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(), action=ACTIONS)
def test_a_plan_is_used_once(kind: str, told: list[Memory], action: str) -> None:
    with world(kind, told) as store:
        preview = plan(find(store, safe(action=action)))
        run = apply(store, preview)
        after = picture(store)
        with pytest.raises(PlanUsed, match=run.id):
            apply(store, preview)
        assert picture(store) == after


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(pinned=False), action=ACTIONS, data=st.data())
def test_an_action_whose_record_changed_is_refused_and_the_others_go_on(
    kind: str, told: list[Memory], action: str, data: st.DataObject
) -> None:
    with world(kind, told) as store:
        preview = plan(find(store, safe(action=action)))
        if not preview.actions:
            return
        victim = data.draw(st.sampled_from(sorted(i for a in preview.actions for i in a.ids)))
        edited = replace(store.get([victim])[victim], tags=("edited by hand",))
        with store.writing():
            store.put([edited])
        run = apply(store, preview)
        assert [victim in refusal.ids for refusal in run.refused] == [True]
        assert victim in run.refused[0].reason
        now = store.get([victim])[victim]
        assert now.tags == ("edited by hand",)
        assert run.counts["groups"] == len(preview.actions) - 1
        untouched = set(run.refused[0].ids)
        assert untouched.isdisjoint(store.ledger.marks())
        assert untouched <= {m.id for m in store.scan()}


@pytest.mark.parametrize("kind", KINDS)
def test_being_recalled_is_not_an_edit(kind: str) -> None:
    told = [Memory(id=f"m-{n}", content="The same fact, told twice.") for n in range(2)]
    with world(kind, told) as store:
        preview = plan(find(store, safe(action="merge")))
        with store.writing():
            store.put([replace(told[0], access_count=7, last_accessed="2026-05-01T00:00:00Z")])
        assert apply(store, preview).refused == ()
        assert store.get(["m-0"])["m-0"].access_count == 7


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_for_another_store_is_refused(kind: str) -> None:
    told = [Memory(id=f"m-{n}", content="The same fact, told twice.") for n in range(2)]
    with world(kind, told) as one, world(kind, told) as other:
        preview = plan(find(one, safe()))
        before = picture(other)
        with pytest.raises(PlanForeign, match="was made for"):
            apply(other, preview)
        assert picture(other) == before
        assert other.ledger.is_empty()
