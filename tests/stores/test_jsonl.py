from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from echoless import (
    Admitted,
    AlreadyKnown,
    Choices,
    Guard,
    Updates,
    apply,
    check,
    find,
    open_store,
    plan,
    resolve,
    undo,
)
from echoless.core.errors import (
    BadRecord,
    DuplicateId,
    ForeignStore,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
)
from echoless.core.model import JsonObject, Memory
from echoless.core.profiles import ActionKind
from echoless.stores import jsonl_record
from tests.conformance.stores import StoreConformance, contents, fill, plan_by_hand, simple
from tests.nesting import CLOSED, OPENED

MESSY = (
    b'\xef\xbb\xbf{"id":"m-1",  "content" : "one \\u00e9", "n": 1.00, "keep":{"b":1,"a":2}}\r\n'
    b"\r\n"
    b'{"text": "two", "id": 7, "tags": ["x","y"], "ts": 1750000000, "unknown": null}\n'
    b'{"id":"m-3","content":"three \xe2\x80\xa8 line separator","created_at":"2026-01-01"}'
)


class TestJsonl(StoreConformance):
    narrows_first = True

    def url(self, folder: Path) -> str:
        return f"jsonl:///{folder}/memories.jsonl"


class TestJsonDocument(StoreConformance):
    narrows_first = True

    def url(self, folder: Path) -> str:
        file = folder / "memory.json"
        if not file.exists() and folder.name != "missing":
            file.write_text('{"version": "1.0", "facts": [ ]}\n')
        return f"jsonl:///{file}"

    def test_a_missing_store_is_not_made_by_reading(self, tmp_path: Path) -> None:
        (tmp_path / "missing").mkdir()
        super().test_a_missing_store_is_not_made_by_reading(tmp_path / "missing")


INDENTED = """{
  "version": 1.00,
  "facts": [
    {"id": "f-1", "content": "User prefers tea", "confidence": 0.90},
    {"id": "f-2",
     "content": "The user prefers tea", "createdAt": "2026-01-01"},
    {"id": "f-3", "memory": "The lift is broken"}
  ],
  "history": [{"summary": "facts, and ]"}]
}
"""
DOCUMENTS = {
    "indented": INDENTED,
    "one line": json.dumps(json.loads(INDENTED)),
    "array": json.dumps(json.loads(INDENTED)["facts"], indent=4) + "\r\n",
    "results": '\ufeff{"results":' + json.dumps(json.loads(INDENTED)["facts"]) + ',"facts":[]}',
}


@pytest.mark.parametrize("form", DOCUMENTS)
@pytest.mark.parametrize("action", ["mark", "merge", "delete", "move"])
def test_a_json_document_is_changed_in_its_form_and_comes_back_to_the_byte(
    tmp_path: Path, form: str, action: str
) -> None:
    file = tmp_path / "memory.json"
    file.write_bytes(DOCUMENTS[form].encode())
    before = file.read_bytes()
    url = f"jsonl:///{file}?hide=move" if action == "move" else str(file)
    with open_store(url) as store:
        assert [memory.id for memory in store.scan()] == ["f-1", "f-2", "f-3"]
        groups = [("f-1", "f-2", "f-3")]
        run = apply(store, plan_by_hand(store, groups, "mark" if action == "move" else action))
        assert (file.read_bytes() == before) == (action == "mark")
        changed = json.loads(file.read_text("utf-8-sig"))
        rows = changed if form == "array" else changed.get("results") or changed["facts"]
        assert len(rows) == (3 if action in {"mark", "merge"} else 1)
        undo(store, run.id)
    assert file.read_bytes() == before


