"""Runs of many groups: what a group costs does not grow with the store, and nothing is missed."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from echoless import Memory, open_store, undo
from echoless.core.model import Link, Vector
from echoless.execution.executor import apply
from echoless.stores.base import ALL, Scope, Store
from echoless_programs.llm_memory import memory_deduplicate
from echoless_programs.llm_memory.deduplicate import Arguments, carry_out, preview
from echoless_programs.llm_memory.tool_arguments import open_file, resolve
from echoless_programs.stores.llm_memory import LlmMemoryStore
from echoless_stores.live.langgraph import LangGraphStore
from tests.conformance.stores import plan_by_hand, simple
from tests.echoless_programs.llm_memory_files import File
from tests.echoless_programs.test_llm_memory import command

FEW, MANY = 2, 6


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> File:
    """An empty file where the tools look for it, in the namespace `proj`."""
    path = tmp_path / "llm_memory.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_MEMORY_DATABASE_PATH", str(path))
    monkeypatch.setenv("LLM_MEMORY_DEFAULT_NAMESPACE", "proj")
    return File(path)


def pairs(file: File, groups: int) -> None:
    """Groups of two with one vector each, the older one `old-N`, and one memory beside them."""
    for number in range(groups):
        vector = [float(at == number) for at in range(6)]
        file.add(f"old-{number}", vector, f"The {number}. fact.")
        file.add(f"new-{number}", vector, f"The {number}. fact.")
    file.add("beside", None, "A fact without a vector.")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Callable[[type[Store]], list[str]]:
    """Counts how often a kind of store is read whole."""

    def counted(kind: type[Store]) -> list[str]:
        told: list[str] = []
        real = kind.scan

        def scan(self: Store, scope: Scope = ALL) -> Iterator[Memory]:
            told.append(self.url)
            return real(self, scope)

        monkeypatch.setattr(kind, "scan", scan)
        return told

    return counted


def test_a_merge_of_more_groups_reads_the_file_no_more_often(
    file: File, scans: Callable[[type[Store]], list[str]]
) -> None:
    """Failure 4: each group read the whole file, so that 20,000 memories took half an hour."""
    told = scans(LlmMemoryStore)
    counts = []
    for groups in (FEW, MANY):
        file.path.unlink()
        pairs(File(file.path), groups)
        told.clear()
        code, answer, _err = command("deduplicate", "--no-dry-run")
        assert (code, answer["merged"]) == (0, groups)
        counts.append(len(told))
    assert counts[0] == counts[1]


def test_a_link_another_program_makes_between_two_groups_is_moved(file: File) -> None:
    """Failure 4: an index made once must not lose what comes to be while a run goes on."""
    pairs(file, 3)
    with open_file(None) as store:
        made = preview(store, Arguments(namespace=resolve(None), dry_run=False))
        last = made.plan.actions[-1]
        gone = last.members[0].id

        def between(done: int, whole: int) -> None:
            if done == whole - 1:
                file.link("beside", gone)

        answer = carry_out(store, made, progress=between)
    assert answer["merged"] == 3
    found = file.run("SELECT source_id, target_id FROM memory_links")
    assert found == [("beside", last.survivor)]


def test_a_merge_tells_how_far_it_is(file: File) -> None:
    """Failure 4: nothing was shown while a long merge went on."""
    pairs(file, 3)
    told: list[tuple[str, int, int]] = []
    memory_deduplicate(dry_run=False, progress=lambda *said: told.append(said))
    assert [said for said in told if said[0] == "writing"] == [
        ("writing", done, 3) for done in (0, 1, 2, 3)
    ]
    assert told[0][0] != "writing", "the look before it is told too"


# ------------------------------------------------------------------ every kind of store


def _vectored(memory: Memory) -> Memory:
    data = struct.pack("<3f", 1.0, float(len(memory.content)), float(memory.id[2:]))
    return replace(memory, vectors=(Vector("chroma:notes", data),))


KINDS = {
    "sqlite": "sqlite:///{}/a.db",
    "jsonl": "jsonl:///{}/a.jsonl",
    "recall": "recall:///{}/recall.db",
    "llm-memory": "llm-memory:///{}/a.db",
    "chroma": "chroma:///{}/chroma#notes",
    "lancedb": "lancedb:///{}/lance#notes",
    "shodh": "shodh:///{}/shodh",
    "langgraph": "",
}


@contextmanager
def _store(kind: str, folder: Path) -> Iterator[Store]:
    if kind == "langgraph":
        yield LangGraphStore(InMemoryStore(), lineage=folder / "lineage")
        return
    with open_store(KINDS[kind].format(folder), create=True) as store:
        yield store


def _told(kind: str, number: int) -> Memory:
    memory = simple(number + 1)
    match kind:
        case "chroma":
            return _vectored(memory)
        case "recall":
            return replace(memory, id=f"breadcrumbs#{number + 1}", extra={"table": "breadcrumbs"})
        case "llm-memory":
            return replace(memory, namespace="proj")
        case "langgraph":
            return replace(memory, id=f"notes/{memory.id}", namespace="notes")
        case _:
            return memory


@pytest.mark.parametrize(
    ("kind", "one_by_one"),
    [(kind, False) for kind in KINDS]
    # a text file is written whole, so also read whole, for each of its transactions
    + [(kind, True) for kind in KINDS if kind != "jsonl"],
)
def test_a_run_reads_a_store_whole_at_most_once_however_many_groups_it_has(
    kind: str,
    one_by_one: bool,
    tmp_path: Path,
    scans: Callable[[type[Store]], list[str]],
) -> None:
    """Failure 4, for every kind of store: the rest of the store is not read for each group."""
    with _store(kind, tmp_path) as store:
        memories = [_told(kind, number) for number in range(2 * MANY)]
        with store.writing():
            store.put(memories)
        groups = zip(memories[::2], memories[1::2], strict=True)
        made = plan_by_hand(store, [(a.id, b.id) for a, b in groups], "delete")
        told = scans(type(store))
        run = apply(store, made, one_by_one=one_by_one)
        assert run.counts["delete"] == MANY
        assert len(told) <= 1


@pytest.mark.parametrize("kind", ["sqlite", "jsonl", "chroma", "lancedb", "langgraph"])
def test_links_that_come_and_go_during_a_run_are_followed(kind: str, tmp_path: Path) -> None:
    """Failure 4: a memory that the run itself re-points is known under its new target."""
    with _store(kind, tmp_path) as store:
        first, *rest = (_told(kind, number) for number in range(5))
        second, third, fourth, pointing = rest
        pointing = replace(pointing, links=(Link(second.id, "see"), Link(fourth.id, "see")))
        third = replace(third, links=(Link(second.id, "see"),))
        with store.writing():
            store.put([first, second, third, fourth, pointing])
        made = plan_by_hand(store, [(first.id, second.id), (third.id, fourth.id)], "delete")
        run = apply(store, made, one_by_one=True)
        assert not run.refused
        assert not run.failed
        there = store.get([third.id, pointing.id])
        assert {link.target for link in there[pointing.id].links} == {first.id, third.id}
        assert [link.target for link in there[third.id].links] == [first.id]


@pytest.mark.parametrize("one_by_one", [False, True], ids=["whole", "one by one"])
@pytest.mark.parametrize("turned", [False, True], ids=["target last", "target first"])
@pytest.mark.parametrize("kind", ["sqlite", "jsonl", "llm-memory", "chroma", "lancedb"])
def test_a_link_between_two_removed_memories_leads_from_survivor_to_survivor(
    kind: str, one_by_one: bool, turned: bool, tmp_path: Path
) -> None:
    """Taken over by a survivor, it still led to what another group removed in the same go."""
    with _store(kind, tmp_path) as store:
        first, second, third, fourth = (_told(kind, number) for number in range(4))
        with store.writing():
            store.put([first, second, third, fourth])
            store.put([replace(second, links=(Link(fourth.id, "related"),))])
        groups = [(first.id, second.id), (third.id, fourth.id)]
        made = plan_by_hand(store, groups[::-1] if turned else groups, "delete")
        before = store.get([first.id, second.id, third.id, fourth.id])
        run = apply(store, made, one_by_one=one_by_one)
        assert run.counts["delete"] == 2
        assert [link.target for link in store.get([first.id])[first.id].links] == [third.id]
        undo(store, run.id)
        assert store.get(before) == before


LINKING = """
import sys
import chromadb
from chromadb.config import Settings
client = chromadb.PersistentClient(sys.argv[1], Settings(anonymized_telemetry=False))
notes = client.get_collection("notes", embedding_function=None)
notes.update(ids=[sys.argv[2]], metadatas=[{"echoless.links": sys.argv[3]}])
"""


def test_a_link_another_process_makes_in_chroma_between_two_groups_is_moved(
    tmp_path: Path,
) -> None:
    """Failure 4: links were read once a run in Chroma, and those that came later were lost."""
    with _store("chroma", tmp_path) as store:
        memories = [_told("chroma", number) for number in range(5)]
        with store.writing():
            store.put(memories)
        first, second, third, fourth, beside = (memory.id for memory in memories)
        made = plan_by_hand(store, [(first, second), (third, fourth)], "delete")

        def between(done: int, _whole: int) -> None:
            if done == 1:
                link = f'[{{"target": "{fourth}", "kind": "see", "data": {{}}}}]'
                words = [sys.executable, "-c", LINKING, str(tmp_path / "chroma"), beside, link]
                subprocess.run(words, check=True, env=os.environ)

        apply(store, made, progress=between)
        assert [link.target for link in store.get([beside])[beside].links] == [third]
