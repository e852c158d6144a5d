"""The conformance suite on a file of bullets, folders of them, and folders of memory files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from echoless.core.errors import StoreError
from echoless.core.model import Memory
from echoless.stores.base import Scope
from tests.conformance.stores import FULL, StoreConformance, simple


class BulletConformance(StoreConformance):
    """A bullet holds its text and stands under its headings; it has no time and no fields."""

    __test__ = False
    FILE = ""

    def kept(self, memory: Memory) -> Memory:
        parts = [part for part in (self.FILE, memory.namespace) if part]
        return Memory(id=memory.id, content=memory.content, namespace=" > ".join(parts))

    def listed(self, *ids: str) -> list[str]:
        """What has no heading stands above the headings: `m-1` above `m-full`."""
        return sorted(ids)

    def test_scope_narrows_by_namespace_time_and_number(self, tmp_path: Path) -> None:
        memories = [simple(n, namespace="even" if n % 2 == 0 else "odd") for n in range(1, 7)]
        self.fill(tmp_path, self.as_stored(*memories))
        odd, even = (self.kept(memory).namespace for memory in memories[:2])
        with self.open(tmp_path) as store:
            assert store.namespaces() == {even: 3, odd: 3}
            for scope, expected in (
                (Scope(namespace=even), ["m-2", "m-4", "m-6"]),
                (Scope(namespace=odd, limit=1), ["m-1"]),
                (Scope(since="2026-01-05"), []),
            ):
                assert [m.id for m in store.scan(scope)] == expected
                assert store.count(scope) == len(expected)


class TestFile(BulletConformance):
    __test__ = True

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/NOTES.md"


class TestRulesByHeading(BulletConformance):
    FILE = "AGENTS.md"

    __test__ = True

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/project?preset=agent-rules&scope=heading"


class TestObservations(BulletConformance):
    """Tags stand behind the text; the file is the scope."""

    __test__ = True

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/notes?preset=basic-memory"

    def kept(self, memory: Memory) -> Memory:
        name = f"{memory.namespace.partition('/')[0] or 'notes'}.md"
        return Memory(id=memory.id, content=memory.content, namespace=name, tags=memory.tags)

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids) if FULL.id in ids else list(ids)


class TestRules(TestObservations):
    """A bullet of a rule file holds its text alone; the file is the scope."""

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/project?preset=agent-rules"

    def kept(self, memory: Memory) -> Memory:
        folder = memory.namespace.partition("/")[0]
        name = f"{folder}/AGENTS.md" if folder else "AGENTS.md"
        return Memory(id=memory.id, content=memory.content, namespace=name)


class TestFolderOfRules(TestRules):
    """A folder of rules is read like the rules of a project."""

    PRESET, FIRST = "rules", "rules.md"

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/rules?preset={self.PRESET}"

    def kept(self, memory: Memory) -> Memory:
        name = f"{memory.namespace.partition('/')[0]}.md" if memory.namespace else self.FIRST
        return Memory(id=memory.id, content=memory.content, namespace=name)


class TestLetta(TestFolderOfRules):
    PRESET, FIRST = "letta", "system/human.md"


class TestDailyNotes(StoreConformance):
    """A day is all that a daily note knows of the time, and no scope."""

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/workspace?preset=openclaw&scope=heading"

    def kept(self, memory: Memory) -> Memory:
        return Memory(
            id=memory.id,
            content=memory.content,
            namespace=memory.namespace,
            created_at=(memory.created_at or "")[:10],
        )

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids)


class TestEntries(StoreConformance):
    """An entry is a text alone, and both files are one scope."""

    PRESET = "hermes"

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/memories?preset={self.PRESET}"

    def kept(self, memory: Memory) -> Memory:
        return Memory(id=memory.id, content=memory.content)

    def test_scope_narrows_by_namespace_time_and_number(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(*(simple(n) for n in range(1, 7))))
        with self.open(tmp_path) as store:
            assert store.namespaces() == {"": 6}
            assert [m.id for m in store.scan(Scope(limit=2))] == ["m-1", "m-2"]


class TestEntriesOfPi(TestEntries):
    PRESET = "pi-hermes"


class TestMemories(TestEntries):
    PRESET = "memories"


class TestTopicFiles(StoreConformance):
    """Front matter holds fields; the id is the path of the file, and there are no scopes."""

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/memory?preset=claude-memory"

    def named(self, id_: str) -> str:
        return "m-0.md" if id_ == FULL.id else f"{id_}.md"

    def kept(self, memory: Memory) -> Memory:
        return Memory(
            id=self.named(memory.id),
            content=memory.content,
            type=memory.type,
            tags=memory.tags,
            created_at=memory.created_at,
            metadata=memory.metadata,
        )

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids)

    def test_scope_narrows_by_namespace_time_and_number(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.as_stored(*(simple(n) for n in range(1, 7))))
        with self.open(tmp_path) as store:
            assert store.namespaces() == {"": 6}
            for scope, expected in (
                (Scope(since="2026-01-05"), ["m-5.md", "m-6.md"]),
                (Scope(limit=2), ["m-5.md", "m-6.md"]),
            ):
                assert [m.id for m in store.scan(scope)] == expected
                assert store.count(scope) == len(expected)


class TestSerena(TestTopicFiles):
    """A file a memory, without an index."""

    def url(self, folder: Path) -> str:
        return f"markdown:///{folder}/memories?preset=serena"


def test_fields_that_markdown_cannot_hold_are_refused_by_name(tmp_path: Path) -> None:
    suite = TestFile()
    suite.fill(tmp_path, suite.as_stored(simple(1)))
    before = suite.bytes_of(tmp_path)["NOTES.md"]
    new = suite.kept(simple(2))
    with suite.open(tmp_path) as store, store.writing():
        with pytest.raises(StoreError, match=r"'m-2' was not written.*its tags"):
            store.put([replace(new, tags=("x",))])
        with pytest.raises(StoreError, match=r"'m-2' was not written.*other fields"):
            store.put([replace(new, importance=1.0)])
    assert suite.bytes_of(tmp_path)["NOTES.md"] == before
