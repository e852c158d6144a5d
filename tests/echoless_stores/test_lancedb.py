"""Tables of LanceDB: the contract on both layouts, and what is particular to a table."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import hypothesis
import lancedb
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from hypothesis import strategies as st

from echoless import apply, find, open_store, plan, undo
from echoless.cli.main import main
from echoless.core.errors import (
    DuplicateId,
    ForeignStore,
    MissingExtra,
    StoreError,
    StoreNotFound,
    UsageError,
)
from echoless.core.model import Memory, Provenance, Vector
from echoless.core.timestamps import moment_of_writing
from echoless.stores.base import Head, Scope
from echoless_stores.lancedb import LanceStore, cells
from echoless_stores.lancedb.layout import context_schema
from echoless_stores.lancedb.places import moment as time_column
from echoless_stores.lancedb.rows import in_order
from tests.conformance.stores import (
    FULL,
    StoreConformance,
    contents,
    fill,
    plan_by_hand,
    simple,
    state,
)


class _Unordered(StoreConformance):
    narrows_first = True

    def listed(self, *ids: str) -> list[str]:
        known = {FULL.id: self.kept(FULL)}
        return sorted(ids, key=lambda id_: in_order(known.get(id_, simple(1))))


class TestOwnTable(_Unordered):
    """A table echoless made: a place for every field."""

    def url(self, folder: Path) -> str:
        return f"lancedb:///{folder}/db#memories"


class TestSlidingContext(_Unordered):
    """The layout of sliding-context, which has no place for many fields."""

    def url(self, folder: Path) -> str:
        return f"lancedb:///{folder}/db#context_entries"

    def kept(self, memory: Memory) -> Memory:
        return Memory(
            id=memory.id,
            content=memory.content,
            namespace=memory.namespace,
            tags=memory.tags,
            created_at="2026-01-02T01:04:05.250Z" if memory.pinned else memory.created_at,
            vectors=tuple(
                Vector("text-embedding-3-small", struct.pack("<1536f", *range(1536)))
                for _ in memory.vectors
            ),
        )


# ------------------------------------------------------------------ tables made by the library


def make(folder: Path, schema: pa.Schema, rows: Sequence[Mapping[str, object]], name: str) -> None:
    database = lancedb.connect(str(folder))
    table = pa.Table.from_pylist(list(rows), schema=schema)
    database.create_table(name, table, schema=schema, on_bad_vectors="null")


def table(folder: Path, name: str) -> list[dict[str, object]]:
    found = lancedb.connect(str(folder)).open_table(name).to_arrow().to_pylist()
    return sorted(found, key=str)


NOTES = pa.schema(
    [
        ("uid", pa.int64()),
        ("body", pa.string()),
        ("owner", pa.string()),
        ("labels", pa.list_(pa.string())),
        ("stars", pa.float32()),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("embedding", pa.list_(pa.float16(), 3)),
        ("other_vector", pa.list_(pa.float32(), 2)),
        ("price", pa.decimal128(9, 2)),
        ("blob", pa.binary()),
        ("place", pa.struct([("city", pa.string()), ("floor", pa.int8())])),
    ]
)


def note(number: int, body: str, **more: object) -> dict[str, object]:
    return {
        "uid": number,
        "body": body,
        "owner": "anna",
        "labels": [f"l{number}"],
        "stars": 0.5,
        "seen": datetime.datetime(2026, 1, number, 10, tzinfo=datetime.UTC),
        "embedding": [1.0, 0.5, -2.0],
        "other_vector": [0.25, 3e-8],
        "price": decimal.Decimal("12.30"),
        "blob": b"\x00\xff",
        "place": {"city": "Wien", "floor": 3},
        **more,
    }


@pytest.fixture
def notes(tmp_path: Path) -> str:
    rows = [
        note(1, "The printer is out of toner."),
        note(2, "The printer is out of toner.", price=None, blob=None, labels=None),
        note(3, "The printer is out of toner!", owner="ben"),
        note(4, "The lift is being repaired.", embedding=None, place=None),
    ]
    make(tmp_path / "db", NOTES, rows, "notes")
    mapped = "map=content:body&map=created_at:seen&map=id:uid&map=importance:stars"
    more = "map=namespace:owner&map=tags:labels&model=tiny"
    return f"lancedb:///{tmp_path}/db?{mapped}&{more}#notes"


def test_any_table_is_read_by_a_map_of_its_columns(notes: str) -> None:
    with open_store(notes) as store:
        found = {m.id: m for m in store.scan()}
        assert store.profile == "safe"
        assert store.url == notes
    first = found["1"]
    assert list(found) == ["1", "2", "3", "4"]
    assert first.content == "The printer is out of toner."
    assert (first.namespace, found["3"].namespace) == ("anna", "ben")
    assert (first.tags, found["2"].tags) == (("l1",), ())
    assert first.created_at == "2026-01-01T10:00:00Z"
    assert first.importance == 0.5
    assert first.vectors == (Vector("tiny", struct.pack("<3f", 1.0, 0.5, -2.0)),)
    assert found["4"].vectors == ()
    assert first.extra["place"] == {"city": "Wien", "floor": 3}
    assert first.extra["other_vector"] == list(struct.unpack("<2f", struct.pack("<2f", 0.25, 3e-8)))
    assert first.provenance is Provenance.UNKNOWN


@pytest.mark.parametrize("action", ["merge", "delete"])
def test_undo_brings_back_every_cell_of_any_type(notes: str, tmp_path: Path, action: str) -> None:
    before = table(tmp_path / "db", "notes")
    with open_store(notes) as store:
        seen = state(store)
        run = apply(store, plan_by_hand(store, [("2", "1", "4")], action))
        assert table(tmp_path / "db", "notes") != before
        assert store.get(["2"])["2"].tags == ("l1", "l4")
        undo(store, run.id)
        assert state(store) == seen
    assert table(tmp_path / "db", "notes") == before


def test_usual_names_need_no_map_and_a_bare_path_no_scheme(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("created", pa.int64())])
    rows = [{"id": "a", "text": "one", "created": 1_750_000_000}]
    make(tmp_path / "db", schema, rows, "things")
    with open_store(tmp_path / "db") as store:
        (only,) = store.scan()
    assert (only.content, only.created_at) == ("one", "1750000000")
    assert only.extra == {}


@pytest.mark.parametrize(
    ("mapped", "error", "says"),
    [
        ("", ForeignStore, r"hold the id of .*It has: uid, body.*\?map=id:COLUMN"),
        ("?map=id:uid&map=content:words", UsageError, "has no column 'words'"),
        ("?map=id:uid&map=content:blob", UsageError, "'blob' holds binary, which cannot be"),
        ("?map=text:body", UsageError, "the field 'text', which a memory does not have"),
        ("?map=body", UsageError, "The map entry 'body' is not FIELD:COLUMN"),
        ("?map=id:uid&map=id:body", UsageError, "names the field 'id' twice"),
        ("?colour=red", UsageError, "no part 'colour'"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(
    tmp_path: Path, mapped: str, error: type[Exception], says: str
) -> None:
    make(tmp_path / "db", NOTES, [], "notes")
    with pytest.raises(error, match=says):
        open_store(f"lancedb:///{tmp_path}/db{mapped}#notes")


def test_what_has_no_column_is_refused_and_named(notes: str) -> None:
    with open_store(notes) as store, store.writing():
        old = store.get(["1"])["1"]
        version = store.version
        for change, says in (
            ({"access_count": 3}, "no column for the field 'access_count' of '1'"),
            ({"extra": {**old.extra, "colour": "red"}}, "no column 'colour' for '1'"),
            ({"importance": 0.1}, "'1': its value does not fit the column 'stars'"),
            ({"created_at": "2026-01-01"}, "cannot hold the created_at of '1'"),
            ({"vectors": (Vector("other", b"\0" * 12),)}, "cannot hold the vectors of '1'"),
            ({"vectors": (Vector("tiny", b"\0" * 8),)}, "'1': its value does not fit .*embedding"),
            ({"id": "x", "native": {}}, "cannot hold the id of 'x'"),
        ):
            with pytest.raises(StoreError, match=says):
                store.put([replace(old, **change)])  # type: ignore[arg-type]
        assert store.version == version


def test_a_table_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    make(tmp_path / "db", NOTES, [], "one")
    make(tmp_path / "db", NOTES, [], "two")
    (tmp_path / "empty").mkdir()
    before = contents(tmp_path)
    for url, error, says in (
        (f"lancedb:///{tmp_path}/db#three", StoreNotFound, "has no table 'three'.*one, two"),
        (f"lancedb:///{tmp_path}/db", UsageError, "several tables: one, two"),
        (f"lancedb:///{tmp_path}/empty", ForeignStore, "holds no LanceDB table"),
        (f"lancedb:///{tmp_path}/nowhere#one", StoreNotFound, "does not exist"),
        (str(tmp_path / "empty"), ForeignStore, "not a store echoless knows"),
    ):
        with pytest.raises(error, match=says):
            open_store(url)
    assert contents(tmp_path) == before


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.core.optional.find_spec", lambda _module: None)
    with pytest.raises(MissingExtra, match=r"needs the extra \"lancedb\": pip install 'echoless"):
        open_store(f"lancedb:///{tmp_path}/db#notes")


def test_the_common_commands_clean_a_mapped_table_and_take_it_back(
    notes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, [*words, "--json"], prog_name="echoless")

    before = table(tmp_path / "db", "notes")
    files = contents(tmp_path / "db")
    found = json.loads(call("audit", notes, "--set", "semantic=no").stdout)
    assert (found["counts"]["total"], found["counts"]["redundant"]) == (4, 1)
    assert contents(tmp_path / "db") == files
    done = call("dedup", notes, "--set", "semantic=no", "--apply", "--action", "delete")
    assert done.exit_code == 0, done.output
    after = {row["uid"]: row for row in table(tmp_path / "db", "notes")}
    assert sorted(after) == [1, 3, 4]
    assert after[1] == before[0]
    undone = call("undo", notes, json.loads(done.stdout)["applied"])
    assert undone.exit_code == 0, undone.output
    assert table(tmp_path / "db", "notes") == before


def test_a_map_may_be_given_by_options_or_in_a_file(notes: str, tmp_path: Path) -> None:
    where = f"lancedb:///{tmp_path}/db?model=tiny#notes"
    said = {"content": "body", "id": "uid", "namespace": "owner", "tags": "labels"}
    (tmp_path / "map.toml").write_text(
        "[map]\n" + "".join(f'{field} = "{column}"\n' for field, column in said.items()), "utf-8"
    )
    options = [word for field, column in said.items() for word in ("--map", f"{field}={column}")]
    for given in (options, ["--map", f"@{tmp_path / 'map.toml'}"]):
        result = CliRunner().invoke(
            main, ["audit", where, *given, "--set", "semantic=no", "--json"]
        )
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert (found["counts"]["total"], found["counts"]["redundant"]) == (4, 1)


# ------------------------------------------------------------------ the layout of sliding-context

CONTEXT = context_schema(2)


def entry(id_: str, **more: object) -> dict[str, object]:
    return {
        "id": id_,
        "summary": f"About {id_}.",
        "vector": [1.0, 0.0],
        "sessionKey": "agent:main:main",
        "sessionType": "dm",
        "channel": "telegram",
        "timestamp": 1_750_000_000_123.25,
        "hasToolCalls": True,
        "hasDecision": False,
        "topics": '[ "b","a" ]',
        "sessionFile": "",
        "messageRange": '{"startId":1,"endId":2}',
        "telegramMessageIds": "[3,1]",
        **more,
    }


def context(folder: Path, *entries: dict[str, object]) -> str:
    make(folder / "db", CONTEXT, entries, "context_entries")
    return f"lancedb:///{folder}/db#context_entries"


def test_a_context_table_is_recognised(tmp_path: Path) -> None:
    url = context(tmp_path, entry("__schema__"), entry("e-1"), entry("e-2", channel=None))
    with open_store(tmp_path / "db") as store:
        first, second = store.scan()
        assert (store.url, store.profile, store.count()) == (url, "sliding-context", 2)
    assert first.created_at == "2025-06-15T15:06:40.12325Z"
    assert (first.namespace, second.namespace) == ("dm/telegram", "dm")
    assert first.tags == ("b", "a")
    assert first.extra == {
        "sessionKey": "agent:main:main",
        "sessionFile": "",
        "hasToolCalls": True,
        "hasDecision": False,
        "messageRange": {"startId": 1, "endId": 2},
        "telegramMessageIds": [3, 1],
    }


def test_texts_that_are_no_json_read_as_empty_are_told_once_and_stay(tmp_path: Path) -> None:
    odd = [
        entry("e-1", topics="[broken", telegramMessageIds='["x"]', messageRange="[1]"),
        entry("e-2", topics="{}", timestamp=None, summary=None),
        entry("e-3", id=None),
    ]
    url = context(tmp_path, *odd)
    before = table(tmp_path / "db", "context_entries")
    with open_store(url) as store:
        found = {m.id: m for m in store.scan()}
        told = store.remarks()
        assert found.keys() == {"e-1", "e-2"}
        assert (found["e-1"].tags, found["e-2"].content) == ((), "")
        assert [line.split("; ")[0] for line in told] == [
            "context_entries: the column 'messageRange' cannot be read in 1 row (e-1)",
            "context_entries: the column 'telegramMessageIds' cannot be read in 1 row (e-1)",
            "context_entries: the column 'topics' cannot be read in 2 rows (e-1, e-2)",
            "context_entries: 1 rows have no id",
        ]
        with store.writing():
            store.remove(["e-1", "e-2"])
            store.put(list(found.values()))
    assert table(tmp_path / "db", "context_entries") == before


@pytest.mark.parametrize("id_", ["o'x", "a' OR 'a'='a", "ö\n", "`", "x" * 200, "-", '"', "--"])
def test_an_id_never_reaches_other_rows(tmp_path: Path, id_: str) -> None:
    url = context(tmp_path, entry("e-1"), entry(id_), entry("x"))
    with open_store(url) as store, store.writing():
        assert list(store.get([id_])) == [id_]
        store.put([replace(store.get([id_])[id_], content="changed")])
        assert [m.content for m in store.scan()].count("changed") == 1
        store.remove([id_])
        assert {m.id for m in store.scan()} == {"e-1", "x"}


def test_one_id_in_two_rows_is_read_and_told_and_not_written(tmp_path: Path) -> None:
    url = context(tmp_path, entry("e-1"), entry("e-1"), entry("e-2", summary="Something else."))
    before = table(tmp_path / "db", "context_entries")
    with open_store(url) as store:
        findings = find(store, encoder="none")
        assert {m.id for m in store.scan()} == {"e-1", "e-1 (2)", "e-2"} == set(findings.memories)
        assert store.get(["e-1 (2)"]).keys() == {"e-1 (2)"}
        assert store.count() == 3
        (group,) = findings.groups
        assert {group.survivor, *(m.id for m in group.members)} == {"e-1", "e-1 (2)"}
        (remark,) = (each for each in findings.tally.notes if "several rows carry: 1 (e-1)" in each)
        assert "nothing can be written to such a table" in remark
        made = plan(findings)
        with pytest.raises(DuplicateId, match=r"several rows carry .e-1.*Nothing was changed"):
            apply(store, made)
        with pytest.raises(DuplicateId), store.writing():
            store.put([Memory(id="e-3", content="More.")])
    with open_store(url) as store, pytest.raises(DuplicateId):
        apply(store, made)  # which reads only the rows of the plan
    assert table(tmp_path / "db", "context_entries") == before


def test_the_version_before_the_last_write_is_remembered(tmp_path: Path) -> None:
    url = context(tmp_path, entry("e-1"), entry("e-2"))
    with open_store(url) as store:
        before = store.version
        assert store.version_before is None
        apply(store, plan_by_hand(store, [("e-1", "e-2")], "delete"))
        assert store.version > before
        assert store.version_before == before
    plain = lancedb.connect(str(tmp_path / "db")).open_table("context_entries")
    plain.restore(before)
    assert plain.count_rows() == 2


def test_what_another_program_writes_is_seen(tmp_path: Path) -> None:
    url = context(tmp_path, entry("e-1"))
    with open_store(url) as store:
        assert store.count() == 1
        other = lancedb.connect(str(tmp_path / "db")).open_table("context_entries")
        other.add(pa.Table.from_pylist([entry("e-2")], schema=CONTEXT))
        assert store.get(["e-2"])["e-2"].content == "About e-2."
        assert store.count() == 2


def test_two_tables_of_one_folder_have_their_own_lineage(tmp_path: Path) -> None:
    for name in ("one", "two"):
        fill(f"lancedb:///{tmp_path}/db#{name}", [simple(1), simple(2)])
    with open_store(f"lancedb:///{tmp_path}/db#one") as store:
        apply(store, plan_by_hand(store, [("m-1", "m-2")], "mark"))
    with open_store(f"lancedb:///{tmp_path}/db#two") as store:
        assert store.ledger.marks() == {}
    sidecars = sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    assert [name for name in sidecars if not name.startswith(".")] == [
        "db.one.echoless",
        "db.two.echoless",
    ]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float32(), 3),
        pa.list_(pa.float32()),
        pa.large_list(pa.float32()),
        pa.list_(pa.float16(), 3),
    ],
)
def test_vectors_cut_from_their_one_buffer_are_those_of_the_rows(kind: pa.DataType) -> None:
    number = np.float16 if pa.types.is_float16(kind.value_type) else np.float32
    told = [[1, 2, 3], None, [math.nan, 5, 6], [7, 8, 9]]
    if cells.dimensions(kind) is None:
        told += [[], [1]]
    rows = [None if row is None else [number(each) for each in row] for row in told]
    expected = [None if row is None else np.array(row, dtype="<f4").tobytes() for row in rows]
    whole = pa.array(rows, kind)
    assert cells.read(whole) == expected
    assert cells.read(whole.slice(1, 2)) == expected[1:3]
    assert cells.read(pa.concat_arrays([whole.slice(2), whole])) == [*expected[2:], *expected]


def test_rows_that_moved_while_a_scope_was_chosen_are_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"lancedb:///{tmp_path}/db#memories"
    fill(url, [simple(n) for n in range(1, 6)])
    with open_store(url) as store, open_store(url) as other:
        assert isinstance(store, LanceStore)
        heads = store._heads

        def moved() -> tuple[dict[Head, int], list[int]]:
            found = heads()
            with other.writing():
                other.remove(["m-1"])
                other.put([simple(7)])
            return found

        monkeypatch.setattr(store, "_heads", moved)
        assert [m.id for m in store.scan(Scope(limit=2))] == ["m-5", "m-7"]


def test_cells_that_repeat_are_told_apart_by_type_and_sign(tmp_path: Path) -> None:
    columns = {
        "id": ["a", "b", "c", "d"],
        "text": ["one", "two", "three", "four"],
        "whole": [1, 0, 1, 0],
        "truth": [True, False, True, False],
        "real": [0.0, -0.0, 1.0, -1.0],
    }
    lancedb.connect(tmp_path / "db").create_table("notes", pa.table(columns))
    with open_store(f"lancedb:///{tmp_path}/db#notes") as store:
        extra = [memory.extra for memory in store.scan()]
    assert repr(extra) == repr(
        [{k: columns[k][at] for k in ("whole", "truth", "real")} for at in range(4)]
    )


@hypothesis.given(st.integers(0, 4 * 10**15))
def test_columns_of_milliseconds_hold_the_time_a_memory_is_written_at(microseconds: int) -> None:
    begin = datetime.datetime(1971, 1, 1, tzinfo=datetime.UTC)
    told = moment_of_writing(begin + datetime.timedelta(microseconds=microseconds))
    for unit in ("ms", "us", "ns"):
        column = time_column("created_at", "stamp", unit)
        assert column.read(column.write(told)) == told


# ------------------------------------------------------------------ files a full disk cut short


def cut_newest(folder: Path) -> None:
    """What a full disk leaves of the newest file of data: LanceDB does not notice."""
    newest = max(folder.rglob("data/*.lance"), key=lambda path: path.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:64])


def test_what_cannot_be_read_back_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"lancedb:///{tmp_path}/db#memories"
    fill(url, [simple(1), simple(2)])
    read = LanceStore.own_get

    def cut(store: LanceStore, ids: Sequence[str]) -> Mapping[str, Memory]:
        cut_newest(tmp_path / "db")
        return read(store, ids)

    with open_store(url) as store:
        before = state(store)
        with store.writing():
            with monkeypatch.context() as patch:
                patch.setattr(LanceStore, "own_get", cut)
                with pytest.raises(StoreError, match="LanceDB refused"):
                    store.put([simple(3)])
            assert state(store) == before
    with open_store(url) as store:
        assert state(store) == before


_STOPPED = """
import os, sys
from pathlib import Path
from echoless import open_store
from tests.conformance.stores import simple
from tests.echoless_stores.test_lancedb import cut_newest
with open_store(sys.argv[1]) as store, store.writing():
    store.put([simple(3)])
    cut_newest(Path(sys.argv[2]))
    os._exit(0)
"""


def test_the_next_writer_goes_back_to_what_can_be_read(tmp_path: Path) -> None:
    url = f"lancedb:///{tmp_path}/db#memories"
    fill(url, [simple(1), simple(2)])
    with open_store(url) as store:
        before = state(store)
    subprocess.run([sys.executable, "-c", _STOPPED, url, str(tmp_path / "db")], check=True)
    with open_store(url) as store:
        with pytest.raises(StoreError, match="LanceDB refused"):
            state(store)
        with store.writing():
            assert state(store) == before
    with open_store(url) as store:
        assert state(store) == before
