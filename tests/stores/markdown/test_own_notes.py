"""What a program notes beside a memory of its own: comments of fields, properties, metadata."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, find, open_store, plan, undo
from echoless.stores.markdown.unit_memory import body_of
from tests.laws.worlds import safe

RULE = "Invoices are numbered per country."
OTHER = "The lift is being repaired."


def groups(path: Path) -> list[set[str]]:
    """The texts of files that say the same, by the lines they stand in."""
    with open_store(f"markdown:///{path}") as store:
        found = find(store, safe())
        raw = {i: str(m.native["raw"]).strip() for i, m in found.memories.items()}
    return [{raw[g.survivor], *(raw[m.id] for m in g.members)} for g in found.groups]


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


SAME = (
    f"{RULE} <!-- created=2026-08-06, last=2026-08-06 -->",
    f"{RULE}<!-- created: 2026-08-07; last: 2026-08-09 10:30 -->",
    f"{RULE} <!-- mem-4f2a -->",
    f'{RULE} <!-- {{"id": "x", "created": "2026-08-06"}} -->',
    f"{RULE} <!-- id=4 --> <!-- source=chat -->",
    f"{RULE}\n  id:: 66a1f5a2-0d4e-4b6d-9f38-2f0c8d7c9f10",
    f"{RULE}\n  collapsed:: true\n  id:: 66a1f5a2-0d4e-4b6d-9f38-2f0c8d7c9f11",
    f"{RULE}\n  created-at:: 1786000000000",
    f"{RULE}\n  card-last-score:: 5\n  logseq.order-list-type:: number",
)
"""What a program noted of one rule."""

MORE = (
    f"{RULE} <!-- only in staging -->",
    f"{RULE}\n  port:: 5432",
    f"{RULE} `<!-- created=2026-08-06 -->` stands behind it.",
    f"<!-- created=2026-08-06 --> {RULE}",
    f"{RULE} id:: 4",
)
"""What a person, or the text, says of it."""


def test_what_a_program_notes_of_a_bullet_is_no_text(tmp_path: Path) -> None:
    path = written(tmp_path / "n.md", "".join(f"- {each}\n" for each in SAME))
    before = path.read_bytes()
    (same,) = groups(path)
    assert len(same) == len(SAME)
    with open_store(f"markdown:///{path}") as store:
        assert {memory.content for memory in store.scan()} == {RULE}
        run = apply(store, plan(find(store, safe())))
        assert path.read_text().count(RULE) == 1
        undo(store, run.id)
    assert path.read_bytes() == before


@pytest.mark.parametrize("said", MORE)
def test_what_a_person_says_beside_a_bullet_is_its_text(said: str) -> None:
    assert body_of(said).text == said


def test_a_property_with_a_value_of_a_person_keeps_bullets_apart(tmp_path: Path) -> None:
    path = written(tmp_path / "n.md", f"- {RULE}\n  port:: 5432\n- {RULE}\n  port:: 5433\n")
    assert groups(path) == []


def test_properties_between_a_bullet_and_its_children_are_no_text(tmp_path: Path) -> None:
    block = "- {}\n  id:: {}\n  collapsed:: true\n\t- for taxes\n"
    text = block.format(RULE, "66a1") + block.format(RULE, "66a2") + f"- {OTHER}\n"
    path = written(tmp_path / "n.md", text)
    assert [len(each) for each in groups(path)] == [2]
    with open_store(f"markdown:///{path}") as store:
        first = next(iter(store.scan()))
        assert first.content == f"{RULE}\n  - for taxes"
        with store.writing():
            store.put([replace(first, content=f"{OTHER}\n  - at noon")])
    changed = block.format(OTHER, "66a1").replace("\t- for taxes", "    - at noon")
    assert path.read_bytes().decode() == text.replace(block.format(RULE, "66a1"), changed)


def test_times_of_a_comment_are_those_of_the_memory(tmp_path: Path) -> None:
    path = written(tmp_path / "n.md", f"- {SAME[0]}\n- {SAME[1]}\n- {SAME[7]}\n")
    with open_store(f"markdown:///{path}") as store:
        times = [(m.created_at, m.last_accessed) for m in store.scan()]
        (group,) = find(store, safe()).groups
    assert times == [
        ("2026-08-06", "2026-08-06"),
        ("2026-08-07", "2026-08-09 10:30"),
        ("1786000000000", None),
    ]
    assert len(group.members) == 2


@pytest.mark.parametrize(
    "end",
    [
        " <!-- valid_until=2031-01-31 -->",
        " <!-- created=2026-08-01, expires=2031-01-31 -->",
        "\n  valid-until:: 2031-01-31",
        "\n  expires:: [[2031-01-31]]",
    ],
)
def test_a_bullet_that_ends_hides_none_that_does_not(tmp_path: Path, end: str) -> None:
    path = written(tmp_path / "n.md", f"- {RULE}{end}\n- {RULE}\n")
    with open_store(f"markdown:///{path}") as store:
        findings = find(store, safe())
        (group,) = findings.groups
        assert findings.reasons[group.survivor].startswith("in force for longer: without end")
        apply(store, plan(findings))
    assert path.read_text() == f"- {RULE}\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_entries_keep_metadata_and_comments_to_the_byte_where_their_text_changes(
    tmp_path: Path, line_end: str
) -> None:
    entries = [
        f"---\ntype: rule\nvalid_until: 2031-03-31\n---\n{RULE}",
        f"{RULE} <!-- created=2026-08-06, last=2026-08-06 -->",
        f"{OTHER}\nIt will take a week.  <!--created=2026-08-06-->",
    ]
    text = "\n§\n".join(entries).replace("\n", line_end)
    path = written(tmp_path / ".hermes/memories/MEMORY.md", text)
    with open_store(str(path.parent)) as store:
        told = list(store.scan())
        assert [memory.content for memory in told] == [RULE, RULE, f"{OTHER}\nIt will take a week."]
        assert [memory.promise.until for memory in told] == ["2031-03-31", None, None]
        (group,) = find(store, safe()).groups
        assert group.survivor == told[1].id
        with store.writing():
            store.put([replace(memory, content=f"{memory.content} So be it.") for memory in told])
    wanted = text
    for old, new in ((RULE, f"{RULE} So be it."), ("a week.", "a week. So be it.")):
        wanted = wanted.replace(old, new)
    assert path.read_bytes().decode() == wanted


def test_tags_go_before_a_comment(tmp_path: Path) -> None:
    said = f"- [fact] {RULE}"
    lines = f"{said} #a <!-- created=2026-08-06 -->\n{said} #b <!-- created=2026-08-07 -->\n"
    path = written(tmp_path / "note.md", f"---\npermalink: note\n---\n\n# Note\n\n{lines}")
    with open_store(f"markdown:///{path}") as store:
        told = list(store.scan())
        assert [(m.content, m.type, m.tags) for m in told] == [
            (RULE, "fact", ("a",)),
            (RULE, "fact", ("b",)),
        ]
        apply(store, plan(find(store, safe()), action="merge"))
        (left,) = (m for m in store.scan() if m.id not in store.ledger.marks())
        assert sorted(left.tags) == ["a", "b"]
    assert f"- [fact] {RULE} #a #b <!-- created=2026-08-06 -->\n" in path.read_text()
