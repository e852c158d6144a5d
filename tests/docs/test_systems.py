"""`docs/systems.md` names a test for each case of the five contracts, and each test is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "systems.md").read_text("utf-8")
CASES = {"wt-memory": 27, "recall": 28, "llm-memory": 24, "ego-mcp": 26, "sliding-context": 27}
TESTS = frozenset(
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^\s*def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
)


def rows() -> list[tuple[str, int, str]]:
    table = PAGE.partition("## Defects of the originals")[0]
    found = re.findall(r"^\| ([\w-]+) \| (\d+) \| (.+) \|$", table, re.MULTILINE)
    return [(system, int(number), told) for system, number, told in found]


def test_every_case_has_its_row_once() -> None:
    assert Counter(system for system, _, _ in rows()) == CASES
    for system, count in CASES.items():
        assert [n for name, n, _ in rows() if name == system] == list(range(1, count + 1))


def test_every_row_names_a_test_or_belongs_to_the_write_guard() -> None:
    for system, number, told in rows():
        named = re.findall(r"`(test_\w+)`", told)
        assert named or "write guard" in told, (system, number)


def test_every_test_that_is_named_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 100
    assert named <= TESTS, sorted(named - TESTS)


def test_every_defect_is_shown_gone_or_belongs_to_the_write_guard() -> None:
    table = PAGE.partition("## Defects of the originals")[2]
    told = re.findall(r"^\| ([\w-]+) \| (?!defect)(.+) \| (.+) \|$", table, re.MULTILINE)
    assert {system for system, _, _ in told} == set(CASES)
    for system, defect, shown in told:
        assert re.search(r"`(test_\w+|[\w/]+\.(py|md))`|write guard", shown), (system, defect)
