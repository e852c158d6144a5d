"""The memories closest to one of them, in any store."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from echoless import Link, Memory, apply, find, plan
from echoless.core.errors import InputError, UsageError
from echoless.core.model import Vector
from echoless.core.settings import Choices, resolve
from echoless.stores import Store
from echoless.workflows.retrieval.neighbours import (
    ASKED,
    BY_WORDING,
    NeighbourQuery,
    Neighbours,
    memory_of,
    neighbours,
)
from tests.laws.worlds import KINDS, safe, world

SETTINGS = resolve(Choices(encoder="none"))

A = (1.0, 0.0, 0.0)
NEAR = (0.96, 0.28, 0.0)
FAR = (0.6, 0.8, 0.0)


def memory(id_: str, vector: tuple[float, ...] | None, **fields: object) -> Memory:
    vectors = () if vector is None else (Vector("toy@1", struct.pack(f"<{len(vector)}f", *vector)),)
    return Memory(id=id_, content=f"Text of {id_}.", vectors=vectors, **fields)  # type: ignore[arg-type]


def near(store: Store, id_: str = "a", **options: object) -> Neighbours:
    return neighbours(store, memory_of(store, id_), SETTINGS, NeighbourQuery(**options))  # type: ignore[arg-type]


def told(found: Neighbours) -> list[tuple[str, float]]:
    return [(each.memory.id, each.similarity) for each in found.nearest]


@pytest.mark.parametrize("kind", KINDS)
def test_the_closest_come_first_and_the_threshold_counts(kind: str) -> None:
    memories = [memory("a", A), memory("b", NEAR), memory("c", FAR), memory("d", NEAR)]
    with world(kind, memories) as store:
        assert told(near(store)) == [("b", 0.96), ("d", 0.96)]
        assert told(near(store, least=0.6)) == [("b", 0.96), ("d", 0.96), ("c", 0.6)]
        assert told(near(store, least=0.6, limit=1)) == [("b", 0.96)]
        assert told(near(store, least=0.961)) == []


def test_filtered_before_it_is_cut() -> None:
    others = [memory(f"o{n}", A, namespace="other") for n in range(5)]
    pair = [memory("a", A, namespace="x"), memory("b", NEAR, namespace="x")]
    with world("sqlite", [*pair, *others]) as store:
        assert told(near(store, namespaces={"x"}, limit=1)) == [("b", 0.96)]
        assert len(near(store, namespaces=None).nearest) == 6
        assert len(near(store, namespaces={"x", "other"}).nearest) == 6
        with pytest.raises(UsageError, match="no namespace 'attic'"):
            near(store, namespaces={"attic"})


def test_linked_memories_are_left_out_or_named_in_either_direction() -> None:
    memories = [
        memory("a", A, links=(Link("b"),)),
        memory("b", NEAR),
        memory("c", NEAR, links=(Link("a"),)),
        memory("d", NEAR),
    ]
    with world("sqlite", memories) as store:
        assert told(near(store)) == [("d", 0.96)]
        found = near(store, exclude_linked=False).nearest
        assert [(each.memory.id, each.linked) for each in found] == [
            ("b", True),
            ("c", True),
            ("d", False),
        ]


def test_what_is_hidden_empty_or_without_a_vector_is_left_out_and_counted() -> None:
    twin = replace(memory("b", NEAR), content="Text of a.")
    lone = replace(memory("c", None), content="Nobody knows the hour.")
    memories = [memory("a", A), twin, lone, replace(memory("d", A), content="  ")]
    with world("sqlite", memories) as store:
        apply(store, plan(find(store, safe())))
        found = near(store, least=0.0)
    assert told(found) == []
    assert found.tally.counts == {"already marked": 1, "empty": 1, "no vector": 1}


@pytest.mark.parametrize("base", ["c", ASKED])
def test_without_a_vector_the_wording_is_compared_and_said(base: str) -> None:
    memories = [
        Memory(id="a", content="The kettle is blue."),
        Memory(id="b", content="Nobody knows."),
        Memory(id="c", content="The kettle is blue!"),
    ]
    with world("sqlite", memories) as store:
        text = Memory(id=base, content="The kettle is blue!")
        found = neighbours(store, text, SETTINGS, NeighbourQuery(least=0.9))
    expected = [("a", 0.947368)] if base == "c" else [("c", 1.0), ("a", 0.947368)]
    assert told(found) == expected
    assert found.tally.notes == (BY_WORDING,)


def test_a_memory_that_is_not_there_is_named() -> None:
    with world("sqlite", [memory("a", A)]) as store:
        with pytest.raises(InputError, match="no memory 'z'"):
            memory_of(store, "z")
