"""What the tools promise: their schemas and hints, plans, errors, what they leave alone."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from mcp import Client

from echoless import open_store
from echoless.cli.main import main
from echoless.cli.server import read_address
from echoless.core.address import Address
from echoless.core.answer_schemas import answer_schema
from echoless.core.errors import UsageError
from echoless.core.settings import Choices
from echoless.mcp import read_tools as looking_module
from echoless.mcp.served_store import CAPACITY, Plans
from echoless.mcp.server import make_server
from tests.mcp.clients import (
    DESTRUCTIVE,
    MEMORIES,
    READING,
    TOOLS,
    Agent,
    bytes_of,
    served_store,
    talk,
)

# ------------------------------------------------------------------ the list


def test_the_list_of_tools_passes_the_schema_of_schemas(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        listed = (await agent.client.list_tools()).tools
        assert {tool.name for tool in listed} == TOOLS
        for tool in listed:
            assert tool.output_schema is not None
            for schema in (tool.input_schema, tool.output_schema, answer_schema(tool.name)):
                Draft202012Validator.check_schema(schema)
                assert schema["type"] == "object"
            assert tool.input_schema["additionalProperties"] is False
            assert tool.title
            assert len(tool.description or "") > 60, tool.name
            for name, parameter in tool.input_schema.get("properties", {}).items():
                assert parameter.get("description"), f"{tool.name}.{name} is not described"

    talk(notes, story)


def test_every_tool_is_honest_about_what_it_may_do(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        for tool in (await agent.client.list_tools()).tools:
            hints = tool.annotations
            assert hints is not None
            # what is left out is as the protocol takes it; a tool that reads has no other hints
            reads = tool.name in READING
            assert (hints.read_only_hint or False) is reads, tool.name
            assert reads or hints.destructive_hint is (tool.name in DESTRUCTIVE), tool.name
            assert (hints.idempotent_hint or False) is (tool.name == "memory_keep_both")
            assert hints.open_world_hint is False

    talk(notes, story)


def test_a_server_that_sends_texts_elsewhere_says_so(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert tools["memory_audit"].annotations.open_world_hint is True  # type: ignore[union-attr]
        assert tools["memory_history"].annotations.open_world_hint is False  # type: ignore[union-attr]

    talk(notes, story, choices=Choices(encoder="openai:text-embedding-3-small"))


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("memory_audit", {}, ["audit", "{}"]),
        ("memory_search", {"query": "database port"}, ["search", "{}", "database port"]),
        (
            "memory_explain",
            {"a": "m-1", "b": "m-4"},
            ["explain", "m-1", "m-4", "--store", "{}"],
        ),
    ],
)
def test_a_tool_answers_what_its_command_prints(
    notes: Path, tool: str, arguments: dict[str, object], words: list[str]
) -> None:
    said = [word.format(notes) for word in words]
    printed = CliRunner().invoke(main, [*said, "--encoder", "none", "--json"])
    command = json.loads(printed.stdout)

    async def story(agent: Agent) -> None:
        answer = await agent.call(tool, **arguments)
        shared = answer.keys() & command.keys() - {"notes", "held", "hits"}
        assert len(shared) >= 4
        assert {key: answer[key] for key in shared} == {key: command[key] for key in shared}

    talk(notes, story)


def test_an_answer_holds_what_its_schema_names_and_nothing_else(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        answer = await agent.call("memory_search", query="database port")
        schema = answer_schema("memory_search")
        (hit, *_) = answer["hits"]  # type: ignore[misc]
        assert hit.keys() == schema["$defs"]["brief_hit"]["properties"].keys()
        assert answer.keys() == schema["properties"].keys() - {"masked"}

    talk(notes, story)


# ------------------------------------------------------------------ reading changes nothing


def test_tools_that_read_change_not_one_byte(notes: Path, place: Path) -> None:
    before = bytes_of(place)

    async def story(agent: Agent) -> None:
        await agent.call("memory_search", query="database")
        await agent.call("memory_similar", text="green tea", min_similarity=0.1)
        await agent.call("memory_audit")
        await agent.call("memory_consolidate")
        await agent.call("memory_explain", a="m-1", b="m-4")
        await agent.call("memory_history")
        await agent.call("memory_deduplicate")
        await agent.call("memory_merge", keep="m-5", remove="m-6")
        text = "The database listens on port 6000."
        shown = await agent.call("memory_supersede", text=text, namespace="work")
        assert shown["plan_id"]
        assert agent.called == {*READING, *DESTRUCTIVE} - {"memory_undo"}

    talk(notes, story)
    assert bytes_of(place) == before


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("memory_deduplicate", {"dry_run": False}, "needs the plan_id of a preview"),
        ("memory_deduplicate", {"plan_id": "plan-of-nobody"}, "Call memory_deduplicate without"),
        ("memory_merge", {"plan_id": "plan-of-nobody"}, "Call memory_merge without plan_id"),
        ("memory_merge", {}, "Name two memories"),
        ("memory_merge", {"keep": "m-1", "remove": "m-2", "dry_run": False}, "no parameter"),
        ("memory_undo", {"plan_id": "undo-of-nobody"}, "Call memory_undo without plan_id"),
        ("memory_undo", {}, "Name the run"),
    ],
)
def test_what_could_lose_something_does_nothing_without_the_plan_of_a_preview(
    notes: Path, place: Path, tool: str, arguments: dict[str, object], says: str
) -> None:
    before = bytes_of(place)

    async def story(agent: Agent) -> None:
        assert says in await agent.refused(tool, **arguments)

    talk(notes, story)
    assert bytes_of(place) == before


def test_a_server_that_only_reads_shows_previews_and_carries_nothing_out(
    notes: Path, place: Path
) -> None:
    before = bytes_of(place)

    async def story(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert tools.keys() == {*READING, *DESTRUCTIVE}
        for tool in tools.values():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
        preview = await agent.call("memory_deduplicate")
        said = await agent.refused("memory_deduplicate", plan_id=preview["plan_id"])
        assert "--read-only" in said
        text = "The database listens on port 6000."
        shown = await agent.call("memory_supersede", text=text, namespace="work")
        said = await agent.refused("memory_supersede", plan_id=shown["plan_id"])
        assert "--read-only" in said
        assert "Unknown tool" in await agent.refused("memory_remember", text="A fact.")

    talk(notes, story, read_only=True)
    assert bytes_of(place) == before


# ------------------------------------------------------------------ plans


def test_a_preview_and_what_is_carried_out_are_the_same(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate", action="merge")
        done = await agent.call("memory_deduplicate", plan_id=preview["plan_id"])
        assert done["duplicate_groups"] == preview["duplicate_groups"]
        assert done["merged"] == preview["total_duplicates"] == 3
        (run,) = (await agent.call("memory_history"))["runs"]
        assert (run["id"], run["plan"]) == (done["run"], preview["plan_id"])
        assert run["merged"] == 3

    talk(notes, story)


def test_a_group_that_changed_since_the_preview_is_left_out_and_said(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate")
        changed = MEMORIES[4][1].replace("Anna", "Berta")
        notes.write_text(notes.read_text("utf-8").replace(MEMORIES[4][1], changed), "utf-8")
        done = await agent.call("memory_deduplicate", plan_id=preview["plan_id"])
        assert done["merged"] == 2
        assert [error["group"] for error in done["errors"]] == ["m-5"]

    talk(notes, story)


def test_a_plan_whose_records_all_changed_is_refused(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate", namespace="home")
        changed = MEMORIES[4][1].replace("Anna", "Berta")
        notes.write_text(notes.read_text("utf-8").replace(MEMORIES[4][1], changed), "utf-8")
        said = await agent.refused("memory_deduplicate", plan_id=preview["plan_id"])
        assert said.startswith("Nothing was merged: m-5: ")
        assert "Call memory_deduplicate without plan_id" in said

    talk(notes, story)


def test_a_plan_is_taken_alone_and_by_the_tool_that_made_it(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate")
        plan = preview["plan_id"]
        said = await agent.refused("memory_merge", plan_id=plan)
        assert "is one of memory_deduplicate" in said
        for more in ({"dry_run": True}, {"namespace": "work"}):
            said = await agent.refused("memory_deduplicate", plan_id=plan, **more)
            assert "Give plan_id alone" in said
        assert (await agent.call("memory_deduplicate", plan_id=plan))["merged"] == 3
        assert "used once" in await agent.refused("memory_deduplicate", plan_id=plan)

    talk(notes, story)


def test_plans_are_forgotten_after_a_while_and_beyond_a_number() -> None:
    now = 0.0
    plans = Plans(capacity=2, minutes=30, clock=lambda: now)
    for name in ("a", "b", "c"):
        plans.keep(name, "tool", name)
    with pytest.raises(UsageError, match="no plan 'a'"):
        plans.take("a", "tool", str)
    assert plans.take("b", "tool", str) == "b"
    now = 1799.9
    plans.keep("d", "tool", "d")
    now = 1800.0
    with pytest.raises(UsageError, match="no plan 'c'"):
        plans.take("c", "tool", str)
    assert plans.take("d", "tool", str) == "d"


def test_previews_without_end_do_not_fill_the_memory_of_a_server(notes: Path) -> None:
    plans = Plans()

    async def story(agent: Agent) -> None:
        for _ in range(CAPACITY + 3):
            await agent.call("memory_merge", keep="m-5", remove="m-6")

    talk(notes, story, plans=plans)
    assert len(plans) == CAPACITY


# ------------------------------------------------------------------ merging and going back


def test_a_merged_text_that_loses_a_fact_is_refused_and_the_sources_stay(
    notes: Path, place: Path
) -> None:
    before = bytes_of(place)

    async def story(agent: Agent) -> None:
        said = await agent.refused(
            "memory_merge", keep="m-1", remove="m-2", content="The database listens somewhere."
        )
        assert "5432" in said

    talk(notes, story)
    assert bytes_of(place) == before


def test_a_new_text_is_shown_written_and_taken_back(notes: Path) -> None:
    before = notes.read_bytes()

    async def story(agent: Agent) -> None:
        text = "In the morning Anna drinks green tea."
        preview = await agent.call("memory_merge", keep="m-5", remove="m-6", content=text)
        assert preview["planned"][0]["new_text"] == text
        done = await agent.call("memory_merge", plan_id=preview["plan_id"])
        assert done["content"] == text
        back = await agent.call("memory_undo", run="last")
        assert (back["run"], back["shown"], back["restored"]) == (done["run"], ["m-6"], ["m-5"])
        await agent.call("memory_undo", plan_id=back["plan_id"])

    talk(notes, story)
    assert notes.read_bytes() == before


def test_a_pair_kept_apart_is_not_offered_again(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        await agent.call("memory_keep_both", a="m-5", b="m-6")
        pairs = (await agent.call("memory_consolidate", limit=200))["pairs"]
        assert {"m-5", "m-6"} not in [{pair["a"], pair["b"]} for pair in pairs]
        groups = (await agent.call("memory_deduplicate"))["duplicate_groups"]
        assert [group["primary_id"] for group in groups] == ["m-1"]
        assert "no memory 'm-99'" in await agent.refused("memory_keep_both", a="m-5", b="m-99")

    talk(notes, story)


# ------------------------------------------------------------------ remembering


def test_what_was_read_here_is_not_news(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        answer = await agent.call("memory_remember", text=MEMORIES[6][1], namespace="home")
        assert (answer["source"], answer["confirmations"]) == ("store", 1)
        await agent.call("memory_search", query="toner")
        answer = await agent.call("memory_remember", text=MEMORIES[6][1], namespace="home")
        assert (answer["source"], answer["confirmations"]) == ("recalled", 1)

    talk(notes, story)


def test_an_update_is_stored_beside_the_older_value_or_in_its_place(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        answer = await agent.call(
            "memory_remember",
            text="The staging server has 16 GB of memory.",
            namespace="home",
            tags=["office"],
            metadata={"by": "Anna"},
            importance=0.7,
            key="staging",
            unsure="admit",
        )
        assert answer["answer"] == "admitted"
        again = await agent.call(
            "memory_remember",
            text="The staging server has 16 GB of memory.",
            namespace="home",
            key="staging",
        )
        assert again == answer
        newer = "The staging server has 32 GB of memory."
        shown = await agent.call("memory_supersede", text=newer, namespace="home")
        assert (shown["answer"], shown["old"]) == ("updates", answer["id"])
        assert (shown["dry_run"], shown["run"], shown["hidden"]) == (True, "", "")
        hits = (await agent.call("memory_search", query="staging server memory"))["hits"]
        assert answer["id"] in [hit["id"] for hit in hits]
        done = await agent.call("memory_supersede", plan_id=shown["plan_id"])
        assert (done["answer"], done["old"]) == ("updates", answer["id"])
        assert done["run"]
        assert done["hidden"]
        hits = (await agent.call("memory_search", query="staging server memory"))["hits"]
        assert answer["id"] not in [hit["id"] for hit in hits]
        assert [old["id"] for old in hits[0]["older"]] == [answer["id"]]

    talk(notes, story)


def test_a_search_gives_the_newer_value_and_the_older_one_beside_it_is_no_news(notes: Path) -> None:
    old, new = "The kettle stands on shelf 3.", "The kettle stands on shelf 4."

    async def story(agent: Agent) -> None:
        for text in (old, new):
            await agent.call("memory_remember", text=text, namespace="home")
        (hit,) = (await agent.call("memory_search", query="shelf 3"))["hits"]
        assert (hit["content"], [each["content"] for each in hit["older"]]) == (new, [old])
        answer = await agent.call("memory_remember", text=old, namespace="home")
        assert (answer["answer"], answer["source"]) == ("already_known", "recalled")
        assert "out of date" in answer["notes"][0]

    talk(notes, story)


def test_what_stands_in_a_boot_file_is_known(notes: Path, place: Path) -> None:
    boot = place / "CLAUDE.md"
    boot.write_text("- The build runs on Tuesdays at 9.\n", "utf-8")

    async def story(agent: Agent) -> None:
        answer = await agent.call("memory_remember", text="The build runs on Tuesdays at 9.")
        assert (answer["answer"], answer["source"]) == ("already_known", "boot file")

    talk(notes, story, boot=(boot,))


def test_what_is_remembered_lies_in_the_file_that_is_there_now(place: Path) -> None:
    store, spare = place / "agent.db", place / "spare.db"
    for path in (store, spare):
        open_store(path, create=True).close()
    fact = "The kettle in the kitchen is blue."

    async def story(agent: Agent) -> None:
        assert (await agent.call("memory_remember", text=fact))["answer"] == "admitted"
        for file in place.glob("agent.db*"):
            file.unlink()
        assert "agent.db" in await agent.refused("memory_remember", text=fact)
        spare.rename(store)
        assert (await agent.call("memory_remember", text=fact))["answer"] == "admitted"
        assert (await agent.call("memory_remember", text=fact))["answer"] == "already_known"
        assert len((await agent.call("memory_search", query="kettle"))["hits"]) == 1

    talk(store, story)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("memory_search", {"query": " "}, "The query is empty"),
        ("memory_search", {"query": "tea", "namespace": "attic"}, "no namespace 'attic'"),
        ("memory_search", {"query": "tea", "limit": 0}, "limit: input should be greater"),
        ("memory_search", {"query": "tea", "mode": "telepathy"}, "mode: input should be"),
        ("memory_search", {}, "query: field required"),
        ("memory_search", {"question": "tea"}, "no parameter 'question'"),
        ("memory_search", {"query": "tea", "mode": "vector"}, "needs an encoder"),
        ("memory_similar", {}, "Give memory_id (or id), or text"),
        ("memory_similar", {"memory_id": "m-99"}, "no memory 'm-99'"),
        ("memory_similar", {"memory_id": "m-1", "id": "m-2"}, "name two memories"),
        ("memory_similar", {"memory_id": "m-1", "text": "tea"}, "Give one of them"),
        ("memory_audit", {"namespace": "attic"}, "no namespace 'attic'"),
        ("memory_explain", {"a": "m-1", "b": "m-99"}, "no memory 'm-99'"),
        ("memory_history", {"run": "run-1"}, "Call memory_history without run"),
        ("memory_undo", {"run": "run-1"}, "no run 'run-1'"),
        ("memory_merge", {"keep": "m-1", "remove": "m-1"}, "named twice"),
        ("memory_merge", {"keep": "m-1", "remove": "m-5"}, "two scopes"),
        ("memory_deduplicate", {"guards": False}, "no parameter 'guards'"),
        ("memory_remember", {"text": "   "}, "The text is empty"),
        ("memory_consolidate", {"window": 0}, "window: input should be greater than 0"),
    ],
)
def test_errors_are_sentences_one_can_act_on(
    notes: Path, place: Path, tool: str, arguments: dict[str, object], says: str
) -> None:
    before = bytes_of(place)

    async def story(agent: Agent) -> None:
        said = await agent.refused(tool, **arguments)
        assert says in said
        assert said.endswith((".", "!"))
        for inner in ("pydantic", "Traceback", "echoless.", "Error executing"):
            assert inner not in said

    talk(notes, story)
    assert bytes_of(place) == before


def test_a_crash_tells_nothing_of_the_inside(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object, **_more: object) -> None:
        raise RuntimeError("the secret is in /etc/passwd")

    monkeypatch.setattr(looking_module, "search", broken)

    async def story(agent: Agent) -> None:
        said = await agent.refused("memory_search", query="tea")
        assert "not foreseen" in said
        assert "secret" not in said
        assert await agent.call("memory_history") == {"runs": [], "left_out": 0}

    talk(notes, story)


def test_a_store_that_is_gone_is_said(notes: Path) -> None:
    async def story(agent: Agent) -> None:
        await agent.call("memory_audit")
        notes.unlink()
        assert "notes.jsonl" in await agent.refused("memory_audit")

    talk(notes, story)


# ------------------------------------------------------------------ the frame


def test_the_prompt_and_the_instructions_are_those_of_the_store(notes: Path) -> None:
    async def story() -> None:
        async with Client(make_server(served_store(notes, read_only=True))) as client:
            assert "only reads" in str(client.instructions)
            (prompt,) = (await client.list_prompts()).prompts
            assert prompt.name == "review_memories"
            text = str((await client.get_prompt("review_memories")).messages[0].content)
            for tool in ("memory_audit", "memory_consolidate", "memory_merge", "memory_keep_both"):
                assert tool in text

    anyio.run(story)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", Address("127.0.0.1", 8321)),
        ("localhost:99", Address("localhost", 99)),
        (":99", Address("127.0.0.1", 99)),
        ("99", Address("127.0.0.1", 99)),
        ("[::1]:99", Address("::1", 99)),
        ("::1", Address("::1", 8321)),
        ("[::1]", Address("::1", 8321)),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert address.loopback


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.5", "notes.example", "localhost.example"]
)
def test_only_this_machines_own_addresses_are_loopback(host: str) -> None:
    assert not Address(host, 8321).loopback


def test_deduplicating_says_what_programs_that_read_the_store_still_see(notes: Path) -> None:
    """A mark is worth nothing to an agent that reads the file itself."""

    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate")
        (said,) = [note for note in preview["notes"] if "go on seeing them" in note]
        assert f"`echoless dedup 'jsonl:///{notes}?hide=move' --apply`" in said
        done = await agent.call("memory_deduplicate", plan_id=preview["plan_id"])
        assert sum("go on seeing them" in note for note in done["notes"]) == 1

    talk(notes, story)
