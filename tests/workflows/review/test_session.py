"""A review: what its answers leave in the ledger, and the plan they make."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from echoless.core.errors import InputError, PlanRefused, UsageError
from echoless.execution.rollback import keep_both
from echoless.stores import open_store
from echoless.workflows.review.answers import AnsweredElsewhere, decisions, standing_answers
from echoless.workflows.review.items import SAMPLE
from echoless.workflows.review.plan import CHOSEN
from echoless.workflows.review.session import Filter, ReviewSession, open_review
from tests.workflows.review.notes import (
    BACKUPS,
    COFFEE,
    LEXICAL,
    NEWER_PORT,
    NEWER_TEA,
    NOTES,
    PORTS,
    TEA,
    write_notes,
)

Open = Callable[[], ReviewSession]

ANIMALS = ("cat", "dog", "fox", "hen", "owl", "rat", "bee", "cow")
BARN = {f"{a}-{n}": f"The {a} sleeps in the barn{'.' * n}" for a in ANIMALS for n in (1, 2)}
"""Two memories about each animal: groups of one class."""


def key(session: ReviewSession, ids: tuple[str, ...]) -> str:
    return next(item.key for item in session.items.values() if set(item.ids) == set(ids))


def kept(session: ReviewSession) -> set[tuple[str, str]]:
    return {(pair.a, pair.b) for pair in session.store.ledger.kept()}


def planned(session: ReviewSession) -> dict[str, str]:
    actions = session.plan().actions
    return {member.id: action.survivor for action in actions for member in action.members}


def test_newer_values_and_conflicts_are_asked_about_before_groups_and_unsure_pairs(
    session: ReviewSession,
) -> None:
    asked = [item.ids for item in session.items.values()]
    assert asked == [NEWER_PORT, NEWER_TEA, *BACKUPS, PORTS, TEA, COFFEE]


def test_answers_are_in_a_review_opened_anew(session: ReviewSession, opened: Open) -> None:
    session.accept(key(session, PORTS))
    session.differ(key(session, TEA))
    session.skip(key(session, COFFEE))
    assert opened().answers == session.answers
    states = [opened().state(k) for k in session.items]
    assert states == [*["open"] * 5, "accept", "different", "skip"]


def test_true_at_different_times_is_stored_and_keeps_the_pair_out_of_plans(
    session: ReviewSession, opened: Open
) -> None:
    before = set(session.items)
    answer = session.differ(key(session, NEWER_TEA), times=True)
    assert answer.apart == (NEWER_TEA,)
    again = opened()
    assert again.answers[answer.key].times
    assert answer.key not in again.items
    assert before - set(again.items) == {answer.key}
    (decision,) = decisions(again.store)
    assert decision.origin == "in a review: both are true, at different times"
    assert planned(again) == {}
    again.take_back(answer.key)
    assert kept(again) == set()


def test_a_chain_between_groups_that_are_kept_apart_is_not_asked_about_again(
    session: ReviewSession, opened: Open
) -> None:
    """The other copies of a group say what its survivor says."""
    session.differ(key(session, NEWER_TEA))
    assert not [ids for ids in (i.ids for i in opened().items.values()) if "t-3" in ids]


def test_the_plan_puts_each_line_of_answers_behind_its_last_survivor(
    session: ReviewSession,
) -> None:
    session.accept(key(session, PORTS))
    session.accept(key(session, NEWER_PORT))
    assert planned(session) == dict.fromkeys(("p-1", "p-2", "p-3", "p-4"), "p-5")


def test_an_accepted_answer_stands_though_another_one_changed_its_question(
    session: ReviewSession, opened: Open
) -> None:
    session.accept(key(session, NEWER_PORT))
    session.differ(key(session, PORTS))
    again = opened()
    assert ("p-1", "p-3", "p-4", "p-5") in [item.ids for item in again.items.values()]
    assert planned(again) == planned(session) == {"p-1": "p-5", "p-4": "p-5"}
    again.take_back(key(again, NEWER_PORT))
    again.look()
    assert planned(again) == {}


def test_a_memory_does_not_go_behind_one_that_it_was_called_different_from(
    session: ReviewSession,
) -> None:
    session.differ(key(session, BACKUPS[0]))
    session.accept(key(session, BACKUPS[1]), survivor="c-3")
    with pytest.raises(UsageError, match="c-1 would go behind c-2, and both are recorded as diff"):
        session.accept(key(session, BACKUPS[2]), survivor="c-2")
    session.accept(key(session, BACKUPS[2]), survivor="c-3")
    assert planned(session) == {"c-1": "c-3", "c-2": "c-3"}


def test_what_was_pinned_or_kept_apart_after_an_answer_stands_against_it(
    session: ReviewSession, path: Path
) -> None:
    session.accept(key(session, PORTS))
    session.accept(key(session, TEA))
    session.accept(key(session, COFFEE))
    keep_both(session.store, [("t-1", "t-2")])
    session.store.close()
    write_notes(path, pinned=["p-2"])
    with open_store(path) as store:
        again = open_review(store, LEXICAL)
        assert planned(again) == {"h-2": "h-1"}
        assert again.state(key(again, PORTS)) == "open"


def test_another_survivor_has_the_reason_that_a_person_chose_it(session: ReviewSession) -> None:
    session.accept(key(session, PORTS), survivor="p-3")
    assert [(a.survivor, a.why) for a in session.plan().actions] == [("p-3", CHOSEN)]
    session.accept(key(session, PORTS))
    assert [a.why for a in session.plan().actions] == [session.findings.reasons["p-1"]]


def test_memories_left_out_of_a_group_stay_and_are_remembered_as_different(
    session: ReviewSession,
) -> None:
    session.accept(key(session, PORTS), without=["p-3"])
    assert planned(session) == {"p-2": "p-1"}
    assert kept(session) == {("p-1", "p-3")}


@pytest.mark.parametrize(
    ("first", "second"),
    [(("c-1", BACKUPS[0]), ("c-2", BACKUPS[0])), (("c-1", BACKUPS[0]), ("c-3", BACKUPS[2]))],
)
def test_the_last_of_two_answers_to_one_item_counts_and_contradicting_ones_are_refused(
    session: ReviewSession,
    first: tuple[str, tuple[str, str]],
    second: tuple[str, tuple[str, str]],
) -> None:
    session.accept(key(session, first[1]), survivor=first[0])
    if first[1] == second[1]:
        session.accept(key(session, second[1]), survivor=second[0])
        assert planned(session) == {"c-1": "c-2"}
        return
    with pytest.raises(UsageError, match="c-2 goes behind c-1 by an earlier answer"):
        session.accept(key(session, second[1]), survivor=second[0])
    assert planned(session) == {"c-2": "c-1"}


def test_answers_that_go_round_in_a_circle_are_refused(session: ReviewSession) -> None:
    session.accept(key(session, BACKUPS[0]), survivor="c-1")
    session.accept(key(session, BACKUPS[1]), survivor="c-3")
    with pytest.raises(UsageError, match="By two answers c-2 would stay and go"):
        session.accept(key(session, BACKUPS[2]), survivor="c-2")


def test_an_unsure_pair_needs_a_survivor(session: ReviewSession) -> None:
    with pytest.raises(UsageError, match=r"keep \(1 or 2\)"):
        session.accept(key(session, BACKUPS[0]))


def test_different_twice_and_then_taken_back_is_as_never_answered(session: ReviewSession) -> None:
    session.differ(key(session, PORTS))
    session.differ(key(session, PORTS))
    assert kept(session) == {("p-1", "p-2"), ("p-1", "p-3"), ("p-2", "p-3")}
    session.take_back(key(session, PORTS))
    assert kept(session) == set()


def test_a_pair_stays_apart_until_every_answer_that_says_so_is_taken_back(
    session: ReviewSession,
) -> None:
    session.differ(key(session, PORTS))
    session.accept(key(session, PORTS), without=["p-2"])
    session.differ(key(session, TEA))
    session.take_back()
    assert kept(session) == {("p-1", "p-2")}
    session.take_back()
    assert kept(session) == set()


def test_what_was_kept_apart_before_the_review_stays_so_after_an_answer_is_taken_back(
    session: ReviewSession,
) -> None:
    keep_both(session.store, [("p-2", "p-3")])
    session.look()
    session.differ(key(session, PORTS))
    session.take_back()
    assert kept(session) == {("p-2", "p-3")}


def test_of_two_reviews_the_second_hears_of_the_first_ones_answers(
    session: ReviewSession, opened: Open
) -> None:
    other = opened()
    first = session.accept(key(session, PORTS))
    with pytest.raises(AnsweredElsewhere):
        other.differ(key(other, PORTS), seen=0)
    assert other.answers == session.answers
    other.differ(key(other, PORTS), seen=first.number)
    with pytest.raises(AnsweredElsewhere):
        session.take_back(key(session, PORTS), seen=first.number)
    assert planned(session) == {}


def test_two_reviews_of_a_store_without_a_ledger_share_the_one_that_the_first_makes(
    session: ReviewSession, opened: Open
) -> None:
    other = opened()
    session.differ(key(session, PORTS))
    with pytest.raises(AnsweredElsewhere):
        other.differ(key(other, TEA))
    other.differ(key(other, TEA))
    session.refresh()
    assert other.answers == session.answers
    assert len(other.answers) == 2


def test_an_answer_of_another_review_is_checked_against_too(
    session: ReviewSession, opened: Open
) -> None:
    session.skip(key(session, TEA))
    other = opened()
    session.accept(key(session, BACKUPS[0]), survivor="c-1")
    with pytest.raises(UsageError, match="goes behind c-1"):
        other.accept(key(other, BACKUPS[2]), survivor="c-3")


def test_an_answer_whose_text_changed_is_not_counted(session: ReviewSession, path: Path) -> None:
    session.accept(key(session, PORTS))
    session.differ(key(session, TEA))
    session.store.close()
    write_notes(path, {**NOTES, "p-3": "the database listens at port 5432", "t-2": NOTES["t-1"]})
    with open_store(path) as store:
        again = open_review(store, LEXICAL)
        assert {again.state(k) for k in again.items} == {"open"}
        assert planned(again) == {}
    write_notes(path)
    with open_store(path) as store:
        again = open_review(store, LEXICAL)
        assert again.state(key(again, PORTS)) == "accept"
        assert planned(again) == {"p-2": "p-1", "p-3": "p-1"}


def test_a_pair_whose_text_changed_can_be_called_different_anew(
    session: ReviewSession, path: Path
) -> None:
    session.differ(key(session, TEA))
    session.store.close()
    write_notes(path, {**NOTES, "t-2": "Anna drinks green tea in the mornings."})
    with open_store(path) as store:
        again = open_review(store, LEXICAL)
        again.differ(key(again, TEA))
        again.look()
        assert all(set(item.ids) != set(TEA) for item in again.items.values())


def test_applied_and_undone_everything_is_as_before_with_the_same_answers(path: Path) -> None:
    before = path.read_bytes()
    with open_store(path) as store:
        deleting = replace(LEXICAL, profile=replace(LEXICAL.profile, action="delete"))
        session = open_review(store, deleting)
        session.accept(key(session, PORTS), survivor="p-2")
        session.accept(key(session, NEWER_TEA))
        session.differ(key(session, COFFEE))
        session.look()
        items, answers = dict(session.items), dict(session.answers)
        run = session.apply(session.plan().digest)
        assert path.read_bytes() != before
        assert key(session, BACKUPS[0])
        assert planned(session) == {}
        session.undo_run(run.id)
        assert session.items == items
        assert session.answers == answers
    assert path.read_bytes() == before


def test_a_plan_is_refused_once_an_answer_came_after_it(session: ReviewSession) -> None:
    session.accept(key(session, PORTS))
    plan = session.plan()
    session.accept(key(session, TEA))
    with pytest.raises(PlanRefused, match="Answers changed"):
        session.apply(plan.digest)


def test_what_is_not_asked_any_more_cannot_be_answered(session: ReviewSession) -> None:
    tea = key(session, TEA)
    session.accept(tea)
    session.apply(session.plan().digest)
    for call in (session.accept, session.differ, session.skip):
        with pytest.raises(InputError, match="not asked any more"):
            call(tea)


def test_a_new_text_has_to_keep_every_fact_and_is_written_with_the_merge(
    session: ReviewSession,
) -> None:
    ports = key(session, PORTS)
    for text in ("The database listens.", "The database listens on port 5433."):
        with pytest.raises(UsageError):
            session.accept(ports, text=text)
    text = "The database listens on port 5432 and nowhere else."
    session.accept(ports, text=text)
    run = session.apply(session.plan().digest)
    assert session.store.get(["p-1"])["p-1"].content == text
    session.undo_run(run.id)
    assert session.store.get(["p-1"])["p-1"].content == NOTES["p-1"]


def test_a_pinned_memory_never_goes(path: Path) -> None:
    write_notes(path, pinned=["p-1", "c-1"])
    with open_store(path) as store:
        session = open_review(store, LEXICAL)
        with pytest.raises(UsageError, match="p-1 is pinned"):
            session.accept(key(session, PORTS), survivor="p-2")
        with pytest.raises(UsageError, match="c-1 is pinned"):
            session.accept(key(session, BACKUPS[0]), survivor="c-2")
        with pytest.raises(UsageError, match="c-1 is pinned"):
            session.going(key(session, BACKUPS[0]), "c-2")


def test_the_rest_of_a_class_is_accepted_at_once_after_a_sample_and_taken_back_at_once(
    path: Path,
) -> None:
    write_notes(path, BARN)
    with open_store(path) as store:
        session = open_review(store, LEXICAL)
        (state,) = session.class_states()
        assert (state.total, state.sample_left) == (len(ANIMALS), SAMPLE)
        wanted = Filter(group_class=state.group_class)
        with pytest.raises(UsageError, match=f"Decide {SAMPLE} more"):
            session.accept_rest(wanted)
        for item in session.selection(replace(wanted, state="open"))[:SAMPLE]:
            session.skip(item.key)
        assert len(session.accept_rest(wanted)) == len(ANIMALS) - SAMPLE
        assert len(session.take_back()) == len(ANIMALS) - SAMPLE
        assert session.counts("same")["open"] == len(ANIMALS) - SAMPLE
        with pytest.raises(UsageError, match="Name one class"):
            session.accept_rest(Filter())


def test_the_rest_of_a_class_leaves_open_what_another_review_called_different_meanwhile(
    path: Path,
) -> None:
    write_notes(path, BARN)
    with open_store(path) as store:
        session = open_review(store, LEXICAL)
        (state,) = session.class_states()
        wanted = Filter(group_class=state.group_class)
        for item in session.selection(wanted)[:SAMPLE]:
            session.accept(item.key)
        group = session.selection(replace(wanted, state="open"))[0]
        with open_store(path) as other:
            open_review(other, LEXICAL).differ(group.key)
        assert len(session.accept_rest(wanted)) == len(ANIMALS) - SAMPLE - 1
        assert session.state(group.key) == "different"
        assert len(planned(session)) == len(ANIMALS) - 1


def test_a_filter_finds_words_ids_and_states(session: ReviewSession) -> None:
    assert [i.ids for i in session.selection(Filter(words="GREEN anna"))] == [TEA]
    assert [i.ids for i in session.selection(Filter(words="h-2"))] == [COFFEE]
    assert session.selection(Filter(namespace="elsewhere")) == []
    session.skip(key(session, TEA))
    assert [i.ids for i in session.selection(Filter(state="skip"))] == [TEA]


def test_nothing_to_take_back_is_said_and_writes_nothing(
    session: ReviewSession, path: Path
) -> None:
    with pytest.raises(UsageError, match="no answer to take back"):
        session.take_back()
    assert [each.name for each in path.parent.iterdir() if "echoless" in each.name] == []
    assert standing_answers(session.store.ledger) == {}
