"""A folder that somebody else made: nothing outside of it is read, written or removed."""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import socket
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from echoless import apply, check, open_store, undo
from echoless.core.errors import (
    EcholessError,
    ForeignStore,
    InputError,
    LedgerDamaged,
    StoreError,
    UsageError,
)
from echoless.core.model import Memory
from echoless.execution.plan import Plan, read_plan
from echoless.execution.rollback import STANDING, history
from echoless.stores.field_map import read_file
from echoless.stores.files import place_in, read_bytes, replace_bytes
from echoless.stores.markdown import front_matter
from echoless.stores.markdown.presets import ARCHIVE
from echoless.stores.markdown.state import digest_of
from echoless.stores.markdown.store import MarkdownStore
from tests.conformance.stores import contents, plan_by_hand

NOTE = "# N\n\n- Port 5433 is open.\n- port 5433 is open\n- Tea is green.\n"
PRIVATE = "- my private diary line\n"
DAY = "---\nname: {0}\n---\nPort 5433 is open.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a stranger, beside files of the victim."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "diary.md").write_text(PRIVATE)
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "n.md").write_text(NOTE)
    return folder


@pytest.fixture(autouse=True)
def nothing_outside_changes(root: Path) -> Iterator[None]:
    """Whatever a test does, the files of the victim stay as they are."""
    outside = root.parent / "victim"
    before = contents(outside)
    yield
    assert contents(outside) == before


def planned(url: Path | str) -> Plan:
    with open_store(url) as store:
        first, second, *_ = [memory.id for memory in store.scan()]
        return plan_by_hand(store, [(first, second)], "mark")


def applied(url: Path | str) -> str:
    plan = planned(url)
    with open_store(url) as store:
        return apply(store, plan).id


def undone(url: Path | str, run: str) -> None:
    with open_store(url) as store:
        undo(store, run)
        assert check(store).problems == ()


def texts(url: Path | str) -> str:
    with open_store(url) as store:
        return "\n".join(memory.content for memory in store.scan())


def remarks(url: Path | str) -> str:
    with open_store(url) as store:
        list(store.scan())
        assert isinstance(store, MarkdownStore)
        return "\n".join(store.remarks())


def every_use(url: Path | str) -> list[Callable[[], object]]:
    """Commands that read, that write and that mend."""

    def mended() -> None:
        with open_store(url) as store:
            check(store)

    return [lambda: texts(url), lambda: applied(url), mended]


# ------------------------------------------------------------------ paths out of files

OUTSIDE = [
    "../victim/new.md",
    "../victim/diary.md",
    "sub/../../victim/diary.md",
    "sub/../n.md",
    "./n.md",
    "sub//n.md",
    "",
    ".",
    "..",
    "/etc/passwd.md",
    "n.md\0.md",
    "\udcff.md",
    ".bashrc",
    ".git/hooks/n.md",
    "node_modules/n.md",
    "Makefile",
    "archive/../../victim/diary.md",
    "archive/.git/n.md",
    "linked/diary.md",
    "linked/new.md",
    "diary.md",
    "n.md/x.md",
]


@pytest.fixture
def linked(root: Path) -> Path:
    (root / "linked").symlink_to(root.parent / "victim")
    (root / "diary.md").symlink_to(root.parent / "victim" / "diary.md")
    return root


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("single", [False, True])
def test_a_journal_that_names_a_file_outside_is_refused_as_a_whole(
    linked: Path, path: str, single: bool
) -> None:
    url = linked / "n.md" if single else linked
    journal = url.with_name(url.name + ".echoless-files")
    own, image = "n.md", base64.b64encode(b"changed").decode()
    data = {
        "token": "t",
        "before": {own: image, path: image},
        "after": {own: digest_of(NOTE), path: digest_of(PRIVATE)},
    }
    journal.write_text(json.dumps(data))
    before = contents(linked)
    for use in every_use(url):
        with pytest.raises(InputError):
            use()
    assert contents(linked) == before
    assert journal.exists()


