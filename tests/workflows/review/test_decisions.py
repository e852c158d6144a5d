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
from echoless.workflows.review.answers import standing_answers
from echoless.workflows.review.decisions import (
    Decisions,
    decisions,
    withdraw_all,
    withdraw_answer,
    withdraw_pair,
)
from echoless.workflows.review.session import ReviewSession
from tests.integrations.recall_database import L1, Recall
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


def origins(store: Store) -> dict[tuple[str, str], str]:
    return {(pair.a, pair.b): pair.by for pair in decisions(store).pairs}


def states(store: Store) -> dict[str, str]:
    return {given.answer.key: given.state for given in decisions(store).answers}


def test_each_pair_says_what_it_came_through_and_the_latest_is_first(
    session: ReviewSession,
) -> None:
    store = session.store
    backups = session.differ(key(session, BACKUPS[0]))
    keep_both(store, [("h-1", "t-1")])
    merge_pairs.keep_both(store, "h-1", "t-2", by="mcp")
    session.accept(key(session, TEA))
    run = session.apply(session.plan().digest)
    undo(store, run.id, keep_both=True)
    assert origins(store) == {
        ("c-1", "c-2"): "review",
        ("h-1", "t-1"): "library",
        ("h-1", "t-2"): "mcp",
        ("t-1", "t-2"): "undo",
    }
    pairs = decisions(store).pairs
    assert [pair.at for pair in pairs] == sorted((pair.at for pair in pairs), reverse=True)
    assert pairs[0].run == run.id
    assert pairs[0].texts == (NOTES["t-1"], NOTES["t-2"])
    assert pairs[-1].answers == (backups.key,)


def test_a_pair_does_not_count_once_a_text_changed_or_a_memory_is_gone(
    session: ReviewSession, path: Path
) -> None:
    keep_both(session.store, [("t-1", "t-2"), ("h-1", "h-2"), ("c-1", "c-2")])
    session.store.close()
    texts = {id_: text for id_, text in NOTES.items() if id_ != "h-2"}
    write_notes(path, {**texts, "t-2": "Anna drinks red wine."})
    with open_store(path) as store:
        worth = {(pair.a, pair.b): pair.state for pair in decisions(store).pairs}
        texts_of = {pair.b: pair.texts for pair in decisions(store).pairs}
    assert worth == {("t-1", "t-2"): "changed", ("h-1", "h-2"): "gone", ("c-1", "c-2"): "holds"}
    assert texts_of["h-2"] == (NOTES["h-1"], None)


def test_an_answer_waits_until_it_is_applied_and_again_after_an_undo(
    session: ReviewSession,
) -> None:
    ports, tea = key(session, PORTS), key(session, NEWER_TEA)
    session.accept(ports)
    session.skip(tea)
    assert states(session.store) == {ports: "waits", tea: "waits"}
    run = session.apply(session.plan().digest)
    assert states(session.store) == {ports: "done", tea: "waits"}
    session.undo_run(run.id)
    assert states(session.store) == {ports: "waits", tea: "waits"}


def test_an_answer_whose_text_changed_says_so(session: ReviewSession, path: Path) -> None:
    ports = key(session, PORTS)
    session.accept(ports)
    session.store.close()
    write_notes(path, {**NOTES, "p-3": "the database listens at port 5432"})
    with open_store(path) as store:
        assert states(store) == {ports: "changed"}


def test_a_pair_taken_back_takes_its_answer_back_and_is_asked_again(
    session: ReviewSession,
) -> None:
    ports = key(session, PORTS)
    session.differ(ports)
    withdrawn = session.withdraw_pair("p-3", "p-1")
    assert withdrawn.keys == (ports,)
    assert withdrawn.pairs == (("p-1", "p-2"), ("p-1", "p-3"), ("p-2", "p-3"))
    assert session.state(ports) == "open"
    assert decisions(session.store) == Decisions((), ())


def test_a_pair_that_no_answer_recorded_is_taken_back_alone(session: ReviewSession) -> None:
    session.differ(key(session, COFFEE))
    keep_both(session.store, [("t-1", "t-2")])
    assert withdraw_pair(session.store, "t-2", "t-1").keys == ()
    assert kept(session) == {("h-1", "h-2")}
    session.look()
    assert session.state(key(session, TEA)) == "open"


def test_an_answer_is_taken_back_by_the_beginning_of_its_key(session: ReviewSession) -> None:
    session.accept(key(session, PORTS), without=["p-3"])
    session.skip(key(session, TEA))
    withdrawn = withdraw_answer(session.store, key(session, PORTS)[:8])
    assert withdrawn.pairs == (("p-1", "p-3"),)
    assert list(standing_answers(session.store.ledger)) == [key(session, TEA)]
    session.refresh()
    assert planned(session) == {}


@pytest.mark.parametrize("wrong", ["", "zz", "no such key"])
def test_what_is_not_there_is_not_taken_back(session: ReviewSession, wrong: str) -> None:
    session.skip(key(session, TEA))
    with pytest.raises(InputError, match="No answer has the key"):
        withdraw_answer(session.store, wrong)
    with pytest.raises(InputError, match="p-1 and p-2 are not kept apart"):
        withdraw_pair(session.store, "p-1", "p-2")


def test_the_command_of_a_refusal_can_be_copied_whatever_the_path(tmp_path: Path) -> None:
    path = tmp_path / "my notes.jsonl"
    write_notes(path)
    with open_store(path) as store:
        for refused in (
            lambda: withdraw_answer(store, "zz"),
            lambda: withdraw_pair(store, "p-1", "p-2"),
        ):
            with pytest.raises(InputError) as problem:
                refused()
            _, command, _ = str(problem.value).split("`")
            assert shlex.split(command) == ["echoless", "decisions", store.url]


def test_a_beginning_that_several_keys_share_is_refused(session: ReviewSession) -> None:
    for item in session.items:
        session.skip(item)
    first = [k[0] for k in session.items]
    shared = next(letter for letter in first if first.count(letter) > 1)
    with pytest.raises(UsageError, match="Give more of it"):
        withdraw_answer(session.store, shared)


def test_all_are_taken_back_at_once(session: ReviewSession) -> None:
    session.differ(key(session, PORTS))
    session.accept(key(session, TEA))
    keep_both(session.store, [("h-1", "h-2")])
    withdrawn = withdraw_all(session.store, decisions(session.store))
    assert (len(withdrawn.pairs), len(withdrawn.keys)) == (4, 2)
    assert decisions(session.store) == Decisions((), ())


def test_what_the_program_of_the_store_remembers_is_listed_and_stays(tmp_path: Path) -> None:
    recall = Recall(tmp_path / "recall.db")
    for _ in range(2):
        recall.breadcrumb(L1)
    with open_store(recall.path) as store:
        apply(store, plan(find(store, LEXICAL)))
        recall.run("UPDATE dedup_lineage SET status = 'reverted'")
        (pair,) = decisions(store).pairs
        assert (pair.by, pair.own, pair.state) == ("store", False, "holds")
        assert store.ledger.kept_count() == 1
        with pytest.raises(UsageError, match="Only that program can take it back"):
            withdraw_pair(store, pair.a, pair.b)
        assert withdraw_all(store, decisions(store)).pairs == ()
        keep_both(store, [(pair.a, pair.b)])
        assert decisions(store).pairs[0].own
        assert withdraw_pair(store, pair.a, pair.b).remaining == ((pair.a, pair.b),)
        assert decisions(store).pairs == (pair,)
