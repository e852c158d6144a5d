"""Law 11: vectors of different models or dimensions never meet."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, Vector, find
from echoless.core.settings import Choices, resolve
from tests.laws.worlds import KINDS, quick, world

STORED = resolve(Choices(encoder="stored"))


def vector(model: str, numbers: list[float]) -> Vector:
    return Vector(model, struct.pack(f"<{len(numbers)}f", *numbers))


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(
    spaces=st.lists(
        st.tuples(st.sampled_from(["m@1", "m@2", "n@1"]), st.sampled_from([2, 3, 4])),
        min_size=2,
        max_size=8,
    )
)
def test_only_vectors_of_one_model_and_length_are_compared(
    kind: str, spaces: list[tuple[str, int]]
) -> None:
    # Texts share no word and no character triple, so only vectors can propose a pair.
    words = ["abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx"]
    told = [
        Memory(id=f"m-{n}", content=words[n], vectors=(vector(model, [1.0] * size),))
        for n, (model, size) in enumerate(spaces)
    ]
    with world(kind, told) as store:
        found = find(store, STORED)
    space = {m.id: s for m, s in zip(told, spaces, strict=True)}
    sizes: dict[str, list[int]] = {}
    for model, size in spaces:
        sizes.setdefault(model, []).append(size)
    comparable = 0
    for model, seen in sizes.items():
        chosen = max(seen, key=lambda s: (seen.count(s), s))
        count = seen.count(chosen)
        comparable += count * (count - 1) // 2
        foreign = {i for i, (m, s) in space.items() if m == model and s != chosen}
        assert foreign <= set(found.tally.skipped.get("vector of a foreign dimension", ()))
    assert found.counts["candidates"] == comparable


def test_vectors_that_cannot_be_compared_are_counted_not_raised() -> None:
    told = [
        Memory(id="good", content="abc", vectors=(vector("m", [1, 0]),)),
        Memory(id="zero", content="def", vectors=(vector("m", [0, 0]),)),
        Memory(id="nan", content="ghi", vectors=(vector("m", [float("nan"), 1]),)),
        Memory(id="none", content="jkl"),
    ]
    with world("sqlite", told) as store:
        assert find(store, STORED).tally.skipped == {
            "no vector": ("none",),
            "vector is not finite": ("nan",),
            "vector is zero": ("zero",),
        }