def test_the_journal_of_one_file_names_no_other_note_beside_it(root: Path) -> None:
    (root / "mine.md").write_text("- mine\n")
    data = {"token": "t", "before": {"mine.md": None}, "after": {"mine.md": digest_of("- mine\n")}}
    (root / "n.md.echoless-files").write_text(json.dumps(data))
    for use in every_use(root / "n.md"):
        with pytest.raises(ForeignStore, match=r"n\.md\.echoless-files names the file 'mine\.md'"):
            use()
    assert (root / "mine.md").read_text() == "- mine\n"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_100,
        "[]",
        '{"token": 1, "before": [], "after": 3}',
        '{"token": "t", "before": {"n.md": null}, "after": {}}',
        '{"token": "t", "before": {"n.md": 7}, "after": {"n.md": ""}}',
    ],
)
def test_a_journal_of_another_form_is_refused(root: Path, text: str) -> None:
    (root.parent / "clone.echoless-files").write_text(text)
    for use in every_use(root):
        with pytest.raises(StoreError, match="unfinished write"):
            use()


def edit_state(url: Path, edit: Callable[[dict[str, dict[str, object]]], object]) -> None:
    with sqlite3.connect(url.with_name(url.name + ".echoless")) as database:
        (written,) = database.execute("select value from facts where key = 'markdown'").fetchone()
        data = json.loads(written)
        text = edit(data)
        new = text if isinstance(text, str) else json.dumps(data)
        database.execute("update facts set value = ? where key = 'markdown'", (new,))
    database.close()


@pytest.mark.parametrize(
    "path", [each for each in OUTSIDE if each not in {"diary.md", "n.md/x.md"}]
)
@pytest.mark.parametrize("single", [False, True])
def test_a_ledger_that_names_a_file_outside_is_refused_as_a_whole(
    linked: Path, path: str, single: bool
) -> None:
    url = linked / "n.md" if single else linked
    run = applied(url)
    edit_state(url, lambda data: data["files"].update({path: data["files"]["n.md"]}))
    with pytest.raises(InputError):
        texts(url)
    with pytest.raises(InputError), open_store(url) as store:
        undo(store, run)


@pytest.mark.parametrize("part", ["id", "path"])
def test_a_ledger_that_moved_a_file_from_or_to_outside_is_refused(root: Path, part: str) -> None:
    (root / "n.md").write_text(DAY.format("n"))
    (root / "m.md").write_text(DAY.format("m"))
    (root / "MEMORY.md").write_text("- [n](n.md)\n- [m](m.md)\n")
    applied(root)

    def edit(data: dict[str, dict[str, object]]) -> None:
        ((_, moved),) = data["moved"].items()
        assert isinstance(moved, dict)
        if part == "path":
            moved["path"] = "../victim/diary.md"
        else:
            data["moved"] = {"../victim/new.md": moved}

    edit_state(root, edit)
    with pytest.raises(ForeignStore, match=r"clone\.echoless names the file '\.\./victim"):
        texts(root)


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: "[" * 1_100,
        lambda data: "[]",
        lambda data: data.pop("token"),
        lambda data: data["files"]["n.md"]["slots"][0].update(at="x"),
        lambda data: data["files"]["n.md"]["slots"][0].update(at=-7),
        lambda data: data["files"]["n.md"]["slots"][0].update(mark=7),
        lambda data: data["files"]["n.md"]["slots"][0].update(more=7),
        lambda data: data["files"]["n.md"].update(names=7),
        lambda data: data["files"]["n.md"].update(names={"n": ["m"]}),
        lambda data: data["files"]["n.md"].update(added=[{"ids": [[]], "before": "", "after": ""}]),
    ],
)
def test_a_ledger_of_another_form_is_named_as_damaged(
    root: Path, edit: Callable[[dict[str, dict[str, object]]], object]
) -> None:
    applied(root)
    edit_state(root, edit)
    with pytest.raises(LedgerDamaged, match=r"clone\.echoless"):
        texts(root)


