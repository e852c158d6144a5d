"""Answers of reviews in the ledger: copied, checked, read by and from other versions, damaged."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from echoless import check, export, import_into, open_store
from echoless.core.errors import BadRecord, LedgerDamaged
from echoless.workflows.review.answers import decisions, standing_answers, withdraw
from echoless.workflows.review.session import ReviewSession, open_review
from tests.workflows.review.notes import COFFEE, LEXICAL, PORTS, TEA
from tests.workflows.review.test_session import key, planned

Open = Callable[[], ReviewSession]


@pytest.fixture
def answered(session: ReviewSession, path: Path) -> Path:
    """A store with an accepted, a different and a skipped answer, and one taken back; closed."""
    session.accept(key(session, PORTS), survivor="p-3")
    session.differ(key(session, TEA))
    session.skip(key(session, COFFEE))
    session.take_back()
    session.skip(key(session, COFFEE))
    session.store.close()
    return path


def sidecar(path: Path) -> Path:
    return Path(f"{path}.echoless")


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(sidecar(path))) as db, db:
        db.execute(statement, values)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_an_export_and_an_import_carry_answers_and_pairs(
    answered: Path, tmp_path: Path, kind: str
) -> None:
    copy, back = tmp_path / f"copy.{kind}", f"jsonl:///{tmp_path}/back.jsonl"
    with open_store(answered) as store:
        before, plan = standing_answers(store.ledger), planned(open_review(store, LEXICAL))
        decided = decisions(store)
        export(store, copy, kind=kind)
    with open_store(copy) as store:
        import_into(store, back)
    with open_store(back) as store:
        again = open_review(store, LEXICAL)
        assert standing_answers(store.ledger) == before
        assert planned(again) == plan == {"p-1": "p-3", "p-2": "p-3"}
        assert decisions(store) == decided
        assert check(store).sound


def test_answers_that_are_not_what_the_events_say_are_made_anew(answered: Path) -> None:
    with open_store(answered) as store:
        before = standing_answers(store.ledger)
    shutil.copy(sidecar(answered), f"{answered}.sound")
    for statement in (
        "DELETE FROM reviews",
        "UPDATE reviews SET body = 'no JSON'",
        "UPDATE reviews SET number = 'x'",
        "UPDATE reviews SET body = replace(body, 'accept', 'skip')",
    ):
        shutil.copy(f"{answered}.sound", sidecar(answered))
        change(answered, statement)
        with open_store(answered) as store:
            assert not check(store, mend=False).sound
            health = check(store)
            assert health.sound
            assert [problem.kind for problem in health.problems] == ["ledger"]
            assert standing_answers(store.ledger) == before


def test_a_damaged_row_is_told_by_its_key(answered: Path) -> None:
    change(answered, "UPDATE reviews SET body = '[]'")
    with open_store(answered) as store, pytest.raises(LedgerDamaged, match="the review '"):
        open_review(store, LEXICAL)


@pytest.mark.parametrize(
    ("part", "wrong"),
    [('"choice":"accept"', '"choice":"perhaps"'), ('"apart":[]', '"apart":[["a"]]')],
)
def test_an_answer_of_a_wrong_form_is_told_and_can_be_taken_back(
    answered: Path, part: str, wrong: str
) -> None:
    change(answered, "UPDATE reviews SET body = replace(body, ?, ?)", part, wrong)
    with open_store(answered) as store:
        with pytest.raises(BadRecord, match=r"is damaged: .* Take it back: `echoless review STORE"):
            open_review(store, LEXICAL)
        while True:
            try:
                standing_answers(store.ledger)
                break
            except BadRecord as problem:
                withdraw(
                    store, str(problem).rpartition("--decide ")[2].rstrip("`.")[: -len("=open")]
                )
        assert {answer.choice for answer in standing_answers(store.ledger).values()} < {
            "accept",
            "different",
            "skip",
        }
