"""What follows from an answer: one memory of two, on every kind of store, and back."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import (
    Link,
    Memory,
    Store,
    Vector,
    consolidate,
    history,
    merge_memories,
    open_store,
    plan_merge,
    undo,
)
from echoless.core.errors import EncoderError, InputError, UsageError
from echoless.core.model import fingerprint
from echoless.core.profiles import ACTIONS, ActionKind
from echoless.core.settings import Choices, resolve
from echoless.workflows.consolidation.merge_pairs import keep_both
from tests.conformance.encoders import WordBag
from tests.conformance.stores import contents, fill
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, picture, quick, world
from tests.workflows.stored_vectors import embedded

PORT = "The staging database listens on port 5432."
NIGHT = "The staging database is backed up every night."
BOTH = "The staging database listens on port 5432 and is backed up every night."


def two(**fields: object) -> list[Memory]:
    return [
        Memory(id="m-0", content=PORT, tags=("a",), access_count=2, created_at="2026-01-01"),
        Memory(id="m-1", content=NIGHT, tags=("b",), access_count=3, created_at="2025-01-01"),
    ]


# ------------------------------------------------------------------ any store


STORES = ("sqlite", "jsonl", "chroma", "lancedb")


@contextmanager
def store_of(kind: str, folder: Path, memories: Sequence[Memory]) -> Iterator[Store]:
    place = {"sqlite": "m.db", "jsonl": "m.jsonl", "chroma": "db#own", "lancedb": "db#own"}[kind]
    url = f"{kind}:///{folder}/{place}"
    if kind == "chroma":
        from tests.echoless_stores.chroma_folders import Row, make

        rows = [
            Row(m.id, m.content, struct.unpack("<64f", m.vectors[0].data), {"n": n})
            for n, m in enumerate(memories)
        ]
        make(folder / "db", "own", rows)
    else:
        fill(url, memories)
    with open_store(url) as store:
        yield store


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", STORES)
def test_two_memories_become_one_on_every_store_and_two_again(
    kind: str, action: ActionKind, tmp_path: Path
) -> None:
    with store_of(kind, tmp_path, embedded(two(), WordBag())) as store:
        before = {memory.id: fingerprint(memory) for memory in store.scan()}
        done = merge_memories(store, "m-0", "m-1", action=action)
        assert (done.memory.id, done.removed) == ("m-0", "m-1")
        assert ("m-1" in store.get(["m-1"])) == (action != "delete")
        assert ("m-1" in store.ledger.marks()) == (action != "delete")
        assert [r.id for r in history(store.ledger)] == [done.run]
        undo(store, done.run)
        assert {memory.id: fingerprint(memory) for memory in store.scan()} == before
        assert store.ledger.marks() == {}


@pytest.mark.parametrize("kind", STORES)
def test_a_new_text_gets_a_vector_by_the_model_of_the_store(kind: str, tmp_path: Path) -> None:
    bag = WordBag()
    with store_of(kind, tmp_path, embedded(two(), bag)) as store:
        before = store.get(["m-0"])["m-0"]
        done = merge_memories(
            store, "m-0", "m-1", BOTH, embed=lambda texts: bag.encode(texts).tolist()
        )
        (vector,) = done.memory.vectors
        assert done.memory.content == BOTH
        assert vector == Vector(before.vectors[0].model, bag.encode([BOTH])[0].tobytes())
        undo(store, done.run)
        assert store.get(["m-0"])["m-0"] == before


@pytest.mark.parametrize("kind", STORES)
def test_on_every_store_offering_writes_nothing_and_an_answer_is_remembered(
    kind: str, tmp_path: Path
) -> None:
    memories = embedded([*two(), Memory(id="m-2", content=f"{PORT} ")], WordBag())
    with store_of(kind, tmp_path, memories) as store:
        before = contents(tmp_path)
        (pair, *_) = consolidate(store, encoder="stored", limit=1).pairs
        assert contents(tmp_path) == before
        assert (pair.a.id, pair.b.id) == ("m-0", "m-2")
        records = list(store.scan())
        keep_both(store, "m-2", "m-0")
        assert list(store.scan()) == records
        pairs = consolidate(store, encoder="stored", limit=None).pairs
        assert ("m-0", "m-2") not in {(each.a.id, each.b.id) for each in pairs}


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(
    memories=worlds(pinned=False),
    which=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    action=st.sampled_from(ACTIONS),
)
def test_applying_and_undoing_a_merge_restores_the_store(
    kind: str, memories: list[Memory], which: tuple[int, int], action: ActionKind
) -> None:
    with world(kind, memories) as store:
        before = picture(store)
        try:
            done = merge_memories(store, f"m-{which[0]}", f"m-{which[1]}", action=action)
        except (InputError, UsageError):
            assert picture(store) == before
            return
        assert done.removed in store.ledger.marks() or not store.get([done.removed])
        undo(store, done.run)
        assert picture(store) == before


# ------------------------------------------------------------------ what is taken over, and told


def test_the_one_that_stays_takes_over_what_the_other_knows() -> None:
    with world("sqlite", two()) as store:
        kept = merge_memories(store, "m-0", "m-1").memory
    assert (kept.content, kept.tags, kept.access_count) == (PORT, ("a", "b"), 5)
    assert kept.created_at == "2025-01-01"


def test_with_delete_links_to_what_is_removed_point_at_what_stays() -> None:
    third = Memory(id="m-2", content="See the ports.", links=(Link("m-1"),))
    with world("sqlite", [*two(), third]) as store:
        merge_memories(store, "m-0", "m-1", action="delete")
        assert store.get(["m-2"])["m-2"].links == (Link("m-0"),)


def test_what_only_the_other_one_said_is_told_and_stands_in_the_history() -> None:
    port, _ = two()
    other = replace(port, id="m-1", content="The staging database listens on port 5433.")
    with world("sqlite", [port, other]) as store:
        done = merge_memories(store, "m-0", "m-1")
        assert done.notes == ("m-1: not in the text that stays: 5433.",)
        (event,) = store.ledger.events(done.run, "action_started")
        assert "5433" in str(event.data)
        assert "asked for" in str(event.data)


def test_who_decided_stands_in_the_plan() -> None:
    with world("sqlite", two()) as store:
        assert plan_merge(store, "m-0", "m-1").actions[0].why == "chosen by the caller"
        made = plan_merge(store, "m-0", "m-1", BOTH, by="Anna")
    assert made.actions[0].why == "chosen by Anna"
    assert made.actions[0].rewrite is not None
    assert made.actions[0].rewrite.by == "Anna"


# ------------------------------------------------------------------ what is refused


def test_a_memory_that_is_not_there_is_named() -> None:
    with world("sqlite", two()) as store:
        for pair in (("m-0", "m-9"), ("m-9", "m-0")):
            with pytest.raises(InputError, match="no memory 'm-9'"):
                merge_memories(store, *pair)
            with pytest.raises(InputError, match="no memory 'm-9'"):
                keep_both(store, *pair)
        for answer in (keep_both, plan_merge):
            with pytest.raises(UsageError, match="named twice"):
                answer(store, "m-0", "m-0")


def test_scopes_are_never_merged() -> None:
    one, other = two()
    with world("sqlite", [one, replace(other, namespace="home")]) as store:
        with pytest.raises(UsageError, match="namespace '' and m-1 'home'"):
            merge_memories(store, "m-0", "m-1")
    typed = resolve(Choices(profile="llm-memory"))
    with world("sqlite", [one, replace(other, type="note")]) as store:
        with pytest.raises(UsageError, match="type '' and m-1 'note'"):
            merge_memories(store, "m-0", "m-1", settings=typed)


def test_a_pinned_memory_stays_and_keeps_its_text() -> None:
    one, other = two()
    with world("sqlite", [replace(one, pinned=True), other]) as store:
        with pytest.raises(UsageError, match="m-0 is pinned and is not merged away"):
            merge_memories(store, "m-1", "m-0")
        with pytest.raises(UsageError, match="its text is not changed"):
            merge_memories(store, "m-0", "m-1", BOTH)
        assert merge_memories(store, "m-0", "m-1").memory.tags == ("a", "b")


def test_a_survivor_stays_and_what_stands_behind_it_is_not_merged_again() -> None:
    third = Memory(id="m-2", content=PORT)
    with world("sqlite", [*two(), third]) as store:
        merge_memories(store, "m-0", "m-1")
        with pytest.raises(UsageError, match="survivor of an earlier run"):
            merge_memories(store, "m-2", "m-0")
        with pytest.raises(UsageError, match="hidden behind m-0 already"):
            merge_memories(store, "m-1", "m-2")
        merge_memories(store, "m-0", "m-2")
        assert set(store.ledger.marks()) == {"m-1", "m-2"}


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("The staging database is backed up.", "5432"),
        ("The database on port 5432 is read, see below.", "ops/run.md"),
        ("The database on port 5432 is backed up, see ops/run.md.", "never"),
    ],
)
def test_a_text_that_loses_a_number_a_path_or_a_negation_is_refused(text: str, lost: str) -> None:
    port, _ = two()
    other = Memory(id="m-1", content="The database is never backed up by day, see ops/run.md.")
    with world("sqlite", [port, other]) as store:
        before = picture(store)
        with pytest.raises(UsageError, match=f"loses '.*{lost}.*' of m-"):
            merge_memories(store, "m-0", "m-1", text)
        with pytest.raises(UsageError, match="must not be empty"):
            merge_memories(store, "m-0", "m-1", " \n")
        assert picture(store) == before


def test_a_text_keeps_what_stands_hidden_behind_it_already_too() -> None:
    third = Memory(id="m-2", content="The staging database has a replica on port 5555.")
    with world("sqlite", [*two(), third]) as store:
        merge_memories(store, "m-0", "m-2")
        with pytest.raises(UsageError, match=r"loses '.*5555.*' of m-2"):
            merge_memories(store, "m-0", "m-1", BOTH)
        assert merge_memories(store, "m-0", "m-1", f"{BOTH} {third.content}").memory.id == "m-0"


def test_a_mark_changes_no_record_so_it_takes_no_text() -> None:
    with world("sqlite", two()) as store, pytest.raises(UsageError, match="mark changes no record"):
        merge_memories(store, "m-0", "m-1", BOTH, action="mark")


# ------------------------------------------------------------------ vectors of a new text


@pytest.fixture
def bag(monkeypatch: pytest.MonkeyPatch) -> WordBag:
    """The only encoder there is, installed and by any name."""
    made = WordBag()
    monkeypatch.setattr("echoless.models.encoders.registry.open_encoder", lambda _spec: made)
    return made


def test_without_stored_vectors_a_new_text_needs_none(bag: WordBag) -> None:
    with world("sqlite", two()) as store:
        assert merge_memories(store, "m-0", "m-1", BOTH).memory.vectors == ()
    assert bag.asked == []


def test_the_installed_encoder_is_taken_if_it_carries_the_name_of_the_model(bag: WordBag) -> None:
    with world("sqlite", embedded(two(), bag)) as store:
        kept = merge_memories(store, "m-0", "m-1", BOTH).memory
    assert kept.vectors == (Vector(bag.model, bag.encode([BOTH])[0].tobytes()),)


def test_another_encoder_is_refused_with_the_option_to_name(bag: WordBag) -> None:
    with world("sqlite", embedded(two(), WordBag("other@1", 8))) as store:
        before = picture(store)
        for encoder in (None, "word-bag:"):
            with pytest.raises(UsageError, match=r"model 'other@1'.*--encoder NAME:ARG"):
                merge_memories(store, "m-0", "m-1", BOTH, encoder=encoder)
        assert picture(store) == before


def test_an_encoder_of_another_name_is_taken_if_it_makes_the_vector_that_is_stored(
    bag: WordBag,
) -> None:
    with world("sqlite", embedded(two(), bag, model="collection:own")) as store:
        with pytest.raises(UsageError, match="collection:own"):
            merge_memories(store, "m-0", "m-1", BOTH)
        kept = merge_memories(store, "m-0", "m-1", BOTH, encoder="word-bag:").memory
    assert kept.vectors == (Vector("collection:own", bag.encode([BOTH])[0].tobytes()),)
    assert [PORT, BOTH] in bag.asked


def test_an_encoder_of_the_same_length_that_makes_another_vector_is_refused(bag: WordBag) -> None:
    memories = [
        replace(memory, vectors=(Vector("own", struct.pack("<64f", 1, *[0] * 63)),))
        for memory in two()
    ]
    with world("sqlite", memories) as store, pytest.raises(UsageError, match="word-bag@1"):
        merge_memories(store, "m-0", "m-1", BOTH, encoder="word-bag:")


def test_no_encoder_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("echoless.models.encoders.registry.open_encoder", lambda _spec: None)
    with world("sqlite", embedded(two(), WordBag())) as store:
        with pytest.raises(UsageError, match="`echoless encoders` lists"):
            merge_memories(store, "m-0", "m-1", BOTH)


@pytest.mark.parametrize(
    ("row", "says"),
    [([1.0], "1 comp"), ([0.0] * 64, "zero"), ([float("nan")] * 64, "not finite"), (3, "failed")],
)
def test_vectors_that_do_not_fit_leave_everything(row: object, says: str) -> None:
    with world("sqlite", embedded(two(), WordBag())) as store:
        before = picture(store)
        with pytest.raises(EncoderError, match=says):
            merge_memories(store, "m-0", "m-1", BOTH, embed=lambda _texts: [row])  # type: ignore[list-item]
        assert picture(store) == before


def test_with_vectors_of_two_models_a_callable_cannot_know_which_is_meant(bag: WordBag) -> None:
    one, other = embedded(two(), bag)
    more = replace(one, vectors=(*one.vectors, Vector("x@1", struct.pack("<2f", 1, 0))))
    with world("sqlite", [more, other]) as store:
        with pytest.raises(UsageError, match="vectors of 2 models"):
            merge_memories(store, "m-0", "m-1", BOTH, embed=lambda _: [[1.0, 0.0]])
        kept = merge_memories(store, "m-0", "m-1", BOTH, encoder="word-bag:").memory
    assert [vector.model for vector in kept.vectors] == [bag.model]
