"""`docs/contributing/cases.md` names a test for each case, and each test is there."""

from __future__ import annotations

import io
import re
import shlex
from collections import Counter
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from pathlib import Path

import click
import pytest

from echoless.cli.main import main
from tests.echoless_programs.context_tables import build
from tests.echoless_stores.chroma_folders import make

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contributing" / "cases.md").read_text("utf-8")
CASES = {"wt-memory": 27, "recall": 28, "llm-memory": 24, "ego-mcp": 26, "sliding-context": 27}
WRITE_SIDES = {
    "ego-mcp": "test_ego_remember.py",
    "sliding-context": "test_sliding_context_capture.py",
}
WRITTEN = {"ego-mcp": 12, "sliding-context": 15}
"""Cases of a contract that are about writing."""

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NAMED = re.compile(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`")
"""A test on the page, with its file where it lies outside of `tests/echoless_programs`."""


def functions_of(path: Path) -> set[str]:
    return set(re.findall(r"^\s*def (test_\w+)", path.read_text("utf-8"), re.MULTILINE))


SYSTEMS = frozenset(
    name
    for path in (ROOT / "tests" / "echoless_programs").rglob("test_*.py")
    for name in functions_of(path)
)


def rows() -> list[tuple[str, int, str]]:
    table = PAGE.partition("## Defects of the originals")[0]
    found = re.findall(r"^\| ([\w-]+) \| (\d+) \| (.+) \|$", table, re.MULTILINE)
    return [(system, int(number), told) for system, number, told in found]


def test_every_case_has_its_row_once() -> None:
    assert Counter(system for system, _, _ in rows()) == CASES
    for system, count in CASES.items():
        assert [n for name, n, _ in rows() if name == system] == list(range(1, count + 1))


def test_every_row_names_a_test() -> None:
    for system, number, told in rows():
        assert re.findall(r"`(test_\w+)`", told), (system, number)


def test_a_test_that_a_row_names_says_which_case_it_is() -> None:
    """For the write sides, where a docstring begins with the case."""
    for system, file in WRITE_SIDES.items():
        text = (ROOT / "tests" / "echoless_programs" / file).read_text("utf-8")
        said = dict(re.findall(r"def (test_\w+)\([^\"]*?\"\"\"([\w-]+ \d+)\.", text))
        for name, number, told in rows():
            for test in re.findall(r"`(test_\w+)`", told) if name == system else ():
                assert said.get(test, f"{system} {number}") == f"{system} {number}", test
        cases = set(said.values())
        assert cases == {f"{system} {n}" for n in range(1, WRITTEN[system] + 1)}


def test_every_test_that_is_named_lies_where_the_page_says() -> None:
    """Failure 6: two lay elsewhere than in `tests/echoless_programs`."""
    named = set(NAMED.findall(PAGE))
    assert len(named) > 100
    here = {name for file, name in named if not file}
    assert here <= SYSTEMS, sorted(here - SYSTEMS)
    elsewhere = [(file, name) for file, name in named if file]
    assert len(elsewhere) == 2, "as the page says"
    assert not [each for each in elsewhere if each[1] not in functions_of(ROOT / each[0])]


def test_every_defect_is_shown_gone() -> None:
    table = PAGE.partition("## Defects of the originals")[2]
    told = re.findall(r"^\| ([\w-]+) \| (?!defect)(.+) \| (.+) \|$", table, re.MULTILINE)
    assert {system for system, _, _ in told} == set(CASES)
    for system, defect, shown in told:
        assert re.search(r"`((?:[\w/.]+::)?test_\w+|[\w/]+\.(py|md))`", shown), (system, defect)


def collection(folder: Path) -> None:
    make(folder / "data" / "chroma", "ego_memories", [])


def table(folder: Path) -> None:
    build(folder / "lancedb", [], dimensions=3)


@pytest.mark.parametrize(
    ("page", "prepare"), [("ego-mcp.md", collection), ("sliding-context.md", table)]
)
def test_the_examples_of_a_page_print_what_it_shows(
    page: str, prepare: Callable[[Path], None], tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "systems" / page).read_text("utf-8")
    ((example, shown),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    (tmp_path / "data").mkdir()
    prepare(tmp_path)
    printed = io.StringIO()
    with chdir(tmp_path), redirect_stdout(printed):
        exec(compile(example, page, "exec"), {})
    assert UUID.sub("ID", printed.getvalue()) == shown


def test_the_commands_of_the_pages_are_there() -> None:
    for path in (ROOT / "docs" / "systems").glob("*.md"):
        for line in re.findall(r"^\$ echoless (.*)$", path.read_text("utf-8"), re.MULTILINE):
            words = shlex.split(line.partition("<")[0])
            command = main.get_command(click.Context(main), words[0])
            if isinstance(command, click.Group):
                command = command.get_command(click.Context(command), words[1])
            assert command is not None, line
            known = {
                name for option in command.params for name in (*option.opts, *option.secondary_opts)
            }
            assert {word for word in words if word.startswith("--")} <= known, line
