"""Database of Recall: five tables of memories in one SQLite file, `recall:///recall.db`."""

from echoless_programs.stores.recall.store import RecallStore

__all__ = ["RecallStore"]