def test_memories_of_a_document_are_named_by_line_and_kept_apart_by_user(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text(INDENTED.replace('"id": "f-3"', '"id": "f-3", "tags": 5'))
    with open_store(file) as store, pytest.raises(BadRecord, match=r"Line 7 of .*'f-3'.*'tags'"):
        list(store.scan())
    file.write_text(
        '{"results": [{"id": "1", "memory": "x", "user_id": "anna"}, {"memory": "x", "userId": 7}]}'
    )
    with open_store(file) as store:
        assert not find(store).groups


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n "type": "entity",\n "name": "Ann"\n}\n', "is one JSON object.* `jq -c "),
        ('[\n {"uuid": "u", "chat": ["one"]}\n]\n', "is one JSON array without memories.* `jq -c "),
        ('{"a": [{"text": "x"}],\n "b": [{"text": "y"}]}\n', "one JSON object with no list .*jq"),
        ('{"facts": ["one"], "facts": ["two"]}', "has the key 'facts' twice"),
        ('[{"text": "x", "more": ' + OPENED + CLOSED + "}]", "nested too deeply"),
        ('{"facts": [{"text": "x"},\n {"te', "no valid JSON, perhaps cut off .*line 2, column 3"),
        ('[{"text": "x"}] more', "no valid JSON, perhaps cut off .*line 1, column 17"),
        ('[{"conversations_memory": "**W**", "project_memories": {}}]', "Claude's export.*jq -r"),
        ('{"id": "1", "text": "x"}\n{"text": "y"} {"text": "z"}', "Line 2 of .* more than one"),
    ],
)
def test_a_file_of_another_form_is_refused_with_what_it_is(
    tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "memory.json"
    file.write_text(text)
    with pytest.raises(BadRecord, match=says) as raised:
        open_store(file)
    assert "remove the line" not in str(raised.value)
    assert file.read_text() == text
    assert [*tmp_path.iterdir()] == [file]


def test_a_document_that_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "export.json"
    file.write_text('{"results": [{"id": "a", "memory": "x"}]}'.ljust(2**20 + 1))
    monkeypatch.setattr("echoless.stores.jsonl.LARGEST", 2**20 + 1)
    open_store(file).close()
    monkeypatch.setattr("echoless.stores.jsonl.LARGEST", 2**20)
    with pytest.raises(BadRecord, match="larger than 1 MB, too large for one JSON document"):
        open_store(file)


TEXTS = {
    "array": '["Tea is at four.",\n "The lift is broken.", "Tea is at four.",\n"It is five."]\n',
    "object": '{"version": 1.0, "texts": [\n  "Tea is at four.",\n  "The lift is broken.",\n  '
    '"Tea is at four.",\n  "Tea is at five."\n], "n": []}',
    "records": '\ufeff{"memories":[{"content":"Tea is at four."}, {"content":"It is broken."},'
    '{"content":"Tea is at four.","n":1.0} ,{"content":"Tea is at five."}]}',
}


def texts_in(file: Path) -> list[str]:
    """Reads a list of texts as a program does that knows nothing of echoless."""
    data = json.loads(file.read_text("utf-8-sig"))
    rows = data if isinstance(data, list) else data.get("texts") or data["memories"]
    return [row if isinstance(row, str) else row["content"] for row in rows]


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("order", [(0, 2), (2, 0), (0, 3), (3, 2, 0)])
def test_texts_without_ids_leave_a_document_and_come_back_to_the_byte(
    tmp_path: Path, form: str, order: tuple[int, ...]
) -> None:
    file = tmp_path / "memory.json"
    file.write_bytes(TEXTS[form].encode())
    before, texts = file.read_bytes(), texts_in(file)
    with open_store(f"jsonl:///{file}?hide=move") as store:
        ids = [memory.id for memory in store.scan()]
        run = apply(store, plan_by_hand(store, [tuple(ids[at] for at in order)], "mark"))
        assert texts_in(file) == [t for at, t in enumerate(texts) if at not in order[1:]]
    with open_store(file) as store:  # another process: the same memories under the same ids
        assert [memory.id for memory in store.scan()] == ids
        assert store.ledger.marks().keys() == {ids[at] for at in order[1:]}
        assert not store.remarks()
        undo(store, run.id)
    assert file.read_bytes() == before


def test_hidden_texts_keep_their_ids_when_the_program_drops_or_adds_equal_ones(
    tmp_path: Path,
) -> None:
    file = tmp_path / "memory.json"
    file.write_text(TEXTS["array"])
    with open_store(f"jsonl:///{file}?hide=move") as store:
        first, lift, second, _ = (memory.id for memory in store.scan())
        apply(store, plan_by_hand(store, [(second, first)], "mark"))
    file.write_text('["Tea is at four.", "Tea is at four."]')
    with open_store(file) as store:
        assert {memory.id for memory in store.scan()} >= {first, second}
        assert store.count() == 3
    file.write_text('["The lift is broken."]')
    with open_store(file) as store:
        assert {memory.id for memory in store.scan()} == {first, lift}
        undo(store, "last")
    assert sorted(texts_in(file)) == ["Tea is at four.", "The lift is broken."]


def test_a_list_of_texts_takes_no_record_that_its_program_could_not_read(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text(TEXTS["array"])
    with open_store(file) as store, store.writing(), pytest.raises(StoreReadOnly, match="import"):
        store.put([Memory(id="new", content="Coffee is at six.")])
    assert file.read_text() == TEXTS["array"]


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "messy.jsonl"
    path.write_bytes(MESSY)
    return path


def test_messy_lines_are_read_as_memories(messy: Path) -> None:
    with open_store(messy) as store:
        found = {m.id: m for m in store.scan()}
    assert list(found) == ["m-1", "7", "m-3"]
    assert found["m-1"].content == "one é"
    assert found["m-1"].extra == {"n": 1.0, "keep": {"b": 1, "a": 2}}
    assert found["7"].content == "two"
    assert found["7"].tags == ("x", "y")
    assert found["7"].created_at == "1750000000"
    assert found["m-3"].content == "three \u2028 line separator"


def test_a_change_touches_only_its_own_fields(messy: Path) -> None:
    with open_store(messy) as store, store.writing():
        old = store.get(["m-1"])["m-1"]
        store.put([replace(old, tags=("t",), access_count=2)])
    lines = messy.read_bytes().split(b"\n")
    assert lines[0] == (
        b'\xef\xbb\xbf{"id":"m-1",  "content" : "one \\u00e9", "n": 1.00, "keep":{"b":1,"a":2}, '
        b'"tags": ["t"], "access_count": 2}\r'
    )
    assert lines[1:] == MESSY.split(b"\n")[1:]


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
def test_undo_brings_back_the_very_bytes(messy: Path, action: str) -> None:
    with open_store(messy) as store:
        run = apply(store, plan_by_hand(store, [("7", "m-1", "m-3")], action))
        assert (messy.read_bytes() == MESSY) == (action == "mark")
        undo(store, run.id)
    assert messy.read_bytes() == MESSY


def test_marks_live_in_a_sidecar_made_by_the_first_write(messy: Path) -> None:
    with open_store(messy) as store:
        assert sorted(p.name for p in messy.parent.iterdir()) == ["messy.jsonl"]
        identity = store.identity
        apply(store, plan_by_hand(store, [("7", "m-1")], "mark"))
        assert store.identity == identity
    assert messy.read_bytes() == MESSY
    with open_store(messy) as store:
        assert store.identity == identity
        assert store.ledger.marks()["m-1"].survivor == "7"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "m-2", "content": ', "Line 2 of .* is not valid JSON"),
        ('["a"]', "Line 2 of .* is not a JSON object"),
        ('{"id": "", "content": "x"}', "Line 2 of .* has the unusable id ''"),
        ('{"id": true, "content": "x"}', "Line 2 of .* has the unusable id True"),
        ("[" * 1_100, "Line 2 of .* (cannot be read|is not valid JSON)"),
    ],
)
def test_a_broken_line_is_named_and_nothing_changes(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"id": "m-1", "content": "fine"}\n' + line + "\n")
    before = contents(tmp_path)
    with pytest.raises(BadRecord, match=says):
        open_store(path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ('"tags": 5', "'tags' must be a list of texts"),
        ('"importance": "high"', "'importance' must be a finite number"),
        ('"importance": NaN', "'importance' must be a finite number"),
        ('"access_count": -1', "'access_count' must be a whole number from 0"),
        ('"links": [1]', "a link must be an id"),
        ('"metadata": []', "'metadata' must be an object"),
        ('"vectors": [1, 2]', "'vectors' must be an object"),
        ('"embedding": [1, "x"]', "must hold numbers only"),
        ('"embedding": [1e300]', "too large for float32"),
        ('"embedding": [1' + "0" * 41 + "]", "too large for float32"),
        ('"embedding": [0.5, -' + "9" * 400 + "]", "too large for float32"),
        ('"vectors": {"m": [' + str(2**128) + "]}", "too large for float32"),
    ],
)
def test_a_field_of_the_wrong_form_is_named_with_line_and_id(
    tmp_path: Path, fields: str, says: str
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"id": "m-1", "content": "x", ' + fields + "}\n")
    with open_store(path) as store, pytest.raises(BadRecord, match=f"Line 1 of .*'m-1'.*{says}"):
        list(store.scan())


def test_two_records_with_one_id_are_refused_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"id": "a", "content": "x"}\n{"id": "a", "content": "y"}\n')
    with pytest.raises(DuplicateId, match="'a' twice, on lines 1 and 2"):
        open_store(path)


