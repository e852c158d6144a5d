"""What the list of tools takes in the context of an agent, and how to have less or more of it."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client

from echoless.cli.main import main
from echoless.core.answer_schemas import answer_schema
from echoless.core.errors import UsageError
from echoless.mcp.server import make_server, tools_named
from tests.mcp.clients import Agent, on_stdio, served_store

LARGEST = 12_000
"""Characters of the whole list; that of the reference server for memories has 11,500."""


def offered(notes: Path, names: str | None) -> tuple[set[str], str, int]:
    """The tools of a server, its instructions, and how many prompts there are."""
    served = served_store(notes)
    if names is not None:
        served.tools = tools_named(served, names)
    answers: list[tuple[set[str], str, int]] = []

    async def ask() -> None:
        with served:
            async with Client(make_server(served)) as client:
                tools = {tool.name for tool in (await client.list_tools()).tools}
                prompts = (await client.list_prompts()).prompts
                answers.append((tools, client.instructions or "", len(prompts)))

    anyio.run(ask)
    return answers[0]


def test_named_tools_are_offered_and_the_instructions_speak_of_no_other(notes: Path) -> None:
    tools, said, prompts = offered(notes, "remember, memory_search")
    assert tools == {"memory_remember", "memory_search"}
    assert "memory_search before you answer" in said
    for absent in ("memory_audit", "memory_consolidate", "memory_merge", "plan_id"):
        assert absent not in said
    assert prompts == 0


def test_without_a_choice_all_are_offered_with_the_prompt(notes: Path) -> None:
    tools, said, prompts = offered(notes, None)
    assert len(tools) == 12
    for name in ("memory_audit", "memory_deduplicate", "memory_supersede", "memory_undo"):
        assert name in said
    assert prompts == 1


@pytest.mark.parametrize(
    ("names", "read_only", "says"),
    [
        ("remember,serch", False, "has no tool 'serch'. --tools takes some of: remember"),
        ("remember", True, "with --read-only has no tool 'remember'"),
        (" , ", False, "needs a tool"),
    ],
)
def test_a_wrong_name_is_said_with_those_there_are(
    notes: Path, names: str, read_only: bool, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        tools_named(served_store(notes, read_only=read_only), names)


def test_the_command_says_it_before_it_serves(notes: Path) -> None:
    done = CliRunner().invoke(main, ["mcp", str(notes), "--tools", "serch", "--encoder", "none"])
    assert done.exit_code == 2
    assert "has no tool 'serch'" in done.stderr


def test_the_list_of_a_real_server_is_short_and_answers_are_structured_all_the_same(
    notes: Path,
) -> None:
    async def story() -> None:
        async with on_stdio(notes) as client:
            tools = (await client.list_tools()).tools
            listed = [
                tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools
            ]
            assert len(tools) == 12
            assert len(json.dumps(listed)) <= LARGEST
            for tool in tools:
                answer = answer_schema(tool.name)
                forms = answer.get("anyOf", [answer])
                assert tool.title
                assert tool.output_schema is not None
                for key in tool.output_schema["required"]:
                    assert all("$ref" in form or key in form["required"] for form in forms)
            agent = Agent(client)
            text = "Deploys run on Tuesdays."
            assert (await agent.call("memory_remember", text=text))["answer"] == "admitted"
            found = await agent.call("memory_search", query="when do we deploy")
            assert (found["mode"], found["hits"][0]["content"]) == ("vector", text)

    anyio.run(story)


def test_a_parameter_that_may_be_left_out_takes_null_too(notes: Path) -> None:
    async def story() -> None:
        async with on_stdio(notes, "--encoder", "none") as client:
            given = {"query": "toner", "namespace": None}
            assert not (await client.call_tool("memory_search", given)).is_error

    anyio.run(story)
