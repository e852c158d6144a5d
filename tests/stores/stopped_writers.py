"""A program that is killed inside a write to an SQLite file, so that its journal stays behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

_STOPPED = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
assert db.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
db.execute("PRAGMA cache_size=1")
db.execute("PRAGMA cache_spill=1")
db.execute("BEGIN IMMEDIATE")
db.execute("CREATE TABLE half (x)")
db.executemany("INSERT INTO half VALUES (?)", [(os.urandom(2000),) for _ in range(200)])
for (name,) in db.execute(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
    " AND name NOT LIKE 'sqlite%' AND name NOT LIKE '%fts%' AND name NOT LIKE 'events'"
).fetchall():
    if name in sys.argv[2:]:
        db.execute(f"DELETE FROM {name}")
os.kill(os.getpid(), signal.SIGKILL)
"""


def stop_in_the_middle(path: Path, *emptied: str) -> None:
    """Leave a file as a kill inside a commit does: half-written pages, and a hot journal.

    Args:
        path: The file.
        emptied: Tables whose rows the killed program was removing.
    """
    command = [sys.executable, "-c", _STOPPED, str(path), *emptied]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    journal = path.with_name(f"{path.name}-journal")
    assert journal.read_bytes()[:8] == bytes.fromhex("d9d505f920a163d7"), "the journal is not hot"
