"""Stores and ledgers with flipped bytes, torn pages, rows cut off: told, and nothing changed."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless import check, history, keep_both, open_store
from echoless.cli.main import main
from echoless.core.errors import BadRecord, EcholessError, LedgerDamaged
from tests.conformance.stores import contents, fill, simple

MUTATIONS = 25
"""Of each kind of store, in each of the two ways: 100 in all; `benchmarks.fuzz` makes more."""

TEXTS = ["The database listens on port 5432."] * 3 + ["Anna drinks green tea."] * 2 + ["Toner."]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


def lived_in(url: str) -> None:
    """A store with a past: merged, undone, deleted, hidden, kept apart, said again."""
    told = enumerate(TEXTS, 1)
    fill(
        url, [simple(n, t, tags=(str(n),), namespace="work" if n < 4 else "home") for n, t in told]
    )
    dedup = ("dedup", url, "--set", "semantic=no", "--apply", "--action")
    for words in (
        (*dedup, "merge"),
        ("undo", url, "last"),
        (*dedup, "delete", "--namespace", "work"),
        (*dedup, "mark", "--namespace", "home"),
    ):
        assert call(*words).exit_code == 0
    assert call("remember", url, "Toner.").exit_code == 0
    assert call("remember", url, "The lift is out of order.").exit_code == 0
    with open_store(url) as store:
        ids = sorted(m.id for m in store.scan())
        assert keep_both(store, [(ids[0], ids[1])]) == 1


@pytest.fixture(scope="module")
def pasts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of each kind, made once; tests work on copies."""
    folder = tmp_path_factory.mktemp("pasts")
    with pytest.MonkeyPatch.context() as own:
        own.setenv("ECHOLESS_CACHE_DIR", str(folder / "cache"))
        for kind, name in NAMES.items():
            (folder / kind).mkdir()
            lived_in(f"{kind}:///{folder}/{kind}/{name}")
    return folder


NAMES = {"sqlite": "agent.db", "jsonl": "m.jsonl"}


def copy_of(pasts: Path, kind: str, place: Path) -> tuple[str, Path]:
    """URL of a fresh copy, and the file that holds its ledger."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(pasts / kind, place)
    store = place / NAMES[kind]
    return f"{kind}:///{store}", store if kind == "sqlite" else Path(f"{store}.echoless")


def edit(path: Path, *statements: tuple[str, Sequence[object]]) -> None:
    """Edit a ledger past its guards, and put the guards back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        for statement, values in statements:
            db.execute(statement, values)
        for _, sql in guards:
            if sql.split(" ON ")[1].split()[0] in tables(db):
                db.execute(sql)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def files(folder: Path) -> dict[str, bytes]:
    """Every byte; the lock of a writer that was refused may stay."""
    return {name: data for name, data in contents(folder).items() if not name.endswith(".lock")}


# ------------------------------------------------------------------ one kind of damage by one

CUT = "UPDATE events SET data = substr(data, 1, length(data) / 2) WHERE kind = 'action_started'"
BROKEN: dict[str, tuple[str, str, set[str]]] = {
    # statement, what is told, commands that need that part
    "json cut off": (CUT, "is no JSON object", {"history", "show", "undo", "purge", "check"}),
    "no text": (
        "UPDATE events SET data = CAST(x'7b22ff' AS TEXT) WHERE kind = 'action_started'",
        "the table events cannot be read",
        {"history", "show", "undo", "purge", "check"},
    ),
    "a key is missing": (
        "UPDATE events SET data = json_remove(data, '$.action') WHERE kind = 'action_done'",
        "lacks a part or has it wrong: 'action'",
        {"history", "show", "undo", "purge", "check"},
    ),
    "a mark is a blob": (
        "UPDATE marks SET survivor = x'00ff'",
        "has no text for survivor",
        {"search", "check"},
    ),
    "an image is cut off": (
        "UPDATE images SET body = substr(body, 1, 40) WHERE body IS NOT NULL",
        "is no JSON object",
        {"undo", "check"},
    ),
    "a kind is misspelt": (
        "UPDATE events SET data = json_set(data, '$.kind', 'mergd') WHERE kind = 'action_started'",
        "'mergd' is no kind of action",
        {"history", "show", "undo", "purge", "check"},
    ),
    "an image is gone": ("DELETE FROM images WHERE moment = 'after'", "is missing", {"undo"}),
    "a table is missing": ("DROP TABLE images", "the table images cannot be read", {"check"}),
    "no marks": ("DROP TABLE marks", "the table marks cannot be read", {"search", "check"}),
}


