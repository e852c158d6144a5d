"""mem0 behind the guard, with the real library on this machine only."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from echoless import apply, find, history, plan, undo
from echoless.core.errors import StoreError, UsageError
from echoless.core.settings import Choices, Settings, resolve
from echoless.ingest import AlreadyKnown
from echoless_stores.agents.mem0 import Asked, GuardedMemory
from tests.mem0_world import Server, opened, serving

if TYPE_CHECKING:
    from mem0 import Memory as Mem0

PORT = "The gateway listens on port 8443."
AGAIN = "the gateway listens on port 8443"
OTHER_PORT = "The gateway listens on port 8444."
TEA = "Anna drinks green tea at four o'clock."


def words() -> Settings:
    """By words only: no model is loaded."""
    return resolve(Choices(encoder="none"))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def mem0(tmp_path: Path, server: Server) -> Iterator[Mem0]:
    server.fails = False
    server.asked.clear()
    server.extract = lambda _request: []
    with opened(tmp_path / "mem0", server) as memory:
        yield memory


@pytest.fixture
def memory(mem0: Mem0, tmp_path: Path) -> Iterator[GuardedMemory]:
    with GuardedMemory(mem0, lineage=tmp_path / "lineage", settings=words()) as guarded:
        yield guarded


def user(text: str, **more: str) -> dict[str, str]:
    return {"role": "user", "content": text, **more}


def say(memory: GuardedMemory, *texts: str, **more: Any) -> list[dict[str, Any]]:
    """Store each text as it is."""
    told = {"user_id": "ann", "infer": False, **more}
    results: list[dict[str, Any]] = memory.add([user(text) for text in texts], **told)["results"]
    return results


def stored(mem0: Mem0, **owners: str) -> list[str]:
    found = mem0.get_all(filters=owners or {"user_id": "ann"}, top_k=100)["results"]
    return sorted(each["memory"] for each in found)


def extracts(server: Server, *texts: str) -> None:
    server.extract = lambda _request: [{"text": text, "attributed_to": "user"} for text in texts]


# ------------------------------------------------------------------ as it is said


def test_each_message_is_a_memory_and_a_known_one_is_not_stored_again(
    memory: GuardedMemory, mem0: Mem0
) -> None:
    first, tea, again, other = say(memory, PORT, TEA, AGAIN, OTHER_PORT)
    assert [r["event"] for r in (first, tea, again, other)] == ["ADD", "ADD", "NONE", "ADD"]
    assert (again["id"], again["memory"], again["role"]) == (first["id"], PORT, "user")
    assert stored(mem0) == sorted([PORT, TEA, OTHER_PORT])
    assert [asked.by for asked in memory.answers] == ["caller"] * 4
    answer = memory.answers[2].answer
    assert isinstance(answer, AlreadyKnown)
    assert (answer.survivor, answer.confirmations) == (first["id"], 1)


def test_a_record_is_the_one_mem0_would_have_written(memory: GuardedMemory, mem0: Mem0) -> None:
    more: dict[str, Any] = {
        "agent_id": "pia",
        "metadata": {"mood": "calm", "user_id": "eve", "tags": ["a"]},
        "expiration_date": date(2100, 1, 31),
    }
    message = user(PORT, name="ann-lee")
    (guarded,) = memory.add(message, user_id="ann", infer=False, **more)["results"]
    (plain,) = mem0.add(message, user_id="ann", infer=False, **more)["results"]
    assert {**guarded, "id": ""} == {**plain, "id": ""}
    one, other = (mem0.vector_store.get(vector_id=r["id"]).payload for r in (guarded, plain))
    times = {"created_at", "updated_at"}
    assert {k: v for k, v in one.items() if k not in times} == {
        k: v for k, v in other.items() if k not in times
    }
    told = [dict(mem0.history(r["id"])[0]) for r in (guarded, plain)]
    for entry in told:
        for name in ("id", "memory_id", *times):
            entry.pop(name)
    assert told[0] == told[1]
    (found,) = mem0.search("gateway port", filters={"user_id": "ann"}, top_k=1)["results"]
    assert found["memory"] == PORT


def test_what_mem0_takes_in_other_forms_is_taken_in_them(memory: GuardedMemory, mem0: Mem0) -> None:
    assert memory.add(PORT, user_id=7, infer=False)["results"][0]["event"] == "ADD"
    assert memory.add(user(PORT), user_id=" 7 ", infer=False)["results"][0]["event"] == "NONE"
    assert stored(mem0, user_id="7") == [PORT]


def test_messages_that_are_no_memories_are_left_to_mem0(memory: GuardedMemory, mem0: Mem0) -> None:
    messages = [{"role": "system", "content": PORT}, {"role": "user"}, user(TEA)]
    results = memory.add(messages, user_id="ann", infer=False)["results"]
    assert [r["memory"] for r in results] == [TEA]
    assert stored(mem0) == [TEA]


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": PORT},
        {"messages": PORT, "user_id": " "},
        {"messages": PORT, "user_id": "two words"},
        {"messages": 7, "user_id": "ann"},
        {"messages": PORT, "user_id": "ann", "expiration_date": "soon"},
        {"messages": PORT, "user_id": "ann", "memory_type": "other"},
        {"messages": PORT, "user_id": "ann", "timestamp": 1},
    ],
)
def test_what_mem0_refuses_is_refused_in_its_own_words(
    memory: GuardedMemory, mem0: Mem0, wrong: dict[str, Any]
) -> None:
    def complaint(add: Any) -> str:
        with pytest.raises(Exception) as told:  # noqa: PT011 - mem0 raises several kinds
            add(**wrong, infer=False)
        return f"{type(told.value).__name__}: {told.value}"

    assert complaint(memory.add) == complaint(mem0.add)
    assert stored(mem0) == []


def test_owners_are_never_compared_with_each_other(memory: GuardedMemory, mem0: Mem0) -> None:
    for owners in ({"user_id": "ann"}, {"user_id": "bob"}, {"user_id": "ann", "run_id": "r-1"}):
        (result,) = memory.add(PORT, infer=False, **owners)["results"]  # type: ignore[arg-type]
        assert result["event"] == "ADD"


def test_what_ends_sooner_does_not_stand_for_what_ends_later(
    memory: GuardedMemory, mem0: Mem0
) -> None:
    events = [
        say(memory, PORT, **more)[0]["event"]
        for more in (
            {"expiration_date": "2100-01-01"},
            {"expiration_date": "2099-01-01"},
            {"expiration_date": "2100-06-01"},
            {},
            {},
        )
    ]
    assert events == ["ADD", "NONE", "ADD", "ADD", "NONE"]


def test_what_the_guard_cannot_compare_goes_to_mem0_and_is_counted(
    memory: GuardedMemory, mem0: Mem0
) -> None:
    say(memory, PORT, metadata={"when": date(2026, 1, 1)})
    assert memory.unguarded == 1
    assert stored(mem0) == [PORT]
    assert say(memory, AGAIN)[0]["event"] == "NONE"


def test_a_failing_embedder_is_told_and_what_was_told_before_is_stored(
    memory: GuardedMemory, mem0: Mem0, server: Server
) -> None:
    say(memory, PORT)
    server.fails = True
    with pytest.raises(StoreError, match="mem0 failed"):
        say(memory, TEA)
    server.fails = False
    assert stored(mem0) == [PORT]
    assert say(memory, TEA)[0]["event"] == "ADD"
    assert stored(mem0) == sorted([PORT, TEA])


def test_an_addition_can_be_taken_back(memory: GuardedMemory, mem0: Mem0) -> None:
    say(memory, PORT, TEA)
    run = history(memory.memories.ledger)[-1]
    undo(memory.memories, run.id)
    assert stored(mem0) == [PORT]
    assert say(memory, TEA)[0]["event"] == "ADD"


def test_threads_that_add_one_text_store_it_once(memory: GuardedMemory, mem0: Mem0) -> None:
    texts = [f"The service {name} runs in zone {at}." for at, name in enumerate("abc")]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda at: say(memory, texts[at % 3]), range(12)))
    assert stored(mem0) == sorted(texts)


# ------------------------------------------------------------------ as mem0's model says it


def test_known_messages_are_taken_out_before_the_model_sees_them(
    memory: GuardedMemory, mem0: Mem0, server: Server
) -> None:
    (first,) = say(memory, PORT)
    extracts(server, TEA)
    done = memory.add([user(AGAIN), user("I drink green tea at four.")], user_id="ann")
    (asked,) = server.asked
    told = asked["messages"][1]["content"]
    new = told.partition("## New Messages")[2].partition("##")[0]
    assert "green tea" in new
    assert "gateway" not in new
    known, added = done["results"]
    assert (known["event"], known["id"]) == ("NONE", first["id"])
    assert (added["event"], added["memory"]) == ("ADD", TEA)
    assert stored(mem0) == sorted([PORT, TEA])


def test_where_all_is_known_the_model_is_not_asked_and_it_counts_as_confirmed(
    memory: GuardedMemory, server: Server
) -> None:
    (first,) = say(memory, PORT)
    done = memory.add([{"role": "system", "content": "Be brief."}, user(AGAIN)], user_id="ann")
    assert [r["event"] for r in done["results"]] == ["NONE"]
    assert server.asked == []
    assert memory.memories.ledger.confirmations(first["id"]) == 1


def test_what_mem0_stores_twice_is_told(memory: GuardedMemory, mem0: Mem0, server: Server) -> None:
    (first,) = say(memory, PORT)
    extracts(server, AGAIN, TEA, "anna drinks green tea at four o'clock")
    done = memory.add("We talked about the gateway and about tea.", user_id="ann")
    again, tea, tea_again = done["results"]
    assert again["duplicate_of"] == first["id"]
    assert "duplicate_of" not in tea
    assert tea_again["duplicate_of"] == tea["id"]
    assert [asked.is_twice for asked in memory.answers] == [False, True, False, True]
    run = apply(memory.memories, plan(find(memory.memories, encoder="none"), action="delete"))
    assert stored(mem0) == sorted([PORT, TEA])
    undo(memory.memories, run.id)
    assert len(stored(mem0)) == 4


def test_what_mem0_made_can_be_taken_back(
    memory: GuardedMemory, mem0: Mem0, server: Server
) -> None:
    say(memory, PORT)
    extracts(server, TEA, "Anna lives in Graz.")
    memory.add("I moved to Graz, and I drink green tea at four.", user_id="ann")
    run = history(memory.memories.ledger)[-1]
    assert run.added == 2
    undo(memory.memories, run.id)
    assert stored(mem0) == [PORT]


def test_what_mem0_overwrites_or_deletes_by_itself_is_in_the_lineage(
    memory: GuardedMemory, mem0: Mem0, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions of mem0 whose model also updates and deletes tell so in their results."""
    first, second = say(memory, PORT, TEA)

    def add(_messages: object, **_options: object) -> dict[str, object]:
        mem0.update(first["id"], text=OTHER_PORT)
        mem0.delete(second["id"])
        told = [
            {"id": first["id"], "memory": OTHER_PORT, "event": "UPDATE", "previous_memory": PORT},
            {"id": second["id"], "memory": TEA, "event": "DELETE"},
        ]
        return {"results": told}

    monkeypatch.setattr(mem0, "add", add)
    memory.add("The gateway moved, and no more tea.", user_id="ann")
    assert stored(mem0) == [OTHER_PORT]
    undo(memory.memories, history(memory.memories.ledger)[-1].id)
    assert stored(mem0) == sorted([PORT, TEA])


