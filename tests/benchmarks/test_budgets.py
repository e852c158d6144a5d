"""Counts of the source, their budgets, and the history in which a budget may only fall."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from benchmarks.budgets import BUDGETS, COUNTED, check, lower, read
from benchmarks.structure import (
    circles_inside,
    code_lines,
    counts,
    double_names,
    modules_of,
    vague_names,
)


def numbers(files: int = 3, noqa: int = 10) -> dict[str, int]:
    return dict.fromkeys(COUNTED, 0) | {"files": files, "`noqa`": noqa}


def text(noqa: int = 10) -> str:
    lines = (f'"{name}" = {number}\n' for name, number in numbers(noqa=noqa).items())
    return "# Why.\n" + "".join(lines)


@pytest.fixture
def budgets(tmp_path: Path) -> Path:
    """A file of budgets, outside of any repository."""
    path = tmp_path / "budgets.toml"
    path.write_text(text(), "utf-8")
    return path


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def commit(path: Path, noqa: int = 10) -> None:
    if not (path.parent / ".git").exists():
        git(path.parent, "init", "--initial-branch", "main")
    path.write_text(text(noqa), "utf-8")
    git(path.parent, "add", path.name)
    git(path.parent, "commit", "--message", "Budgets")


def test_counts_within_their_budgets_hold(budgets: Path) -> None:
    commit(budgets)
    assert check(budgets, numbers()) == (True, [])


def test_a_count_over_its_budget_fails_and_says_by_how_much_and_what_to_do(budgets: Path) -> None:
    holds, lines = check(budgets, numbers(files=5))
    assert not holds
    assert f"files: 5 is 2 over the budget of 3. {COUNTED['files']}" in lines


def test_a_count_below_its_budget_holds_and_asks_for_the_smaller_number(budgets: Path) -> None:
    holds, lines = check(budgets, numbers(noqa=8))
    assert holds
    assert lines[-2:] == [
        "Below budget: `noqa` 8 of 10.",
        "Keep what was won: python -m benchmarks.structure --lower",
    ]


def test_lower_writes_smaller_numbers_raises_none_and_keeps_comments(budgets: Path) -> None:
    assert lower(budgets, numbers(files=5, noqa=8)) == ["`noqa`: 10 -> 8"]
    assert budgets.read_text("utf-8") == text(8)
    assert lower(budgets, numbers(files=5, noqa=8)) == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_budget_that_rose_since_any_commit_fails(budgets: Path, committed: bool) -> None:
    for number in (10, 7, 8):
        commit(budgets, number)
    if committed:
        commit(budgets, 9)
    else:
        budgets.write_text(text(9), "utf-8")
    holds, lines = check(budgets, numbers(noqa=7))
    assert not holds
    assert "the budget rose from 7 (commit " in lines[-1]
    assert lines[-1].endswith("to 9. A budget may only fall: write 7 again.")


def test_a_smaller_budget_of_a_merged_branch_is_not_forgotten(budgets: Path) -> None:
    commit(budgets)
    git(budgets.parent, "checkout", "-b", "other")
    commit(budgets, 6)
    git(budgets.parent, "checkout", "main")
    git(budgets.parent, "merge", "--no-ff", "--strategy", "ours", "other")
    holds, lines = check(budgets, numbers(noqa=6))
    assert not holds
    assert "rose from 6" in lines[-1]


def test_a_budget_that_is_taken_out_or_unknown_fails(budgets: Path) -> None:
    budgets.write_text(text().replace("`noqa`", "modules"), "utf-8")
    holds, lines = check(budgets, numbers(noqa=7))
    assert not holds
    assert "`noqa`: has no budget. Write it into budgets.toml: 7." in lines
    assert any(line.startswith("modules: is not counted.") for line in lines)


def test_without_history_and_in_a_shallow_clone_the_check_says_what_it_cannot_see(
    budgets: Path, tmp_path: Path
) -> None:
    assert "no git history" in check(budgets, numbers(noqa=7))[1][0]
    commit(budgets, 7)
    commit(budgets)
    assert not check(budgets, numbers(noqa=7))[0]
    git(tmp_path, "clone", "--depth", "1", budgets.parent.as_uri(), "shallow")
    holds, lines = check(tmp_path / "shallow" / budgets.name, numbers(noqa=7))
    assert holds
    assert "shallow" in lines[0]


@pytest.mark.parametrize("wrong", ["files = -1", "files = 1.5", 'files = "3"', "files = true"])
def test_a_budget_is_a_whole_number(wrong: str) -> None:
    with pytest.raises(ValueError, match="must be a whole number"):
        read(wrong)


def test_the_budgets_of_the_project_are_of_what_is_counted() -> None:
    assert list(read(BUDGETS.read_text("utf-8"))) == list(COUNTED)


def test_blank_lines_comments_and_docstrings_are_no_lines_of_code(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        '"""Doc.\n\nMore."""\n\n# Why.\nX = 1\n"""Of X."""\n\n\ndef f():\n    """F."""\n'
        '    return """a\n    b"""  # c\n',
        "utf-8",
    )
    (module,) = modules_of(tmp_path).values()
    assert code_lines(module) == 4


def test_circles_double_names_and_protocols_are_found(tmp_path: Path) -> None:
    files = {
        "stores/base.py": "class Store(Protocol): ...\nclass Reports(Protocol): ...\n",
        "stores/one.py": "from echoless.stores import two\nclass Place(typing.Protocol[T]): ...\n",
        "stores/two.py": "from echoless.stores.one import Place\nclass _Own: ...\n",
        "core/places.py": "def f():\n    import echoless.stores.one\nclass Place: ...\n",
    }
    for name, text in files.items():
        path = tmp_path / "echoless" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    modules = modules_of(tmp_path)
    assert circles_inside(modules) == [{"echoless.stores.one", "echoless.stores.two"}]
    assert double_names(modules) == ["Place"]
    made = counts(modules)
    assert list(made) == list(COUNTED)
    assert made["protocols in stores"] == 3
    assert made["capabilities of stores"] == 1
    assert made["options of the largest command"] > 9


def test_every_binding_of_a_vague_name_is_counted_and_no_reading_of_one(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "import json as found\n"
        "class A:\n"
        "    kept: int = 0\n"
        "    def told(self, there, *, those=()):\n"
        "        self._kept = found = there\n"
        "        (_found := [row.found for row in those])\n"
        "        match there:\n"
        "            case [*kept] | {'a': _, **kept}:\n"
        "                return told(kept=self.kept, found=found), 'found'\n"
        "rows, foundation = [], {'told': 1}\n",
        "utf-8",
    )
    places = [place.removeprefix("one:") for place in vague_names(modules_of(tmp_path))]
    assert sorted(places) == [
        "1 found",
        "3 kept",
        "4 there",
        "4 those",
        "4 told",
        "5 _kept",
        "5 found",
        "6 _found",
        "8 kept",
        "8 kept",
    ]