def test_a_place_below_a_folder_is_never_reached_through_a_link(linked: Path) -> None:
    assert place_in(linked, "new/deep/n.md") == linked / "new/deep/n.md"
    assert place_in(linked, "a:b.md") == linked / "a:b.md"
    with pytest.raises(ForeignStore, match="symbolic link, and a folder belongs there"):
        place_in(linked, "linked/diary.md")
    with pytest.raises(ForeignStore, match="symbolic link, and a file belongs there"):
        place_in(linked, "diary.md")


# ------------------------------------------------------------------ links


@pytest.mark.parametrize("target", ["../victim", ".", "nowhere", ARCHIVE])
def test_an_archive_that_is_a_link_is_refused(root: Path, target: str) -> None:
    (root / ARCHIVE).symlink_to(target)
    before = contents(root)
    with pytest.raises(ForeignStore, match=rf"{ARCHIVE} is a symbolic link, and a folder belongs"):
        applied(root)
    assert contents(root) == before
    assert os.readlink(root / ARCHIVE) == target
    assert "Tea" in texts(root)


@pytest.mark.parametrize("target", ["../../victim/diary.md", "../n.md", "n.md.md", "nowhere"])
def test_a_file_of_the_archive_that_is_a_link_is_refused(root: Path, target: str) -> None:
    (root / ARCHIVE).mkdir()
    (root / ARCHIVE / "n.md.md").symlink_to(target)
    with pytest.raises(ForeignStore, match=r"n\.md\.md is a symbolic link, and a file belongs"):
        applied(root)
    assert (root / "n.md").read_text() == NOTE
    assert os.readlink(root / ARCHIVE / "n.md.md") == target


def test_an_archive_that_became_a_link_is_not_read(root: Path) -> None:
    run = applied(root)
    (root / ARCHIVE).rename(root / "elsewhere")
    (root / ARCHIVE).symlink_to("elsewhere")
    with pytest.raises(ForeignStore, match="symbolic link"):
        texts(root)
    with pytest.raises(ForeignStore, match="symbolic link"):
        undone(root, run)
    (root / ARCHIVE).unlink()
    (root / "elsewhere").rename(root / ARCHIVE)
    with open_store(root) as store:
        assert "was interrupted; it was finished" in check(store).problems[0].says
    assert (root / "n.md").read_text() == NOTE


@pytest.mark.parametrize("index", ["MEMORY.md", "AGENTS.md", "n2.md"])
def test_a_note_that_is_a_link_is_not_read_or_written(root: Path, index: str) -> None:
    (root / index).symlink_to(root.parent / "victim" / "diary.md")
    for preset in ("claude-memory", "agent-rules", "notes"):
        url = f"markdown:///{root}?preset={preset}"
        assert "private" not in texts(url)
        assert f"{index} leads out of" in remarks(url)
    assert (root / index).is_symlink()


def test_a_note_that_became_a_link_stays_one(root: Path) -> None:
    """As when rules move to AGENTS.md and a link takes their place."""
    run = applied(root)
    (root / "n.md").rename(root / "agents.md")
    (root / "n.md").symlink_to("agents.md")
    assert "port 5433 is open" in texts(root)
    with pytest.raises(ForeignStore, match=r"n\.md is a symbolic link, and a file belongs there"):
        undone(root, run)
    assert (root / "n.md").is_symlink()


@pytest.mark.parametrize("target", ["l.md", "m.md", "sub"])
def test_links_in_a_circle_are_reported(root: Path, target: str) -> None:
    (root / "l.md").symlink_to(target)
    (root / "m.md").symlink_to("l.md")
    (root / "sub").symlink_to("sub")
    assert "l.md is a link that leads to no file." in remarks(root)
    run = applied(root)
    undone(root, run)
    assert (root / "n.md").read_text() == NOTE


