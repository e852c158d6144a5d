"""Lists of memories that a chatbot prints to be taken along: `[2025-06-01] - text` is a memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, open_store, undo
from echoless.core.errors import ForeignStore
from echoless.core.profiles import ActionKind
from echoless.stores.base import Store
from tests.conformance.stores import plan_by_hand

LIST = """## Identity

[2025-06-01] - Lives in Lisbon.
[2025-07-11] \u2013 Works as a nurse,
on night shifts.

**Preferences**
[unknown] - Prefers short answers.
"""
READ = [
    ("Lives in Lisbon.", "2025-06-01", "Identity"),
    ("Works as a nurse,\non night shifts.", "2025-07-11", "Identity"),
    ("Prefers short answers.", None, "Identity"),
]


def read(store: Store) -> list[tuple[str, str | None, str]]:
    return [
        (m.content, m.created_at, m.namespace)
        for m in store.scan()
        if not m.content.startswith("*")
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.txt", LIST),
        ("list.md", LIST),
        ("fence.md", f"```\n{LIST}```\n"),
        ("fence.txt", f"~~~text\n{LIST}~~~"),
        ("open.md", f"```\n{LIST}"),
    ],
)
@pytest.mark.parametrize("way", ["mark", "delete"])
def test_each_line_is_a_memory_with_its_day_and_comes_back_to_the_byte(
    tmp_path: Path, name: str, text: str, way: ActionKind
) -> None:
    (tmp_path / name).write_text(text)
    with open_store(tmp_path / name) as store:
        assert read(store) == READ
        ids = [m.id for m in store.scan() if not m.content.startswith("*")]
        run = apply(store, plan_by_hand(store, [(ids[0], *ids[1:])], way))
        assert not run.refused
        left = (tmp_path / name).read_text()
        assert "Lisbon" in left
        assert "nurse" not in left
        undo(store, run.id)
        assert read(store) == READ
    assert (tmp_path / name).read_text() == text


def test_a_line_keeps_its_day_when_its_text_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "list.md"
    path.write_text("```\n[2025-06-01] - Lives in Lisbon.\n- [2025-06-02] - Has a dog.\n```\n")
    with open_store(path) as store, store.writing():
        for memory, text in zip(store.scan(), ("Lives in Porto.", "Has a cat."), strict=True):
            store.put([replace(memory, content=text, native={})])
    assert (
        path.read_text()
        == "```\n[2025-06-01] - Lives in Porto.\n- [2025-06-02] - Has a cat.\n```\n"
    )


def test_other_code_and_other_plain_text_are_read_as_before(tmp_path: Path) -> None:
    code = "```sh\n# no heading\nrun [2025-06-01] - x\n```\n"
    (tmp_path / "notes.md").write_text(code)
    (tmp_path / "notes.txt").write_text("Lives in Lisbon.\n")
    with open_store(tmp_path / "notes.md") as store:
        assert [(m.content, m.type) for m in store.scan()] == [(code.strip(), "code")]
    with pytest.raises(ForeignStore):
        open_store(tmp_path / "notes.txt")
