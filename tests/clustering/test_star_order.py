"""Stars begun by another order than the survivors', and what a store notices while it reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from echoless import Memory, open_store
from echoless.blocking.vector_join.exact_join import cosine
from echoless.clustering.grouping import Bonds, gather
from echoless.core.model import Duplicate, Evidence, Judged
from echoless.core.settings import Choices, resolve
from echoless.stores.jsonl import JsonlStore
from echoless.stores.live import MemoryList
from echoless.workflows.dedupe.pipeline import find
from tests.conformance.stores import fill, simple

SAME = Duplicate(Evidence("by-hand", "exact", 0.9))


def bonds(*pairs: tuple[str, str]) -> Bonds:
    ids = {i for pair in pairs for i in pair}
    return Bonds([Judged(a, b, SAME) for a, b in pairs], {i: (i,) for i in ids})


def test_the_centre_gathers_and_the_best_ranked_survives() -> None:
    chain = bonds(("a", "b"), ("b", "c"))
    (plain,) = gather("star", chain, ["c", "b", "a"], set())
    assert (plain.survivor, [m.id for m in plain.members]) == ("c", ["b"])
    (group,) = gather("star", chain, ["c", "b", "a"], set(), centres=["b", "a", "c"])
    assert group.survivor == "c"
    assert [(m.id, m.judged is not None) for m in group.members] == [("a", False), ("b", True)]


def test_a_protected_memory_is_never_hidden_by_a_centre() -> None:
    chain = bonds(("a", "b"), ("b", "c"))
    (group,) = gather("star", chain, ["c", "b", "a"], {"c"}, centres=["b", "a", "c"])
    assert (group.survivor, [m.id for m in group.members]) == ("b", ["a"])


def test_groups_among_memories_without_a_store() -> None:
    memories = [simple(1, "The same."), simple(2, "The same."), simple(3, "Another.")]
    (group,) = find(MemoryList(memories), resolve(Choices(semantic=False))).groups
    assert {group.survivor, *(m.id for m in group.members)} == {"m-1", "m-2"}


class _Remarking(JsonlStore):
    def remarks(self) -> Sequence[str]:
        return ["Line 3 is odd."]


def test_what_a_store_remarks_is_told(tmp_path: Path) -> None:
    fill(f"jsonl:///{tmp_path}/m.jsonl", [simple(1), Memory(id="m-2", content="x")])
    settings = resolve(Choices(semantic=False))
    with _Remarking.open(str(tmp_path / "m.jsonl")) as store:
        assert "Line 3 is odd." in find(store, settings).tally.notes
    with open_store(tmp_path / "m.jsonl") as store:
        assert "Line 3 is odd." not in find(store, settings).tally.notes


def test_a_cosine_of_two_vectors_is_rounded_and_bounded() -> None:
    assert cosine((1, 0), (17, 10)) == 0.861934
    assert cosine((3.0, 4.0), (-3.0, -4.0)) == -1.0
    assert cosine((1.0, 0.0), (0.0, 1.0)) == 0.0
    assert cosine((0.0,), (1.0,)) is None
