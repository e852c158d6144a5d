"""A second audit of a store that changed a little: the same report as a full one, for less."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import (
    Memory,
    Report,
    apply,
    audit,
    audit_store,
    find,
    keep_both,
    open_store,
    plan,
    undo,
)
from echoless.blocking import pair_budget as looking
from echoless.core.errors import UsageError
from echoless.core.model import JsonObject, Vector
from echoless.core.own_folders import CACHE as FOLDER
from echoless.core.settings import Choices, Settings, resolve
from echoless.stores.base import Store
from echoless.stores.ledger import Mark
from echoless.testing.stores import fill
from echoless.workflows.audit import incremental as audited
from echoless.workflows.audit.incremental import packed, unpacked
from echoless.workflows.audit.namespace_report import pages_of
from echoless.workflows.audit.report import report_json, with_store
from echoless.workflows.dedupe import pipeline
from tests.conformance.strategies import worlds
from tests.laws.worlds import folder, safe
from tests.workflows.store_changes import change, changed, changes, removed

TEXTS = [
    f"{who} keeps the {what} of the {where} team in room {room}{stop}"
    for who in ("Ada", "Ben")
    for what in ("printer", "scanner")
    for where in ("north", "south")
    for room in (14, 41)
    for stop in ("", ".")
]
ROOMS = ("attic", "cellar", "garage")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of the test's own, used for stores of any size."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    monkeypatch.setattr(audited, "KEPT_FROM", 1)
    return tmp_path / "cache"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Three namespaces that say the same, each about itself."""
    url = f"sqlite:///{tmp_path}/agent.db"
    fill(url, furnished())
    with open_store(url) as opened:
        yield opened


def furnished() -> list[Memory]:
    return [
        Memory(id=f"{room}-{at:02}", content=f"{room}: {text}", namespace=room)
        for room in ROOMS
        for at, text in enumerate(TEXTS)
    ]


Within = list[frozenset[str] | None]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Within:
    """The namespaces of each real look since this was emptied; None stands for the whole store."""
    told: Within = []

    def counting(*args: object, **options: object) -> object:
        within = options.get("within")
        told.append(None if within is None else frozenset(within))  # type: ignore[call-overload]
        return find(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "find", counting)
    return told


def full(store: Store, chosen: Settings) -> JsonObject:
    """What an audit says that takes nothing over."""
    return report_json(with_store(audit(find(store, replace(chosen, cache=False))), store))


# ------------------------------------------------------------------ what is looked at again


def test_an_unchanged_store_is_not_looked_at_again(store: Store, looked: Within) -> None:
    first = audit_store(store, safe())
    second = audit_store(store, safe())
    assert looked == [None]
    assert (first.taken_over, second.taken_over) == (0, 3)
    assert report_json(second) == report_json(first) == full(store, safe())
    assert first.counts["groups"] == 3 * len(TEXTS) // 2


Act = Callable[[Store], object]

CHANGES: dict[str, Act] = {
    "a new memory": lambda s: change(s, Memory(id="new", content="Rain.", namespace="cellar")),
    "another text": lambda s: change(s, replace(one(s), content="The cellar is dry.")),
    "another field": lambda s: change(s, replace(one(s), importance=0.9)),
    "another time": lambda s: change(s, replace(one(s), created_at="2026-01-01T00:00:00Z")),
    "a pin": lambda s: change(s, replace(one(s), pinned=True)),
    "a tag": lambda s: change(s, replace(one(s), tags=("wet",))),
    "a vector": lambda s: change(s, replace(one(s), vectors=(Vector("m@1", b"\0\0\x80?"),))),
    "one memory less": lambda s: removed(s, "cellar-03"),
    "two kept apart": lambda s: keep_both(s, [("cellar-00", "cellar-01")]),
    "a mark": lambda s: apply(s, plan(find(s, replace(safe(), namespace="cellar")))),
}


def one(store: Store) -> Memory:
    return store.get(["cellar-03"])["cellar-03"]


@pytest.mark.parametrize("name", CHANGES)
def test_only_a_namespace_in_which_something_changed_is_looked_at_again(
    name: str, store: Store, looked: Within
) -> None:
    before = audit_store(store, safe())
    CHANGES[name](store)
    after = audit_store(store, safe())
    assert looked == [None, {"cellar"}]
    assert after.taken_over == 2
    assert report_json(after) == full(store, safe())
    audit_store(store, safe())
    assert len(looked) == 2
    assert before.by_namespace["attic"] == after.by_namespace["attic"]


