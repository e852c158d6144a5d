"""A real client over stdio and over HTTP: every tool, errors, the prompt."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from echoless import check, open_store
from tests.mcp.clients import (
    TOOLS,
    TRANSPORTS,
    Agent,
    Opened,
    on_http,
    serving,
)

# ------------------------------------------------------------------ every tool


async def _whole_story(agent: Agent) -> None:
    """Look, tidy, decide pair by pair, go back; every tool at least once, errors in between."""
    call, refused = agent.call, agent.refused
    audit = await call("memory_audit")
    assert audit["counts"]["redundant"] == 3
    assert "port 5433" in (await call("memory_search", query="5433"))["hits"][0]["content"]
    near = await call("memory_similar", memory_id="m-5", min_similarity=0.9)
    assert [each["id"] for each in near["similar_memories"]] == ["m-6"]
    why = await call("memory_explain", a="m-1", b="m-4")
    assert (why["verdict"], why["merge"]) == ("update", False)

    known = await call(
        "memory_remember", text="Anna drinks green tea in the morning", namespace="home"
    )
    assert (known["answer"], known["survivor"]) == ("already_known", "m-5")
    new = await call("memory_remember", text="The office cat is called Minou.", namespace="home")
    assert new["answer"] == "admitted"

    shown = await call("memory_supersede", text="Ten chairs stand in the attic.")
    assert (shown["dry_run"], shown["plan_id"]) == (True, None)

    pairs = (await call("memory_consolidate", advice=["merge"]))["pairs"]
    merge = next(pair["merge"] for pair in pairs if {pair["a"], pair["b"]} == {"m-5", "m-6"})
    preview = await call("memory_merge", keep=merge["keep"], remove=merge["remove"])
    assert preview["dry_run"]
    merged = await call("memory_merge", plan_id=preview["plan_id"])
    assert merged["run"]
    assert "no plan" in await refused("memory_merge", plan_id=preview["plan_id"])
    assert (await call("memory_keep_both", a="m-1", b="m-4"))["kept_both"]

    preview = await call("memory_deduplicate")
    assert [g["primary_id"] for g in preview["duplicate_groups"]] == ["m-1"]
    tidied = await call("memory_deduplicate", plan_id=preview["plan_id"])
    assert tidied["merged"] == 2
    assert (await call("memory_search", query="5432"))["hidden"] == 2

    for run in (tidied["run"], merged["run"], new["run"]):
        back = await call("memory_undo", run=run)
        assert not (await call("memory_undo", plan_id=back["plan_id"]))["dry_run"]
    assert "undone before" in await refused("memory_undo", run=new["run"])
    runs = (await call("memory_history"))["runs"]
    assert [run["status"] for run in runs] == ["undone"] * 3


@TRANSPORTS
def test_a_client_drives_every_tool(opened: Opened, notes: Path) -> None:
    before = notes.read_bytes()

    async def story() -> None:
        async with opened(notes, "--encoder", "none") as client:
            agent = Agent(client)
            await _whole_story(agent)
            assert agent.called == TOOLS == agent.schemas.keys()
            prompt = await client.get_prompt("review_memories", {"namespace": "work", "limit": "5"})
            asked = prompt.messages[0].content
            assert asked.type == "text"
            assert "memory_consolidate with limit=5 and namespace='work'" in asked.text

    anyio.run(story)
    assert notes.read_bytes() == before
    with open_store(notes) as store:
        assert check(store).sound


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_clients_of_older_and_newer_protocols_are_understood(notes: Path, mode: str) -> None:
    async def story() -> None:
        with serving(notes, "--encoder", "none") as url:
            async with on_http(url, mode=mode) as client:
                assert (await Agent(client).call("memory_search", query="toner"))["hits"]

    anyio.run(story)
