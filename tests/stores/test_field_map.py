from __future__ import annotations

from pathlib import Path

import pytest

from echoless.core.errors import BadRecord, InputError, UsageError
from echoless.core.model import Json, Link, Provenance
from echoless.stores import column_values as values
from echoless.stores.field_map import (
    FieldMap,
    MappedUrl,
    presets,
    read_file,
    read_location,
    read_pairs,
)
from echoless.stores.registry import mapped

MAP = FieldMap({"namespace": "project", "created_at": "made at"})


def test_options_files_and_urls_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('namespace = "project"\ncreated_at = "made at"\n')
    (tmp_path / "b.toml").write_text('[map]\nnamespace = "project"\ncreated_at = "made at"\n')
    (tmp_path / "c.json").write_text('{"map": {"namespace": "project", "created_at": "made at"}}')
    assert read_pairs(["namespace=project", "created_at = made at"]) == MAP
    for name in ("a.toml", "b.toml", "c.json"):
        assert read_file(tmp_path / name) == MAP
    location = read_location("folder/x?map=namespace:project&map=created_at:made%20at#part")
    assert location == MappedUrl(Path("folder/x"), "part", MAP)
    assert read_location(str(location)) == location


def test_the_name_of_a_program_stands_for_its_map_and_a_pair_goes_before_it() -> None:
    assert read_pairs(["mem0"]) == presets()["mem0"]
    chosen = read_pairs(["namespace=agent_id", "mem0"])
    assert chosen.column("namespace") == "agent_id"
    assert chosen.column("content") == "data"
    location = read_location("folder/x?map=mem0#part")
    assert location.map == presets()["mem0"]
    with pytest.raises(UsageError, match=r"'mem9' is not FIELD=COLUMN.*preset \(.*mem0"):
        read_pairs(["mem9"])


def test_a_column_of_any_name_survives_the_url() -> None:
    odd = FieldMap({"tags": "a&b=c#d?e:f%20ü", "type": "x:y"})
    assert read_location(str(MappedUrl(Path("p"), "q", odd))).map == odd


def test_a_path_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "odd?map=x#y").mkdir()
    assert read_location(f"{tmp_path}/odd?map=x#y").path == tmp_path / "odd?map=x#y"


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["colour=red"], "'colour'"),
        (["tags"], "FIELD=COLUMN"),
        (["tags="], "without a name"),
        (["tags=a", "tags=b"], "twice"),
        (["tags=a", "type=a"], "one field"),
        (["extra=a"], "'extra'"),
    ],
)
def test_a_map_that_cannot_be_meant_is_refused(pairs: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_pairs(pairs)


def test_files_that_are_no_map_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("tags = 3\n")
    (tmp_path / "b.json").write_text("[")
    for name in ("a.toml", "b.json", "none.toml"):
        with pytest.raises(InputError, match=name):
            read_file(tmp_path / name)
    with pytest.raises(UsageError, match="only map="):
        read_location("folder?limit=3#part")


def test_a_store_with_fields_of_its_own_takes_no_map(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("")
    with pytest.raises(UsageError, match="chroma"):
        mapped(str(tmp_path / "notes.jsonl"), MAP)
    assert mapped("chroma:///f?map=tags:t&map=namespace:n#c", MAP) == (
        "chroma:///f?map=created_at:made at&map=namespace:project&map=tags:t#c"
    )


LINK = Link("m-1", "similar", {"confidence": 0.5})


@pytest.mark.parametrize(
    ("name", "told", "field", "new", "written"),
    [
        ("tags", "a, b", ("a", "b"), ("a", "b", "c"), "a, b, c"),
        ("tags", "a,b", ("a", "b"), (), ""),
        ("tags", '["a"]', ("a",), ("a", "b"), '["a","b"]'),
        ("tags", ["a"], ("a",), ("b",), ["b"]),
        ("tags", None, (), ("x,y",), '["x,y"]'),
        ("importance", 3, 3, 5, 5),
        ("importance", "0.5", 0.5, 1.5, "1.5"),
        ("importance", None, None, 2, 2),
        ("access_count", 2.0, 2, 5, 5),
        ("access_count", "2", 2, 5, "5"),
        ("created_at", 1767225600, "1767225600", "1767312000", 1767312000),
        ("created_at", 17672256.5, "17672256.5", None, None),
        ("last_accessed", "", None, "2026-01-01", "2026-01-01"),
        ("namespace", 7, "7", "8", 8),
        ("type", True, "true", "false", False),
        ("pinned", "1", True, False, "0"),
        ("pinned", 0, False, True, 1),
        ("provenance", "extracted", Provenance.EXTRACTED, Provenance.VERBATIM, "verbatim"),
        ("links", '["a"]', (Link("a"),), (Link("a"), Link("b")), '["a","b"]'),
        (
            "links",
            '[{"target_id":"m-1","link_type":"similar","confidence":0.5}]',
            (LINK,),
            (Link("m-2", "similar", {"confidence": 0.9}),),
            '[{"target_id":"m-2","link_type":"similar","confidence":0.9}]',
        ),
        (
            "links",
            None,
            (),
            (LINK,),
            '[{"target":"m-1","kind":"similar","data":{"confidence":0.5}}]',
        ),
    ],
)
def test_a_value_is_read_and_written_in_its_own_form(
    name: str, told: Json, field: object, new: object, written: Json
) -> None:
    assert values.read(name, told) == field
    assert values.write(name, new, told) == written
    assert values.read(name, written) == new


@pytest.mark.parametrize(
    ("name", "told", "new"),
    [
        ("namespace", 7, "seven"),
        ("created_at", 1767225600, "yesterday"),
        ("tags", "[broken", ("a",)),
        ("importance", True, 3),
    ],
)
def test_what_a_form_cannot_hold_is_refused(name: str, told: Json, new: object) -> None:
    with pytest.raises(BadRecord):
        values.read(name, told)
        values.write(name, new, told)
