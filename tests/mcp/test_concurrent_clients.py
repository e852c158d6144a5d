"""Several clients of one store, in one server and in several."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from echoless import check, open_store
from tests.mcp.clients import (
    Agent,
    on_http,
    on_stdio,
    serving,
)

# ------------------------------------------------------------------ two at once


async def _both_remember(one: Agent, other: Agent) -> None:
    answers: list[str] = []

    async def say(agent: Agent, fact: int) -> None:
        text = f"Server number {fact} stands in rack {fact * 7} of hall B."
        answers.append(str((await agent.call("memory_remember", text=text))["answer"]))

    async with anyio.create_task_group() as group:
        for fact in range(5):
            group.start_soon(say, one, fact)
            group.start_soon(say, other, fact)
    assert sorted(answers) == ["admitted"] * 5 + ["already_known"] * 5


@pytest.mark.parametrize("kind", ["jsonl", "db"])
def test_two_clients_of_one_server_store_a_fact_once(place: Path, kind: str) -> None:
    store = place / f"new.{kind}"

    async def story() -> None:
        with serving(store, "--create", "--profile", "safe", "--encoder", "none") as url:
            async with on_http(url) as one, on_http(url) as other:
                await _both_remember(Agent(one), Agent(other))

    anyio.run(story)
    with open_store(store) as opened:
        assert opened.count() == 5
        assert check(opened).sound


def test_two_servers_of_one_store_store_a_fact_once(place: Path) -> None:
    store = place / "new.db"

    async def story() -> None:
        async with on_stdio(store, "--create", "--encoder", "none") as one:
            async with on_stdio(store, "--encoder", "none") as other:
                await _both_remember(Agent(one), Agent(other))

    anyio.run(story)
    with open_store(store) as opened:
        assert opened.count() == 5
        assert check(opened).sound


def test_a_plan_of_one_client_is_refused_where_another_changed_the_records(notes: Path) -> None:
    async def story() -> None:
        with serving(notes, "--encoder", "none") as url:
            async with on_http(url) as one, on_http(url) as other:
                slow, quick = Agent(one), Agent(other)
                stale = await slow.call("memory_merge", keep="m-5", remove="m-6")
                fresh = await quick.call(
                    "memory_merge",
                    keep="m-5",
                    remove="m-6",
                    content="Anna has green tea in the morning.",
                )
                await quick.call("memory_merge", plan_id=fresh["plan_id"])
                said = await slow.refused("memory_merge", plan_id=stale["plan_id"])
                assert "m-5" in said
                assert "Call memory_merge again" in said

    anyio.run(story)
