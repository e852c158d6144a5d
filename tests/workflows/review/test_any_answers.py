"""Any answers in any order: the ledger and the plan agree with what the review shows."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.stores import open_store
from echoless.workflows.review.answers import decisions, standing_answers
from echoless.workflows.review.items import KINDS, STATES
from echoless.workflows.review.session import ReviewSession, open_review
from tests.workflows.review.notes import LEXICAL, NOTES, write_notes
from tests.workflows.review.test_session import kept, planned

ITEMS = 8
EXAMPLES = settings(max_examples=40)

Step: TypeAlias = tuple[str, int, int, bool]
"""What is done, to which item, with which survivor, and whether one memory is left out."""

STEPS = st.tuples(
    st.sampled_from(["accept", "accept", "accept", "different", "skip", "take back", "undo"]),
    st.integers(0, ITEMS - 1),
    st.integers(0, 2),
    st.booleans(),
)


@contextmanager
def review() -> Iterator[ReviewSession]:
    """A review of a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "notes.jsonl")
        write_notes(path)
        with open_store(path) as store:
            yield open_review(store, LEXICAL)


def take(session: ReviewSession, step: Step) -> None:
    """Does one step.

    Raises:
        UsageError: It contradicts an earlier answer.
    """
    does, at, choice, leaves_out = step
    item = list(session.items.values())[at]
    survivor = item.ids[choice % len(item.ids)]
    without = [next(id_ for id_ in item.ids if id_ != survivor)] if leaves_out else []
    match does:
        case "accept":
            session.accept(item.key, survivor=survivor, without=without)
        case "different":
            session.differ(item.key)
        case "skip":
            session.skip(item.key)
        case "take back":
            session.take_back(item.key)
        case _:
            session.take_back()


def check_plan(session: ReviewSession) -> None:
    """Each memory goes once, behind one that stays, with a verdict on both."""
    actions = session.plan().actions
    gone = [member.id for action in actions for member in action.members]
    survivors = {action.survivor for action in actions}
    assert len(gone) == len(set(gone))
    assert not survivors & set(gone)
    assert all(member.verdict for action in actions for member in action.members)
    accepted = {i for a in session.answers.values() if a.choice == "accept" for i in a.hidden}
    assert set(gone) == accepted


@EXAMPLES
@given(steps=st.lists(STEPS, max_size=8))
def test_after_any_steps_ledger_review_and_plan_agree(steps: Sequence[Step]) -> None:
    with review() as session:
        assert len(session.items) == ITEMS
        assert sum(session.counts("same").values())  # counted once before the answers
        for step in steps:
            before = dict(session.answers), kept(session)
            try:
                take(session, step)
            except UsageError:
                assert (session.answers, kept(session)) == before
        assert standing_answers(session.store.ledger) == session.answers
        assert kept(session) == {p for a in session.answers.values() for p in a.apart}
        assert {each.key for each in decisions(session.store)} == set(session.answers)
        check_plan(session)
        for kind in KINDS:
            states = [session.state(i.key) for i in session.items.values() if i.kind == kind]
            assert session.counts(kind) == {each: states.count(each) for each in STATES}
        again = open_review(session.store, LEXICAL)
        assert list(again.answers.values()) == list(session.answers.values())
        assert planned(again) == planned(session)


@EXAMPLES
@given(steps=st.permutations([(n, c) for n in range(ITEMS) for c in (0,)]), data=st.data())
def test_the_order_of_answers_that_do_not_conflict_changes_neither_plan_nor_pairs(
    steps: Sequence[tuple[int, int]], data: st.DataObject
) -> None:
    answers = [
        (
            data.draw(st.sampled_from(["accept", "different", "skip"])),
            n,
            data.draw(st.integers(0, 2)),
            False,
        )
        for n in range(ITEMS)
    ]
    results = []
    given_: list[Step] = []
    with review() as session:
        for step in answers:
            with suppress(UsageError):
                take(session, step)
                given_.append(step)
        results.append((session.plan().actions, kept(session)))
    with review() as session:
        for step in [answers[n] for n, _ in steps if answers[n] in given_]:
            take(session, step)
        results.append((session.plan().actions, kept(session)))
    assert results[0] == results[1]


@EXAMPLES
@given(steps=st.lists(STEPS, min_size=2, max_size=8))
def test_applied_and_undone_the_store_and_the_answers_are_as_before(steps: Sequence[Step]) -> None:
    with review() as session:
        for step in steps:
            with suppress(UsageError):
                take(session, step)
        session.look()
        before = shown(session)
        plan = session.plan()
        if not plan.actions:
            return
        run = session.apply(plan.digest)
        session.undo_run(run.id)
        assert shown(session) == before


def shown(session: ReviewSession) -> tuple[list[Memory], dict[str, object], dict[str, object]]:
    """Returns the memories, the items and the answers."""
    memories = sorted(session.store.scan(), key=lambda memory: memory.id)
    assert [memory.id for memory in memories] == sorted(NOTES)
    return memories, dict(session.items), dict(session.answers)
