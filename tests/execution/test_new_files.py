"""New files appear whole or not at all, never over another, with the permissions of their store."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from echoless import apply, check, open_store, purge, remember, undo
from echoless.core import drafts
from echoless.core.errors import BadRecord, StoreLocked, UsageError
from echoless.execution.plan import write_plan
from echoless.execution.transfer import backup, export, import_into
from echoless.stores import Store
from tests.conformance.stores import contents, fill, plan_by_hand, simple
from tests.laws.worlds import KINDS, SUFFIX, folder, quick


def source(place: Path, count: int = 4) -> str:
    url = f"jsonl:///{place}/source.jsonl"
    fill(url, [simple(n) for n in range(1, count + 1)])
    return url


def carried(target: Path) -> dict[str, Callable[[Store], object]]:
    """Each way of making a new store at a place."""
    return {
        "import": lambda store: import_into(store, target),
        "export": lambda store: export(store, target),
        "backup": lambda store: backup(store, target),
    }


WAYS = [("import", "db"), ("import", "jsonl"), ("export", "db"), ("export", "jsonl"),
        ("backup", "db")]  # fmt: skip


@pytest.mark.parametrize("suffix", ["db", "jsonl"])
def test_a_refused_import_leaves_the_store_another_process_made_meanwhile(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F1a."""
    target = tmp_path / f"new.{suffix}"
    other = tmp_path / "other"
    other.mkdir()
    published = drafts.publish

    def late(made: Path, name: Path, *, like: Path | None = None) -> None:
        monkeypatch.undo()
        with open_store(source(other, 2)) as store:
            import_into(store, target)
        published(made, name, like=like)

    monkeypatch.setattr(drafts, "publish", late)
    with open_store(source(tmp_path)) as store:
        with pytest.raises(UsageError, match="made by another process meanwhile"):
            import_into(store, target)
    with open_store(target) as made:
        assert [m.id for m in made.scan()] == ["m-1", "m-2"]
        assert check(made).problems == ()
    assert not list(tmp_path.glob(".new*draft"))


def test_a_refused_import_keeps_the_ledger_that_lies_there(tmp_path: Path) -> None:
    """F1b: the ledger holds the only copy of deleted records."""
    url = source(tmp_path)
    with open_store(url) as store:
        apply(store, plan_by_hand(store, [("m-1", "m-2")], "delete"))
    (tmp_path / "source.jsonl").rename(tmp_path / "elsewhere")
    ledger = (tmp_path / "source.jsonl.echoless").read_bytes()
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "q", "content": ""}\n')
    with open_store(bad) as store:
        with pytest.raises(BadRecord):
            import_into(store, f"sqlite:///{tmp_path}/fresh.db")
        for way in carried(tmp_path / "source.jsonl").values():
            with pytest.raises(UsageError, match="only copy of deleted memories"):
                way(store)
    with pytest.raises(UsageError, match="only copy of deleted memories"):
        open_store(url, create=True)
    assert (tmp_path / "source.jsonl.echoless").read_bytes() == ledger
    assert not (tmp_path / "fresh.db").exists()


@pytest.mark.parametrize(("way", "suffix"), WAYS)
@pytest.mark.parametrize("beside", [".echoless", "-wal", "-journal"])
def test_what_belongs_to_another_store_is_in_the_way(
    tmp_path: Path, way: str, suffix: str, beside: str
) -> None:
    target = tmp_path / f"new.{suffix}"
    (tmp_path / (target.name + beside)).write_bytes(b"precious")
    with open_store(source(tmp_path)) as store:
        before = contents(tmp_path)
        with pytest.raises(UsageError, match=r"is there without its store"):
            carried(target)[way](store)
        assert contents(tmp_path) == before


def test_a_name_another_process_writes_under_is_refused(tmp_path: Path) -> None:
    held = FileLock(tmp_path / ".new.jsonl.lock")
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, held.lock_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    with open_store(source(tmp_path)) as store:
        with pytest.raises(StoreLocked, match="Another process writes"):
            export(store, tmp_path / "new.jsonl")
        child.communicate(b"\n")
        export(store, tmp_path / "new.jsonl")


_HOLD = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""

_MAKE = """
import sys
from pathlib import Path
from echoless import open_store
from echoless.core.errors import EcholessError
from echoless.execution.transfer import backup, export, import_into
with open_store(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        way = {"import": import_into, "export": export, "backup": backup}[sys.argv[3]]
        way(store, Path(sys.argv[2]))
    except EcholessError as problem:
        print(problem)
        sys.exit(problem.exit_code)
"""


