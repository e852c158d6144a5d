"""A list in, a list out: what is folded, what is held, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import (
    Contradiction,
    Distinct,
    Duplicate,
    Memory,
    Subsumes,
    Update,
    apply,
    distinct,
    find,
    judge,
    plan,
    undo,
)
from echoless.core.errors import InputError, StoreError, UsageError
from echoless.matching.pair_model.network import open_network
from echoless.models.tokenizer import Tokenizer
from echoless.stores.live import MemoryList
from echoless.workflows.item_lists import answer
from tests.laws.worlds import quick

PORT = "The staging database listens on port 5432."
BOLD = "**The staging database listens on port 5432**"
OTHER = "The staging database listens on port 5433."
STANDUP = "Greta wants the standup in the afternoon because she drops her son at school."
REWORDED = "Because she takes her son to school, Greta asks for an afternoon standup."


def words(items: list[Any], **options: str) -> Any:
    return distinct(items, encoder="none", **options)


# ------------------------------------------------------------------ what comes back


def test_the_callers_own_objects_come_back_in_their_order() -> None:
    items = [{"content": OTHER}, {"content": PORT}, {"content": BOLD}, {"content": "Tea at four."}]
    found = words(items)
    assert len(found) == 3
    assert all(
        one is other for one, other in zip(found, [items[0], items[1], items[3]], strict=True)
    )
    assert found[1:] == [items[1], items[3]]
    assert [each.place for each in found.survivors] == [0, 1, 3]


def test_each_folded_item_has_its_verdict_and_a_sentence() -> None:
    found = words([PORT, BOLD, "The spare key hangs in the hallway."])
    (folded,) = found.survivors[0].folded
    assert (folded.item, folded.place) == (BOLD, 1)
    assert isinstance(folded.verdict, Duplicate)
    assert folded.reason == "the same text but for its spelling"


def test_the_default_encoder_finds_copies_in_other_words_and_names_what_a_survivor_adds() -> None:
    key, nail = (
        "The spare key hangs in the hallway.",
        "The spare key hangs in the hallway, on a nail.",
    )
    found = distinct([STANDUP, key, REWORDED, nail])
    assert list(found) == [STANDUP, nail]
    reworded, less = (each.folded[0] for each in found.survivors)
    assert reworded.item == REWORDED
    assert isinstance(less.verdict, Subsumes)
    assert less.verdict.superset == "a"
    assert less.reason == "the one that stays says more: nail"


def test_another_value_is_held_and_not_folded() -> None:
    found = words([PORT, OTHER])
    assert list(found) == [PORT, OTHER]
    (pair,) = found.held
    assert (pair.a, pair.b, pair.places) == (PORT, OTHER, (0, 1))
    assert isinstance(pair.verdict, Contradiction)
    assert pair.reason == "may not both be true: 5432 or 5433"
    assert pair.newer is None


@pytest.mark.parametrize("key", ["created_at", "timestamp"])
@pytest.mark.parametrize("time", ["2026-02-01", datetime(2026, 2, 1, tzinfo=UTC), 1_769_904_000])
def test_times_of_records_tell_which_value_is_newer(key: str, time: object) -> None:
    items = [{"content": PORT, key: time}, {"content": OTHER, key: "2026-01-01"}]
    (pair,) = words(items).held
    assert isinstance(pair.verdict, Update)
    assert pair.newer is items[0]


def test_a_time_that_is_none_is_passed_over() -> None:
    items = [{"content": PORT, "created_at": float("nan")}, {"content": BOLD, "created_at": []}]
    assert len(words(items)) == 1


def test_the_text_may_stand_under_another_key_or_be_an_attribute() -> None:
    class Document:
        def __init__(self, page_content: str) -> None:
            self.page_content = page_content

    docs = [Document(PORT), Document(BOLD)]
    assert list(words(docs, text="page_content")) == docs[:1]
    assert len(words([{"note": PORT}, {"note": BOLD}], text="note")) == 1
    assert len(words([{"note": PORT}, PORT, Document(PORT)][:2], text="note")) == 1


def test_of_a_memory_everything_counts_but_its_id() -> None:
    home, work = (Memory(id="m", content=PORT, namespace=name) for name in ("home", "work"))
    assert list(words([home, work])) == [home, work]
    pinned = Memory(id="m", content=BOLD, pinned=True)
    assert list(words([Memory(id="m", content=PORT), pinned])) == [pinned]


def test_an_iterator_is_read_once() -> None:
    assert list(words(iter([PORT, PORT]))) == [PORT]
    assert list(words([])) == []


@quick
@given(texts=st.lists(st.sampled_from([PORT, BOLD, OTHER, "Tea.", "tea.", "", "a"]), max_size=8))
def test_every_item_is_kept_or_folded_exactly_once(texts: list[str]) -> None:
    found = words(texts)
    places = [each.place for each in found.survivors]
    assert places == sorted(places)
    folded = [item.place for each in found.survivors for item in each.folded]
    assert sorted([*places, *folded]) == list(range(len(texts)))
    assert all(
        texts[at] == item for each in found.survivors for at, item in [(each.place, each.item)]
    )


# ------------------------------------------------------------------ what cannot be compared


def test_what_cannot_be_compared_stays_and_is_named_by_its_place() -> None:
    large = "word " * 1_000_000
    found = words(["", "a", large, large, "\ud800", "  "])
    assert len(found) == 6
    assert found.skipped == {"empty": [0, 5], "too long": [2, 3], "unreadable text": [4]}


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([PORT, None], r"items\[1\] is a NoneType without 'content'"),
        ([3.5], r"items\[0\] is a float without 'content'"),
        ([PORT, PORT, {"id": 1, "body": "x"}], r"items\[2\] has no 'content', only 'id', 'body'"),
        ([{}], r"items\[0\] has no 'content', only nothing"),
        ([{"content": 4}], r"items\[0\] has no text: its 'content' is a int"),
        (PORT, "Expected a list of items, not one str"),
        ({"content": PORT}, "Expected a list of items, not one dict"),
    ],
)
def test_an_item_without_a_text_is_refused_by_its_place(items: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        words(items)


def test_an_unknown_encoder_is_refused() -> None:
    with pytest.raises(UsageError, match="Unknown encoder 'crystal'"):
        distinct([PORT], encoder="crystal")


# ------------------------------------------------------------------ nothing is touched


@pytest.mark.parametrize("encoder", ["fast", "none"])
def test_no_folder_of_the_user_is_made(
    encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CACHE", "DATA", "CONFIG"):
        monkeypatch.setenv(f"ECHOLESS_{name}_DIR", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    distinct([STANDUP, REWORDED, PORT, OTHER], encoder=encoder)
    judge(STANDUP, REWORDED, encoder=encoder)
    assert list(tmp_path.iterdir()) == []


def test_what_a_call_needs_is_read_once_and_a_pair_that_comes_again_is_not_asked_about() -> None:
    distinct([STANDUP, REWORDED])
    read = Tokenizer.read.cache_info().misses
    before = open_network()._last.cache_info()
    distinct([REWORDED, STANDUP])
    after = open_network()._last.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 1)
    assert Tokenizer.read.cache_info().misses == read


# ------------------------------------------------------------------ two texts


def test_two_texts_are_judged() -> None:
    assert isinstance(judge(STANDUP, REWORDED), Duplicate)
    assert isinstance(judge({"content": PORT}, Memory(id="x", content=OTHER)), Contradiction)
    assert isinstance(judge("Tea at four.", "The gateway restarts.", encoder="none"), Distinct)
    with pytest.raises(InputError, match="b is a NoneType without 'content'"):
        judge(PORT, None)


# ------------------------------------------------------------------ a list as a store


def test_a_list_of_memories_is_a_store_that_runs_can_change_and_undo() -> None:
    memories = [Memory(id="b", content=PORT), Memory(id="a", content=BOLD)]
    with MemoryList(memories) as store:
        with pytest.raises(StoreError, match="open for reading"):
            store.remove(["a"])
        run = apply(store, plan(find(store, encoder="none"), action="delete"))
        assert [memory.id for memory in store.scan()] == ["a"]
        undo(store, run.id)
        assert store.get(["a", "b", "c"]) == {memory.id: memory for memory in memories}


# ------------------------------------------------------------------ requests


def asked(request: object) -> dict[str, Any]:
    line = request if isinstance(request, bytes) else json.dumps(request).encode()
    return dict(answer(line, "none"))


def test_a_request_for_a_list_is_answered_by_places() -> None:
    said = asked({"id": "x", "call": "distinct", "items": [PORT, {"content": BOLD}, OTHER]})
    assert said["id"] == "x"
    assert [(each["place"], len(each["folded"])) for each in said["keep"]] == [(0, 1), (2, 0)]
    assert said["keep"][0]["folded"][0] == {
        "place": 1,
        "verdict": "duplicate",
        "superset": None,
        "newer": None,
        "similarity": 1.0,
        "chance": None,
        "reason": "the same text but for its spelling",
    }
    assert {(each["a"], each["b"], each["verdict"]) for each in said["held"]} >= {
        (0, 2, "contradiction")
    }
    assert (said["skipped"], said["unjudged"]) == ({}, 0)


def test_a_request_for_two_texts_is_answered_by_a_verdict() -> None:
    said = asked(
        {"call": "judge", "a": "The team uses Postgres 14.", "b": {"t": PORT}, "text": "t"}
    )
    assert (said["id"], said["verdict"]) == (None, "distinct")


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (b"{", "The line is no request: it "),
        (b"\xff\xfe{}", "The line is no request: it "),
        (b"[" * 1_100, "The line is no request: it "),
        ([], "The line is no request: it is not a JSON object. Expected"),
        ({"id": 4}, "There is no call None. Expected"),
        ({"id": 4, "call": ["judge"]}, "There is no call ['judge']"),
        ({"id": 4, "call": "judge", "a": "x"}, "The call 'judge' lacks 'b'"),
        ({"id": 4, "call": "judge", "a": "x", "b": "y", "c": 1}, "has the unknown 'c'"),
        ({"id": 4, "call": "distinct", "items": "x"}, "'items' is no list."),
        ({"id": 4, "call": "distinct", "items": [None]}, "items[0] is a NoneType"),
        ({"id": 4, "call": "distinct", "items": [], "text": 3}, "'text' and 'encoder' are texts."),
        ({"id": 4, "call": "distinct", "items": ["x"], "encoder": "oracle"}, "Unknown encoder"),
    ],
)
def test_what_cannot_be_answered_has_an_error_of_one_sentence(request_: object, says: str) -> None:
    said = asked(request_)
    assert says in said["error"]
    assert set(said) == {"id", "error"}
    assert said["id"] == (4 if isinstance(request_, dict) else None)
