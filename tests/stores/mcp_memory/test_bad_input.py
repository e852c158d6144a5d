from __future__ import annotations

import json
from pathlib import Path

import pytest

from echoless import apply, find, open_store, undo
from echoless.core.errors import BadRecord, ForeignStore, LedgerDamaged, StoreError, UsageError
from echoless.core.model import Memory
from echoless.stores.registry import locate
from tests.conformance.stores import contents, plan_by_hand
from tests.nesting import CLOSED, OPENED

ANN = (
    b'{"type":"entity","name":"Ann","entityType":"person","observations":["Likes tea","likes tea"]}'
)
KNOWS = b'{"type":"relation","from":"Ann","to":"Ann","relationType":"knows"}'


def told(path: Path, data: bytes) -> str:
    """The remarks about a file, after its first two observations were hidden and shown again."""
    path.write_bytes(data)
    with open_store(f"mcp-memory:///{path}") as store:
        first, second = [m.id for m in store.scan() if m.namespace == "Ann"][:2]
        run = apply(store, plan_by_hand(store, [(first, second)], "mark"))
        hidden = path.read_bytes()
        assert hidden.count(b"likes tea") == data.count(b"likes tea") - 1
        undo(store, run.id)
        assert path.read_bytes() == data
        return "\n".join(store.remarks())


@pytest.mark.parametrize(
    ("odd", "sentence"),
    [
        (b'{"type":"note","text":"by hand"}', "neither an entity nor a relation: 1."),
        (b"[1, 2]", "neither an entity nor a relation: 1."),
        (b'{"type":"entity","entityType":"x"}', "neither an entity nor a relation: 1."),
        (KNOWS[:-1] + b',"weight":1.00}', "keys the memory server does not know: 1."),
        (ANN[:-1] + b',"id":7}', "keys the memory server does not know: 1."),
        (ANN, "of one name that stand on several lines: 1 ('Ann')"),
        (b'{"type":"entity","name":"B","entityType":"x"}', "without a list of observations: 1."),
        (
            b'{"type":"entity","name":"B","entityType":"x","observations":[1,{"a":"b"},null,"t"]}',
            "that are no text: 3.",
        ),
        (KNOWS + b"\n" + KNOWS, "stand more than once: 1 (Ann -knows-> Ann)"),
    ],
)
def test_what_is_odd_stays_as_it_is_and_is_told(tmp_path: Path, odd: bytes, sentence: str) -> None:
    for end in (b"\n", b"\r\n"):
        data = end.join([ANN, odd, KNOWS])
        assert sentence in told(tmp_path / "memory.jsonl", data)


def test_a_byte_order_mark_stays_and_is_told(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + ANN
    assert "byte order mark" in told(tmp_path / "memory.jsonl", data)
    assert locate(tmp_path / "memory.jsonl")[0] == "mcp-memory"


def test_a_sound_file_has_no_remarks(tmp_path: Path) -> None:
    assert told(tmp_path / "memory.jsonl", ANN + b"\n" + KNOWS) == ""


def test_two_entities_of_one_name_get_back_what_was_hidden_of_each(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(data := ANN + b"\n" + ANN.replace(b"tea", b"ale") + b"\n" + ANN)
    with open_store(path) as store:
        ids = [m.id for m in store.scan()]
        assert len(set(ids)) == 6
        groups = [(ids[1], ids[0]), (ids[3], ids[2]), (ids[4], ids[5])]
        run = apply(store, plan_by_hand(store, groups, "mark"))
        assert [m.id for m in store.scan()] == ids
        undo(store, run.id)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("data", "error", "sentence"),
    [
        (ANN + b"\n" + KNOWS[:-9], BadRecord, "Line 2 of .* is not valid JSON .*every call of it"),
        (ANN + b"\n{", BadRecord, "Line 2 of "),
        (ANN.replace(b"Likes", b"\xff"), ForeignStore, "Line 1 of .* is not UTF-8"),
        (ANN[:-1] + f',"x":{OPENED}{CLOSED}}}'.encode(), BadRecord, "Line 1 of "),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_not_touched(
    tmp_path: Path, data: bytes, error: type[Exception], sentence: str
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(data)
    before = contents(tmp_path)
    with pytest.raises(error, match=sentence):
        open_store(path)
    assert contents(tmp_path) == before


def test_an_empty_file_holds_nothing_and_takes_a_first_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(b"")
    with open_store(f"mcp-memory:///{path}") as store:
        assert list(store.scan()) == []
        assert not find(store).groups
        with store.writing():
            store.put([Memory(id="m", content="Likes tea", namespace="Ann", type="person")])
            assert path.read_bytes() == ANN.replace(b',"likes tea"', b"") + b"\n"
            store.remove(["m"])
            assert path.read_bytes() == b""


def test_an_entity_without_a_list_takes_no_observation(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(data := b'{"type":"entity","name":"B","entityType":"x","observations":"one"}')
    with open_store(f"mcp-memory:///{path}") as store, store.writing():
        with pytest.raises(StoreError, match="has no list of observations in the file, so 'm'"):
            store.put([Memory(id="m", content="Likes tea", namespace="B")])
    assert path.read_bytes() == data


def test_a_memory_does_not_move_to_another_entity(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(ANN)
    with open_store(path) as store, store.writing():
        memory = next(iter(store.scan()))
        with pytest.raises(StoreError, match="cannot be moved to 'Ben'"):
            store.put([Memory(id=memory.id, content=memory.content, namespace="Ben")])


@pytest.mark.parametrize(
    "kept",
    ["", "{}", '{"states":[]}', '{"states":[{"file":"x","state":{"hidden":[{}]}}]}'],
)
def test_a_damaged_file_of_hidden_texts_is_named_and_kept(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(ANN)
    hidden = tmp_path / "memory.jsonl.hidden"
    hidden.write_text(kept)
    with pytest.raises(LedgerDamaged, match="holds what is hidden from the memory server"):
        open_store(path)
    assert hidden.read_text() == kept


def test_lines_of_another_form_stay_json_lines(tmp_path: Path) -> None:
    for data in (
        {"content": "An entity is a type of thing.", "type": "entity"},
        {"type": "relation", "text": "Ann knows Ben"},
        {"type": "entity", "content": "x", "name": "Ann"},
    ):
        path = tmp_path / "memories.jsonl"
        path.write_text(json.dumps(data) + "\n")
        assert locate(path)[0] == "jsonl"


def test_a_part_behind_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(ANN)
    with pytest.raises(UsageError, match="Leave away #nodes"):
        open_store(f"mcp-memory:///{path}#nodes")