def test_a_file_that_is_not_utf8_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"id": "a", "content": "x"}\n{"id": "b", "content": "\xff"}\n')
    with pytest.raises(ForeignStore, match=r"Line 2 of .* is not UTF-8"):
        open_store(path)


def test_records_without_id_can_be_marked_but_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"text": "same"}\n{"text": "same"}\n{"text": "other"}\n')
    with open_store(path) as store:
        ids = [m.id for m in store.scan()]
        assert ids[1] == ids[0] + "-2"
        apply(store, plan_by_hand(store, [(ids[0], ids[1])], "mark"))
        with pytest.raises(StoreReadOnly, match='has no "id"'):
            apply(store, plan_by_hand(store, [(ids[0], ids[2])], "delete"))
        assert path.read_text().count("\n") == 3


def test_an_edit_by_another_program_is_not_overwritten(messy: Path) -> None:
    with open_store(messy) as store, store.writing(), pytest.raises(StoreError, match="changed by"):
        with store.transaction():
            store.put([simple(9)])
            messy.write_bytes(MESSY + b'\n{"id": "new", "content": "mine"}\n')
    assert messy.read_bytes().endswith(b'"mine"}\n')
    assert not list(messy.parent.glob(".messy.jsonl.*.new"))


def test_a_full_disk_leaves_the_file_as_it_was(
    messy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with open_store(messy) as store:
        plan = plan_by_hand(store, [("7", "m-1")], "delete")
        monkeypatch.setattr("echoless.stores.files.os.fsync", full)
        with pytest.raises(StoreFull, match="No space is left"):
            apply(store, plan)
    assert messy.read_bytes() == MESSY
    assert not list(messy.parent.glob(".messy.jsonl.*.new"))


def test_a_second_writer_is_told_that_the_store_is_locked(
    messy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.stores.files.BUSY_TIMEOUT_SECONDS", 0.05)
    with open_store(messy) as one, open_store(messy) as two, one.writing():
        with pytest.raises(StoreLocked, match="locked by another process"), two.writing():
            pass


def test_an_embedding_with_its_model_is_a_vector(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"id":"a","content":"x","embedding":[0.5,1],"embedding_model":"m@1"}\n')
    with open_store(path) as store:
        (memory,) = store.scan()
    assert [(v.model, v.dimensions) for v in memory.vectors] == [("m@1", 2)]
    assert memory.extra == {}


def test_new_lines_are_json_with_defaults_left_out(tmp_path: Path) -> None:
    fill(f"jsonl:///{tmp_path}/m.jsonl", [simple(1)])
    assert json.loads((tmp_path / "m.jsonl").read_text()) == {
        "id": "m-1",
        "content": "Fact number 1 of the store.",
        "created_at": "2026-01-01T00:00:00Z",
    }


# ------------------------------------------------------------------ a process that stays

SAID = 300


@pytest.fixture
def spoken(tmp_path: Path) -> Path:
    """A file of many memories that has not been written to for a while."""
    path = tmp_path / "many.jsonl"
    path.write_text(
        "".join(f'{{"id": "m-{n}", "text": "Fact {n} is x{n}."}}\n' for n in range(SAID))
    )
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that are parsed, one after the other."""
    lines: list[str] = []
    parse = jsonl_record.parse

    def noted(line: str, path: Path, number: int, *, others: bool = False) -> JsonObject:
        lines.append(line)
        return parse(line, path, number, others=others)

    monkeypatch.setattr(jsonl_record, "parse", noted)
    return lines


WORDS = resolve(Choices(encoder="none", cache=False))


def test_a_guard_that_stays_parses_no_line_twice_for_its_own_additions(
    spoken: Path, parsed: list[str]
) -> None:
    with open_store(spoken) as store, Guard(store, WORDS) as guard:
        guard.remember("Tea is served at four.")
        del parsed[:]
        for number in range(4):
            answer = guard.remember(f"Door {number} is painted in colour {number * 3}.")
            assert isinstance(answer, Admitted | Updates)
            assert answer.run
        assert len(parsed) <= 4 * 12
        assert store.count() == SAID + 5
    with open_store(spoken) as store:
        assert store.count() == SAID + 5
        assert check(store).sound


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b"Fact 7 is x7.", b"Sums 7 is y7."))
    other.replace(path)


def edited(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.read_bytes().index(b"Fact 7 is x7."))
        file.write(b"Sums 7 is y7.")


def truncated(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    with path.open("r+b") as file:
        file.truncate(sum(map(len, lines[:-1])))


def edited_under_the_old_time(path: Path) -> None:
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(path.read_bytes().rindex(b"painted"))
        file.write(b"covered")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"id": "theirs", "text": "Sums 7 is y7."}\n')


def added_by_another_process(path: Path) -> None:
    with open_store(path) as store, Guard(store, WORDS) as guard:
        assert isinstance(guard.remember("Sums 7 is y7."), Admitted)


OTHERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "another file in its place": (replaced, "Sums 7 is y7."),
    "an edit in place": (edited, "Sums 7 is y7."),
    "an edit of the end under the old time": (
        edited_under_the_old_time,
        "Door 1 is covered in colour 3.",
    ),
    "an addition": (appended, "Sums 7 is y7."),
    "an addition by another process": (added_by_another_process, "Sums 7 is y7."),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_guard_that_stays_sees_what_others_do_to_the_file(spoken: Path, what: str) -> None:
    change, text = OTHERS[what]
    with open_store(spoken) as store, Guard(store, WORDS) as guard:
        for number in range(2):
            guard.remember(f"Door {number} is painted in colour {number * 3}.")
        change(spoken)
        assert isinstance(guard.remember(text), AlreadyKnown)
        assert isinstance(guard.remember("Tea is served at four."), Admitted)
    with open_store(spoken) as store:
        assert {m.content for m in store.scan()} >= {text, "Tea is served at four."}


def test_a_guard_that_stays_sees_that_its_addition_was_cut_off(spoken: Path) -> None:
    with open_store(spoken) as store, Guard(store, WORDS) as guard:
        guard.remember("Tea is served at four.")
        guard.remember("Doors are painted blue.")
        truncated(spoken)
        assert isinstance(guard.remember("Doors are painted blue."), Admitted)
        assert isinstance(guard.remember("Tea is served at four."), AlreadyKnown)


def test_a_line_that_others_tore_is_an_error_as_ever(spoken: Path) -> None:
    with open_store(spoken) as store, Guard(store, WORDS) as guard:
        guard.remember("Tea is served at four.")
    with spoken.open("r+b") as file:
        file.truncate(len(spoken.read_bytes()) - 5)
    with pytest.raises(BadRecord, match=f"Line {SAID + 1} of"):
        open_store(spoken)


def test_a_full_disk_leaves_no_part_of_an_addition(
    spoken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with open_store(spoken) as store, Guard(store, WORDS) as guard:
        guard.remember("Tea is served at four.")
        before = spoken.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(StoreFull):
                guard.remember("Doors are painted blue.")
        assert spoken.read_bytes() == before
        assert isinstance(guard.remember("Doors are painted blue."), Admitted)


STRANGE = (
    '{"version": 3, "tasks": [], "agent_memories": [\n'
    '  {"id": "1", "content": "The lift is being repaired."},\n'
    '  {"type": "heartbeat", "at": 1774000000001},\n'
    '  7, null, ["a"],\n'
    '  {"id": "2", "content": "The lift is being repaired."},\n'
    '  {"id": "3", "content": "Invoices go out on Mondays."}\n'
    "]}\n"
)


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
def test_entries_without_a_text_are_counted_and_stay_in_their_places(
    tmp_path: Path, action: ActionKind
) -> None:
    path = tmp_path / "export.json"
    path.write_text(STRANGE)
    with open_store(f"jsonl:///{path}?hide=move") as store:
        assert [memory.id for memory in store.scan()] == ["1", "2", "3"]
        assert store.passed_over() == ("entry", 7, 4)
        run = apply(store, plan(find(store, encoder="none"), action=action))
        (remark,) = (each for each in store.remarks() if "without a text" in each)
        assert "its list 'agent_memories' without a text, passed over: 4 (the first on line 3)" in (
            remark
        )
        left = json.loads(path.read_text())["agent_memories"]
        assert left[1:5] == [{"type": "heartbeat", "at": 1774000000001}, 7, None, ["a"]]
        undo(store, run.id)
    assert json.loads(path.read_text()) == json.loads(STRANGE)


def test_lines_without_a_text_between_memories_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"id": "m-1", "content": "fine"}\n{"id": "m-2"}\n')
    with open_store(path) as store:
        assert store.count() == 1
        assert store.remarks()[0].startswith("Entries of m.jsonl without a text, passed over: 1")


def test_a_file_of_which_no_line_has_a_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"id": "m-1", "note": "fine"}\n{"id": "m-2"}\n')
    with pytest.raises(BadRecord, match=r"Line 1 of .* has no text, nor has any other entry"):
        open_store(path)
