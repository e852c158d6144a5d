"""The view of an SQLite store that a program of its own reads: all but what is hidden."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from echoless import apply, open_store, undo
from tests.conformance.stores import fill, plan_by_hand, simple

VISIBLE = "SELECT id, content FROM visible_memories ORDER BY seq"


def seen(path: Path) -> dict[str, str]:
    """Reads the view as another program does, with SQLite's own library."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return dict(db.execute(VISIBLE).fetchall())


def test_the_view_holds_what_is_not_hidden_and_all_after_an_undo(tmp_path: Path) -> None:
    path, url = tmp_path / "a.db", f"sqlite:///{tmp_path}/a.db"
    fill(url, [simple(n) for n in range(1, 5)])
    assert list(seen(path)) == ["m-1", "m-2", "m-3", "m-4"]
    with open_store(url) as store:
        run = apply(store, plan_by_hand(store, [("m-3", "m-1", "m-4")], "mark"))
        assert seen(path) == {n.id: n.content for n in (simple(2), simple(3))}
        undo(store, run.id)
    assert list(seen(path)) == ["m-1", "m-2", "m-3", "m-4"]
