"""Law 12: no text is lost: a survivor keeps its own, or gets one that keeps all facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, apply, find, plan
from echoless.models.llm.registry import Completing
from echoless.workflows.consolidation.llm_rewrite import Proposed, Refused, propose_merge
from tests.conformance.strategies import worlds
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


FACTS = ["port 8080", "build 42", "2026-03-01", "Priya", "src/app.py", "v2.3.1", "5 GB", "14:30"]
FRAMES = ["the server restarted with {}", "nobody changed {}", "we decided on {} again"]


@quick
@given(
    told=st.lists(
        st.tuples(st.sampled_from(FRAMES), st.sampled_from(FACTS)),
        min_size=2,
        max_size=4,
        unique_by=lambda each: each[1],
    ),
    at=st.integers(0, 3),
)
def test_a_model_that_drops_any_fact_of_any_source_is_refused_and_a_whole_text_is_taken(
    told: list[tuple[str, str]], at: int
) -> None:
    sources = [frame.format(fact) for frame, fact in told]
    whole = "; ".join(sources)
    found = propose_merge(Completing(lambda _prompt: whole), sources)
    assert isinstance(found, Proposed)
    frame, fact = told[at % len(told)]
    less = whole.replace(frame.format(fact), frame.format("something"))
    found = propose_merge(Completing(lambda _prompt: less), sources)
    assert isinstance(found, Refused)
    assert found.lost