def test_an_import_in_a_circle_or_too_long_is_one_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("a.md")
    (tmp_path / "CLAUDE.md").write_text(f"- See @a.md and @{'x' * 300}/y.md\n")
    assert remarks(tmp_path / "CLAUDE.md").count("does not exist") == 2


# ------------------------------------------------------------------ what is no file


def put(kind: str, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    if kind == "named pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        # The address of a socket holds about 100 bytes: its bare name fits below any folder.
        with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    else:
        path.symlink_to(path.name)


KINDS = ["named pipe", "folder", "socket", "symbolic link"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["clone.echoless-files", f"clone/{ARCHIVE}/n.md.md"])
def test_what_is_no_file_in_the_place_of_one_is_named(root: Path, name: str, kind: str) -> None:
    put(kind, root.parent / name)
    with pytest.raises(ForeignStore, match=f"is a {kind}, and a file belongs there"):
        applied(root)
    assert (root / "n.md").read_text() == NOTE


@pytest.mark.parametrize("kind", [*KINDS, "file"])
def test_what_is_no_folder_in_the_place_of_the_archive_is_named(root: Path, kind: str) -> None:
    if kind == "file":
        (root / ARCHIVE).write_text("mine")
    elif kind == "folder":
        return
    else:
        put(kind, root / ARCHIVE)
    with pytest.raises(ForeignStore, match=f"is a {kind}, and a folder belongs there"):
        applied(root)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_beside_a_memory_server_is_named(tmp_path: Path, kind: str) -> None:
    (tmp_path / "memory.jsonl").write_text(
        '{"type":"entity","name":"a","entityType":"b","observations":["c"]}\n'
    )
    put(kind, tmp_path / "memory.jsonl.hidden")
    with pytest.raises(EcholessError, match=f"is a {kind}, and a file belongs there"):
        texts(f"mcp-memory:///{tmp_path}/memory.jsonl")


@pytest.mark.parametrize("kind", KINDS)
def test_notes_that_are_no_files_are_left_alone(root: Path, kind: str) -> None:
    for name in ("x.md", "MEMORY.md", "sub.md/y.md"):
        put(kind, root / name)
    undone(root, applied(root))
    assert (root / "n.md").read_text() == NOTE


def test_a_device_is_not_opened() -> None:
    with pytest.raises(ForeignStore, match="/dev/null is a device, and a file belongs there"):
        read_bytes(Path("/dev/null"))


# ------------------------------------------------------------------ names


def test_a_name_that_is_not_utf_8_is_reported_and_the_rest_can_be_written(root: Path) -> None:
    odd = os.fsencode(root)
    Path(os.fsdecode(odd + b"/\xff\xfe.md")).write_text("- private\n")
    Path(os.fsdecode(odd + b"/\xe9t\xe9")).mkdir()
    Path(os.fsdecode(odd + b"/\xe9t\xe9/x.md")).write_text("- private\n")
    assert "private" not in texts(root)
    assert r"\xff\xfe.md is not read: its name is not UTF-8." in remarks(root)
    assert r"\xe9t\xe9 is not read: its name is not UTF-8." in remarks(root)
    before = contents(root)
    undone(root, applied(root))
    assert contents(root) == before


def test_a_name_too_long_for_its_archive_is_an_error_that_changes_nothing(root: Path) -> None:
    (root / "n.md").rename(root / f"{'n' * 252}.md")
    with pytest.raises(StoreError, match="File name too long"):
        applied(root)
    assert [each.name for each in root.iterdir()] == [f"{'n' * 252}.md"]


# ------------------------------------------------------------------ front matter

LIST = f"a: &a [{', '.join('x' * 49)}]\n"
"""50 values, the list and those in it; all of them count again for each alias."""

ALIASES = "b: [{}]\n"
MOST = 98  # 5,000 values are read: 50, the second list, and 98 times 50
UNDER = "".join(" " * depth + "a:\n" for depth in range(32))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (LIST + ALIASES.format(", ".join(["*a"] * (MOST + 1))), "values, aliases counted"),
        (LIST.replace("[", "{k: ", 1), ""),
        ("a: &a [x]\n? *a\n: 1\n", "a name of a field is no text"),
        ("? [a, b]\n: 1\n", "a name of a field is no text"),
        (f"m:\n  <<: [{', '.join(['*a'] * 3)}]\n", "undefined alias"),
        ("a: [" + "[], " * 256 + "]", "opening brackets"),
        ("a: [" + "{}, " * 256 + "]", "opening brackets"),
        (UNDER + " " * 32 + "a: x\n", "nested more than 32 deep"),
        ("a:\n" + "- " * 33 + "x", "nested more than 32 deep"),
        ("a: " + "x" * 20_000, "longer than 16,384 characters"),
    ],
)
def test_front_matter_made_to_take_time_or_memory_is_not_read(
    root: Path, text: str, why: str
) -> None:
    assert why in front_matter.read(text).problem
    assert front_matter.read(text).problem
    (root / "a.md").write_text(f"---\nname: a\n{text}\n---\nThe body.\n")
    (root / "n.md").unlink()
    (root / "MEMORY.md").write_text("- [a](a.md)\n")
    assert texts(root) == "The body."
    assert "The front matter of a.md cannot be read" in remarks(root)


