"""Claims of long notes: asked about one by one, taken out of their notes, and put back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.claims import ClaimKind
from echoless.core.errors import UsageError
from echoless.core.model import Evidence, Judged, Memory, Unsure
from echoless.core.settings import Choices, resolve
from echoless.execution.rollback import history, undo
from echoless.matching.claims import note_of
from echoless.stores import Store, open_store
from echoless.workflows.consolidation.rewrite import NewVectors
from echoless.workflows.review.answers import Answer, decisions
from echoless.workflows.review.claims import claims_of, without
from echoless.workflows.review.items import offer
from echoless.workflows.review.plan import plan_answers
from echoless.workflows.review.session import ReviewSession, open_review
from tests.workflows.review.notes import DEPLOY, REVIEWING, write_long_notes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two long notes of Claude Code."""
    return write_long_notes(tmp_path / "memory")


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    """The store of the two notes."""
    with open_store(f"markdown:///{folder}?preset=claude-memory") as store:
        yield store


def review(store: Store) -> ReviewSession:
    """Opens a review."""
    return open_review(store, resolve(Choices(semantic=False)))


def keys(session: ReviewSession) -> dict[tuple[str, ...], str]:
    """Returns the keys of the claims that are asked about, by their ids."""
    return {item.ids: key for key, item in session.items.items() if item.kind == "claim"}


FRIDAY = ("deploy.md#L6", "review.md#L5")
MANAGER = ("deploy.md#L11", "review.md#L15")


def test_a_review_asks_about_claims_of_two_notes_by_their_lines(store: Store) -> None:
    session = review(store)
    assert set(keys(session)) == {FRIDAY, MANAGER}
    friday = session.item(keys(session)[FRIDAY])
    assert friday.survivor == FRIDAY[0]
    assert {memory.content for memory in friday.memories} == {
        "Never deploy on a Friday, as nobody is on call over the weekend."
    }


def test_an_accepted_claim_goes_with_its_heading_and_comes_back_to_the_byte(
    store: Store, folder: Path
) -> None:
    session = review(store)
    for ids in (FRIDAY, MANAGER):
        session.accept(keys(session)[ids])
    plan = session.plan()
    assert [(action.kind, action.survivor) for action in plan.actions] == [("edit", "review.md")]
    assert plan.counts == {"groups": 0, "mark": 0, "merge": 0, "delete": 0, "edit": 2}
    run = session.apply(plan.digest)
    said = (folder / "review.md").read_text()
    assert "Friday" not in said
    assert "Contacts" not in said
    assert said.count("\n- ") == 6
    assert (folder / "deploy.md").read_text() == DEPLOY
    assert not keys(session)
    assert [each.worth for each in decisions(store)] == ["done", "done"]
    assert [past.edited for past in history(store.ledger)] == [1]
    undo(store, run.id)
    assert (folder / "review.md").read_text() == REVIEWING


def test_a_person_may_keep_the_other_claim(store: Store, folder: Path) -> None:
    session = review(store)
    session.decide(keys(session)[FRIDAY], "2")
    session.apply(session.plan().digest)
    assert "Friday" not in (folder / "deploy.md").read_text()
    assert (folder / "review.md").read_text() == REVIEWING


def test_claims_that_both_stay_are_not_asked_about_again_also_on_other_lines(
    store: Store, folder: Path
) -> None:
    session = review(store)
    session.differ(keys(session)[FRIDAY])
    (folder / "deploy.md").write_text(DEPLOY.replace("# Deploy\n", "# Deploy\n\nBy Argo alone.\n"))
    with open_store(store.url) as again:
        later = review(again)
        moved = keys(later)["deploy.md#L8", "review.md#L5"]
        assert later.state(moved) == "different"
        assert not later.plan().actions


def test_a_claim_of_a_changed_text_is_refused_and_everything_stays(
    store: Store, folder: Path
) -> None:
    session = review(store)
    session.accept(keys(session)[FRIDAY])
    plan = session.plan()
    changed = DEPLOY.replace("a Friday", "Fridays")
    (folder / "deploy.md").write_text(changed)
    run = session.apply(plan.digest)
    assert [each.reason for each in run.refused] == ["deploy.md changed since the plan was made"]
    assert (folder / "review.md").read_text() == REVIEWING


def test_a_claim_waits_while_the_note_that_says_it_goes_itself(store: Store, folder: Path) -> None:
    (folder / "third.md").write_text("Deploys are told in the handbook of the team.\n")
    with open_store(store.url) as again:
        session = review(again)
        key, notes = keys(session)[FRIDAY], session.findings.memories
        judged = Judged("deploy.md", "third.md", Unsure(Evidence("by-hand", "exact", 0.5)))
        goes = offer(notes["deploy.md"], notes["third.md"], judged)
        answers = (
            Answer(
                key=key,
                kind="claim",
                choice="accept",
                ids=FRIDAY,
                survivor=FRIDAY[0],
                hidden=FRIDAY[1:],
            ),
            Answer(
                key=goes.key,
                kind="unsure",
                choice="accept",
                ids=goes.ids,
                survivor="third.md",
                hidden=("deploy.md",),
            ),
        )
        items = {key: session.item(key), goes.key: goes}
        plan = plan_answers(session.findings, items, answers, {}, NewVectors())
    assert [(action.kind, action.survivor) for action in plan.actions] == [("mark", "third.md")]


def test_the_text_of_a_claim_is_changed_in_its_note(store: Store) -> None:
    session = review(store)
    with pytest.raises(UsageError, match=r"in its note: deploy\.md"):
        session.accept(keys(session)[FRIDAY], text="Never deploy on Fridays.")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("- Deploys need two reviews.\n", 1, "would say nothing more"),
        ("# Deploys\n\n- They need two reviews.\n- Not on Fridays.\n", 1, "no sentence, list item"),
        ("- Deploys need:\n  - two reviews\n- Never deploy on any Friday.\n", 1, "read otherwise"),
        ("```sh\nmake deploy\n```\n\nDeploys need two reviews.\n", 1, "no sentence, list item"),
    ],
)
def test_what_others_hang_on_stays(text: str, line: int, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        without(Memory(id="n", content=text), {f"n#L{line}"})


_BLOCKS = st.lists(
    st.sampled_from(
        (
            "# Deploys\n",
            "## Rules\n",
            "Ana reviews each deploy. Ben restarts the servers after it.\n",
            "- Never deploy on Fridays.\n",
            "- Ask Ben before a restart.\n  - He is in Berlin.\n",
            "1. Build the image.\n2. Push the image.\n",
            "| who | when |\n|---|---|\n| Ana | Monday |\n| Ben | Tuesday |\n",
            "```sh\nmake deploy\n```\n",
            "\n",
        )
    ),
    min_size=2,
    max_size=9,
)


@given(_BLOCKS, st.data())
def test_what_is_left_of_a_note_reads_as_before(blocks: list[str], data: st.DataObject) -> None:
    note = Memory(id="n", content="".join(blocks))
    claims = claims_of(note)
    gone = data.draw(st.sets(st.sampled_from(sorted(claims)), min_size=1, max_size=3))
    try:
        new = without(note, gone)
    except UsageError:
        return
    left = [
        each.content
        for id_, (claim, each) in claims.items()
        if id_ not in gone and claim.kind is not ClaimKind.HEADING
    ]
    assert list(note_of(new).texts) == left
