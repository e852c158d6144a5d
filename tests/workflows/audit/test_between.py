"""What is said in several stores or namespaces is reported; scopes never mix unless asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, apply, find, keep_both, open_store, plan
from echoless.stores import Store
from echoless.stores.jsonl import JsonlStore
from echoless.workflows.audit.between import (
    Between,
    between_namespaces,
    between_stores,
)
from echoless.workflows.dedupe import judging
from tests.conformance.stores import fill
from tests.conformance.strategies import worlds
from tests.laws.worlds import everything, folder, quick, safe

TEA = "Anna drinks green tea in the morning."
PORT = "The database listens on port 5432."


class Document(JsonlStore):
    """A store of one owner, whose namespaces are its headings."""

    capabilities = replace(JsonlStore.capabilities, sectioned=True)


def memory(id_: str, content: str, namespace: str = "") -> Memory:
    return Memory(id=id_, content=content, namespace=namespace)


def between(*sides: Sequence[Memory]) -> Between:
    with folder() as place:
        for at, memories in enumerate(sides):
            fill(f"jsonl:///{place}/{at}.jsonl", memories)
        with ExitStack() as stack:
            stores = [
                stack.enter_context(open_store(f"jsonl:///{place}/{at}.jsonl"))
                for at in range(len(sides))
            ]
            return between_stores(stores, safe())


def ids(report: Between) -> list[list[str]]:
    return [[report.places[id_].id for id_ in group.ids] for group in report.groups]


def test_the_same_said_in_two_stores_is_reported_with_both_places() -> None:
    report = between([memory("a", PORT), memory("x", TEA)], [memory("b", PORT.replace(".", "!"))])
    ((group),) = report.groups
    assert report.places[group.survivor].store.endswith("/0.jsonl")
    ((member),) = group.members
    assert report.places[member.id].store.endswith("/1.jsonl")
    assert member.verdict == "duplicate"
    assert ids(report) == [["a", "b"]]


def test_copies_within_one_store_are_left_to_its_own_audit() -> None:
    report = between([memory("a", PORT), memory("b", PORT)], [memory("c", TEA)])
    assert report.groups == ()
    assert report.pairs == ()


def test_copies_within_a_store_stand_with_what_another_store_says_too() -> None:
    report = between([memory("a", PORT), memory("b", PORT)], [memory("c", PORT)])
    assert ids(report) == [["a", "b", "c"]]


def test_what_only_looks_alike_is_named_with_its_difference() -> None:
    report = between([memory("a", PORT)], [memory("b", PORT.replace("5432", "5433"))])
    assert report.groups == ()
    ((pair),) = report.pairs
    assert [report.places[id_].id for id_ in (pair.a, pair.b)] == ["a", "b"]
    assert (pair.verdict, pair.difference) == ("contradiction", "number")


@pytest.mark.parametrize("label", ["**Why:** ", "**How to apply:** ", "**Why**: "])
def test_a_rule_is_compared_without_the_reasons_below_it(label: str) -> None:
    reasons = f"\n\n{label}a second server took the port in March.\nAsk Bob first."
    report = between([memory("a", PORT + reasons)], [memory("b", PORT)])
    assert ids(report) == [["a", "b"]] or ids(report) == [["b", "a"]]
    assert set(report.texts) == {PORT, PORT + reasons}
    assert any("only the rule above them" in note for note in report.tally.notes)
    other = between([memory("a", PORT.replace("5432", "5433") + reasons)], [memory("b", PORT)])
    assert [pair.difference for pair in other.pairs] == ["number"]
    only = between([memory("a", reasons.strip())], [memory("b", PORT)])
    assert only.groups == ()


def test_two_users_of_two_stores_never_meet() -> None:
    sides = [memory("a", TEA, "alice")], [memory("b", TEA, "bob")]
    report = between(*sides)
    assert report.groups == ()
    assert report.unmet == ("alice", "bob")


def test_one_user_meets_itself_and_what_belongs_to_nobody() -> None:
    sides = (
        [memory("a", TEA, "alice"), memory("b", TEA, "bob")],
        [memory("c", TEA, "alice")],
        [memory("d", TEA)],
    )
    told = [set(each) for each in ids(between(*sides))]
    assert {"a", "c", "d"} in told
    assert {"b", "d"} in told
    assert not any({"a", "b"} <= each or {"b", "c"} <= each for each in told)


def test_headings_of_a_document_are_compared_with_any_namespace(tmp_path: Path) -> None:
    fill(f"jsonl:///{tmp_path}/a.jsonl", [memory("a", TEA, "Style > Drinks")])
    fill(f"jsonl:///{tmp_path}/b.jsonl", [memory("b", TEA, "alice")])
    with Document.open(f"{tmp_path}/a.jsonl") as one, open_store(f"{tmp_path}/b.jsonl") as other:
        assert ids(between_stores([one, other], safe())) == [["a", "b"]]


def test_hidden_memories_are_not_reported_again(tmp_path: Path) -> None:
    fill(f"jsonl:///{tmp_path}/a.jsonl", [memory("a", PORT), memory("b", PORT)])
    fill(f"jsonl:///{tmp_path}/b.jsonl", [memory("c", PORT)])
    with open_store(f"{tmp_path}/a.jsonl") as one, open_store(f"{tmp_path}/b.jsonl") as other:
        apply(one, plan(find(one, safe())))
        assert ids(between_stores([one, other], safe())) == [["a", "c"]]


def test_one_store_between_its_namespaces(tmp_path: Path) -> None:
    memories = [memory("a", PORT, "x"), memory("b", PORT, "y"), memory("c", PORT, "y")]
    fill(f"jsonl:///{tmp_path}/a.jsonl", [*memories, memory("d", TEA, "x")])
    with Document.open(f"{tmp_path}/a.jsonl") as store:
        report = between_namespaces(store, safe())
        assert report is not None
        assert ids(report) == [["a", "b", "c"]]
        assert [report.places[m.id].namespace for m in report.groups[0].members] == ["y", "y"]


def test_a_pair_a_person_keeps_is_not_reported_across_namespaces(tmp_path: Path) -> None:
    fill(f"jsonl:///{tmp_path}/a.jsonl", [memory("a", PORT, "x"), memory("b", PORT, "y")])
    with Document.open(f"{tmp_path}/a.jsonl") as store:
        keep_both(store, [("a", "b")])
        report = between_namespaces(store, safe())
        assert report is not None
        assert report.groups == ()


def test_namespaces_that_may_be_users_are_not_compared(tmp_path: Path) -> None:
    fill(f"jsonl:///{tmp_path}/a.jsonl", [memory("a", PORT, "x"), memory("b", PORT, "y")])
    with open_store(f"{tmp_path}/a.jsonl") as store:
        assert between_namespaces(store, safe()) is None


@pytest.mark.parametrize("sides", [0, 1])
def test_fewer_than_two_stores_have_nothing_in_common(sides: int) -> None:
    assert between(*[[memory("a", PORT)]] * sides).groups == ()


@quick
@given(told=worlds(max_size=10), places=st.lists(st.integers(0, 2), min_size=10, max_size=10))
def test_the_order_of_stores_does_not_matter_and_users_never_mix(
    told: list[Memory], places: list[int]
) -> None:
    with folder() as place, ExitStack() as stack:
        stores: list[Store] = []
        for side in range(3):
            url = f"jsonl:///{place}/{side}.jsonl"
            fill(url, [m for m, at in zip(told, places, strict=False) if at == side])
            stores.append(stack.enter_context(open_store(url)))
        before = everything(stores[0])
        orders = (stores, stores[::-1], stores[1:] + stores[:1])
        first, *others = (between_stores(order, safe()) for order in orders)
        assert everything(stores[0]) == before
        for each in others:
            assert (each.groups, each.pairs) == (first.groups, first.pairs)
        for group in first.groups:
            places = [first.places[id_] for id_ in group.ids]
            assert len({place.namespace for place in places} - {""}) <= 1
            assert len({place.store for place in places}) > 1
        for pair in first.pairs:
            a, b = first.places[pair.a], first.places[pair.b]
            assert a.store != b.store
            assert a.namespace == b.namespace or "" in {a.namespace, b.namespace}


def test_ids_in_the_report_are_those_of_the_stores() -> None:
    report = between([memory("a", " ")], [memory("b", PORT), replace(memory("c", PORT))])
    assert all(ids_[0].endswith(" a") for ids_ in report.tally.skipped.values())


def test_pairs_with_little_wording_in_common_are_counted_beyond_their_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = "the harbour office of the northern district"
    one = [memory(f"a-{n}", f"Alpha {n} met beta {n} at {shared}.") for n in range(3)]
    other = [memory(f"b-{n}", f"{shared}: {'gamma delta epsilon ' * 2}{n}") for n in range(3)]
    assert between(one, other).left_out == 0
    monkeypatch.setattr(judging, "MOST_FAR", 2)
    report = between(one, other)
    assert report.left_out > 0
    assert any("not checked by the pair model" in note for note in report.tally.notes)
