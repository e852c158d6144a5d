"""What people decided: listed with its origin and worth, taken back so that every view agrees."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from echoless.core.errors import InputError, UsageError
from echoless.execution.executor import apply
from echoless.execution.rollback import keep_both, undo
from echoless.stores import Store, open_store
from echoless.workflows.consolidation import merge_pairs
from echoless.workflows.dedupe.pipeline import find, plan
from echoless.workflows.review.answers import (
    ALL,
    StandingDecision,
    decisions,
    standing_answers,
    withdraw,
)
from echoless.workflows.review.session import ReviewSession
from tests.echoless_programs.recall_database import L1, Recall
from tests.workflows.review.notes import (
    BACKUPS,
    COFFEE,
    LEXICAL,
    NEWER_TEA,
    NOTES,
    PORTS,
    TEA,
    write_notes,
)
from tests.workflows.review.test_session import kept, key, planned

Open = Callable[[], ReviewSession]


def origins(store: Store) -> dict[tuple[str, ...], str]:
    return {each.answer.ids: each.by for each in decisions(store)}


def worths(store: Store) -> dict[str, str]:
    return {each.key: each.worth for each in decisions(store)}


def decided(store: Store, *ids: str) -> StandingDecision:
    return next(each for each in decisions(store) if each.answer.ids == ids)


def test_each_pair_says_what_it_came_through_and_the_latest_is_first(
    session: ReviewSession,
) -> None:
    store = session.store
    backups = session.differ(key(session, BACKUPS[0]))
    keep_both(store, [("h-1", "t-1")])
    merge_pairs.keep_both(store, "h-1", "t-2", by="mcp")
    tea = session.accept(key(session, TEA))
    run = session.apply(session.plan().digest)
    undo(store, run.id, keep_both=True)
    withdraw(store, tea.key)
    assert origins(store) == {
        ("c-1", "c-2"): "review",
        ("h-1", "t-1"): "library",
        ("h-1", "t-2"): "mcp",
        ("t-1", "t-2"): f"undo of {run.id}",
    }
    made = decisions(store)
    times = [each.answer.at for each in made]
    assert times == sorted(times, reverse=True)
    assert decided(store, "t-1", "t-2").texts == {id_: NOTES[id_] for id_ in TEA}
    assert decided(store, "c-1", "c-2").key == backups.key


def test_a_pair_does_not_count_once_a_text_changed_or_a_memory_is_gone(
    session: ReviewSession, path: Path
) -> None:
    keep_both(session.store, [("t-1", "t-2"), ("h-1", "h-2"), ("c-1", "c-2")])
    session.store.close()
    texts = {id_: text for id_, text in NOTES.items() if id_ != "h-2"}
    write_notes(path, {**texts, "t-2": "Anna drinks red wine."})
    with open_store(path) as store:
        worth = {each.answer.ids: each.worth for each in decisions(store)}
        texts = decided(store, "h-1", "h-2").texts
    assert worth == {("t-1", "t-2"): "changed", ("h-1", "h-2"): "gone", ("c-1", "c-2"): "holds"}
    assert texts == {"h-1": NOTES["h-1"], "h-2": None}


def test_an_answer_waits_until_it_is_applied_and_again_after_an_undo(
    session: ReviewSession,
) -> None:
    ports, tea = key(session, PORTS), key(session, NEWER_TEA)
    session.accept(ports)
    session.skip(tea)
    assert worths(session.store) == {ports: "holds", tea: "holds"}
    run = session.apply(session.plan().digest)
    assert worths(session.store) == {ports: "done", tea: "holds"}
    session.undo_run(run.id)
    assert worths(session.store) == {ports: "holds", tea: "holds"}


def test_an_answer_whose_text_changed_says_so(session: ReviewSession, path: Path) -> None:
    ports = key(session, PORTS)
    session.accept(ports)
    session.store.close()
    write_notes(path, {**NOTES, "p-3": "the database listens at port 5432"})
    with open_store(path) as store:
        assert worths(store) == {ports: "changed"}


def test_an_answer_taken_back_frees_its_pairs_and_is_asked_again(session: ReviewSession) -> None:
    ports = key(session, PORTS)
    session.differ(ports)
    assert session.withdraw(ports) == [ports]
    assert kept(session) == set()
    assert session.state(ports) == "open"
    assert decisions(session.store) == []


def test_a_pair_that_no_answer_recorded_is_taken_back_alone(session: ReviewSession) -> None:
    session.differ(key(session, COFFEE))
    keep_both(session.store, [("t-1", "t-2")])
    withdraw(session.store, decided(session.store, "t-1", "t-2").key)
    assert kept(session) == {("h-1", "h-2")}
    session.look()
    assert session.state(key(session, TEA)) == "open"


def test_an_answer_is_taken_back_by_the_beginning_of_its_key(session: ReviewSession) -> None:
    session.accept(key(session, PORTS), without=["p-3"])
    session.skip(key(session, TEA))
    assert withdraw(session.store, key(session, PORTS)[:8]) == [key(session, PORTS)]
    assert kept(session) == set()
    assert list(standing_answers(session.store.ledger)) == [key(session, TEA)]
    session.refresh()
    assert planned(session) == {}


@pytest.mark.parametrize("wrong", ["", "zz", "no such key"])
def test_what_is_not_there_is_not_taken_back(session: ReviewSession, wrong: str) -> None:
    session.skip(key(session, TEA))
    with pytest.raises(InputError, match="No decision has the key"):
        withdraw(session.store, wrong)


def test_the_command_of_a_refusal_can_be_copied_whatever_the_path(tmp_path: Path) -> None:
    path = tmp_path / "my notes.jsonl"
    write_notes(path)
    with open_store(path) as store:
        with pytest.raises(InputError) as problem:
            withdraw(store, "zz")
        _, command, _ = str(problem.value).split("`")
        assert shlex.split(command) == ["echoless", "review", store.url, "--list"]


def test_a_beginning_that_several_keys_share_is_refused(session: ReviewSession) -> None:
    for item in session.items:
        session.skip(item)
    first = [k[0] for k in session.items]
    shared = next(letter for letter in first if first.count(letter) > 1)
    with pytest.raises(UsageError, match="Give more of it"):
        withdraw(session.store, shared)


def test_all_are_taken_back_at_once(session: ReviewSession) -> None:
    session.differ(key(session, PORTS))
    session.accept(key(session, TEA))
    keep_both(session.store, [("h-1", "h-2")])
    assert len(withdraw(session.store, ALL)) == 3
    assert decisions(session.store) == []
    assert kept(session) == set()


def test_what_the_program_of_the_store_remembers_is_listed_and_stays(tmp_path: Path) -> None:
    recall = Recall(tmp_path / "recall.db")
    for _ in range(2):
        recall.breadcrumb(L1)
    with open_store(recall.path) as store:
        apply(store, plan(find(store, LEXICAL)))
        recall.run("UPDATE dedup_lineage SET status = 'reverted'")
        (pair,) = decisions(store)
        assert (pair.by, pair.own, pair.worth) == ("store", False, "holds")
        assert store.ledger.kept_count() == 1
        with pytest.raises(UsageError, match="Only that program can take it back"):
            withdraw(store, pair.key)
        assert withdraw(store, ALL) == []
        keep_both(store, [pair.answer.apart[0]])
        assert decisions(store)[0].own
        withdraw(store, pair.key)
        assert decisions(store) == [pair]
