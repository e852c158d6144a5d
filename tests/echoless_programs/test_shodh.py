"""The store of shodh-memory, with the real library."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

pytest.importorskip("shodh_memory")

from echoless import Memory, apply, check, open_store, undo
from echoless.core.errors import ForeignStore, MissingExtra, StoreError, StoreNotFound
from echoless_programs.stores.shodh.store import ShodhStore
from tests.conformance.stores import StoreConformance, contents, plan_by_hand
from tests.echoless_programs.shodh_stores import build, told


def canonical(note: Mapping[str, object]) -> bytes:
    """A note as the library itself tells it, counters and times of access included."""
    return json.dumps(note, sort_keys=True).encode()


def beside(folder: Path) -> set[str]:
    """Files around a store, not those of the engine in it."""
    return {path.name for path in folder.parent.iterdir()}


class TestShodh(StoreConformance):
    remains = True

    def url(self, folder: Path) -> str:
        return f"shodh:///{folder}/project"

    def bytes_of(self, folder: Path) -> Mapping[str, bytes]:
        """The engine turns over its journal whenever it is opened; the notes are what counts."""
        return {
            **{id_: canonical(note) for id_, note in told(folder / "project").items()},
            **dict.fromkeys(beside(folder / "project"), b""),
        }


FIELDS = {
    "entities": ["Hook", "Session"],
    "is_failure": True,
    "is_anomaly": True,
    "severity": "high",
    "root_cause": "a race",
    "recovery_action": "retry",
    "pattern_id": "p-1",
    "predicted_outcome": "it fails",
    "action_type": "move",
    "heading": 1.5,
    "sensor_data": {"temperature": 20.5},
    "position": [1.0, 2.0, 3.0],
    "geo_location": [52.5, 13.4, 30.0],
    "outcome_type": "success",
    "outcome_details": "as planned",
    "reward": 0.5,
    "prediction_accurate": True,
    "weather": {"sky": "clear"},
    "terrain_type": "indoor",
    "decision_context": {"goal": "dock"},
    "action_params": {"speed": "slow"},
    "confidence": 0.75,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with three notes, made by the library itself."""
    place = tmp_path / "project"
    build(place, ["One thing.", ("Another thing.", {"tags": ["b", "a"]}), "A third."])
    return place


def test_a_folder_is_recognised_by_what_the_library_makes_in_it(folder: Path) -> None:
    with open_store(folder) as store:
        assert store.url == f"shodh:///{folder}"
        assert store.profile == "wt-memory"
        assert {m.content for m in store.scan()} == {"One thing.", "Another thing.", "A third."}
    assert ShodhStore.recognises(folder.parent) is False


def test_notes_stand_in_the_order_they_were_written(folder: Path) -> None:
    for _ in range(3):
        with open_store(folder) as store:
            texts = [m.content for m in store.scan()]
            assert texts == ["One thing.", "Another thing.", "A third."]


@pytest.mark.parametrize("what", ["missing", "empty", "file"])
def test_what_is_no_store_is_refused_and_left_alone(tmp_path: Path, what: str) -> None:
    place = tmp_path / "place"
    if what == "empty":
        place.mkdir()
    elif what == "file":
        place.write_text("x")
    before = contents(tmp_path)
    with pytest.raises((StoreNotFound, ForeignStore), match="place"):
        open_store(f"shodh:///{place}")
    assert contents(tmp_path) == before


def test_every_field_the_library_knows_is_written_as_its_own(folder: Path) -> None:
    memory = Memory(id="robot", content="Docked at the station.", type="Error", extra=FIELDS)
    with open_store(folder) as store, store.writing():
        store.put([memory])
        assert store.get(["robot"])["robot"].extra == FIELDS
    (note,) = [n for n in told(folder).values() if n["content"] == memory.content]
    for name, value in FIELDS.items():
        assert note[name] == value, name


