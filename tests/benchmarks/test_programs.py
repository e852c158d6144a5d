"""The harness of real programs: what it compares, and whether its files and its page agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.measure import RESULTS
from benchmarks.programs import inside
from benchmarks.programs.catalogue import Program, absent, programs
from benchmarks.programs.compare import Undone, compared, contents, holding
from benchmarks.programs.inside.common import record, vector
from benchmarks.programs.page import body, rows

OLD = [
    record("a", "Tea is at four.", created="1", vector=[1, 0]),
    record("b", "The lift is broken."),
]


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_each_program_has_a_file(program: Program) -> None:
    suffix = ".py" if program.language == "python" else ".mjs"
    name = program.name.replace("-", "_") + suffix
    assert Path(inside.__file__).with_name(name).is_file()
    assert program.name not in absent()


def test_the_page_is_that_of_the_kept_rows() -> None:
    assert (RESULTS / "programs.md").read_text("utf-8").endswith(body(rows()).strip() + "\n")


def test_what_did_not_come_back_is_told() -> None:
    same = Undone("yes", "yes", "yes", "yes")
    assert compared(OLD, OLD, steady=True) == same
    assert same.words == "gives all back"
    late = compared(OLD, OLD[::-1], steady=True)
    assert (late.order, late.words) == ("no", "order no")
    assert compared(OLD, OLD[::-1], steady=False).order == "unsteady"
    new = compared(OLD, [{**OLD[0], "created": "2"}, OLD[1]], steady=True)
    assert (new.times, new.fields) == ("no (1 of 2)", "yes")
    assert compared(OLD, OLD[:1], steady=True).fields == "no (1 of 2)"
    assert compared(OLD[1:], OLD[1:], steady=True).vectors == "–"


def test_ledger_and_home_are_not_of_a_store(tmp_path: Path) -> None:
    for name in ("notes.db", "notes.db.notes.echoless", ".notes.db.lock", "home/history"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Tea is at four.")
    assert list(contents(tmp_path)) == ["notes.db"]
    assert holding(tmp_path, ["Tea is at four.", "The lift is broken."]) == {"notes.db": "1 of 2"}


def test_texts_of_the_same_words_have_the_same_vector() -> None:
    assert vector("Tea is at four.") == vector("TEA IS AT FOUR!") != vector("Tea is at five.")
