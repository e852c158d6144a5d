"""A second run over a store that changed a little: the same result as a full one, for less."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import Findings, Memory, find, open_store, plan
from echoless.blocking import candidate_cache as looks
from echoless.blocking import pair_budget as looking
from echoless.blocking.detectors import BulkDetector, Proposed
from echoless.blocking.detectors.exact import ExactDetector
from echoless.blocking.detectors.lexical import LexicalDetector
from echoless.blocking.detectors.normalised import NormalisedDetector
from echoless.blocking.detectors.semantic import SemanticDetector
from echoless.clustering import noise_score
from echoless.core import text_facts_cache as readings
from echoless.core.cache import checked
from echoless.core.model import Pair, Vector, Verdict
from echoless.core.own_folders import CACHE as FOLDER
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.text import ByText
from echoless.matching import runner as deciding
from echoless.matching.facts import facts_of
from echoless.matching.rule_judge import RuleJudge
from echoless.stores.base import Store
from echoless.testing.stores import fill
from echoless.workflows.audit.report import findings_json
from tests.conformance.strategies import worlds
from tests.laws.worlds import folder, safe
from tests.workflows.store_changes import changed, changes

TEXTS = [
    f"{who} keeps the {what} of the {where} team in room {room}"
    for who in ("Ada", "Ben", "Cleo")
    for what in ("printer", "scanner", "projector")
    for where in ("north", "south")
    for room in (14, 41)
]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of the test's own, used for any number of pairs."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    monkeypatch.setattr(deciding, "KEPT_FROM", 1)
    monkeypatch.setattr(looks, "KEPT_FROM", 1)
    monkeypatch.setattr(readings, "KEPT_FROM", 1)
    return tmp_path / "cache"


@dataclass
class Asked:
    """How many pairs were really judged since the last look."""

    pairs: int = 0

    def since(self) -> int:
        told, self.pairs = self.pairs, 0
        return told


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked, judge_all = Asked(), RuleJudge.judge_all

    def counting(self: RuleJudge, pairs: Sequence[Pair]) -> list[Verdict]:
        asked.pairs += len(pairs)
        return judge_all(self, pairs)

    monkeypatch.setattr(RuleJudge, "judge_all", counting)
    return asked


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/agent.db"
    fill(url, [Memory(id=f"m-{n:02}", content=text) for n, text in enumerate(TEXTS)])
    with open_store(url) as opened:
        yield opened


def result(found: Findings) -> object:
    """All that a run says."""
    return findings_json(found), found.judged, found.groups, found.held, found.tally.counts


# ------------------------------------------------------------------ what is judged again


def test_an_unchanged_store_is_not_judged_again(store: Store, judged: Asked) -> None:
    first = find(store, safe())
    assert judged.since() == len(first.judged) > 100
    second = find(store, safe())
    assert judged.since() == 0
    assert (first.remembered, second.remembered) == (0, len(first.judged))
    assert result(second) == result(first)


def test_only_the_pairs_of_an_edited_memory_are_judged_again(store: Store, judged: Asked) -> None:
    find(store, safe())
    judged.since()
    edited = replace(store.get(["m-05"])["m-05"], content=TEXTS[5].replace("Ada", "Dana"))
    with store.writing():
        store.put([edited])
    found = find(store, safe())
    touched = [each for each in found.judged if "m-05" in (each.a, each.b)]
    assert judged.since() == len(touched) > 0
    assert found.remembered == len(found.judged) - len(touched)


def test_a_memory_that_was_recalled_or_tagged_is_not_judged_again(
    store: Store, judged: Asked
) -> None:
    find(store, safe())
    judged.since()
    with store.writing():
        store.put([replace(m, access_count=7, tags=("seen",)) for m in store.scan()])
    find(store, safe())
    assert judged.since() == 0


def test_one_store_learns_from_another_with_the_same_texts(
    store: Store, judged: Asked, tmp_path: Path
) -> None:
    find(store, safe())
    judged.since()
    fill(f"jsonl:///{tmp_path}/copy.jsonl", list(store.scan()))
    with open_store(f"jsonl:///{tmp_path}/copy.jsonl") as copy:
        find(copy, safe())
    assert judged.since() == 0


def test_without_cache_all_is_judged_and_nothing_kept(
    store: Store, judged: Asked, own_cache: Path
) -> None:
    for _ in range(2):
        found = find(store, replace(safe(), cache=False))
        assert judged.since() == len(found.judged)
        assert found.remembered == 0
    assert not own_cache.exists()


def test_few_pairs_leave_no_trace(
    store: Store, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "KEPT_FROM", 10_000)
    monkeypatch.setattr(looks, "KEPT_FROM", 10_000)
    monkeypatch.setattr(readings, "KEPT_FROM", 10_000)
    find(store, safe())
    assert not own_cache.exists()


def test_what_was_judged_before_a_run_broke_off_is_kept(
    store: Store, judged: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "JUDGED_AT_ONCE", 40)

    def stop(stage: str, done: int, _all: int) -> None:
        if stage == "judging" and done >= 80:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(store, safe(), progress=stop)
    assert judged.since() == 80
    found = find(store, safe())
    assert found.remembered == 80
    assert judged.since() == len(found.judged) - 80


def test_a_damaged_cache_costs_a_note_and_nothing_else(
    store: Store, judged: Asked, own_cache: Path
) -> None:
    whole = find(store, safe())
    (own_cache / "verdicts.sqlite3").write_bytes(b"no database" * 1_000)
    judged.since()
    found = find(store, safe())
    assert judged.since() == len(found.judged)
    assert (found.judged, found.groups) == (whole.judged, whole.groups)
    assert any("verdict cache" in note for note in found.tally.notes)


# ------------------------------------------------------------------ what is looked at again


@dataclass
class Looked:
    """Which detector looked at how many memories since the last look."""

    told: list[tuple[str, int]] = field(default_factory=list)

    def since(self) -> list[tuple[str, int]]:
        told, self.told = self.told, []
        return told


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Looked:
    counted = Looked()
    for detector in (ExactDetector, NormalisedDetector, LexicalDetector, SemanticDetector):
        _count(monkeypatch, detector, counted)
    return counted


def _count(monkeypatch: pytest.MonkeyPatch, detector: type[BulkDetector], counted: Looked) -> None:
    propose = detector.propose

    def counting(
        self: BulkDetector, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        counted.told.append((detector.__module__.rpartition(".")[2], len(memories)))
        return propose(self, memories, tally, most)

    monkeypatch.setattr(detector, "propose", counting)


@pytest.fixture
def two_rooms(store: Store) -> Store:
    """A store of two namespaces: half of the texts in each."""
    with store.writing():
        store.put([replace(m, namespace=m.content[-2:]) for m in store.scan()])
    return store


DETECTORS = ("exact", "normalised", "lexical")


def test_detectors_do_not_look_at_an_unchanged_store_again(
    two_rooms: Store, looked: Looked
) -> None:
    first = find(two_rooms, safe())
    assert looked.since() == [(name, 18) for name in DETECTORS for _ in range(2)]
    second = find(two_rooms, safe())
    assert looked.since() == []
    assert (first.taken_over, second.taken_over) == (0, 6)
    assert result(second) == result(first)


def test_only_the_namespace_that_changed_is_looked_at_again(
    two_rooms: Store, looked: Looked
) -> None:
    find(two_rooms, safe())
    looked.since()
    with two_rooms.writing():
        two_rooms.put([Memory(id="new", content="A seventh of its kind", namespace="14")])
    found = find(two_rooms, safe())
    assert looked.since() == [(name, 19) for name in DETECTORS]
    assert found.taken_over == 3


def test_a_memory_that_was_recalled_or_tagged_is_not_looked_at_again(
    store: Store, looked: Looked
) -> None:
    find(store, safe())
    looked.since()
    with store.writing():
        store.put([replace(m, access_count=7, tags=("seen",)) for m in store.scan()])
    find(store, safe())
    assert looked.since() == []


def test_where_partners_are_chosen_by_rank_another_order_is_looked_at_again(
    store: Store, looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "WHOLE_UP_TO", 10)
    find(store, safe())
    looked.since()
    find(store, safe())
    assert looked.since() == []
    with store.writing():
        store.put([replace(store.get(["m-30"])["m-30"], importance=1.0)])
    find(store, safe())
    assert looked.since() == [(name, 36) for name in DETECTORS]


def test_another_threshold_or_another_vector_is_looked_at_again(
    store: Store, looked: Looked
) -> None:
    find(store, safe())
    looked.since()
    find(store, safe(threshold=("lexical=0.3",)))
    assert looked.since() == [("lexical", 36)]
    for number in (1, 2):
        vector = Vector("model@1", struct.pack("<2f", 0.0, number))
        with store.writing():
            store.put([replace(m, vectors=(vector,)) for m in store.get(["m-01", "m-02"]).values()])
        for _ in range(2):
            found = find(store, resolve(Choices(encoder="stored")))
        assert looked.since() == [(name, 36) for name in (*DETECTORS, "semantic")]
        assert found.tally.counts["no vector"] == 34


def test_a_detector_of_someone_else_looks_again_unless_it_says_it_is_steady(
    store: Store, looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(LexicalDetector, "steady")
    find(store, safe())
    looked.since()
    find(store, safe())
    assert looked.since() == [("lexical", 36)]


def test_pairs_that_touch_some_memories_are_looked_for_anew(store: Store, looked: Looked) -> None:
    whole = find(store, safe())
    looked.since()
    some = find(store, safe(), touching=lambda memory: memory.id == "m-03")
    assert looked.since() == [(name, 36) for name in DETECTORS]
    assert 0 < len(some.judged) < len(whole.judged)
    assert result(find(store, safe())) == result(whole)


def test_what_was_looked_at_before_a_run_broke_off_is_kept(
    two_rooms: Store, looked: Looked
) -> None:
    def stop(stage: str, done: int, _all: int) -> None:
        if stage == "looking (lexical)" and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(two_rooms, safe(), progress=stop)
    looked.since()
    assert find(two_rooms, safe()).taken_over == 5
    assert looked.since() == [("lexical", 18)]


@pytest.mark.parametrize("damage", [b"", b"no zlib", zlib.compress(b"{}"), None])
def test_a_damaged_look_is_made_anew(
    store: Store, looked: Looked, own_cache: Path, damage: bytes | None
) -> None:
    whole = find(store, safe())
    looked.since()
    with closing(sqlite3.connect(own_cache / looks.FILE_NAME)) as connection, connection:
        for key, data in connection.execute("SELECT key, data FROM looks").fetchall():
            head, _, body = zlib.decompress(data[4:]).partition(b"\n")
            made = zlib.compress(head + b"\n" + body[:-1]) if damage is None else damage
            connection.execute("UPDATE looks SET data = ? WHERE key = ?", (checked(key, made), key))
    found = find(store, safe())
    assert ("lexical", 36) in looked.since()
    (note,) = found.tally.notes
    assert "cache of proposals" in note
    assert (found.judged, found.groups, found.held) == (whole.judged, whole.groups, whole.held)


def test_a_damaged_file_of_looks_costs_a_note_and_nothing_else(
    store: Store, looked: Looked, own_cache: Path
) -> None:
    whole = find(store, safe())
    (own_cache / looks.FILE_NAME).write_bytes(b"no database" * 1_000)
    looked.since()
    found = find(store, safe())
    assert len(looked.since()) == len(DETECTORS)
    assert (found.judged, found.groups) == (whole.judged, whole.groups)
    assert any("cache of proposals" in note for note in found.tally.notes)


def test_what_is_too_much_to_keep_is_told_and_looked_at_again(
    store: Store, looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = find(store, safe())
    monkeypatch.setattr(looks, "_LARGEST", 1_000)
    shutil.rmtree(looks.cache_folder())
    looked.since()
    for _ in range(2):
        found = find(store, safe())
        assert ("lexical", 36) in looked.since()
        assert any("too many to keep" in note for note in found.tally.notes)
        assert found.judged == whole.judged


def test_no_text_and_no_id_is_written_beside_what_is_proposed(
    store: Store, own_cache: Path
) -> None:
    find(store, safe())
    with closing(sqlite3.connect(own_cache / looks.FILE_NAME)) as connection:
        told = [
            zlib.decompress(data[4:]) for (data,) in connection.execute("SELECT data FROM looks")
        ]
    assert len(told) == len(DETECTORS)
    assert not any(word in each for each in told for word in (b"printer", b"Cleo", b"m-0"))


# ------------------------------------------------------------------ what is read again


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were looked through for junk since this was emptied."""
    told, plain = list[str](), noise_score.cleanliness

    def counting(text: str, *rest: Any) -> object:
        told.append(text)
        return plain(text, *rest)

    monkeypatch.setattr(noise_score, "cleanliness", counting)
    return told