@pytest.mark.parametrize(
    "text",
    [
        LIST + ALIASES.format(", ".join(["*a"] * MOST)),
        "a: [" + "[], " * 255 + "]",
        UNDER + "\n",
        "a:\n" + "- " * 31 + "x",
        "a: " + "x" * 16_381,
    ],
)
def test_front_matter_at_its_bounds_is_read(text: str) -> None:
    assert front_matter.read(text).problem == ""


def test_aliases_of_a_modest_file_are_read() -> None:
    read = front_matter.read("a: &x [1, 2]\nb: *x\nc:\n  <<: &m {d: 1}\n&k e: f\n")
    assert read.values == {"a": [1, 2], "b": [1, 2], "c": {"<<": {"d": 1}}, "e": "f"}
    assert front_matter.read(f"a: 0x{'f' * 9_000}").values == {"a": f"0x{'f' * 9_000}"}


def test_an_archive_of_many_beginnings_without_end_is_read_at_once(root: Path) -> None:
    (root / ARCHIVE).mkdir()
    line = '<!-- echoless hid {"id": "x"} -->\n'
    deep = f'<!-- echoless hid {{"id": "x", "a": {"[" * 1_100} }} -->\n'
    (root / ARCHIVE / "n.md.md").write_text(line * 100_000 + deep)
    (root / "n.md").write_text(NOTE + '<!-- echoless hid {"id": "x"}\n' * 20_000)
    before = contents(root)
    undone(root, applied(root))
    assert contents(root) == before


# ------------------------------------------------------------------ what stays as it was


@pytest.mark.parametrize("own", ["", "\n", "# mine", "# mine\n", "# mine\r\nx", "x\n\n", "x\n  "])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_archive_of_the_owner_comes_back_to_the_byte(
    root: Path, own: str, order: tuple[int, int]
) -> None:
    (root / ARCHIVE).mkdir()
    (root / ARCHIVE / "n.md.md").write_bytes(own.encode())
    (root / "n.md").write_text(NOTE + "- tea is green\n- Rain.\n- rain\n")
    before, runs = contents(root), []
    for pair in (("Port 5433 is open.", "port 5433 is open"), ("Tea is green.", "tea is green")):
        with open_store(root) as store:
            ids = {memory.content: memory.id for memory in store.scan()}
            plan = plan_by_hand(store, [(ids[pair[0]], ids[pair[1]])], "mark")
            runs.append(apply(store, plan).id)
    for at in order:
        undone(root, runs[at])
    assert contents(root) == before


