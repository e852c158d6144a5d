"""`discover`, `audit --all`, on a made-up home folder."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from echoless.cli import render
from echoless.core import plugins
from echoless.core.errors import MissingExtra
from echoless.stores import places
from echoless.stores.jsonl import JsonlStore
from echoless.workflows.audit import all_stores

Call = Callable[..., Result]

PORT = "The database listens on port 5432."
RULE = "Always run the linter before a commit."
SECRET = "The deploy token is ghp_0123456789abcdefghijABCDEFGHIJ012345."


class HeadingStore(JsonlStore):
    """Stands for the kind `markdown`: one file, whose namespaces are headings."""

    capabilities = replace(JsonlStore.capabilities, sectioned=True)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        return path.suffix == ".md"


class _Entry:
    def load(self) -> type[HeadingStore]:
        return HeadingStore


@pytest.fixture(autouse=True)
def home(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own; the kind `markdown` is that of this file, and `sql` is missing."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in os.environ:
        if name.startswith("XDG_") or name in {"CLAUDE_CONFIG_DIR", "CODEX_HOME"}:
            monkeypatch.delenv(name)
    own = tuple(row for row in places.USER_PLACES if row.base and row.base.root in {"home", "data"})
    monkeypatch.setattr(places, "USER_PLACES", own)
    group = plugins._group

    def with_markdown(kind: str) -> Mapping[str, object]:
        if kind != "stores":
            return group(kind)
        rest = {name: entry for name, entry in group(kind).items() if name != "sql"}
        return {**rest, "markdown": _Entry()}

    monkeypatch.setattr(plugins, "_group", with_markdown)
    return home


def write(path: Path, *records: tuple[str, str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        json.dumps({"id": id_, "content": content, "namespace": namespace})
        for id_, content, namespace in records
    )
    path.write_text("".join(line + "\n" for line in lines), "utf-8")


@pytest.fixture
def stores(home: Path, place: Path) -> None:
    """The user's CLAUDE.md, the project's, and notes: they share a rule and a port."""
    write(home / ".claude" / "CLAUDE.md", ("r1", RULE, "Style"), ("r2", PORT, "Facts"))
    write(
        place / "CLAUDE.md",
        ("p1", RULE.replace(".", "!"), "Commits"),
        ("p2", RULE, "Reviews"),
        ("p3", SECRET, "Keys"),
    )
    write(place / "notes.jsonl", ("n1", PORT, ""), ("n2", PORT, ""), ("n3", SECRET, ""))


def digests(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def parsed(result: Result) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(result.stdout)
    return data


@pytest.mark.usefixtures("stores")
def test_discover_lists_what_can_be_typed(echoless: Call, home: Path) -> None:
    result = echoless("discover")
    assert result.exit_code == 0, result.stderr
    assert f"Claude Code  markdown  markdown:///{home}/.claude/CLAUDE.md" in result.stdout
    assert "3 stores, 8 memories counted." in result.stdout
    listed = parsed(echoless("discover", "--json"))["stores"]
    assert [each["memories"] for each in listed] == [2, 3, 3]
    for each in listed:
        assert echoless("audit", each["store"], "--set", "semantic=no").exit_code == 0


@pytest.mark.usefixtures("stores")
def test_discover_and_audit_of_all_change_no_byte(echoless: Call, home: Path, place: Path) -> None:
    before = digests(home), digests(place)
    for words in (("discover",), ("audit", "--all", "--set", "semantic=no")):
        assert echoless(*words).exit_code == 0
        assert echoless(*words, "--json").exit_code == 0
    assert (digests(home), digests(place)) == before


@pytest.mark.usefixtures("stores")
def test_audit_of_all_says_what_several_stores_say(echoless: Call, home: Path) -> None:
    said = echoless("audit", "--all", "--set", "semantic=no").stdout
    assert "Audit of 3 stores" in said
    assert "Said in several stores: 3" in said
    assert f"jsonl:///{home}/.claude/CLAUDE.md r1" in said
    assert "ghp_0123456789" not in said
    data = parsed(echoless("audit", "--all", "--set", "semantic=no", "--json"))
    assert [each["counts"]["redundant"] for each in data["stores"]] == [0, 0, 1]
    groups = [
        {group["first"]["id"], *(member["id"] for member in group["members"])}
        for group in data["between"]["groups"]
    ]
    urls = {each["store"] for each in data["stores"]}
    assert {group["first"]["store"] for group in data["between"]["groups"]} <= urls
    assert sorted(map(sorted, groups)) == [["n1", "n2", "r2"], ["n3", "p3"], ["p1", "p2", "r1"]]


@pytest.mark.usefixtures("stores")
def test_audit_of_all_below_a_folder_leaves_the_home_folder_alone(echoless: Call) -> None:
    said = echoless("audit", "--all", ".", "--set", "semantic=no", "--top", "0").stdout
    assert "Audit of 2 stores" in said
    assert ".claude" not in said
    assert "1 more: echoless audit --all . --set semantic=no --top 1\n" in said


@pytest.mark.usefixtures("stores")
def test_audit_of_all_tells_each_store_before_the_next_is_begun(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(render, "put", shown.append)
    audit = all_stores.audit_store
    told = []

    def counted(*words: Any, **more: Any) -> object:
        told.append(sum(" memories " in each for each in shown))
        return audit(*words, **more)

    monkeypatch.setattr(all_stores, "audit_store", counted)
    echoless("audit", "--all", "--set", "semantic=no")
    assert told == [0, 1, 2]


@pytest.mark.usefixtures("stores")
def test_audit_of_all_names_the_stores_for_which_there_was_no_time(echoless: Call) -> None:
    said = echoless("audit", "--all", "--within", "0", "--set", "semantic=no")
    assert said.exit_code == 0
    assert said.stdout.count(": not audited: there was no time for it\n") == 3
    assert "Said in several stores" not in said.stdout
    data = parsed(echoless("audit", "--all", "--within", "0", "--set", "semantic=no", "--json"))
    assert {each["error"] for each in data["stores"]} == {"there was no time for it"}
    alone = echoless("audit", data["stores"][0]["store"], "--within", "9")
    assert alone.exit_code == 2
    assert "--within is for --all." in alone.stderr


@pytest.mark.usefixtures("stores")
def test_where_there_was_no_time_for_all_stores_no_all_clear_is_given_for_the_others(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("audit", "--all", "--within", "5", "--set", "semantic=no")
    for form in ((), ("--json",)):
        moments = iter([0.0, 1.0, 2.0, 9.0, 9.0])
        monkeypatch.setattr(all_stores, "monotonic", lambda moments=moments: next(moments))
        said = echoless(*words, *form)
        assert said.exit_code == 0
        assert all_stores.NOT_COMPARED in said.stdout
        assert "Nothing is said" not in said.stdout


@pytest.mark.usefixtures("stores")
def test_a_store_that_cannot_be_read_is_named_and_the_rest_goes_on(
    echoless: Call, place: Path
) -> None:
    write(place / "broken.jsonl", ("x", PORT, ""), ("x", RULE, ""))
    result = echoless("audit", "--all", "--set", "semantic=no")
    assert result.exit_code == 3
    assert "Audit of 4 stores" in result.stdout
    assert "broken.jsonl: not audited: " in result.stdout
    assert "Said in several stores: 3" in result.stdout
    data = parsed(echoless("audit", "--all", "--set", "semantic=no", "--json"))
    errors = [each["error"] for each in data["stores"]]
    assert [bool(each) for each in errors] == [False, False, True, False]


@pytest.mark.usefixtures("stores")
def test_a_kind_that_is_missing_is_no_failure(echoless: Call, home: Path) -> None:
    (home / ".claude-mem").mkdir()
    (home / ".claude-mem" / "claude-mem.db").write_bytes(b"SQLite format 3\0")
    result = echoless("audit", "--all", "--set", "semantic=no")
    assert result.exit_code == 0
    assert "pip install --upgrade echoless" in result.stdout


@pytest.mark.usefixtures("stores")
def test_a_kind_whose_library_is_missing_is_named_and_is_no_failure(
    echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(_location: str) -> HeadingStore:
        raise MissingExtra("The store 'markdown'", "markdown")

    monkeypatch.setattr(HeadingStore, "open", refusing)
    assert "?" in echoless("discover").stdout
    result = echoless("audit", "--all", "--set", "semantic=no")
    assert result.exit_code == 0
    assert result.stdout.count(": not audited: ") == 2
    assert "pip install 'echoless[markdown]'" in result.stdout


@pytest.mark.usefixtures("stores")
def test_too_much_repetition_in_one_store_ends_with_its_code(echoless: Call) -> None:
    assert echoless("audit", "--all", "--set", "semantic=no", "--fail-over", "50%").exit_code == 0
    result = echoless("audit", "--all", "--set", "semantic=no", "--fail-over", "10%")
    assert result.exit_code == 10
    assert "notes.jsonl: 33.33% is redundant, more than the limit of 10%." in result.stderr


@pytest.mark.usefixtures("stores")
def test_one_document_is_reported_across_its_headings_unasked(echoless: Call, place: Path) -> None:
    store = "markdown:///CLAUDE.md"
    said = echoless("audit", store, "--set", "semantic=no").stdout
    assert "Said in several files or headings  1 group" in said
    assert "None of" in said
    data = parsed(echoless("audit", store, "--set", "semantic=no", "--json"))
    assert len(data["across"]["groups"]) == 1
    assert echoless("audit", store, "--set", "semantic=no", "--html", "page.html").exit_code == 0
    assert "Said in several namespaces" in (place / "page.html").read_text("utf-8")


def test_users_are_not_compared_with_each_other(echoless: Call, place: Path) -> None:
    write(place / "users.jsonl", ("a", PORT, "alice"), ("b", PORT, "bob"))
    plain = echoless("audit", "users.jsonl", "--set", "semantic=no")
    assert "several files" not in plain.stdout
    assert "across" not in parsed(
        echoless("audit", "users.jsonl", "--set", "semantic=no", "--json")
    )
    write(place / "more.jsonl", ("c", PORT, "carol"))
    said = echoless("audit", "--all", ".", "--set", "semantic=no").stdout
    assert "Said in several stores: 0" in said
    assert "were not compared (alice, bob, carol)" in said


@pytest.mark.usefixtures("stores")
def test_stores_that_are_named_get_one_report(echoless: Call) -> None:
    said = echoless(
        "audit", "--all", "markdown:///CLAUDE.md", "notes.jsonl", "--set", "semantic=no"
    ).stdout
    assert "Audit of 2 stores" in said
    assert "Said in several stores: 1" in said
    assert "Passed over" not in said
    result = echoless("audit", "--all", "missing")
    assert result.exit_code == 3
    assert "There is no store at missing." in result.stderr


def test_nothing_there_is_said(echoless: Call) -> None:
    for words in (("discover",), ("audit", "--all", "--set", "semantic=no")):
        result = echoless(*words)
        assert result.exit_code == 0
        assert "No memory store was discovered." in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("audit",), "No store was named."),
        (("audit", "--all", "--namespace", "x"), "--namespace is of one store."),
        (("audit", "--all", "--format", "github"), "--format github and --all do not go together."),
        (("discover", "missing"), "missing is not a folder."),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
@pytest.mark.usefixtures("stores")
def test_a_wrong_call_is_refused_with_the_way_out(
    echoless: Call, words: tuple[str, ...], message: str
) -> None:
    result = echoless(*words)
    assert result.exit_code == 2
    assert message in result.stderr