COPIES = ["Ben: the demo is tomorrow", "The port is 5432. -- sent by agent 7", "The port is 5432."]


@pytest.fixture
def copies(store: Store) -> Store:
    """A store of copies made on two days."""
    with store.writing():
        store.put(
            [
                Memory(id=f"{at}-{day}", content=text, created_at=f"2026-05-0{day}T08:00:00Z")
                for at, text in enumerate(COPIES)
                for day in (1, 2)
            ]
        )
    return store


def test_texts_are_not_read_again(copies: Store, read: list[str]) -> None:
    first = find(copies, safe())
    assert set(read) >= {*COPIES[1:]}
    read.clear()
    second = find(copies, safe())
    assert read == []
    assert result(second) == result(first)
    assert [len(group.members) for group in first.groups] == [3], "two days are two demos"


def test_a_new_text_is_read_alone(copies: Store, read: list[str]) -> None:
    find(copies, safe())
    read.clear()
    with copies.writing():
        copies.put([Memory(id="new", content="FYI: The port is 5432.")])
    find(copies, safe())
    assert read == ["FYI: The port is 5432."]


@pytest.mark.parametrize("damage", ["", "null", "[9, [], 0]", '[0, ["none such"], 0]', "{", "7"])
def test_a_damaged_reading_is_made_anew(copies: Store, own_cache: Path, damage: str) -> None:
    whole = find(copies, safe())
    with closing(sqlite3.connect(own_cache / readings.FILE_NAME)) as connection, connection:
        connection.execute("UPDATE readings SET data = ?", (damage.encode(),))
    found = find(copies, safe())
    assert (found.judged, found.groups) == (whole.judged, whole.groups)
    assert any("entries are damaged" in note for note in found.tally.notes)