@pytest.mark.parametrize(("way", "suffix"), WAYS)
def test_of_several_that_make_one_file_at_once_one_wins_and_says_so(
    tmp_path: Path, way: str, suffix: str
) -> None:
    """F2: two exports to one name both reported success and left an empty file."""
    url = source(tmp_path, 40)
    target = tmp_path / f"new.{suffix}"
    command = [sys.executable, "-c", _MAKE, url, str(target), way]
    pipe = subprocess.PIPE
    children = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    said = [child.communicate()[0] for child in children]
    codes = [child.returncode for child in children]
    made_new = [code for code in codes if code == 0]
    assert made_new
    assert all(code in {0, 2, 4} for code in codes), said
    # an import that begins when the store is there finds all of it there: it is done as well
    assert len(made_new) == 1 or way == "import"
    with open_store(target) as made:
        assert made.count() == 40
        assert check(made).problems == ()
    assert [p.name for p in tmp_path.iterdir() if "draft" in p.name or "making" in p.name] == []


def test_a_draft_that_was_hardly_begun_goes_an_hour_later(tmp_path: Path) -> None:
    """As a kill leaves it between the making of the folder and that of its lock."""
    fresh, old = (tmp_path / f".new.jsonl.{name}.making" for name in ("fresh", "old"))
    for each in (fresh, old):
        each.mkdir()
        (each / "alive.lock").touch()
    os.utime(old, (time.time() - 4_000,) * 2)
    with open_store(source(tmp_path)) as store:
        export(store, tmp_path / "new.jsonl")
    assert fresh.is_dir()
    assert not old.exists()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("wanted", [0o600, 0o640])
def test_ledger_exports_and_backups_get_the_permissions_of_their_store(
    tmp_path: Path, wanted: int
) -> None:
    """F6."""
    path = tmp_path / "source.jsonl"
    with open_store(source(tmp_path)) as store:
        path.chmod(wanted)
        apply(store, plan_by_hand(store, [("m-1", "m-2")], "delete"))
        assert mode(path) == wanted
        for way, suffix in WAYS:
            carried(tmp_path / f"{way}.{suffix}")[way](store)
    for made in ["source.jsonl.echoless", "import.jsonl.echoless", "export.jsonl.echoless"]:
        assert mode(tmp_path / made) == wanted
    for way, suffix in WAYS:
        assert mode(tmp_path / f"{way}.{suffix}") == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_new_stores_and_plans_are_readable_for_their_owner_only(tmp_path: Path, kind: str) -> None:
    url = f"{kind}:///{tmp_path}/new.{SUFFIX[kind]}"
    fill(url, [simple(1), simple(2)])
    with open_store(url) as store:
        write_plan(plan_by_hand(store, [("m-1", "m-2")], "mark"), tmp_path / "plan.json")
    assert {mode(path) for path in tmp_path.glob("[np]*")} == {0o600}


def test_a_ledger_follows_the_permissions_of_its_store_at_the_next_write(tmp_path: Path) -> None:
    """F6: version 0.1 left ledgers readable by all."""
    with open_store(source(tmp_path)) as store:
        apply(store, plan_by_hand(store, [("m-1", "m-2")], "mark"))
        (tmp_path / "source.jsonl.echoless").chmod(0o644)
        (tmp_path / "source.jsonl").chmod(0o600)
        undo(store, "last")
    assert mode(tmp_path / "source.jsonl.echoless") == 0o600


