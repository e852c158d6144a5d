"""`echoless list` shows what is stored, sorted and filtered."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from click.testing import Result

Call = Callable[..., Result]


def listed(answer: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answer.stdout)["memories"]
    return found


def test_all_memories_are_listed_with_day_and_size(echoless: Call, notes: str) -> None:
    said = echoless("list", notes).stdout
    assert "m-1 (2026-01-01, 9 tokens): The database listens on port 5432." in said
    assert "8 memories" in said


def test_they_are_sorted_filtered_and_cut(echoless: Call, notes: str) -> None:
    newest = listed(echoless("list", notes, "--sort", "newest", "--limit", "2", "--json"))
    assert [memory["id"] for memory in newest] == ["m-8", "m-7"]
    tea = listed(echoless("list", notes, "--words", "GREEN tea", "--json"))
    assert [memory["id"] for memory in tea] == ["m-5", "m-6"]
    home = listed(echoless("list", notes, "--namespace", "home", "--sort", "size", "--json"))
    sizes = [memory["tokens"] for memory in home]
    assert sizes == sorted(sizes, reverse=True)


def test_hidden_ones_name_the_memory_that_stands_for_them(echoless: Call, notes: str) -> None:
    echoless("dedup", notes, "--encoder", "none", "--apply")
    hidden = {
        memory["id"]: memory["hidden"] for memory in listed(echoless("list", notes, "--json"))
    }
    assert (hidden["m-1"], hidden["m-2"]) == (None, "m-1")