def test_no_text_stands_in_the_readings(copies: Store, own_cache: Path) -> None:
    find(copies, safe())
    with closing(sqlite3.connect(own_cache / readings.FILE_NAME)) as connection:
        told = [str(row) for row in connection.execute("SELECT * FROM readings")]
    assert len(told) >= 3
    assert not any(word in each for each in told for word in ("port", "demo", "Ben"))


# ------------------------------------------------------------------ the same as a full run


CHOICES = [
    safe(),
    safe(threshold=("lexical=0.3",)),
    safe(grouping="clique"),
    safe(survivor="newest"),
]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    told=worlds(max_size=8),
    first=st.sampled_from(CHOICES),
    second=st.sampled_from(CHOICES),
    told_changes=changes(TEXTS),
    whole=st.sampled_from([3, looking.WHOLE_UP_TO]),
)
def test_a_run_after_changes_says_what_a_run_from_nothing_says(
    own_cache: Path,
    told: list[Memory],
    first: Settings,
    second: Settings,
    told_changes: list[tuple[str, int, str]],
    whole: int,
) -> None:
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "WHOLE_UP_TO", whole)
        url = f"sqlite:///{place}/agent.db"
        fill(
            url, [*told, *(Memory(id=f"t-{n}", content=text) for n, text in enumerate(TEXTS[::5]))]
        )
        with open_store(url) as store:
            find(store, first)
            changed(store, told_changes)
            after = find(store, second)
            shutil.rmtree(own_cache, ignore_errors=True)
            fresh = find(store, second)
            assert fresh.remembered == 0
            assert result(after) == result(fresh)
            assert [*plan(after).to_json()["actions"]] == [*plan(fresh).to_json()["actions"]]


def test_each_text_is_read_once_however_its_pairs_lie(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two topics whose ids alternate, and room for the texts of one."""
    other = [Memory(id=f"m-{n:02}x", content=text[::-1]) for n, text in enumerate(TEXTS)]
    with store.writing():
        store.put(other)
    reads: list[str] = []
    read = facts_of._read
    room = sum(map(len, TEXTS)) + 200
    counted = ByText(lambda text: (reads.append(text), read(text))[1], most=room)
    for name in ("facts", "rule_judge"):
        monkeypatch.setattr(f"echoless.matching.{name}.facts_of", counted)
    monkeypatch.setattr(deciding, "JUDGED_AT_ONCE", 40)
    find(store, safe())
    assert len(reads) == len(set(reads)) == 2 * len(TEXTS)