def test_every_name_of_a_linked_file_is_one_store(tmp_path: Path) -> None:
    """F7a."""
    for name in ("real", "link"):
        (tmp_path / name).mkdir()
    url = source(tmp_path / "real")
    link = tmp_path / "link" / "memories.jsonl"
    link.symlink_to(tmp_path / "real" / "source.jsonl")
    with open_store(link) as store:
        apply(store, plan_by_hand(store, [("m-1", "m-2")], "delete"))
    assert link.is_symlink()
    with open_store(url) as store:
        assert [m.id for m in store.scan()] == ["m-1", "m-3", "m-4"]
        undo(store, "last")
    with open_store(link) as store:
        assert store.count() == 4
    assert [p.name for p in (tmp_path / "link").iterdir()] == ["memories.jsonl"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    """F7b."""
    url, path = source(tmp_path), tmp_path / "source.jsonl"
    os.chown(path, 1234, 1234)
    with open_store(url) as store:
        remember(store, "The staging server has sixteen gigabytes of memory.")
        backup(store, tmp_path / "backup.db")
    owners = {(p.stat().st_uid, p.stat().st_gid) for p in tmp_path.glob("[sb]*")}
    assert owners == {(1234, 1234)}


lines = st.builds(
    lambda ends, last, bom, blank: (
        ("\ufeff" if bom else "")
        + "".join(
            f'{{"id": "m-{n}", "content": "Fact number {n} of this file."}}{end}'
            + ("\n" if blank == n else "")
            for n, end in enumerate(ends, 1)
        )
        + (f'{{"id": "m-{len(ends) + 1}", "content": "The last of them."}}' if last else "")
    ),
    st.lists(st.sampled_from(["\n", "\r\n", " \n"]), min_size=2, max_size=5),
    st.booleans(),
    st.booleans(),
    st.integers(0, 5),
)


@given(lines, st.lists(st.sampled_from(["mark", "merge", "delete", "remember"]), max_size=4))
@quick
def test_undo_gives_a_file_back_byte_for_byte(text: str, steps: list[str]) -> None:
    """F7c: a file without a final line feed had one after `remember` and `undo`."""
    with folder() as place:
        path = place / "memories.jsonl"
        path.write_bytes(text.encode())
        with open_store(path) as store:
            runs = []
            for number, step in enumerate(steps):
                ids = [m.id for m in store.scan() if m.id not in store.ledger.marks()]
                if step == "remember":
                    told = remember(store, f"A new text about matter {number}, quite another one.")
                    runs.append(told.run)
                elif len(ids) > 1:
                    pair = (ids[0], ids[-1]) if number % 2 else (ids[-1], ids[0])
                    done = apply(store, plan_by_hand(store, [pair], step))
                    runs += [] if done.refused else [done.id]
        with open_store(path) as store:
            for run in reversed(runs):
                undo(store, run)
        assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("last", [check, lambda store: purge(store, before="2999-01-01")])
def test_drafts_of_stopped_writers_are_removed_by_check_and_purge(
    tmp_path: Path, last: Callable[[Store], object]
) -> None:
    """F9: a killed write left a draft with all texts."""
    url = source(tmp_path)
    left = tmp_path / ".source.jsonl.abcd1234.new"
    left.write_text("texts")
    folder_left = tmp_path / ".source.jsonl.abcd1234.draft"
    folder_left.mkdir()
    (folder_left / "source.jsonl").write_text("texts")
    kept = tmp_path / ".source.jsonl.notes.new"
    kept.write_text("somebody's own")
    with open_store(url) as store:
        health = check(store, mend=False)
        assert [p.kind for p in health.problems] == ["draft"]
        assert left.exists()
        last(store)
        assert check(store).problems == ()
    assert not left.exists()
    assert not folder_left.exists()
    assert kept.exists()


def test_the_draft_of_a_living_writer_stays(tmp_path: Path) -> None:
    url = source(tmp_path)
    with drafts.draft(tmp_path / "source.jsonl") as made:
        made.write_text("texts")
        with open_store(url) as store:
            assert check(store).problems == ()
        assert made.read_text() == "texts"
    assert not list(tmp_path.glob(".source*draft"))


def test_a_ledger_published_by_a_stopped_export_is_no_obstacle(tmp_path: Path) -> None:
    """The process died between the names of the ledger and of the store."""
    target = tmp_path / "out.jsonl"
    dead = tmp_path / ".out.jsonl.abcd1234.draft"
    dead.mkdir()
    (dead / "out.jsonl").write_text("")
    (dead / "out.jsonl.echoless").write_text("")
    (tmp_path / "out.jsonl.echoless").hardlink_to(dead / "out.jsonl.echoless")
    with open_store(source(tmp_path)) as store:
        assert export(store, target).memories == 4
    assert not dead.exists()


def test_where_there_are_no_hard_links_nothing_is_overwritten_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_from: object, _to: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with open_store(source(tmp_path)) as store:
        export(store, tmp_path / "out.db")
        with open_store(tmp_path / "out.db") as made:
            assert made.count() == 4
        with drafts.draft(tmp_path / "late.db") as made_late:
            made_late.write_text("draft")
            (tmp_path / "late.db").write_text("first")
            with pytest.raises(UsageError, match="made by another process"):
                drafts.publish(made_late, tmp_path / "late.db")
    assert (tmp_path / "late.db").read_text() == "first"
