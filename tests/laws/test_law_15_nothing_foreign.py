"""Law 15: nothing foreign is believed. What a file names is checked before it is used."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import apply, check, open_store, undo
from echoless.core.errors import EcholessError, LedgerDamaged
from echoless.stores.markdown.presets import ARCHIVE
from echoless.stores.markdown.state import digest_of
from tests.conformance.stores import contents, plan_by_hand
from tests.laws.worlds import folder, quick

NOTE = "- Port 5433 is open.\n- port 5433 is open\n- Tea is green.\n"
DIARY = "- my private diary line\n"
PARTS = (
    *("..", ".", "", "~", "n.md", "sub", "victim", "diary.md", "new.md", "linked", ".git", "hooks"),
    *(
        ARCHIVE,
        "archive",
        "n.md.md",
        "/etc",
        "C:",
        "\\..\\victim",
        "%2e%2e",
        "\0",
        "\udcff",
        "n\u0308.md",
    ),
)
PATHS = st.builds("/".join, st.lists(st.sampled_from(PARTS), max_size=5)) | st.builds(
    lambda root, rest: root + rest,
    st.sampled_from(["{victim}/", "file://{victim}/", "{victim}/../victim/"]),
    st.sampled_from(["diary.md", "new.md", ""]),
)


def _given(place: Path) -> tuple[Path, Path]:
    """The folder of a stranger and, beside it, one of the reader."""
    victim, given_folder = place / "victim", place / "clone"
    victim.mkdir()
    (victim / "diary.md").write_text(DIARY)
    given_folder.mkdir()
    (given_folder / "n.md").write_text(NOTE)
    (given_folder / "linked").symlink_to(victim)
    return given_folder, victim


def _applied(root: Path) -> None:
    """Hides the second memory behind the first; a file of the folder itself may hold only one."""
    with open_store(root) as store:
        pair = tuple(memory.id for memory in store.scan())[:2]
        if len(pair) == 2:
            apply(store, plan_by_hand(store, [pair], "mark"))


def _journal(root: Path, path: str) -> None:
    """An unfinished write of another, which would change or remove the file it names."""
    image = base64.b64encode(b"changed").decode()
    for before in (image, None):
        data = {"token": "t", "before": {path: before}, "after": {path: digest_of(DIARY)}}
        root.with_name(root.name + ".echoless-files").write_text(json.dumps(data))
        _every_use(root)


def _ledger(root: Path, path: str) -> None:
    """A ledger that keeps a hidden memory in the file it names, or moved it from there."""
    ledger = root.with_name(root.name + ".echoless")
    with contextlib.closing(sqlite3.connect(ledger)) as database, database:
        ((text,),) = database.execute("select value from facts where key = 'markdown'").fetchall()
        data = json.loads(text)
        data["files"][path] = data["files"]["n.md"]
        data["moved"] = {path: {"path": path, "id": path}}
        database.execute("update facts set value = ? where key = 'markdown'", (json.dumps(data),))
    _every_use(root)


def _every_use(root: Path) -> None:
    """Commands that read, write, mend and go back: each refuses or keeps to the folder."""
    with contextlib.suppress(EcholessError), open_store(root) as store:
        assert not any("private" in memory.content for memory in store.scan())
    with contextlib.suppress(EcholessError):
        _applied(root)
    with contextlib.suppress(EcholessError), open_store(root) as store:
        check(store)
    with contextlib.suppress(EcholessError), open_store(root) as store:
        undo(store, "last")


@pytest.mark.parametrize("write", [_journal, _ledger])
@quick
@given(path=PATHS)
def test_a_path_out_of_a_file_leads_nowhere_outside_of_the_folder(
    write: Callable[[Path, str], None], path: str
) -> None:
    with folder() as place:
        root, victim = _given(place)
        if write is _ledger:
            _applied(root)
        before = contents(victim)
        write(root, path.replace("{victim}", str(victim)))
        assert contents(victim) == before
        assert all("clone" in each.name for each in place.iterdir() if each != victim)


@pytest.mark.parametrize("name", ["n.md", "n.jsonl"])
def test_a_ledger_that_is_a_link_is_neither_read_nor_written(name: str) -> None:
    texts = ("Port 5433 is open.", "port 5433 is open")
    with folder() as place:
        for each in ("mine", "given"):
            (place / each).mkdir()
            lines = (f"- {t}\n" if name == "n.md" else f'{{"content": "{t}"}}\n' for t in texts)
            (place / each / name).write_text("".join(lines))
        mine, given_file = place / "mine" / name, place / "given" / name
        with open_store(mine) as store:
            pair = tuple(memory.id for memory in store.scan())
            apply(store, plan_by_hand(store, [pair], "mark"))
        ledger = mine.with_name(f"{name}.echoless")
        for target in (ledger, place / "new.db"):
            link = given_file.with_name(f"{name}.echoless")
            link.unlink(missing_ok=True)
            link.symlink_to(target)
            before = contents(place)
            with (
                pytest.raises(LedgerDamaged, match="is a symbolic link"),
                open_store(given_file) as store,
            ):
                apply(store, plan_by_hand(store, [pair], "mark"))
            assert contents(place) == before
