"""The walk stays within its bounds and counts what it passes over."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.stores.places import PROJECT_PLACES, StorePlace
from echoless.workflows.discovery import walk
from echoless.workflows.discovery.walk import Passed, extent_of, matches_below


def names(folder: Path, passed: Passed | None = None, **limits: int) -> list[str]:
    matched = matches_below(folder, PROJECT_PLACES, passed or Passed(), **limits)
    return [str(path.relative_to(folder)) for path, _ in matched]


def write(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("{}", "utf-8")


def test_it_finds_names_and_patterns_at_any_depth_and_the_folder_that_holds_a_store(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "CLAUDE.md",
        "app/CLAUDE.md",
        "app/.cursor/rules/style.mdc",
        "app/rules/style.mdc",
        "db/chroma.sqlite3",
        "db/segment/data.bin",
        "lance/entries.lance/_versions/1.manifest",
        "deep/er/notes.jsonl",
    )
    assert sorted(names(tmp_path)) == [
        "CLAUDE.md",
        "app/.cursor/rules",
        "app/CLAUDE.md",
        "db",
        "deep/er/notes.jsonl",
        "lance",
    ]


def test_it_passes_over_environments_repositories_and_packages_and_counts_them(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "own/pyvenv.cfg",
        "own/lib/notes.jsonl",
        ".git/notes.jsonl",
        "node_modules/pkg/CLAUDE.md",
    )
    passed = Passed()
    assert names(tmp_path, passed) == []
    assert passed.counts == {walk.BY_NAME: 3}


def test_it_follows_no_link_and_ends_in_a_loop(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    write(project, "sub/AGENTS.md")
    write(elsewhere, "CLAUDE.md")
    (project / "out").symlink_to(elsewhere)
    (project / "sub" / "loop").symlink_to(project)
    (project / "CLAUDE.md").symlink_to(elsewhere / "CLAUDE.md")
    passed = Passed()
    assert names(project, passed) == ["sub/AGENTS.md"]
    assert passed.counts == {walk.LINK: 3}


def test_it_counts_a_folder_it_may_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "open/notes.jsonl", "shut/notes.jsonl")
    scandir = os.scandir

    def refusing(path: str | Path) -> object:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(walk.os, "scandir", refusing)
    passed = Passed()
    assert names(tmp_path, passed) == ["open/notes.jsonl"]
    assert passed.counts == {walk.UNREADABLE: 1}


def test_it_does_not_enter_another_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "mount/notes.jsonl", "own/notes.jsonl")
    here = tmp_path.stat().st_dev

    class Elsewhere:
        """An entry that lies on another device."""

        def __init__(self, entry: os.DirEntry[str]) -> None:
            self.entry = entry

        def __getattr__(self, name: str) -> object:
            return getattr(self.entry, name)

        def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
            status = list(self.entry.stat(follow_symlinks=follow_symlinks))
            status[2] = here + 1
            return os.stat_result(status)

    def entries(folder: Path, passed: Passed) -> list[object]:
        found = sorted(os.scandir(folder), key=lambda entry: entry.name)
        return [Elsewhere(each) if each.name == "mount" else each for each in found]

    monkeypatch.setattr(walk, "_entries", entries)
    passed = Passed()
    assert names(tmp_path, passed) == ["own/notes.jsonl"]
    assert passed.counts == {walk.DEVICE: 1}


def test_depth_and_number_of_names_are_bounded_and_said(tmp_path: Path) -> None:
    write(tmp_path, "/".join(["d"] * walk.MOST_DEPTH + ["notes.jsonl"]))
    write(tmp_path, "/".join(["d"] * (walk.MOST_DEPTH + 1) + ["far.jsonl"]))
    passed = Passed()
    assert [Path(each).name for each in names(tmp_path, passed)] == ["notes.jsonl"]
    assert passed.counts == {walk.DEEP: 1}
    write(tmp_path, *(f"many/{at}.txt" for at in range(30)), "many/z/last.jsonl", "a.jsonl")
    passed = Passed()
    assert names(tmp_path, passed, most=20) == ["a.jsonl"]
    assert passed.counts[walk.MANY] > 0
    assert "holds more than 20 files" in passed.notes[0]


NAMES = st.sampled_from(["CLAUDE.md", "memory.jsonl", "x.db", "a", "b", "node_modules", "c.lance"])


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, ...]]:
    return draw(st.lists(st.lists(NAMES, min_size=1, max_size=4).map(tuple), max_size=12))


@settings(max_examples=40)
@given(tree=trees(), most=st.integers(0, 20))
def test_whatever_the_tree_all_matches_lie_in_it_in_one_order(
    tree: list[tuple[str, ...]], most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    for parts in tree:
        path = folder.joinpath(*parts)
        if not path.exists() and not any(up.is_file() for up in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x", "utf-8")
    every = names(folder)
    assert every == names(folder)
    assert all("node_modules" not in each.split("/") for each in every)
    some = names(folder, most=most)
    assert len(some) <= most
    assert some == [each for each in every if each in some]


def test_the_first_row_that_matches_counts(tmp_path: Path) -> None:
    write(tmp_path, "memory.jsonl")
    ((_, place),) = matches_below(tmp_path, PROJECT_PLACES, Passed())
    assert isinstance(place, StorePlace)
    assert place.scheme == "mcp-memory"


def test_the_extent_of_a_folder_follows_no_link_and_ends_at_its_limit(tmp_path: Path) -> None:
    write(tmp_path, *(f"store/{at}" for at in range(5)), "large")
    (tmp_path / "store" / "link").symlink_to(tmp_path)
    extent = extent_of(tmp_path / "store")
    assert extent.complete
    assert extent.size < 5 * 2 + 500
    assert not extent_of(tmp_path / "store", most=3).complete