def test_an_undo_brings_the_first_report_back(store: Store, looked: Within) -> None:
    first = audit_store(store, safe())
    run = apply(store, plan(find(store, safe())))
    assert audit_store(store, safe()).counts["groups"] == 0
    undo(store, run.id)
    assert report_json(audit_store(store, safe())) == report_json(first)
    assert looked == [None, None], "the store is as it was, and so is what was said of it"


def test_a_namespace_that_is_gone_or_new_is_gone_or_new_in_the_report(
    store: Store, looked: Within
) -> None:
    audit_store(store, safe())
    change(store, *(replace(m, namespace="shed") for m in store.scan() if m.namespace == "garage"))
    report = audit_store(store, safe())
    assert [*report.by_namespace] == ["attic", "cellar", "shed"]
    assert looked == [None, {"shed"}]
    assert report_json(report) == full(store, safe())


def test_a_memory_moved_behind_the_back_of_its_mark_is_looked_at_with_both_namespaces(
    store: Store, looked: Within
) -> None:
    apply(store, plan(find(store, safe())))
    mark: Mark = next(iter(store.ledger.marks().values()))
    survivor = store.get([mark.survivor])[mark.survivor]
    change(store, replace(survivor, namespace="garage"))
    audit_store(store, safe())
    looked.clear()
    change(store, replace(survivor, namespace="garage", content="Something else entirely."))
    report = audit_store(store, safe())
    assert looked == [{"attic", "garage"}]
    assert report.tally.skipped["mark outdated, looked at again"] == (mark.duplicate,)
    assert report_json(report) == full(store, safe())


@pytest.mark.parametrize("left", ["rewritten", "gone"])
def test_one_namespace_is_looked_at_again_when_a_survivor_in_another_changes(
    store: Store, looked: Within, left: str
) -> None:
    apply(store, plan(find(store, safe())))
    mark = next(m for m in store.ledger.marks().values() if m.duplicate.startswith("attic"))
    survivor = store.get([mark.survivor])[mark.survivor]
    change(store, replace(survivor, namespace="garage"))
    chosen = safe(namespace="attic")
    audit_store(store, chosen)
    looked.clear()
    if left == "gone":
        removed(store, mark.survivor)
    else:
        change(store, replace(survivor, namespace="garage", content="Something else entirely."))
    report = audit_store(store, chosen)
    assert looked == [None]
    assert report_json(report) == full(store, chosen)


def test_other_settings_make_other_pages(store: Store, looked: Within) -> None:
    audit_store(store, safe())
    for chosen in (safe(grouping="clique"), safe(threshold=("lexical=0.3",)), safe(action="merge")):
        assert report_json(audit_store(store, chosen)) == full(store, chosen)
    assert looked == [None] * 4


def test_one_namespace_asked_for_is_kept_by_itself(store: Store, looked: Within) -> None:
    chosen = safe(namespace="attic")
    for _ in range(2):
        assert report_json(audit_store(store, chosen)) == full(store, chosen)
    change(store, Memory(id="new", content="Rain.", namespace="cellar"))
    audit_store(store, chosen)
    assert looked == [None]
    with pytest.raises(UsageError, match="There is no namespace 'loft'"):
        audit_store(store, safe(namespace="loft"))


def test_a_copy_of_the_file_says_what_it_holds_whatever_its_history(
    store: Store, looked: Within, tmp_path: Path
) -> None:
    """A backup put in place of a store has numbers of changes that were given out before."""
    path, backup = tmp_path / "agent.db", tmp_path / "backup.db"
    store.close()
    shutil.copy(path, backup)
    with open_store(path) as opened:
        change(opened, replace(one(opened), content="The cellar is dry."))
        audit_store(opened, safe())
    shutil.copy(backup, path)
    with open_store(path) as opened:
        change(opened, replace(one(opened), content="The cellar is wet."))
        assert report_json(audit_store(opened, safe())) == full(opened, safe())


# ------------------------------------------------------------------ what is not kept


@pytest.mark.parametrize(
    "choices",
    [
        Choices(cache=False),
        Choices(limit=50),
        Choices(since="2020-01-01"),
        Choices(profile="wt-memory"),
    ],
)
def test_what_would_not_be_said_again_is_not_kept(
    store: Store, looked: Within, own_cache: Path, choices: Choices
) -> None:
    chosen = resolve(replace(choices, encoder="none"))
    reports = [report_json(audit_store(store, chosen)) for _ in range(2)]
    assert reports[0] == reports[1]
    assert looked == [None, None]
    assert not (own_cache / audited.FILE_NAME).exists()


