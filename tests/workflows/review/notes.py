"""A small store whose groups, newer values and unsure pairs share memories."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from echoless.core.settings import Choices, Settings, resolve

NOTES: Mapping[str, str] = {
    "p-1": "The database listens on port 5432.",
    "p-2": "The database listens on port 5432.",
    "p-3": "the database listens on port 5432",
    "p-4": "The database listens on port 5433.",
    "p-5": "The database listens on port 5434.",
    "t-1": "Anna drinks green tea in the morning.",
    "t-2": "Anna drinks green tea in the morning!",
    "t-3": "Anna does not drink green tea in the morning.",
    "h-1": "The user in Hamburg drinks black coffee after 30 s.",
    "h-2": "The user in Hamburg drinks black coffee after 30.",
    "c-1": "The nightly backups are kept for 30 days on the second disk.",
    "c-2": "The nightly backups are kept for 60 days on the second disk.",
    "c-3": "The nightly backups are kept for 90 days on the second disk!",
}
"""Those of `c` have no time: none is newer, so their pairs are unsure."""

PORTS, TEA, COFFEE = ("p-1", "p-2", "p-3"), ("t-1", "t-2"), ("h-1", "h-2")
NEWER_PORT, NEWER_TEA = ("p-1", "p-4", "p-5"), ("t-1", "t-3")
BACKUPS = ("c-1", "c-2"), ("c-1", "c-3"), ("c-2", "c-3")

LEXICAL: Settings = resolve(Choices(semantic=False))


def write_notes(
    path: Path, texts: Mapping[str, str] = NOTES, *, pinned: Sequence[str] = ()
) -> None:
    """Writes memories as a JSONL store, each with a time of its own but for those of `c`."""
    lines = []
    for day, (id_, text) in enumerate(texts.items(), 1):
        record: dict[str, object] = {"id": id_, "content": text, "pinned": id_ in pinned}
        if not id_.startswith("c"):
            record["created_at"] = f"2026-01-{day:02d}T10:00:00Z"
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines) + "\n", "utf-8")


# ------------------------------------------------------------------ long notes

_FILLER = (
    "The dashboard of the shop shows the orders of each hour, and who looked at it last.\n\n"
    "Screenshots are attached wherever a change can be seen on a page of the shop.\n\n"
    "Large changes are split into parts that can each be read in a quarter of an hour.\n\n"
    "A review that waits for longer than two days is raised in the daily meeting of the team.\n\n"
    "Generated files are not read line by line; the generator and its tests are read instead.\n\n"
    "Access to production is granted after the second week, and only by the lead of the team.\n"
)
DEPLOY = f"""# Deploy

## Rules

- Every deploy needs the approval of two engineers.
- Never deploy on a Friday, as nobody is on call over the weekend.
- The database is migrated before the web servers are restarted.

## Contacts

- The release manager is Jana Kovacs, reachable by phone.

{_FILLER}"""
REVIEWING = """# Review

Reviews are done within one working day, in the order in which they were opened.

- Never deploy on a Friday, as nobody is on call over the weekend.
- Comments that begin with `nit` do not block a merge, and the author may ignore them.
- The staging environment is a copy of production with a tenth of its data.
- Feature flags are switched in the console, and who switched them is written to the channel.
- The first pull request of a new colleague is a small fix from the list of good first issues.
- A laptop is handed out on the first day, and the shop is set up on it with one command.
- Load tests run on machines of their own, on Sunday nights, for at most three hours each.

## Contacts

- The release manager is Jana Kovacs, reachable by phone.
"""


def write_long_notes(folder: Path) -> Path:
    """Writes a memory of Claude Code with two long notes that share two claims."""
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- [d](deploy.md) - deploys\n- [r](review.md) - reviews\n")
    (folder / "deploy.md").write_text(DEPLOY)
    (folder / "review.md").write_text(REVIEWING)
    return folder