def test_a_failing_model_is_told_in_mem0_s_words_and_nothing_is_stored(
    memory: GuardedMemory, mem0: Mem0, server: Server
) -> None:
    def fail(_request: object) -> list[dict[str, str]]:
        raise ConnectionError

    server.extract = fail
    with pytest.raises(Exception, match="LLM extraction failed"):
        memory.add("I moved to Graz.", user_id="ann")
    assert stored(mem0) == []
    server.extract = lambda _request: []
    assert say(memory, PORT)[0]["event"] == "ADD"


# ------------------------------------------------------------------ the rest of mem0


def test_an_update_and_a_deletion_on_request_are_in_the_lineage(
    memory: GuardedMemory, mem0: Mem0
) -> None:
    first, second, third = say(memory, PORT, TEA, "The office closes at six.")
    memory.update(first["id"], text=OTHER_PORT)
    memory.delete(second["id"])
    updated, deleted = (run.id for run in history(memory.memories.ledger)[-2:])
    memory.delete_all(user_id="ann")
    all_deleted = history(memory.memories.ledger)[-1].id
    assert stored(mem0) == []
    undo(memory.memories, all_deleted)
    assert stored(mem0) == sorted([OTHER_PORT, third["memory"]])
    undo(memory.memories, deleted)
    undo(memory.memories, updated)
    assert stored(mem0) == sorted([PORT, TEA, third["memory"]])