def test_a_small_store_leaves_no_trace(
    store: Store, looked: Within, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audited, "KEPT_FROM", 1_000)
    audit_store(store, safe())
    assert looked == [None]
    assert not (own_cache / audited.FILE_NAME).exists()


def test_a_store_that_cannot_tell_is_audited_in_full(
    store: Store, looked: Within, tmp_path: Path
) -> None:
    fill(f"jsonl:///{tmp_path}/copy.jsonl", list(store.scan()))
    with open_store(f"jsonl:///{tmp_path}/copy.jsonl") as copy:
        told = [report_json(audit_store(copy, safe())) for _ in range(2)]
    assert told[0] == told[1]
    assert looked == [None, None]


def test_what_changes_while_it_is_looked_at_is_not_kept(
    store: Store, looked: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = replace(one(store), content="The cellar is dry.")
    with open_store(store.url) as other:

        def meanwhile(stage: str, done: int, _all: int) -> None:
            if stage == "folding":
                change(other, late)

        audit_store(store, safe(), progress=meanwhile)
    assert report_json(audit_store(store, safe())) == full(store, safe())
    assert looked == [None, {"cellar"}]


# ------------------------------------------------------------------ where it is kept


def test_what_is_kept_is_closed_to_others(store: Store, own_cache: Path) -> None:
    audit_store(store, safe())
    path = own_cache / audited.FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [b"", b"no page", None])
def test_a_damaged_page_is_made_anew(
    store: Store, looked: Within, own_cache: Path, damage: bytes | None
) -> None:
    whole = report_json(audit_store(store, safe()))
    with closing(sqlite3.connect(own_cache / audited.FILE_NAME)) as connection, connection:
        for key, data in connection.execute("SELECT key, data FROM pages").fetchall():
            made = data[:-1] + bytes([data[-1] ^ 1]) if damage is None else damage
            connection.execute("UPDATE pages SET data = ? WHERE key = ?", (made, key))
    told = report_json(audit_store(store, safe()))
    (note,) = told["notes"]
    assert "entries are damaged" in note
    assert {**told, "notes": []} == whole
    assert looked == [None, None]


def test_a_damaged_file_costs_a_note_and_nothing_else(store: Store, own_cache: Path) -> None:
    whole = audit_store(store, safe())
    (own_cache / audited.FILE_NAME).write_bytes(b"no database" * 1_000)
    report = audit_store(store, safe())
    assert report.groups == whole.groups
    assert any("cache of audits" in note for note in report.tally.notes)


def test_a_damaged_schema_that_is_no_text_costs_no_more(store: Store, own_cache: Path) -> None:
    whole = audit_store(store, safe())
    file = own_cache / audited.FILE_NAME
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE pages", b"CREATE TAB\xc8E pages"))
    for told in (1, 0):  # the first run makes it anew
        report = audit_store(store, safe())
        assert report.groups == whole.groups
        assert sum("cache of audits" in note for note in report.tally.notes) == told


def test_what_is_too_much_to_keep_is_told(
    store: Store, looked: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audited, "LARGEST", 100)
    for _ in range(2):
        report = audit_store(store, safe())
        assert "What is said of 32 memories is too much to keep" in " ".join(report.tally.notes)
    assert looked == [None, None]


# ------------------------------------------------------------------ the same as a full audit


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    told=worlds(max_size=8),
    first=st.sampled_from([safe(), safe(grouping="clique"), resolve(Choices(encoder="stored"))]),
    second=st.sampled_from([safe(), resolve(Choices(encoder="stored"))]),
    before=changes(TEXTS[:6]),
    after=changes(TEXTS[:6]),
    whole=st.sampled_from([3, looking.WHOLE_UP_TO]),
)
def test_an_audit_after_changes_says_what_one_from_nothing_says(
    own_cache: Path,
    told: list[Memory],
    first: Settings,
    second: Settings,
    before: list[tuple[str, int, str]],
    after: list[tuple[str, int, str]],
    whole: int,
) -> None:
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "WHOLE_UP_TO", whole)
        url = f"sqlite:///{place}/agent.db"
        rooms = [m for m in furnished() if m.id[-2:] < "06"]
        fill(url, [*told, *rooms])
        with open_store(url) as store:
            changed(store, before)
            audit_store(store, first)
            audit_store(store, second)
            changed(store, after)
            report: Report = audit_store(store, second)
            assert report_json(report) == full(store, second)
            shutil.rmtree(own_cache, ignore_errors=True)
            assert report_json(audit_store(store, second)) == report_json(report)
            for page in report.pages:
                assert unpacked(packed(page)) == page
            assert list(report.pages) == list(pages_of(find(store, second)))
