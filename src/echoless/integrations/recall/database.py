"""Location of the database of Recall."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from echoless.core.errors import StoreNotFound
from echoless.stores.recall import RecallStore

HOME: Final = Path("~/.agents/Recall")
_VARIABLES: Final = ("RECALL_DB_PATH", "MEM_DB_PATH")


def database_path(named: str | None, environment: Mapping[str, str] | None = None) -> Path:
    """Returns the named path, else that of the environment, else Recall's own."""
    known = os.environ if environment is None else environment
    chosen = named or next((known[v] for v in _VARIABLES if known.get(v)), None)
    return Path(chosen).expanduser() if chosen else (HOME / "recall.db").expanduser()


def open_recall(path: Path, table: str | None = None) -> RecallStore:
    """Opens the database, or one table of it.

    Raises:
        StoreNotFound: There is no file.
        ForeignStore: It is another database.
    """
    if not path.is_file():
        raise StoreNotFound(f"Database not found at {path}")
    return RecallStore.open(f"{path}#{table}" if table else str(path))