def has_attributes(path: Path) -> bool:
    try:
        os.setxattr(path, "user.note", b"x")
    except (AttributeError, OSError):
        return False
    return True


def test_attributes_of_a_note_stay_while_it_is_written_and_after(root: Path) -> None:
    if not has_attributes(root / "n.md"):
        pytest.skip("this file system has no extended attributes")
    run = applied(root)
    assert os.getxattr(root / "n.md", "user.note") == b"x"
    assert os.getxattr(root / ARCHIVE / "n.md.md", "user.note") == b"x"
    undone(root, run)
    assert os.listxattr(root / "n.md") == ["user.note"]


def test_a_memory_file_in_the_archive_keeps_its_time(root: Path) -> None:
    (root / "n.md").write_text(DAY.format("n"))
    (root / "m.md").write_text(DAY.format("m"))
    (root / "MEMORY.md").write_text("- [n](n.md)\n- [m](m.md)\n")
    before, old = contents(root), (root / "n.md").stat()
    run = applied(root)
    assert (root / ARCHIVE / "n.md").stat().st_mtime_ns == old.st_mtime_ns
    undone(root, run)
    assert (root / "n.md").stat().st_mtime_ns == old.st_mtime_ns
    assert contents(root) == before


def test_a_file_with_other_hard_links_is_not_written(root: Path) -> None:
    """To cut them apart could not be undone; to write into them changes what no plan names."""
    (root.parent / "other.md").hardlink_to(root / "n.md")
    with pytest.raises(StoreError, match=r"n\.md is one of 2 hard links"):
        applied(root)
    assert (root / "n.md").stat().st_nlink == 2
    assert sorted(each.name for each in root.iterdir()) == ["n.md"]
    lines = root / "m.jsonl"
    lines.write_bytes(b"{}\n")
    lines.with_name("twin").hardlink_to(lines)
    with pytest.raises(StoreError, match="hard links"):
        replace_bytes(lines, b"", None)


@pytest.mark.parametrize(
    ("mode", "lock"), [(0o700, 0o600), (0o755, 0o600), (0o770, 0o660), (0o777, 0o600)]
)
def test_archive_and_lock_are_no_more_open_than_their_folder(
    root: Path, mode: int, lock: int
) -> None:
    old = os.umask(0)
    try:
        root.chmod(mode)
        run = applied(root / "n.md")
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / ARCHIVE).stat().st_mode) == mode
    assert stat.S_IMODE((root / ".n.md.lock").stat().st_mode) == lock
    undone(root / "n.md", run)


def test_a_store_whose_name_is_not_utf_8_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    odd.mkdir()
    (odd / "n.md").write_text(NOTE)
    for url in (odd, odd / "n.md", f"markdown:///{odd}"):
        with pytest.raises(UsageError, match=r"\\xff.* is not UTF-8"):
            open_store(url)
    monkeypatch.chdir(odd)
    with pytest.raises(UsageError, match=r"\\xff.* is not UTF-8"):
        open_store("n.md")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-shm"])
def test_what_is_no_file_beside_a_database_is_named_and_not_followed(
    tmp_path: Path, suffix: str, kind: str
) -> None:
    """SQLite would write its log to where a link leads, and wait for a pipe."""
    (tmp_path / "n.jsonl").write_text('{"id": "a", "content": "x"}\n{"id": "b", "content": "y"}\n')
    applied(tmp_path / "n.jsonl")
    put(kind, tmp_path / f"n.jsonl.echoless{suffix}")
    with pytest.raises(EcholessError, match=f"is a {kind}, and a file belongs there"):
        applied(tmp_path / "n.jsonl")


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_or_a_map_that_is_no_file_is_an_error(tmp_path: Path, kind: str) -> None:
    put(kind, tmp_path / "p")
    for read in (read_plan, read_file):
        with pytest.raises(EcholessError):
            read(tmp_path / "p")


