"""Which memories take part, and which count as one."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

from echoless import find, open_store
from echoless.clustering.assign import folded
from echoless.clustering.survivor import rank
from echoless.core.eligibility import eligible
from echoless.core.model import Memory, Vector
from echoless.core.profiles import LLM_MEMORY, SAFE
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from tests.conformance.stores import fill, simple


def vector(*values: float) -> tuple[Vector, ...]:
    return (Vector("m", struct.pack(f"<{len(values)}f", *values)),)


def test_what_has_expired_does_not_take_part() -> None:
    told = [
        simple(1, extra={"expires_at": "2000-01-01T00:00:00Z"}),
        simple(2, extra={"expires_at": "2999-01-01T00:00:00Z"}),
        simple(3, extra={"expires_at": "some day"}),
        simple(4),
    ]
    memories = {m.id: m for m in told}
    tally = Tally()
    kept = eligible(memories, {}, tally, LLM_MEMORY)
    assert [m.id for m in kept] == ["m-2", "m-3", "m-4"]
    assert tally.counts == {"expired": 1}
    assert len(eligible(memories, {}, Tally())) == 4, "a profile without such a field keeps all"


def test_where_stored_vectors_decide_one_text_with_two_vectors_is_two() -> None:
    same = [Memory(id=id_, content="One text.", vectors=v) for id_, v in (
        ("a", vector(1, 0)), ("b", vector(1, 0)), ("c", vector(0, 1)), ("d", ()), ("e", ()),
        ("f", vector(0, 0)), ("g", vector(0, 0)),
    )]  # fmt: skip
    assert sorted(folded(same, LLM_MEMORY).values()) == [
        ("a", "b"),
        *((id_,) for id_ in ("c", "d", "e", "f", "g")),
    ]
    assert list(folded(same, SAFE).values()) == [("a", "b", "c", "d", "e", "f", "g")]


def test_only_named_memories_take_part(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    fill(url, [replace(simple(n), content="The same text.") for n in range(1, 5)])
    settings = Settings(profile=replace(SAFE, detectors=()))
    with open_store(url) as store:
        (group,) = find(store, settings, only={"m-2", "m-4"}).groups
        assert (group.survivor, [m.id for m in group.members]) == ("m-2", ["m-4"])


def test_the_most_important_survives_then_the_newest() -> None:
    told = [simple(1, importance=0.5), simple(2, importance=0.9), simple(3, importance=0.9)]
    assert rank(told, "most_important", set()) == ["m-3", "m-2", "m-1"]
