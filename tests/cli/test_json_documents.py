"""A JSON file of DeerFlow, mem0 or ChatGPT from its place on the disk to the undone run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]

TEXTS = (
    "User prefers answers in Chinese.",
    "user prefers answers in Chinese",
    "The lift is broken.",
)
TIMES = ("2026-04-22T02:44:22Z", "2026-04-23T02:44:22Z", "2026-04-24T02:44:22Z")


def deer_flow() -> object:
    facts = [
        {
            "id": f"fact_{n}",
            "content": text,
            "category": "context",
            "confidence": 0.90,
            "createdAt": t,
        }
        for n, (text, t) in enumerate(zip(TEXTS, TIMES, strict=True))
    ]
    user = {"workContext": {"summary": "Debugs an agent.", "updatedAt": TIMES[0]}}
    return {"version": "1.0", "lastUpdated": TIMES[2], "user": user, "facts": facts}


def mem0() -> object:
    return {
        "results": [
            {"id": f"m{n}", "memory": text, "user_id": "anna", "created_at": t, "metadata": None}
            for n, (text, t) in enumerate(zip(TEXTS, TIMES, strict=True))
        ]
    }


def chatgpt() -> object:
    memories = [
        {"id": f"c{n}", "content": text, "created_timestamp": 1_776_825_862.5 + n, "updated_at": t}
        for n, (text, t) in enumerate(zip(TEXTS, TIMES, strict=True))
    ]
    return {"memories": memories, "memory_num_tokens": 40, "memory_max_tokens": 1000}


def texts() -> object:
    return [*TEXTS]


def seen(file: Path) -> int:
    """Returns how many memories the program of a file sees."""
    data = json.loads(file.read_text())
    lists = [each for each in data.values() if isinstance(each, list)] if data else [data]
    return len(lists[0])


@pytest.mark.parametrize("make", [deer_flow, mem0, chatgpt])
@pytest.mark.parametrize("indent", [None, 2])
def test_it_is_audited_hidden_from_its_program_and_undone_to_the_byte(
    echoless: Call, place: Path, make: Callable[[], object], indent: int | None
) -> None:
    file = place / "memory.json"
    file.write_text(json.dumps(make(), indent=indent, ensure_ascii=False))
    before = file.read_bytes()
    answer = json.loads(echoless("audit", "memory.json", "--set", "semantic=no", "--json").stdout)
    assert (answer["counts"]["redundant"], answer["unread"]) == (1, None)
    assert "unknown" not in answer["by_month"]
    words = ("dedup", "jsonl:///memory.json?hide=move", "--set", "semantic=no", "--apply")
    said = echoless(*words)
    assert said.exit_code == 0, said.stderr
    assert seen(file) == 2
    assert echoless("undo", "memory.json", "last").exit_code == 0
    assert file.read_bytes() == before


def test_a_list_of_texts_goes_the_same_way(echoless: Call, place: Path) -> None:
    file = place / "memory.json"
    file.write_text(json.dumps(texts(), indent=1))
    before = file.read_bytes()
    assert (
        echoless(
            "dedup", "jsonl:///memory.json?hide=move", "--set", "semantic=no", "--apply"
        ).exit_code
        == 0
    )
    assert json.loads(file.read_text()) in (list(TEXTS[::2]), list(TEXTS[1:]))
    assert echoless("undo", "memory.json", "last").exit_code == 0
    assert file.read_bytes() == before


def test_the_file_of_deer_flow_is_discovered(echoless: Call, place: Path) -> None:
    folder = place / "project/.deer-flow"
    folder.mkdir(parents=True)
    (folder / "memory.json").write_text(json.dumps(deer_flow()))
    (found,) = json.loads(echoless("discover", "project", "--json").stdout)["stores"]
    assert (found["program"], found["kind"], found["memories"]) == ("DeerFlow", "jsonl", 3)