def test_a_disk_that_fails_once_loses_nothing_and_leaves_no_file_of_hidden_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, synchronise = tmp_path / "memory.jsonl", os.fsync
    entity = '{"type":"entity","name":"%s","entityType":"p","observations":["tea","Tea"]}'
    file.write_text("\n".join(entity % name for name in ("a", "A")))
    url, before, failures = f"mcp-memory:///{file}", file.read_bytes(), 0
    for at in range(1, 12):
        calls = iter(range(1, 1_000))

        def failing(handle: int, at: int = at, calls: Iterator[int] = calls) -> None:
            if next(calls) == at:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            synchronise(handle)

        plan = planned(url)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing)
            try:
                with open_store(url) as store:
                    apply(store, plan)
            except StoreError:
                failures += 1
        with open_store(url) as store:
            assert check(store).sound
            for run in history(store.ledger):
                if run.status in STANDING:
                    undo(store, run.id)
        assert file.read_bytes() == before
        assert not [*tmp_path.glob("*.hidden")]
    assert failures > 2


# ------------------------------------------------------------------ what is no UTF-8

FACT = "The staging server listens on port 5433."
FOLDERS: dict[str, tuple[str, dict[str, str]]] = {
    "rules": ("AGENTS.md", {"CLAUDE.md": f"See @AGENTS.md\n\n- {FACT}\n- Tea.\n- {FACT}\n"}),
    "notes": ("b.md", {"a.md": f"- {FACT}\n- Tea is green.\n- {FACT}\n"}),
    "topics": (
        "b.md",
        {
            "MEMORY.md": "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n",
            "a.md": DAY.format("a"),
            "c.md": DAY.format("c"),
        },
    ),
    "index": ("MEMORY.md", {"a.md": DAY.format("a"), "c.md": DAY.format("c")}),
}
"""The file that is no UTF-8, and the others of the folder."""


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_file_that_is_no_utf8_is_passed_over_and_the_others_are_deduplicated(
    tmp_path: Path, name: str, encoding: str
) -> None:
    odd, others = FOLDERS[name]
    root = tmp_path / "memory"
    root.mkdir()
    for path, text in others.items():
        (root / path).write_text(text)
    data = f"- {FACT}\n- {FACT}\n- Größe [A](a.md)\n".encode(encoding)
    (root / odd).write_bytes(data)
    url = f"markdown:///{root}?preset=claude-memory" if name == "index" else str(root)
    before = contents(root)
    with open_store(url) as store:
        ids = [m.id for m in store.scan() if "5433" in m.content]
        remark = (
            f"Files that are not read: 1. They are not UTF-8 (perhaps UTF-16), so convert {odd}."
        )
        assert remark in store.remarks()
        run = apply(store, plan_by_hand(store, [(ids[0], ids[1])], "mark"))
        assert len(store.ledger.marks()) == 1
        assert check(store).problems == ()
        assert (root / odd).read_bytes() == data
        undo(store, run.id)
    assert contents(root) == before
    (root / odd).write_text(data.decode(encoding))
    with open_store(url) as store:
        assert not any("UTF-8" in each for each in store.remarks())
    (root / odd).write_bytes(data)
    with open_store(str(root / odd)) as store, pytest.raises(ForeignStore, match="not UTF-8"):
        list(store.scan())


def test_a_memory_is_not_written_into_a_file_that_is_no_utf8(tmp_path: Path) -> None:
    root = tmp_path / "rules"
    root.mkdir()
    (root / "AGENTS.md").write_text(f"- {FACT}\n", "utf-16")
    (root / "CLAUDE.md").write_text("- Tea is green.\n")
    before = contents(root)
    with open_store(str(root)) as store, pytest.raises(ForeignStore, match="not UTF-8"):
        with store.writing():
            store.put([Memory(id="n", content="New.", namespace="AGENTS.md")])
    assert contents(root) == before