def test_after_an_update_the_guard_knows_the_new_text_only(
    memory: GuardedMemory, mem0: Mem0
) -> None:
    (first,) = say(memory, PORT)
    memory.update(first["id"], text=TEA)
    assert [r["event"] for r in say(memory, TEA, PORT)] == ["NONE", "ADD"]


def test_everything_else_is_mem0_s(memory: GuardedMemory, mem0: Mem0) -> None:
    (first,) = say(memory, PORT)
    found = memory.search("gateway", filters={"user_id": "ann"}, top_k=1)["results"]
    assert found[0]["id"] == first["id"]
    assert memory.get(first["id"]) == mem0.get(first["id"])
    assert memory.get_all(filters={"user_id": "ann"}) == mem0.get_all(filters={"user_id": "ann"})
    with pytest.raises(AttributeError):
        _ = memory.no_such_thing


def test_an_update_of_what_is_not_there_is_refused_in_mem0_s_words(memory: GuardedMemory) -> None:
    with pytest.raises(ValueError, match="not found"):
        memory.update("00000000-0000-4000-8000-000000000001", text=PORT)
    assert list(memory.memories.ledger.events()) == []


def test_each_answer_is_told(mem0: Mem0) -> None:
    told: list[Asked] = []
    with GuardedMemory(mem0, lineage=None, settings=words(), on_answer=told.append) as memory:
        say(memory, PORT, AGAIN)
        assert told == list(memory.answers)
    assert [asked.text for asked in told] == [PORT, AGAIN]


def test_what_a_boot_file_says_is_not_stored(mem0: Mem0, tmp_path: Path) -> None:
    boot = tmp_path / "CLAUDE.md"
    boot.write_text(f"- {PORT}\n")
    with GuardedMemory(mem0, lineage=None, settings=words(), boot=[boot]) as memory:
        (result,) = say(memory, PORT)
    assert (result["event"], result["id"]) == ("NONE", None)
    assert stored(mem0) == []


def test_the_asynchronous_memory_is_refused_with_a_way_on() -> None:
    class Asynchronous:
        async def add(self) -> None: ...

    with pytest.raises(UsageError, match="to_thread"):
        GuardedMemory(Asynchronous(), lineage=None)
