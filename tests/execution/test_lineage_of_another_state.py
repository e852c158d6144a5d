"""A lineage knows its store: over another state, or beside another store, it is refused."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import lancedb
import pytest

from echoless import apply, check, find, open_store, plan, undo
from echoless.core.errors import LedgerDamaged, UndoConflict
from tests.conformance.stores import contents
from tests.laws.worlds import safe

FACT = "The lift in the main office is being repaired."
TEXTS = (FACT, "Invoices go out on Mondays.", FACT, "Anna drinks green tea in the morning.")
OTHERS = (
    "The car of the second team needs new tyres.",
    "Berlin hosts the summer meeting this year.",
    "The car of the second team needs new tyres.",
    "Tests run on four machines at night.",
)

World = Callable[[Path, tuple[str, ...]], str]


def lines(folder: Path, texts: tuple[str, ...]) -> str:
    rows = ({"id": f"m-{at}", "content": text} for at, text in enumerate(texts))
    (folder / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"jsonl:///{folder}/m.jsonl?hide=move"


def lines_without_ids(folder: Path, texts: tuple[str, ...]) -> str:
    rows = ({"content": text} for text in texts)
    (folder / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"jsonl:///{folder}/m.jsonl?hide=move"


def graph(folder: Path, texts: tuple[str, ...]) -> str:
    entity = {"type": "entity", "name": "Office", "entityType": "place"}
    (folder / "memory.json").write_text(json.dumps({**entity, "observations": texts}))
    return f"mcp-memory:///{folder}/memory.json"


def notes(folder: Path, texts: tuple[str, ...]) -> str:
    (folder / "n.md").write_text("# Notes\n\n" + "".join(f"- {text}\n" for text in texts))
    return f"markdown:///{folder}/n.md"


def folder_of_notes(folder: Path, texts: tuple[str, ...]) -> str:
    (folder / "notes").mkdir()
    notes(folder / "notes", texts)
    return f"markdown:///{folder}/notes"


def table(folder: Path, texts: tuple[str, ...]) -> str:
    with closing(sqlite3.connect(folder / "t.db")) as db, db:
        db.execute("CREATE TABLE t (id TEXT PRIMARY KEY, content)")
        db.executemany("INSERT INTO t VALUES (?, ?)", [(f"m-{n}", t) for n, t in enumerate(texts)])
    return f"sql:///{folder}/t.db?hide=move#t"


def vectors(folder: Path, texts: tuple[str, ...]) -> str:
    rows = [{"id": f"m-{n}", "text": t, "vector": [1.0, 0.5]} for n, t in enumerate(texts)]
    lancedb.connect(str(folder / "db")).create_table("t", rows)
    return f"lancedb:///{folder}/db?hide=move#t"


TEXT_FILES: tuple[World, ...] = (lines, lines_without_ids, graph, notes, folder_of_notes)
ALL: tuple[World, ...] = (*TEXT_FILES, table, vectors)


def own_files(folder: Path) -> set[str]:
    """Names of what the program of a store keeps."""
    return {each.name for each in folder.iterdir()}


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def hidden(url: str) -> str:
    """Hides one of two equal memories, and returns the run."""
    with open_store(url) as store:
        return apply(store, plan(find(store, safe()))).id


def is_refused(url: str, run: str, folder: Path, *words: str) -> None:
    """Check tells of the lineage, undo refuses, and no byte changes."""
    before = contents(folder)
    with open_store(url) as store:
        health = check(store)
        (says,) = (each.says for each in health.problems if each.kind == "lineage")
        assert not health.sound
        with pytest.raises(UndoConflict, match=f"Run {run} cannot be undone, nothing was") as told:
            undo(store, run)
    for text in (says, str(told.value)):
        assert all(word in text for word in (*words, "to begin a new lineage."))
    after = contents(folder)
    changed = {name for name in before.keys() | after if before.get(name) != after.get(name)}
    assert all(".echoless" in name for name in changed), changed


@pytest.mark.parametrize("world", TEXT_FILES, ids=lambda world: world.__name__)
def test_the_lineage_of_before_an_undo_is_refused(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    url = world(folder, TEXTS)
    own = own_files(folder)
    run = hidden(url)
    copy = copied(folder, tmp_path / "copy")
    with open_store(url) as store:
        undo(store, run)
    for each in copy.iterdir():
        if each.name not in own and each.is_dir():
            shutil.copytree(each, folder / each.name)
        elif each.name not in own:
            shutil.copy2(each, folder / each.name)
    archive = copy / "notes" / ".echoless-archive"
    if archive.exists():
        shutil.copytree(archive, folder / "notes" / ".echoless-archive")
    is_refused(url, run, folder, f"run {run} was carried out", "put back from a copy")


@pytest.mark.parametrize("world", TEXT_FILES, ids=lambda world: world.__name__)
def test_a_store_that_was_put_back_is_no_place_for_an_undo(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    url = world(folder, TEXTS)
    own = own_files(folder)
    copy = copied(folder, tmp_path / "copy")
    run = hidden(url)
    for name in own:
        if (copy / name).is_dir():
            for file in (copy / name).iterdir():
                shutil.copy2(file, folder / name / file.name)
        else:
            shutil.copy2(copy / name, folder / name)
    is_refused(url, run, folder, f"run {run} was carried out", "put back from a copy")


@pytest.mark.parametrize("world", ALL, ids=lambda world: world.__name__)
def test_a_lineage_beside_another_store_of_its_name_is_refused(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    url = world(folder, TEXTS)
    own = own_files(folder)
    run = hidden(url)
    for name in own:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    world(folder, OTHERS)
    is_refused(url, run, folder, "is that of another store")


def test_a_database_that_was_put_back_is_told_and_an_undo_writes_nothing_twice(
    tmp_path: Path,
) -> None:
    url = table(tmp_path, TEXTS)
    before = (tmp_path / "t.db").read_bytes()
    run = hidden(url)
    (tmp_path / "t.db").write_bytes(before)
    with open_store(url) as store:
        (problem,) = check(store).problems
        assert problem.kind == "lineage"
        assert problem.ids == ("m-2",)
        undo(store, run)
        assert check(store).sound
    with closing(sqlite3.connect(tmp_path / "t.db")) as db:
        assert db.execute("SELECT content FROM t ORDER BY id").fetchall() == [(t,) for t in TEXTS]


EDITS: dict[str, tuple[str, ...]] = {
    "the survivor rewritten": (f"{FACT} It is the third time.", TEXTS[1], TEXTS[3]),
    "the survivor removed": (TEXTS[1], TEXTS[3]),
    "all others removed": (FACT,),
    "all rewritten in part": tuple(f"{t} So it is." for t in (FACT, TEXTS[1], TEXTS[3])),
    "another order and one more": (TEXTS[3], OTHERS[0], TEXTS[1], FACT),
    "all but one rewritten": (OTHERS[0], OTHERS[1], TEXTS[3]),
    "nothing left": (),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("world", [lines_without_ids, graph, notes], ids=lambda w: w.__name__)
def test_after_ordinary_edits_an_undo_brings_the_hidden_memory_back(
    world: World, edit: str, tmp_path: Path
) -> None:
    url = world(tmp_path, TEXTS)
    run = hidden(url)
    world(tmp_path, EDITS[edit])
    with open_store(url) as store:
        assert not [each for each in check(store, mend=False).problems if each.kind == "lineage"]
        undo(store, run)
        assert sorted(memory.content for memory in store.scan()) == sorted((*EDITS[edit], FACT))


def test_the_only_memory_that_is_left_may_be_rewritten(tmp_path: Path) -> None:
    url = notes(tmp_path, (FACT, FACT))
    run = hidden(url)
    notes(tmp_path, (OTHERS[1],))
    with open_store(url) as store:
        undo(store, run)
        assert sorted(m.content for m in store.scan()) == sorted((OTHERS[1], FACT))


def test_a_lineage_of_an_earlier_version_is_undone_as_before(tmp_path: Path) -> None:
    url = lines(tmp_path, TEXTS)
    run = hidden(url)
    with closing(sqlite3.connect(tmp_path / "m.jsonl.echoless")) as db, db:
        db.execute("DELETE FROM facts WHERE key = 'seen'")
    with open_store(url) as store:
        assert undo(store, run).exact


@pytest.mark.parametrize("value", ["[1, 2]", "[[", "7"])
def test_a_damaged_list_of_memories_seen_is_a_damaged_ledger(tmp_path: Path, value: str) -> None:
    (tmp_path / "m.jsonl").write_text(
        '{"id": "a", "content": "Tea is at four."}\n{"id": "b", "content": "tea is at four"}\n'
    )
    with open_store(tmp_path / "m.jsonl") as store:
        run = apply(store, plan(find(store, encoder="none")))
        with store.writing(), store.ledger.transaction():
            store.ledger.set_fact("seen", value)
        with pytest.raises(LedgerDamaged, match="no list of memories"):
            undo(store, run.id)