def test_a_field_the_library_does_not_take_is_kept_in_the_metadata(folder: Path) -> None:
    odd = {"heading": "north", "position": [1], "outcome_type": 5, "compressed": True, "new": {}}
    with open_store(folder) as store, store.writing():
        store.put([Memory(id="odd", content="Odd fields.", extra=odd)])
        assert store.get(["odd"])["odd"].extra == odd


def test_a_metadata_key_of_ours_is_refused_with_id_and_key(folder: Path) -> None:
    taken = Memory(id="m-9", content="x", metadata={"echoless.fields": "mine"})
    before = told(folder)
    with open_store(folder) as store, store.writing():
        with pytest.raises(StoreError, match=r"'m-9'.*'echoless\.fields'"):
            store.put([taken])
    assert told(folder) == before


def test_a_malformed_key_of_ours_is_the_owners(tmp_path: Path) -> None:
    keys = {"echoless.replaces": "not a list", "echoless.access_count": "-1", "k": "v"}
    (id_,) = build(tmp_path / "p", [("Some note.", {"metadata": keys})])
    with open_store(tmp_path / "p") as store:
        (memory,) = store.scan()
    assert (memory.id, memory.access_count, memory.metadata) == (id_, 0, keys)


def test_a_copy_of_a_note_with_its_metadata_goes_by_its_own_id(folder: Path) -> None:
    """As an import of another program's makes it."""
    with open_store(folder) as store, store.writing():
        first = next(iter(store.scan()))
        store.put([replace(first, tags=("t",))])
    (note,) = [n for n in told(folder).values() if n["content"] == first.content]
    (copy,) = build(folder, [(note["content"], {"metadata": note["metadata"]})])
    with open_store(folder) as store:
        assert {m.id for m in store.scan() if m.content == first.content} == {first.id, copy}


def test_a_record_whose_change_was_not_finished_does_not_count(folder: Path) -> None:
    """Both stand after a crash between writing the new record and removing the old one."""
    old = next(n for n in told(folder).values() if n["content"] == "One thing.")
    metadata = {
        "echoless.replaces": json.dumps([old["id"]]),
        "echoless.supersedes": old["id"],
        "echoless.fields": "{}",
    }
    (stray,) = build(folder, [("One thing, changed.", {"metadata": metadata})])
    with open_store(folder) as store:
        assert store.count() == 3
        assert store.get([old["id"]])[old["id"]].content == "One thing."
        assert [stray in p.says for p in check(store, mend=False).problems] == [False, True]
        assert check(store).sound
        assert check(store).problems == ()
    assert stray not in told(folder)


def test_importance_that_fades_by_itself_is_no_edit(tmp_path: Path) -> None:
    """The library lowers the importance of notes like one that is written."""
    place = tmp_path / "p"
    ids = build(place, [(f"The cache is cleared at night{'.' * n}", {}) for n in range(4)])
    with open_store(place) as store:
        plan = plan_by_hand(store, [(ids[0], ids[1]), (ids[2], ids[3])], "delete")
        with store.writing():
            store.put([Memory(id="new", content="The cache is cleared at night, always.")])
        before = {m.id: m.importance for m in store.scan()}
        assert not apply(store, plan).refused
        undo(store, "last")
        assert {m.id: m.importance for m in store.scan()} == pytest.approx(before, abs=0.1)


def test_a_mark_touches_no_note(folder: Path) -> None:
    before = told(folder)
    with open_store(folder) as store:
        one, two, _ = [m.id for m in store.scan()]
        apply(store, plan_by_hand(store, [(one, two)], "mark"))
    assert told(folder) == before
    assert beside(folder) >= {"project", "project.echoless"}


def test_an_unfit_version_is_told_before_it_is_imported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "0.1.90")
    with pytest.raises(StoreError, match=r"0\.1\.90 is installed.*>=0\.1\.75,!=0\.1\.80,<0\.1\.90"):
        open_store(f"shodh:///{folder}")

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(MissingExtra, match=r'extra "shodh": pip install'):
        open_store(f"shodh:///{folder}")


def test_the_banner_stays_off_standard_output(folder: Path) -> None:
    program = f"from echoless import open_store; open_store('shodh:///{folder}').close()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