def commands(url: str, place: Path) -> dict[str, tuple[str, ...]]:
    with open_store(url) as store:
        run = next((r.id for r in history(store.ledger) if r.deleted), "last")
        shown = next(iter(store.scan())).id
    return {
        "history": ("history", url),
        "show": ("show", url, shown),
        "search": ("search", url, "tea"),
        "undo": ("undo", url, run),
        "purge": ("purge", url, run, "--yes"),
        "check": ("check", url),
        "export": ("export", url, str(place / "exported.jsonl")),
    }


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_damaged_ledger_is_told_in_one_sentence_with_its_part(
    pasts: Path, tmp_path: Path, kind: str, broken: str
) -> None:
    """F10a: raw DatabaseError, JSONDecodeError, KeyError, StopIteration."""
    url, ledger = copy_of(pasts, kind, tmp_path / "store")
    calls = commands(url, tmp_path)
    statement, says, concerned = BROKEN[broken]
    edit(ledger, (statement, ()))
    before = files(tmp_path / "store")
    for name, words in calls.items():
        if name not in concerned:
            continue
        answer = call(*words)
        assert "should not happen" not in answer.output
        assert answer.exit_code == (1 if name == "check" else LedgerDamaged.exit_code), (
            name,
            words,
        )
        assert says in answer.output, (name, answer.output)
        assert name == "check" or str(ledger) in answer.output
    assert files(tmp_path / "store") == before


def test_check_counts_what_of_a_ledger_can_be_read(pasts: Path, tmp_path: Path) -> None:
    """F10a: `check` itself ended with JSONDecodeError."""
    url, ledger = copy_of(pasts, "jsonl", tmp_path / "store")
    with closing(sqlite3.connect(ledger)) as db:
        (events,) = db.execute("SELECT count(*) FROM events").fetchone()
        (images,) = db.execute("SELECT count(*) FROM images").fetchone()
    edit(
        ledger,
        ("UPDATE events SET data = '{' WHERE seq = 2", ()),
        ("DELETE FROM events WHERE seq = 3", ()),
        ("UPDATE images SET body = '5' WHERE id = 'm-1'", ()),
    )
    with open_store(url) as store:
        health = check(store)
        assert health.memories == store.count()
    assert (health.marks, health.runs, health.sound) == (None, None, False)
    said = " ".join(problem.says for problem in health.problems)
    assert f"Of the ledger {events - 2} of {events} events can be read (event 2" in said
    assert f"of {images} images can be read (the image of 'm-1'" in said
    assert "marks" not in said


def test_a_sidecar_of_which_nothing_is_left_is_told_and_the_memories_are_counted(
    pasts: Path, tmp_path: Path
) -> None:
    """F10a."""
    url, ledger = copy_of(pasts, "jsonl", tmp_path / "store")
    ledger.write_bytes(b"\x00" * 5000)
    answer = call("history", url)
    assert answer.exit_code == LedgerDamaged.exit_code
    assert f"The ledger {ledger} cannot be read at all" in answer.output
    assert f"move {ledger.name} away" in answer.output
    told = call("check", url)
    assert told.exit_code == 1
    assert "a ledger that cannot be read whole" in told.output
    ledger.rename(tmp_path / "away")
    assert call("check", url).exit_code == 0


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("created_at", b"\x00\xff", "created_at holds bytes"),
        ("extra", "5", "an object was expected"),
        ("metadata", "[]", "an object was expected"),
        ("tags", '{"a": 1}', "'tags' must be a list of texts"),
        ("access_count", "many", "access_count holds str"),
        ("importance", b"1", "importance holds bytes"),
        ("content", b"text", "content holds bytes"),
        ("links", "[" * 1_100, "damaged"),
    ],
)
def test_a_row_of_a_wrong_type_is_told_by_its_id(
    pasts: Path, tmp_path: Path, column: str, value: object, says: str
) -> None:
    """F10b: `TypeError`, no id."""
    url, file = copy_of(pasts, "sqlite", tmp_path / "store")
    edit(file, (f"UPDATE memories SET {column} = ? WHERE id = 'm-6'", (value,)))
    answer = call("audit", url, "--set", "semantic=no")
    assert answer.exit_code == BadRecord.exit_code, answer.output
    assert "Memory 'm-6'" in answer.output
    assert says in answer.output
    assert "backup" not in answer.output
    checked = call("check", url)
    assert checked.exit_code == 1
    assert "Memory 'm-6'" in checked.output


