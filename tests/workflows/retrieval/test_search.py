from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from echoless import Memory, apply, open_store, search, similar
from echoless.core.errors import UsageError
from echoless.stores import Store
from echoless.workflows.retrieval.search import fused
from tests.conformance.encoders import WordBag
from tests.conformance.stores import fill, plan_by_hand
from tests.laws.worlds import KINDS, SUFFIX

TOLD = [
    Memory(id="tea-1", content="Tea is served at four in the garden.", namespace="home"),
    Memory(id="tea-2", content="At four, tea is served in the garden.", namespace="home"),
    Memory(id="tea-3", content="In the garden tea is served, at four.", namespace="home"),
    Memory(id="cake", content="Cake goes well with tea.", namespace="home"),
    Memory(id="work", content="The tea budget of the office is spent.", namespace="work"),
    Memory(id="ja", content="四時に庭でお茶が出る。", namespace="home"),
    Memory(id="blank", content=" "),
]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = f"{request.param}:///{tmp_path}/m.{SUFFIX[request.param]}"
    fill(url, TOLD)
    with open_store(url) as opened:
        apply(opened, plan_by_hand(opened, [("tea-1", "tea-2", "tea-3")], "mark"))
        yield opened


@pytest.fixture(autouse=True)
def _encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "echoless.models.encoders.registry.open_encoder",
        lambda spec: None if spec in {"none", "stored"} else WordBag(),
    )


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_duplicates_fold_and_their_places_are_filled(store: Store, mode: str) -> None:
    answer = search(store, "tea served garden four", mode=mode, limit=3)  # type: ignore[arg-type]
    ids = [hit.memory.id for hit in answer.hits]
    assert ids[0] == "tea-1"
    assert len(ids) == len(set(ids)) == 3
    assert {"tea-2", "tea-3"}.isdisjoint(ids)
    assert set(answer.hits[0].hidden) == {"tea-2", "tea-3"}
    assert answer.hidden == 2


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_duplicates_are_shown_on_request_with_what_they_stand_behind(
    store: Store, mode: str
) -> None:
    answer = search(store, "tea served garden four", mode=mode, limit=3, include_duplicates=True)  # type: ignore[arg-type]
    assert {hit.memory.id for hit in answer.hits} == {"tea-1", "tea-2", "tea-3"}
    assert {hit.survivor for hit in answer.hits} == {None, "tea-1"}
    assert answer.hidden == 0


def test_a_survivor_appears_where_only_its_duplicate_matched(tmp_path: Path) -> None:
    told = [Memory(id="a", content="The lift is broken."), Memory(id="b", content="Elevator dead.")]
    fill(f"sqlite:///{tmp_path}/x.db", told)
    with open_store(tmp_path / "x.db") as store:
        apply(store, plan_by_hand(store, [("a", "b")], "mark"))
        (hit,) = search(store, "elevator").hits
    assert (hit.memory.id, hit.hidden) == ("a", ("b",))


def test_only_the_namespace_asked_for_is_searched(store: Store) -> None:
    assert [h.memory.id for h in search(store, "tea", namespace="work").hits] == ["work"]


def test_scripts_without_spaces_are_found_in_every_kind_of_store(store: Store) -> None:
    assert [h.memory.id for h in search(store, "お茶").hits] == ["ja"]


def test_a_search_that_finds_nothing_is_empty(store: Store) -> None:
    assert search(store, "zebra").hits == ()


def test_similar_falls_back_to_words_without_an_encoder(store: Store) -> None:
    answer = similar(store, "tea budget", encoder="none", limit=1)
    assert [h.memory.id for h in answer.hits] == ["work"]
    assert answer.tally.notes == ("No encoder is at hand, so only words were compared.",)


@pytest.mark.parametrize(
    ("query", "options", "says"),
    [
        (" ", {}, "query is empty"),
        ("tea", {"mode": "magic"}, "Unknown search mode 'magic'"),
        ("tea", {"limit": 0}, "--limit must be"),
        ("tea", {"namespace": "moon"}, "no namespace 'moon'"),
        ("tea", {"mode": "vector", "encoder": "none"}, "needs an encoder"),
    ],
)
def test_a_wrong_question_gets_one_sentence(
    store: Store, query: str, options: dict[str, object], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        search(store, query, **options)  # type: ignore[arg-type]


def test_fusion_prefers_what_both_rankings_know() -> None:
    assert [i for i, _ in fused([[("a", 9), ("b", 8)], [("b", 1), ("c", 0.5)]])] == ["b", "a", "c"]
