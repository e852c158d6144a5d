"""The table of all programs, as a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from benchmarks.measure import RESULTS
from benchmarks.programs.catalogue import absent
from benchmarks.programs.harness import Row

TITLE = "What hiding does to the programs themselves"
COMMAND = "python -m benchmarks.programs"

COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("program", lambda row: row.program + ("\\*" if row.messages else "")),
    ("package", lambda row: f"{row.package} {row.version}"),
    ("address", lambda row: f"`{row.address}`" + (" (typed)" if row.typed else "")),
    ("hidden", lambda row: row.hidden),
    ("found after hiding", lambda row: row.found),
    ("survivor found", lambda row: row.survivor),
    ("undo: order", lambda row: row.order),
    ("times", lambda row: row.times),
    ("vectors", lambda row: row.vectors),
    ("fields", lambda row: row.fields),
    ("bytes", lambda row: row.bytes),
    ("text left after delete", lambda row: row.left),
    ("edit keeps created", lambda row: row.edit),
)

INTRODUCTION = """\
Each program was installed by its package, and its own API wrote nine memories. Two of them are said
again in other letters by the same user, and one by another user. echoless hid the copies by the
address it prints itself; then the program searched, and the run was undone.

- **address**: what echoless prints for the store; *typed* is one that it does not print.
- **found after hiding**: whether the program's own search still finds a hidden copy.
- **survivor found**: whether it finds the text that stands for the copy, also among the first two.
- **undo**: by the list of the program. *unsteady*: its order changes by itself. A dash: none told.
- **bytes**: whether all files of the store are the same after hiding and undo, the ledger aside.
- **text left after delete**: files of the store that hold a text after `--action delete`.
- \\* messages of a talk, which are no memories.
"""


UPGRADES = """\
The older version wrote, echoless hid, the newest opened it; then the run was undone. *found*:
hidden memories that the newest finds.
"""


ROWS = RESULTS / "programs.jsonl"


def rows() -> list[Row]:
    """What was seen so far, as it is kept."""
    if not ROWS.exists():
        return []
    return [Row(**json.loads(line)) for line in ROWS.read_text("utf-8").splitlines()]


def body(seen: Sequence[Row]) -> str:
    """The page below its title."""
    opened = [row for row in seen if row.hidden]
    upgraded = [row for row in seen if row.upgrade]
    parts = [
        INTRODUCTION,
        _counts(seen),
        _table([name for name, _ in COLUMNS], [[cell(r) for _, cell in COLUMNS] for r in opened]),
        "## Written by an older version, read by the newest\n",
        UPGRADES,
        _table(
            ["program", "older", "newer", "what was seen"],
            [[row.program, row.older, row.version, row.upgrade] for row in upgraded],
        ),
        "## Remarks\n",
        *(f"- **{row.program}**: {remark}" for row in opened for remark in row.remarks),
        "\n## Not hidden in, and why\n",
        *(
            f"- **{row.program}** ({row.package} {row.version}): {' '.join(row.remarks)}"
            for row in seen
            if not row.hidden
        ),
        "\n## Not tried, and why\n",
        *(f"- **{name}**: {why}" for name, why in absent().items()),
    ]
    return "\n".join(parts)


def _counts(seen: Sequence[Row]) -> str:
    opened = sum(bool(row.hidden) for row in seen)
    searched = sum(row.found not in {"", "no search"} for row in seen)
    upgraded = sum(bool(row.upgrade) for row in seen)
    return (
        f"{len(seen)} programs. In {opened} echoless hid; {searched} of these have a search of "
        f"their own, and {upgraded} were tried across an upgrade.\n"
    )


def _table(head: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *cells]
    return "".join(f"| {' | '.join(c.replace('|', '/') for c in line)} |\n" for line in lines)
