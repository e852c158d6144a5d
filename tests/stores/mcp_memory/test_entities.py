from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from echoless import apply, find, open_store, plan, undo
from echoless.core.errors import PlanForeign, StoreReadOnly
from echoless.core.model import Memory
from echoless.execution.integrity import check
from echoless.stores.mcp_memory.graph_lines import name_key
from echoless.testing.stores import plan_by_hand
from tests.stores.mcp_memory.graphs import STYLES, written

ENTITIES = [
    ("Auth Service", "service", ["Listens on port 8443", "Is written in Go"]),
    ("auth-service", "Service", ["Listens on port 8443", "Belongs to team Platform"]),
    ("Ingrid", "person", ["Likes tea"]),
    ("AuthService", "service", ["Restarts at night", "Belongs to team Platform"]),
    ("auth-service v2", "service", ["Is written in Rust"]),
    ("Auth Service", "team", ["Has five members"]),
]
RELATIONS = [
    ("Ingrid", "auth-service", "maintains"),
    ("AuthService", "auth-service", "alias of"),
    ("Ingrid", "AuthService", "maintains"),
    ("auth-service", "Ingrid", "pages"),
    ("Ingrid", "Ingrid", "knows"),
]


def made(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return f"mcp-memory:///{path}#entities"


def graph(path: Path) -> tuple[dict[str, list[str]], list[tuple[str, str, str]]]:
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
    entities = {
        f"{row['name']} ({row['entityType']})": row["observations"]
        for row in rows
        if row["type"] == "entity"
    }
    relations = [
        (row["from"], row["to"], row["relationType"]) for row in rows if row["type"] == "relation"
    ]
    return entities, relations


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Auth Service", "auth-service", True),
        ("AuthService", "auth_service", True),
        ("GitHub", "github", True),
        ("node.js", "Node JS", True),
        ("API v1", "API v2", False),
        ("auth-staging", "auth-prod", False),
        ("release 1.2", "release 12", False),
        ("user 1", "user 11", False),
        ("C", "C++", False),
        ("C#", "C++", False),
        ("service", "services", False),
        (".NET", "NET", False),
        ("李雷", "李 雷", True),
    ],
)
def test_names_are_near_equal_by_case_and_separators_alone(
    one: str, other: str, same: bool
) -> None:
    assert (name_key(one) == name_key(other)) is same


@pytest.mark.parametrize("style", STYLES)
def test_entities_that_are_one_are_united_and_come_apart_byte_for_byte(
    tmp_path: Path, style: str
) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, data := written(ENTITIES, RELATIONS, style))
    with open_store(url) as store:
        found = find(store)
        (group,) = found.groups
        assert {group.survivor, *(m.id for m in group.members)} == {
            "Auth Service",
            "AuthService",
            "auth-service",
        }
        run = apply(store, plan(found))
        entities, relations = graph(path)
        assert entities["Auth Service (service)"] == [
            "Listens on port 8443",
            "Is written in Go",
            "Restarts at night",
            "Belongs to team Platform",
        ]
        assert entities["auth-service v2 (service)"] == ["Is written in Rust"]
        assert entities["Auth Service (team)"] == ["Has five members"]
        assert sorted(relations) == [
            ("Auth Service", "Ingrid", "pages"),
            ("Ingrid", "Auth Service", "maintains"),
            ("Ingrid", "Ingrid", "knows"),
        ]
        assert [note for note in store.notes() if "left out: 1" in note] == store.notes()[:2]
        assert not check(store).problems
    with open_store(url) as store:
        assert store.count() == len(ENTITIES)
        assert not find(store).groups
        undo(store, run.id)
        assert path.read_bytes() == data
    assert not path.with_name("memory.jsonl.entities.hidden").exists()


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_runs_that_share_relations_and_texts_are_undone_in_any_order(
    tmp_path: Path, order: tuple[int, int, int]
) -> None:
    entities = [
        (name, "service", [name, "Is written in Go"]) for name in ("A", "a", "a_", "B", "b")
    ]
    relations = [("a", "b", "calls"), ("a_", "B", "calls"), ("b", "a_", "calls"), ("a", "a_", "is")]
    path = tmp_path / "memory.jsonl"
    url = made(path, data := written(entities, relations))
    with open_store(url) as store:
        pairs = [("A", "a"), ("B", "b"), ("A", "a_")]
        runs = [apply(store, plan_by_hand(store, [pair], "mark")).id for pair in pairs]
        whole, leading = graph(path)
        assert whole == {
            "A (service)": ["A", "Is written in Go", "a", "a_"],
            "B (service)": ["B", "Is written in Go", "b"],
        }
        assert sorted(leading) == [("A", "B", "calls"), ("B", "A", "calls")]
    for at in order:
        with open_store(url) as store:
            undo(store, runs[at])
            left = {end for triple in graph(path)[1] for end in triple[:2]}
            hidden = set(store.ledger.marks())
            assert not left & hidden, "no relation leads to a hidden entity"
    assert path.read_bytes() == data


