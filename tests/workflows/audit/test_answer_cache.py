"""A second audit of files that did not change compares nothing."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result

from echoless.cli import audit
from echoless.cli.main import main
from echoless.core import versions
from echoless.core.masking import OUTPUT
from echoless.core.own_folders import CACHE
from echoless.core.run_notes import Tally
from echoless.core.settings import Settings
from echoless.stores.base import Store
from echoless.workflows.audit import answer_cache
from echoless.workflows.dedupe import pipeline

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
TEXTS = (
    "The door code of the attic is kept by Ada.",
    "The door code of the attic is kept by Ada!",
    "The printer on floor 3 is out of toner.",
    "The printer on floor 4 is out of toner.",
    f"The deploy token is {TOKEN}.",
    f"The deploy token is {TOKEN}",
)
WORDS = ("audit", "notes.jsonl", "--encoder", "none")

Looks = list[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store, and a cache that keeps answers about stores of any size."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(answer_cache, "KEPT_FROM", 1)
    monkeypatch.setattr(OUTPUT, "_numbers", {})  # as in a process of its own
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    _write(TEXTS)
    return tmp_path


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    """Names the stores that were looked at."""
    found: Looks = []
    find = pipeline.find

    def looking(store: Store, settings: Settings, **more: object) -> object:
        found.append(store.url)
        return find(store, settings, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "find", looking)
    return found


def _write(texts: tuple[str, ...]) -> None:
    lines = (json.dumps({"id": f"m-{at}", "content": text}) for at, text in enumerate(texts))
    Path("notes.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def call(*words: str) -> Result:
    """Runs the command as a process of its own would: no secret has a number yet."""
    OUTPUT._numbers.clear()
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.parametrize(
    "form", [("--json",), (), ("--explain",), ("--format", "markdown"), ("--json", "--texts")]
)
@pytest.mark.parametrize("store", ["notes.jsonl", "jsonl:///notes.jsonl?hide=move", "agent.db"])
def test_an_unchanged_file_is_not_looked_at_and_gives_the_same_bytes(
    looks: Looks, form: tuple[str, ...], store: str
) -> None:
    if store == "agent.db":
        call("import", "notes.jsonl", store)
    words = ("audit", store, "--encoder", "none", *form)
    first, second = call(*words), call(*words)
    assert len(looks) == 1
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr)
    assert second.stdout == call(*words, "--set", "cache=no").stdout
    assert TOKEN not in second.stdout


def _edited(_: Path, __: pytest.MonkeyPatch) -> None:
    _write((*TEXTS[:-1], "Another text of the same file."))


def _decided(_: Path, __: pytest.MonkeyPatch) -> None:
    call("dedup", "notes.jsonl", "--encoder", "none", "--apply")


def _configured(_: Path, __: pytest.MonkeyPatch) -> None:
    Path("echoless.toml").write_text('grouping = "closest"\n')


def _released(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(versions, "__version__", "9.9.9")
    versions.edition.cache_clear()


def _installed(place: Path, patch: pytest.MonkeyPatch) -> None:
    (place / "site-packages").mkdir()
    patch.syspath_prepend(place / "site-packages")


def _chosen(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("ECHOLESS_SURVIVOR", "newest")


@pytest.mark.parametrize("change", [_edited, _decided, _configured, _released, _installed, _chosen])
@pytest.mark.parametrize("form", [("--json",), ()])
def test_whatever_an_answer_hangs_on_makes_another_look(
    place: Path,
    looks: Looks,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path, pytest.MonkeyPatch], None],
    form: tuple[str, ...],
) -> None:
    call(*WORDS, *form)
    change(place, monkeypatch)
    looks.clear()
    again = call(*WORDS, *form).stdout
    assert len(looks) == 1
    assert again == call(*WORDS, *form, "--set", "cache=no").stdout
    versions.edition.cache_clear()


def test_what_changes_while_it_is_looked_at_is_not_kept(
    looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = pipeline.find

    def edited(*arguments: object, **more: object) -> object:
        found = find(*arguments, **more)  # type: ignore[arg-type]
        _write((*TEXTS, "It came while the others were compared."))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "find", edited)
        call(*WORDS, "--json")
    _write(TEXTS)
    looks.clear()
    call(*WORDS, "--json")
    assert len(looks) == 1


def test_a_note_that_comes_while_a_folder_is_looked_at_keeps_no_answer(
    place: Path, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _notes(place)
    (folder / "old").mkdir()
    find = pipeline.find

    def added(*arguments: object, **more: object) -> object:
        found = find(*arguments, **more)  # type: ignore[arg-type]
        (folder / "old" / "late.md").write_text("It came while the others were compared.\n")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "find", added)
        call("audit", "memory", "--encoder", "none")
    (folder / "old" / "late.md").unlink()
    looks.clear()
    call("audit", "memory", "--encoder", "none")
    assert len(looks) == 1


def test_an_answer_that_showed_secrets_is_no_answer_for_a_run_that_masks_them(place: Path) -> None:
    other = TOKEN.replace("a1B2", "z9Y8")
    _write((f"The deploy token is {TOKEN} now.", f"The deploy token is {other} now."))
    shown = call(*WORDS, "--json", "--show-secrets").stdout
    assert TOKEN in shown
    assert TOKEN not in call(*WORDS, "--json").stdout
    assert call(*WORDS, "--json", "--show-secrets").stdout == shown


def test_masked_secrets_are_counted_again_and_none_lies_in_the_cache(place: Path) -> None:
    first, second = (call(*WORDS, "--json", "--texts") for _ in range(2))
    assert json.loads(second.stdout)["counts"]["total"] == len(TEXTS)
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr)
    assert "masked in this output" in second.stderr
    file = place / "cache" / answer_cache.FILE_NAME
    with closing(sqlite3.connect(file)) as kept:
        keys = [key for (key,) in kept.execute("SELECT key FROM answers")]
    entries = answer_cache.AnswerFile(file).get(keys, Tally())
    unpacked = b"".join(zlib.decompress(entry) for entry in entries.values())
    assert b"[secret 1" in unpacked
    assert TOKEN.encode() not in unpacked


def test_a_kept_answer_with_masked_secrets_opens_no_store(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call(*WORDS, "--json", "--texts")

    def refuse(*_args: object, **_named: object) -> NoReturn:
        raise AssertionError("the store was opened")

    monkeypatch.setattr(audit, "_audit", refuse)
    assert call(*WORDS, "--json", "--texts").stdout == first.stdout


def test_masked_secrets_of_several_stores_keep_numbers_of_their_own(place: Path) -> None:
    other = TOKEN.replace("a1B2", "z9Y8")
    text = f"The other deploy token is {other} now."
    lines = [{"id": f"o-{at}", "content": text + " " * at} for at in range(len(TEXTS))]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    Path("other.jsonl").write_text(body, "utf-8")
    words = ("audit", "other.jsonl", "notes.jsonl", "--encoder", "none", "--explain")
    first = call(*words)
    Path("other.jsonl").write_text(body.replace(other, "gone"), "utf-8")
    changed = call(*words)
    Path("other.jsonl").write_text(body, "utf-8")
    assert "[secret 2" in first.stdout
    assert "[secret 2" not in changed.stdout
    assert call(*words).stdout == first.stdout


@pytest.mark.parametrize(
    "more",
    [
        (
            "--set",
            "cache=no",
        ),
        ("--set", "limit=4"),
        ("--set", "since=2026-01-01"),
    ],
)
def test_what_another_time_would_not_repeat_is_not_kept(
    place: Path, looks: Looks, more: tuple[str, ...]
) -> None:
    for _ in range(2):
        call(*WORDS, "--json", *more)
    assert len(looks) == 2
    assert not (place / "cache" / answer_cache.FILE_NAME).exists()


def test_a_small_store_leaves_no_trace(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "KEPT_FROM", len(TEXTS) + 1)
    call(*WORDS, "--json")
    assert not (place / "cache" / answer_cache.FILE_NAME).exists()


def _notes(place: Path) -> Path:
    folder = place / "work" / "memory"
    folder.mkdir()
    for at, text in enumerate(TEXTS[:4]):
        (folder / f"note-{at}.md").write_text(f"{text}\n")
    return folder


def _note_added(folder: Path) -> None:
    (folder / "later").mkdir()
    (folder / "later" / "note.md").write_text("The attic has a window.\n")


def _note_edited(folder: Path) -> None:
    (folder / "note-2.md").write_text("The printer on floor 5 is out of toner.\n")


def _vault_made(folder: Path) -> None:
    (folder / ".obsidian").mkdir()


@pytest.mark.parametrize("form", [("--json",), ()])
@pytest.mark.parametrize("change", [_note_added, _note_edited, _vault_made])
def test_a_folder_of_notes_is_looked_at_again_only_where_a_file_changed(
    place: Path, looks: Looks, form: tuple[str, ...], change: Callable[[Path], None]
) -> None:
    folder = _notes(place)
    words = ("audit", "memory", "--encoder", "none", *form)
    first, second = call(*words), call(*words)
    assert len(looks) == 1
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr)
    change(folder)
    third = call(*words)
    assert len(looks) == 2
    assert third.stdout == call(*words, "--set", "cache=no").stdout


@pytest.mark.parametrize("leads", ["import", "link"])
def test_notes_that_lead_to_other_files_are_looked_at_again(
    place: Path, looks: Looks, leads: str
) -> None:
    folder = _notes(place)
    (place / "work" / "other.md").write_text("Elsewhere.\n")
    if leads == "link":
        (folder / "other.md").symlink_to(place / "work" / "other.md")
    else:
        (folder / "CLAUDE.md").write_text("- See @../other.md\n")
    for _ in range(2):
        call("audit", "memory", "--encoder", "none", "--json")
    assert len(looks) == 2


@pytest.mark.parametrize("form", [("--json",), ()])
def test_what_was_printed_holds_only_while_named_files_stay(
    place: Path, form: tuple[str, ...]
) -> None:
    text = json.dumps({"id": "a", "content": f"The list is `{place}/work/kept.txt`."})
    Path("notes.jsonl").write_text(text)
    Path("kept.txt").touch()
    for _ in range(2):
        assert "kept.txt" not in call(*WORDS, *form).stdout
    Path("kept.txt").unlink()
    assert "kept.txt" in call(*WORDS, *form).stdout
