"""`memory_similar` and `memory_deduplicate` on a store of llm-memory: as that program has them."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from echoless import check, open_store
from echoless_programs.llm_memory import memory_deduplicate, memory_similar
from tests.echoless_programs.llm_memory_files import C80, C95, C95_TOO, C96, A, File
from tests.mcp.clients import Agent, talk


@pytest.fixture
def file(place: Path) -> File:
    """Three near-equal memories, two others."""
    made = File(place / "llm_memory.db")
    made.add("m3", C95_TOO, tags=["c"])
    made.add("m2", C95, tags=["b"])
    made.add("far", C80)
    made.add("m1", A, tags=["a"])
    made.add("elsewhere", C96, namespace="other")
    return made


def url(file: File) -> str:
    return f"llm-memory:///{file.path}"


def test_similar_answers_under_both_spellings_as_the_tool_itself(file: File) -> None:
    expected = memory_similar("m1", namespace="proj", db_path=file.path)
    wide = memory_similar("m1", namespace="proj", search_scope="all", top_k=1, db_path=file.path)

    async def story(agent: Agent) -> None:
        for spelling in ("memory_id", "id"):
            asked = {spelling: "m1", "namespace": "proj"}
            assert await agent.call("memory_similar", **asked) == expected
            found = await agent.call("memory_similar", **asked, search_scope="all", top_k=1)
            assert found == wide
        said = await agent.refused("memory_similar", memory_id="nobody", namespace="proj")
        assert said == "Memory not found: nobody"
        said = await agent.refused("memory_similar", memory_id="m1", namespace="Bad Name!")
        assert said.startswith("Invalid namespace format: ")

    talk(url(file), story)


def test_deduplicate_previews_as_the_tool_itself_and_merges_by_its_plan(file: File) -> None:
    expected = memory_deduplicate(namespace="proj", db_path=file.path)
    before = file.everything()

    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate", namespace="proj")
        assert {name: preview[name] for name in expected} == expected
        assert file.everything() == before
        done = await agent.call("memory_deduplicate", plan_id=preview["plan_id"])
        assert (done["action"], done["merged"], done["dry_run"]) == ("merged", 2, False)
        assert file.ids() == ["elsewhere", "far", "m1"]
        assert file.row("m1")["tags"] == '["a","b","c"]'
        back = await agent.call("memory_undo", run=done["run"])
        assert set(back["restored"]) == {"m1", "m2", "m3"}
        await agent.call("memory_undo", plan_id=back["plan_id"])

    talk(url(file), story)
    assert file.ids() == ["elsewhere", "far", "m1", "m2", "m3"]


@pytest.mark.parametrize(
    ("strategy", "primary"), [("keep_newest", "m1"), ("keep_oldest", "m3"), (None, "m1")]
)
def test_the_strategy_chooses_who_stays(file: File, strategy: str | None, primary: str) -> None:
    async def story(agent: Agent) -> None:
        preview = await agent.call(
            "memory_deduplicate",
            namespace="proj",
            similarity_threshold=0.95,
            merge_strategy=strategy,
            limit=100,
            use_lsh=False,
            merge_metadata=False,
            guards=False,
            dry_run=True,
        )
        assert preview["duplicate_groups"][0]["primary_id"] == primary
        assert preview["planned"][0]["gains"].get("tags") is None

    talk(url(file), story)


def test_a_merge_into_shared_that_nobody_named_is_refused(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_MEMORY_DEFAULT_NAMESPACE", "shared")
    file.add("s1", A, namespace="shared")
    file.add("s2", A, namespace="shared")
    before = file.everything()

    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate")
        assert preview["total_duplicates"] == 1
        said = await agent.refused("memory_deduplicate", plan_id=preview["plan_id"])
        assert "needs namespace='shared' to be given" in said

    talk(url(file), story)
    assert file.everything() == before


def test_cancelled_while_it_merges_a_run_ends_between_two_groups_and_can_be_undone(
    place: Path,
) -> None:
    count = 12
    file = File(place / "many.db", dimensions=count)
    for n in range(count):
        for copy in "ab":
            vector = [float(n == at) for at in range(count)]
            file.add(f"m{n:02}{copy}", vector, f"Lamp{n} hangs beside door{n}.")
    before = file.everything()

    async def story(agent: Agent) -> None:
        preview = await agent.call("memory_deduplicate", namespace="proj")
        assert preview["total_groups"] == count
        with anyio.CancelScope() as scope:

            async def progress(_done: float, _all: float | None, message: str | None) -> None:
                assert str(message).startswith("writing")
                scope.cancel()

            await agent.client.call_tool(
                "memory_deduplicate", {"plan_id": preview["plan_id"]}, progress_callback=progress
            )
        assert scope.cancelled_caught
        with open_store(url(file)) as store:
            assert check(store, mend=False).sound
        (run,) = (await agent.call("memory_history"))["runs"]
        assert run["status"] == "partly done"
        assert 0 < run["deleted"] < count
        assert len(file.ids()) == 2 * count - run["deleted"]
        back = await agent.call("memory_undo", run=run["id"])
        await agent.call("memory_undo", plan_id=back["plan_id"])

    talk(url(file), story)
    assert file.everything()["memories"] == before["memories"]
