"""Lines of `MEMORY.md` that lead to no file are memories: Claude Code loads them at every start."""

from __future__ import annotations

from pathlib import Path

import pytest

from echoless import apply, check, find, open_store, plan, undo
from echoless.core.model import under
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from echoless.ingest import AlreadyKnown, remember
from echoless.stores.markdown.store import MarkdownStore
from tests.conformance.stores import contents, plan_by_hand

NO_VECTORS = resolve(Choices(encoder="none"))
RULE = "Run the linter before every commit."
INDEX = f"""# Memory Index

- [Deploys](deploys.md) \u2014 when we deploy
- Lists:
  - [Staging](staging.md)
- Ports: see `ports.md`, and [[names]].

## Preferences

- {RULE}
- Deploys run on Tuesdays at 10:00.

The user prefers short answers.

Answer in this order:
1. The result.
2. The reason.
"""
FILES = {
    "deploys.md": "---\nname: deploys\n---\nDeploys run on Tuesdays at 10:00.\n",
    "staging.md": "Staging is restarted at night.\n",
    "ports.md": "The database listens on port 5432.\n",
    "names.md": "Ann owns billing.\n",
    "lost.md": "Ben owns search.\n",
}


@pytest.fixture(params=["\n", "\r\n"])
def notes(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in {**FILES, "MEMORY.md": INDEX}.items():
        (folder / name).write_bytes(text.replace("\n", request.param).encode())
    return folder


def own_lines(folder: Path) -> dict[str, str]:
    """Returns the ids of what the index says itself, by text."""
    with open_store(folder) as store:
        return {m.content: m.id for m in store.scan() if m.id.startswith("MEMORY.md")}


def test_lines_that_lead_to_no_file_are_memories_under_their_headings(notes: Path) -> None:
    texts = [RULE, "Deploys run on Tuesdays at 10:00.", "The user prefers short answers."]
    listed = ["Answer in this order:", "The result.", "The reason."]
    ids = own_lines(notes)
    assert [*ids] == texts + listed
    with open_store(notes) as store:
        assert isinstance(store, MarkdownStore)
        memories = store.get(ids.values())
        assert {m.namespace for m in memories.values()} == {""}
        assert {under(m)[0] for m in memories.values()} == {"Preferences"}
        assert store.place(ids[RULE]) == (notes / "MEMORY.md", 10)
        assert [text for text, id_ in ids.items() if store.protected(memories[id_])] == listed[:1]
        assert store.count() == len(FILES) + len(ids)
        assert store.unloaded() == [("MEMORY.md does not name 1 file: lost.md.", 1)]


@pytest.mark.parametrize("name", ["README.md", "topics/readme.md"])
def test_a_readme_is_for_persons_and_need_not_be_named(notes: Path, name: str) -> None:
    (notes / name).parent.mkdir(exist_ok=True)
    (notes / name).write_text("What lies here, and who writes it.\n", "utf-8")
    with open_store(notes) as store:
        assert isinstance(store, MarkdownStore)
        assert store.unloaded() == [("MEMORY.md does not name 1 file: lost.md.", 1)]


def test_a_note_that_the_index_says_itself_is_hidden_behind_it_and_never_the_reverse(
    notes: Path,
) -> None:
    with open_store(notes) as store:
        before = contents(notes)
        run = apply(store, plan(find(store, NO_VECTORS)))
        line = own_lines(notes)["Deploys run on Tuesdays at 10:00."]
        assert {i: m.survivor for i, m in store.ledger.marks().items()} == {"deploys.md": line}
        assert "deploys.md" not in (notes / "MEMORY.md").read_text()
        undo(store, run.id)
        assert contents(notes) == before


@pytest.mark.parametrize("way", ["mark", "merge", "delete"])
def test_lines_and_files_leave_together_and_come_back_to_the_byte(
    notes: Path, way: ActionKind
) -> None:
    before = contents(notes)
    gone = [own_lines(notes)[RULE], own_lines(notes)["The user prefers short answers."]]
    survivor = own_lines(notes)["Deploys run on Tuesdays at 10:00."]
    with open_store(notes) as store:
        run = apply(store, plan_by_hand(store, [(survivor, "deploys.md", *gone)], way))
        assert not run.refused
    left = (notes / "MEMORY.md").read_text()
    assert RULE not in left
    assert "deploys.md" not in left
    assert survivor in own_lines(notes).values()
    with open_store(notes) as store:
        assert check(store, mend=False).sound
        undo(store, run.id)
    assert contents(notes) == before


def test_two_runs_are_undone_in_either_order(notes: Path) -> None:
    before, ids = contents(notes), own_lines(notes)
    survivor = ids["Deploys run on Tuesdays at 10:00."]
    with open_store(notes) as store:
        lines = apply(store, plan_by_hand(store, [(survivor, ids[RULE])], "mark"))
        files = apply(store, plan_by_hand(store, [("ports.md", "deploys.md")], "mark"))
        undo(store, lines.id)
        undo(store, files.id)
    assert contents(notes) == before


def test_a_line_hidden_as_a_bullet_of_notes_comes_back_to_an_index(notes: Path) -> None:
    before, ids = contents(notes), own_lines(notes)
    with open_store(f"markdown:///{notes}?preset=notes") as store:
        run = apply(store, plan_by_hand(store, [(ids["The reason."], ids[RULE])], "mark"))
    assert own_lines(notes)[RULE] == ids[RULE], "hidden, and known"
    with open_store(notes) as store:
        assert [*store.ledger.marks()] == [ids[RULE]]
        undo(store, run.id)
    assert contents(notes) == before


def test_what_the_index_says_is_not_remembered_again_as_a_file(notes: Path) -> None:
    with open_store(notes) as store:
        for text in (RULE, FILES["names.md"].strip()):
            assert isinstance(remember(store, text, settings=NO_VECTORS), AlreadyKnown)


def test_a_line_that_is_not_loaded_hides_none_that_is(notes: Path) -> None:
    index = notes / "MEMORY.md"
    lines = "".join(f"- [{n}](ports.md)\n" for n in range(200))
    index.write_text(f"- {RULE} x\n- [Deploys](deploys.md)\n{lines}- **{RULE}** x\n")
    early, late = own_lines(notes).values()
    with open_store(notes) as store:
        (group,) = find(store, NO_VECTORS).groups
        assert (group.survivor, [m.id for m in group.members]) == (early, [late])
        apply(store, plan(find(store, NO_VECTORS)))
        assert check(store, mend=False).sound


def test_an_index_is_missed_by_what_it_links_to_within_its_folder_alone(tmp_path: Path) -> None:
    for name in ("tea", "p6-plan", "lost"):
        (tmp_path / f"{name}.md").write_text(f"About {name} there is one thing to say.\n")
    (tmp_path / "MEMORY.md").write_text(
        "# Memory\n\n- **[here](MEMORY.md)**, [the rules](../CLAUDE.md), [home](~/.claude/a.md)\n"
        "- [Tea](tea.md), [first](gone.md), [second](gone2.md)\n\nOld plans: `p6-plan`.\n"
    )
    with open_store(f"markdown:///{tmp_path}?preset=claude-memory") as store:
        assert store.unloaded() == [
            ("MEMORY.md does not name 1 file: lost.md.", 1),
            ("MEMORY.md names 2 missing files: gone.md, gone2.md.", 0),
        ]
