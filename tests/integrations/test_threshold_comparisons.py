"""The report of each program's command says what the judge that reads would hold back."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from echoless.cli.main import main
from echoless.core.model import Memory, Vector
from echoless.testing.stores import fill

TEXTS = (
    "The nightly export of the ledger runs on worker Anton.",
    "The nightly export of the ledger runs on worker Berta.",
)


def told(model: str, dimensions: int = 6, **more: object) -> list[Memory]:
    vector = Vector(model, b"\0\0\x80?" + b"\0\0\0\0" * (dimensions - 1))
    return [
        Memory(
            id=f"m-{n}",
            content=text,
            created_at=f"2026-01-0{n}T00:00:00Z",
            vectors=(vector,),
            **more,  # type: ignore[arg-type]
        )
        for n, text in enumerate(TEXTS, 1)
    ]


def test_llm_memory_tells_it_in_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "llm_memory.db"
    fill(f"llm-memory:///{path}", told("llm-memory", 384, namespace="proj"))
    words = ["llm-memory", "deduplicate", "--namespace", "proj", "--db-path", str(path)]
    words = [*words, "--no-guards"]
    answer = json.loads(CliRunner().invoke(main, [*words, "--second-look"]).stdout)
    assert answer["total_duplicates"] == 1
    assert (answer["second_look"]["merges"], answer["second_look"]["held"]) == (1, 1)
    assert "second_look" not in json.loads(CliRunner().invoke(main, words).stdout)


def test_what_the_rules_call_another_value_is_held_as_the_default(tmp_path: Path) -> None:
    path = tmp_path / "llm_memory.db"
    fill(f"llm-memory:///{path}", told("llm-memory", 384, namespace="proj"))
    words = ["llm-memory", "deduplicate", "--namespace", "proj", "--db-path", str(path)]
    assert json.loads(CliRunner().invoke(main, words).stdout)["total_duplicates"] == 0
    original = json.loads(CliRunner().invoke(main, [*words, "--no-guards"]).stdout)
    assert original["total_duplicates"] == 1


def test_ego_mcp_tells_it_beside_its_candidates(tmp_path: Path) -> None:
    url = f"chroma:///{tmp_path}/chroma#ego_memories"
    fill(url, told("chroma:ego_memories", namespace="public"))
    result = CliRunner().invoke(
        main, ["ego-mcp", "consolidate", "--store", url, "--window-hours", "1000000"]
    )
    assert result.exit_code == 0, result.output
    assert "the full judge would hold back 1" in result.stderr


def test_sliding_context_tells_it_in_a_dry_run(tmp_path: Path) -> None:
    model = "text-embedding-3-small"
    entries = [
        Memory(id=m.id, content=m.content, namespace="dm/telegram", vectors=m.vectors,
               created_at=m.created_at)
        for m in told(model, 1536)
    ]  # fmt: skip
    fill(f"lancedb:///{tmp_path}/db#context_entries", entries)
    result = CliRunner().invoke(
        main, ["sliding-context", "cleanup", "--db-path", str(tmp_path / "db"), "--dry-run"]
    )
    assert result.exit_code == 0, result.output
    assert "the full judge would hold back 1" in result.stderr