def test_a_second_entity_that_gave_the_same_text_still_gives_it(tmp_path: Path) -> None:
    entities = [("A", "s", ["one"]), ("a", "s", ["two"]), ("a_", "s", ["two", "three"])]
    path = tmp_path / "memory.jsonl"
    url = made(path, data := written(entities))
    with open_store(url) as store:
        first = apply(store, plan_by_hand(store, [("A", "a")], "mark")).id
        second = apply(store, plan_by_hand(store, [("A", "a_")], "mark")).id
        undo(store, first)
        assert graph(path)[0]["A (s)"] == ["one", "two", "three"]
        undo(store, second)
        assert path.read_bytes() == data


def test_what_the_agent_changed_since_stays(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, written(ENTITIES, RELATIONS))
    with open_store(url) as store:
        run = apply(store, plan(find(store)))
        rows = [json.loads(line) for line in path.read_bytes().split(b"\n")]
        rows[0]["observations"].remove("Restarts at night")
        rows[0]["observations"].append("Was moved to Oslo")
        rows.insert(1, {"type": "entity", "name": "New", "entityType": "x", "observations": []})
        path.write_text("\n".join(json.dumps(row) for row in rows))
        undo(store, run.id)
    entities, relations = graph(path)
    assert entities.pop("New (x)") == []
    assert entities.pop("Auth Service (service)") == [
        "Listens on port 8443",
        "Is written in Go",
        "Was moved to Oslo",
    ]
    assert entities == {f"{n} ({t})": list(texts) for n, t, texts in ENTITIES[1:]}
    assert relations == RELATIONS


def test_delete_hides_and_nothing_is_made_or_renamed(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, data := written(ENTITIES, RELATIONS))
    with open_store(url) as store:
        made_plan = plan(find(store), action="delete")
        assert {action.kind for action in made_plan.actions} == {"mark"}
        with store.writing():
            with pytest.raises(StoreReadOnly, match="made and named by the memory server"):
                store.put([Memory(id="New", content="New")])
            with pytest.raises(StoreReadOnly, match="delete_entities"):
                store.remove(["Ingrid"])
    assert path.read_bytes() == data


def test_a_plan_of_one_view_is_foreign_to_the_other(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    url = made(path, written(ENTITIES, RELATIONS))
    with open_store(url) as entities, open_store(path) as observations:
        with pytest.raises(PlanForeign):
            apply(observations, plan(find(entities)))


def test_an_audit_of_the_observations_names_the_entities_that_may_be_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(written(ENTITIES, [*RELATIONS, RELATIONS[0], ("Ingrid", "Oslo", "lives in")]))
    with open_store(path) as store:
        list(store.scan())
        told = "\n".join(store.remarks())
    assert "'Auth Service' = 'AuthService' = 'auth-service'" in told
    assert f"`echoless audit 'mcp-memory:///{path}#entities'`" in told
    assert "stand more than once: 1 (Ingrid -maintains-> auth-service)" in told
    assert "not in the file: 1 (Ingrid -lives in-> Oslo)" in told
