"""Law 12: no text is lost or rewritten. Nothing here writes texts: a survivor keeps its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, apply, find, plan
from echoless.testing.strategies import worlds
from tests.laws.worlds import KINDS, quick, safe, world


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds(), action=st.sampled_from(["mark", "merge", "delete"]))
def test_no_action_rewrites_a_text_and_each_text_is_in_the_store_or_in_an_image(
    kind: str, told: list[Memory], action: str
) -> None:
    with world(kind, told) as store:
        run = apply(store, plan(find(store, safe(action=action))))
        left = {m.id: m.content for m in store.scan()}
        images = {i.id: i.memory for i in store.ledger.images(run.id) if i.moment == "before"}
        for memory in told:
            if memory.id in left:
                assert left[memory.id] == memory.content
            else:
                assert images[memory.id] == memory
