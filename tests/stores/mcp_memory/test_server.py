"""What the real memory server returns while echoless hides and shows; it is never restarted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import apply, find, open_store, plan, undo
from echoless.cli.main import main
from tests.conformance.stores import plan_by_hand
from tests.stores.mcp_memory.memory_server import MemoryServer

ANN = ["Prefers dark mode", "prefers dark mode.", "Lives in Oslo", "Plays chess on Sundays"]


def fill(server: MemoryServer) -> None:
    server.call(
        "create_entities",
        entities=[
            {"name": "Ann", "entityType": "person", "observations": ANN},
            {"name": "Auth Service", "entityType": "service", "observations": ["Uses JWT"]},
            {"name": "auth-service", "entityType": "service", "observations": ["Port 8443"]},
        ],
    )
    server.call(
        "create_relations",
        relations=[{"from": "Ann", "to": "auth-service", "relationType": "maintains"}],
    )


def echoless(*arguments: str) -> Result:
    result = CliRunner().invoke(main, [*arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_the_server_finds_no_more_what_is_hidden_and_finds_it_after_undo(
    server: MemoryServer, memory: Path
) -> None:
    fill(server)
    data = memory.read_bytes()
    with open_store(memory) as store:
        found = find(store, encoder="none")
        (group,) = found.groups
        (hidden,) = (found.memories[m.id].content for m in group.members)
        assert hidden in ANN[:2]
        run = apply(store, plan(found))
    assert server.observations("Ann") == [text for text in ANN if text != hidden]
    assert hidden not in json.dumps(server.call("read_graph"))
    assert server.search("dark mode") == ["Ann"]
    with open_store(memory) as store:
        undo(store, run.id)
    assert server.observations("Ann") == ANN
    assert memory.read_bytes() == data


def test_a_text_that_is_hidden_alone_is_not_searched_for(
    server: MemoryServer, memory: Path
) -> None:
    fill(server)
    with open_store(memory) as store:
        ids = {m.content: m.id for m in store.scan()}
        pair = (ids["Lives in Oslo"], ids["Plays chess on Sundays"])
        run = apply(store, plan_by_hand(store, [pair], "mark"))
        assert server.search("chess") == []
        undo(store, run.id)
    assert server.search("chess") == ["Ann"]


def test_what_the_server_wrote_in_between_stays_and_the_rest_comes_back(
    server: MemoryServer, memory: Path
) -> None:
    fill(server)
    with open_store(memory) as store:
        ids = {m.content: m.id for m in store.scan()}
        pairs = [(ids[ANN[0]], ids[ANN[1]]), (ids[ANN[2]], ids[ANN[3]])]
        run = apply(store, plan_by_hand(store, pairs, "mark"))
    server.call(
        "add_observations",
        observations=[{"entityName": "Ann", "contents": ["Moved to Bergen in May"]}],
    )
    server.call("delete_observations", deletions=[{"entityName": "Ann", "observations": [ANN[0]]}])
    server.call(
        "create_entities", entities=[{"name": "Ben", "entityType": "person", "observations": []}]
    )
    with open_store(memory) as store:
        assert {m.id for m in store.scan()} >= {ids[text] for text in ANN[1:]}
        undo(store, run.id)
    assert sorted(server.observations("Ann")) == sorted([*ANN[1:], "Moved to Bergen in May"])
    names = [each["name"] for each in server.call("read_graph")["entities"]]
    assert names == ["Ann", "Auth Service", "auth-service", "Ben"]


def test_an_entity_deleted_meanwhile_comes_back_by_undo_alone_with_what_was_hidden(
    server: MemoryServer, memory: Path
) -> None:
    fill(server)
    ran = echoless("dedup", str(memory), "--apply", "--encoder", "none")
    assert "1 memory hidden" in ran.stdout
    server.call("delete_entities", entityNames=["Ann"])
    assert "2 memories" in echoless("audit", str(memory), "--encoder", "none").stdout
    undone = echoless("undo", str(memory), "last")
    assert "deleted since and are in the file again" in undone.stderr
    assert server.observations("Ann") in ([ANN[0]], [ANN[1]])


def test_what_was_hidden_of_a_deleted_entity_is_not_shown_again_by_a_check(
    server: MemoryServer, memory: Path
) -> None:
    fill(server)
    echoless("dedup", str(memory), "--apply", "--encoder", "none")
    server.call("delete_entities", entityNames=["Ann"])
    checked = echoless("check", str(memory))
    assert "its mark was dropped" in checked.stdout
    assert [each["name"] for each in server.call("read_graph")["entities"]] == [
        "Auth Service",
        "auth-service",
    ]
    assert not memory.with_name("memory.jsonl.hidden").exists()
    assert "mended" not in echoless("check", str(memory)).stdout


def test_a_file_the_server_cannot_read_is_one_echoless_refuses(
    server: MemoryServer, memory: Path
) -> None:
    fill(server)
    data = memory.read_bytes()
    for broken in (data[:-9], b"\xef\xbb\xbf" + data):
        memory.write_bytes(broken)
        with pytest.raises(ValueError, match="JSON"):
            server.call("read_graph")
    result = CliRunner().invoke(main, ["audit", str(memory)])
    assert "byte order mark" in result.output
