"""What became of each claim between two states of a memory, and how lost ones come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.claims import split_claims
from echoless.core.settings import Choices, resolve
from echoless.execution.rollback import undo
from echoless.stores import open_store
from echoless.workflows.comparison import (
    Fate,
    MemoryComparison,
    compare,
    inserted,
    restoration,
    restore,
)

HEAD = "---\nname: {0}\ndescription: A note\ntype: project\n---\n\n"
NOTES = {
    "deploys.md": HEAD.format("deploys") + "Deploys to production run on Tuesdays.\n\n"
    "- The staging database listens on port 5432.\n"
    "- Ask Ines before a migration of the billing tables.\n",
    "people.md": HEAD.format("people") + "Ben pays the invoices.\nOlga keeps the keys.\n",
}
WITHOUT = NOTES["deploys.md"].replace("- The staging database listens on port 5432.\n", "")

Lay = Callable[[str, Mapping[str, str]], Path]


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    """Writes a folder of notes."""

    def laid(name: str, notes: Mapping[str, str]) -> Path:
        folder = tmp_path / name / ".claude" / "memory"
        folder.mkdir(parents=True)
        index = "".join(f"- [{file}]({file})\n" for file in notes)
        (folder / "MEMORY.md").write_text(index)
        for file, text in notes.items():
            (folder / file).write_text(text)
        return folder

    return laid


def compared(before: Path, after: Path) -> MemoryComparison:
    with open_store(f"markdown:///{before}") as one, open_store(f"markdown:///{after}") as other:
        return compare(one, other, resolve(Choices(), proposed=other.profile))


def told(made: MemoryComparison, fate: Fate) -> list[tuple[str | None, str | None]]:
    """Returns the texts of a fate, before and after."""
    sides = [(each.before, each.after) for each in made.of(fate)]
    return [(a.text if a else None, b.text if b else None) for a, b in sides]


def test_a_memory_that_did_not_change_keeps_every_claim(lay: Lay) -> None:
    made = compared(lay("before", NOTES), lay("after", NOTES))
    assert {fate for fate, number in made.counts.items() if number} == {Fate.KEPT}


def test_each_claim_is_lost_changed_moved_reworded_or_new(lay: Lay) -> None:
    after = {
        "deploys.md": HEAD.format("deploys") + "- The staging database listens on port 5433.\n"
        "- Before a migration of the billing tables, ask Ines.\n- The canary takes five percent.\n",
        "people.md": HEAD.format("people") + "Olga keeps the keys.\n",
        "money.md": HEAD.format("money") + "Ben pays the invoices.\n",
    }
    made = compared(lay("before", NOTES), lay("after", after))
    assert told(made, Fate.LOST) == [("Deploys to production run on Tuesdays.", None)]
    assert told(made, Fate.CHANGED) == [
        (
            "The staging database listens on port 5432.",
            "The staging database listens on port 5433.",
        )
    ]
    assert told(made, Fate.NEW) == [(None, "The canary takes five percent.")]
    assert [each for each, _ in told(made, Fate.MOVED)] == ["Ben pays the invoices."]
    assert [each for each, _ in told(made, Fate.REWORDED)] == [
        "Ask Ines before a migration of the billing tables."
    ]


EDITED = "For each new function: write tests that fail, then verify that the {0} before going on."
POST = "The post of today boosts the stream of the evening{0}."
UPDATES = "Each message {0} updating three files."


@pytest.mark.parametrize(
    ("before", "after", "fate"),
    [
        (EDITED.format("full suite passes"), EDITED.format("relevant tests pass"), Fate.UNCLEAR),
        (UPDATES.format("requires"), UPDATES.format("required"), Fate.UNCLEAR),
        (EDITED.format("full suite passes"), EDITED.format("Full  suite passes"), Fate.KEPT),
        ("Deploys to production run on Tuesdays.", "Production deploys: Tuesdays.", Fate.REWORDED),
        (POST.format(""), POST.format(", and was never sent"), Fate.UNCLEAR),
    ],
)
def test_a_few_other_words_or_a_denial_in_a_long_sentence_are_told(
    lay: Lay, before: str, after: str, fate: Fate
) -> None:
    rest = "Olga keeps the keys of the shop.\n\nThe printer is out of toner.\n"
    made = compared(
        *(
            lay(name, {"a.md": f"{HEAD.format('a')}{text}\n\n{rest}"})
            for name, text in (("before", before), ("after", after))
        )
    )
    assert (before, after) in told(made, fate)


def test_a_lost_claim_has_its_file_and_line(lay: Lay) -> None:
    made = compared(lay("before", NOTES), lay("after", {**NOTES, "deploys.md": WITHOUT}))
    (gone,) = made.of(Fate.LOST)
    assert gone.before is not None
    assert (gone.before.home, gone.before.line) == ("deploys.md", 9)


def test_what_was_lost_comes_back_as_it_was_and_undo_takes_it_away(lay: Lay) -> None:
    left = {"deploys.md": WITHOUT}
    before, after = lay("before", NOTES), lay("after", left)
    with open_store(f"markdown:///{before}") as one, open_store(f"markdown:///{after}") as other:
        made = compare(one, other, resolve(Choices(), proposed=other.profile))
        wanted = restoration(one, other, made)
        run = restore(other, wanted)
        assert (wanted.claims, {name: (after / name).read_text() for name in NOTES}) == (3, NOTES)
        undo(other, run)
    assert {name: (after / name).read_text() for name in left} == left
    assert not (after / "people.md").exists()


TEXT = """# Rules

Never push to main without a review. Ask first, then merge the branch.

- The port of staging is 5432.
- The port of production is 6432.
  - Only Ines knows why.

| job | day |
|---|---|
| backup | Monday |
| audit | Friday |

## Later

See the wiki page."""


@given(st.sets(st.integers(0, len(split_claims(TEXT)) - 1)))
def test_claims_that_were_cut_out_are_put_back_byte_by_byte(gone: set[int]) -> None:
    claims = split_claims(TEXT)
    spans = [claims[at].span for at in sorted(gone)]
    kept = [claim for at, claim in enumerate(claims) if at not in gone]
    left = "".join(TEXT[claim.start : claim.end] for claim in kept)
    assert inserted(left, TEXT, spans) == TEXT
