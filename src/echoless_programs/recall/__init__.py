"""Recall: deduplication, search and export over its own database.

Profile `recall` and the adapter `echoless_programs/stores/recall` do the work; here is what is the
system's own: where the file lies, what its report counts, how its searches rank, its exports look.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from echoless.core.errors import StoreNotFound
from echoless_programs.stores.recall import RecallStore

HOME: Final = Path("~/.agents/Recall")
_VARIABLES: Final = ("RECALL_DB_PATH", "MEM_DB_PATH")


def database_path(named: str | None) -> Path:
    """Returns the named path, else that of the environment, else Recall's own."""
    chosen = named or next(filter(None, map(os.environ.get, _VARIABLES)), None)
    return Path(chosen).expanduser() if chosen else (HOME / "recall.db").expanduser()


def open_recall(path: Path, table: str | None = None) -> RecallStore:
    """Opens the database, or one of its tables.

    Raises:
        StoreNotFound: There is no file.
        ForeignStore: It is another database.
    """
    if not path.is_file():
        raise StoreNotFound(f"Database not found at {path}")
    return RecallStore.open(f"{path}#{table}" if table else str(path))