def test_no_message_advises_a_backup(pasts: Path, tmp_path: Path) -> None:
    """F5: a torn file is to be copied, checked and read as far as it goes."""
    url, file = copy_of(pasts, "sqlite", tmp_path / "store")
    file.write_bytes(file.read_bytes()[:6000])
    for words in (["audit", url], ["check", url], ["history", url]):
        answer = call(*words)
        assert answer.exit_code != 0
        assert "backup" not in answer.output.lower()
        assert "check" in answer.output


# ------------------------------------------------------------------ many kinds, by chance


def flip(path: Path, dice: random.Random) -> str:
    """Damage bytes of a file: a few flipped, a page torn, the end cut off."""
    data = bytearray(path.read_bytes())
    page = 4096
    match dice.randrange(4):
        case 0 | 1:
            places = [dice.randrange(page // 2, len(data)) for _ in range(dice.randint(1, 20))]
            for place in places:
                data[place] ^= 1 << dice.randrange(8)
            said = f"flipped {places}"
        case 2:
            at = page * dice.randrange(1, len(data) // page)
            data[at : at + page] = dice.choice([b"\x00", b"\xff", b"\x0d"]) * page
            said = f"page at {at}"
        case _:
            data = data[: dice.randrange(page, len(data))]
            said = f"cut to {len(data)}"
    path.write_bytes(bytes(data))
    return said


VALUES = [b"\x00\xff", None, 5, -1.5, "", "{", "[]", "null", '{"action": "x"}', "'", "é" * 50]


def edit_by_chance(path: Path, dice: random.Random) -> str:
    """Damage one value of one row, or take a row or a table away."""
    with closing(sqlite3.connect(path)) as db:
        own = ("events", "images", "marks", "kept", "facts", "used_plans", "open_runs", "memories")
        table = dice.choice(sorted(tables(db).intersection(own)))
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        key = "seq" if table in {"events", "memories"} else columns[0]
        keys = [row[0] for row in db.execute(f"SELECT {key} FROM {table} ORDER BY 1")]
    if dice.random() < 0.05:
        statement, values = f"DROP TABLE {table}", ()
    elif keys and dice.random() < 0.1:
        statement, values = f"DELETE FROM {table} WHERE {key} = ?", (dice.choice(keys),)
    else:
        column = dice.choice(columns)
        new = dice.choice(["?", "?", f"substr({column}, 1, 9)", "CAST(x'7b80' AS TEXT)"])
        value = (dice.choice(VALUES),) if new == "?" else ()
        statement = f"UPDATE OR IGNORE {table} SET {column} = {new} WHERE {key} = ?"
        values = (*value, dice.choice(keys) if keys else 0)
    try:
        edit(path, (statement, values))
    except sqlite3.Error:
        return f"nothing ({statement}, {values!r})"
    return f"{statement}, {values!r}"


def memories(url: str) -> object:
    """All memories as they read, or that they cannot be read."""
    try:
        with open_store(url) as store:
            return {m.id: m for m in store.scan()}
    except EcholessError as problem:
        return type(problem)


@pytest.mark.parametrize("damage", [flip, edit_by_chance], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", NAMES)
def test_whatever_is_damaged_is_told_and_no_memory_changes(
    pasts: Path, tmp_path: Path, kind: str, damage: Callable[[Path, random.Random], str]
) -> None:
    """F10a, b: no raw exception of any command, whatever happened to the file."""
    url, _ = copy_of(pasts, kind, tmp_path / "store")
    calls = commands(url, tmp_path)
    told = 0
    for seed in range(MUTATIONS):
        dice = random.Random(f"{kind} {damage.__name__} {seed}")
        url, ledger = copy_of(pasts, kind, tmp_path / "store")
        what = f"seed {seed}: {damage(ledger, dice)}"
        before = memories(url)
        for name, words in calls.items():
            (tmp_path / "exported.jsonl").unlink(missing_ok=True)
            answer = call(*words)
            assert "should not happen" not in answer.output, (what, name, answer.output)
            assert isinstance(answer.exception, SystemExit | None), (what, name, answer.exception)
            told += answer.exit_code != 0
            if name == "undo" and answer.exit_code == 0:
                before = memories(url)
            else:
                assert memories(url) == before, (what, name, answer.output)
    assert told > MUTATIONS / 4, "the damage was never seen"
    assert json.dumps(told)
