"""The judge reads what a memory is about; whoever reads the findings sees the text alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, find, open_store, plan
from echoless.core.model import Memory, Pair, Verdict, fingerprint
from echoless.core.settings import Choices, resolve
from echoless.ingest import Admitted, AlreadyKnown, remember
from echoless.matching.rule_judge import RuleJudge
from echoless.stores.base import in_context, in_contexts
from echoless.workflows.audit.report import audit_store
from echoless.workflows.review.plan import bonds_among
from tests.conformance.stores import fill, simple
from tests.stores.mcp_memory.graphs import written


@contextmanager
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The texts the rules are asked about."""
    texts: set[str] = set()
    original = RuleJudge.judge_all

    def judge_all(self: RuleJudge, pairs: Sequence[Pair]) -> list[Verdict]:
        texts.update(memory.content for pair in pairs for memory in (pair.a, pair.b))
        return original(self, pairs)

    with monkeypatch.context() as patch:
        patch.setattr(RuleJudge, "judge_all", judge_all)
        yield texts


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    texts = ["Prefers dark mode.", "prefers dark mode", "Listens on port 8443"]
    path.write_bytes(written([("Ann", "person", texts), ("Ben", "person", texts[:1])]))
    return path


def test_the_judge_reads_the_context_and_everyone_else_the_text(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(graph) as store:
        memories = {memory.id: memory for memory in store.scan()}
        with asked(monkeypatch) as texts:
            found = find(store, encoder="none")
        assert texts == {"Ann: Prefers dark mode.", "Ann: prefers dark mode"}
        assert dict(found.memories) == memories
        (action,) = plan(found).actions
        assert action.fingerprint == fingerprint(memories[action.survivor])
        assert action.preview == memories[action.survivor].content
        assert all(m.fingerprint == fingerprint(memories[m.id]) for m in action.members)
        assert apply(store, plan(found)).counts["mark"] == 1


def test_a_repeated_audit_and_a_review_say_the_same(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = resolve(Choices(encoder="none"))
    monkeypatch.setattr("echoless.workflows.audit.answer_cache.KEPT_FROM", 1)
    with open_store(graph) as store:
        first, second = audit_store(store, settings), audit_store(store, settings)
        assert first == second
        found = find(store, settings)
        (group,) = found.groups
        ids = [group.survivor, *(member.id for member in group.members)]
        assert bonds_among(found, ids).between(ids[0], ids[1]) == group.members[0].judged


def test_equal_texts_about_two_things_are_not_one_even_across_namespaces(graph: Path) -> None:
    settings = resolve(Choices(encoder="none"))
    wide = replace(settings, profile=replace(settings.profile, partition=()))
    with open_store(graph) as store:
        found = find(store, wide)
        for group in found.groups:
            ids = [group.survivor, *(member.id for member in group.members)]
            assert len({found.memories[id_].namespace for id_ in ids}) == 1


def test_the_guard_reads_the_context_too(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = resolve(Choices(encoder="none"))
    with open_store(graph) as store, asked(monkeypatch) as texts:
        known = remember(store, "listens on port 8443", namespace="Ann", settings=settings)
        assert isinstance(known, AlreadyKnown)
        assert texts >= {"Ann: listens on port 8443", "Ann: Listens on port 8443"}
        new = remember(store, "listens on port 8443", namespace="Ben", settings=settings)
        assert isinstance(new, Admitted)
        assert store.get([new.id])[new.id].content == "listens on port 8443"


def test_a_store_without_contexts_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"jsonl:///{tmp_path}/memories.jsonl"
    texts = ["The gateway listens on port 8443.", "the gateway listens on port 8443"]
    fill(url, [simple(n, text, namespace="Ann") for n, text in enumerate(texts, 1)])
    with open_store(url) as store:
        memories: dict[str, Memory] = {memory.id: memory for memory in store.scan()}
        assert in_contexts(store, memories) is memories
        assert in_context(store, memories["m-1"]) is memories["m-1"]
        with asked(monkeypatch) as read:
            assert len(find(store, encoder="none").groups) == 1
        assert read == set(texts)
