"""What is a memory in Markdown, what is refused, and what is said about odd files."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from echoless import apply, check, find, import_into, open_store, plan, undo
from echoless.core.errors import (
    BadRecord,
    DuplicateId,
    ForeignStore,
    StoreError,
    StoreFull,
    StoreNotFound,
    StoreReadOnly,
    UsageError,
)
from echoless.core.model import Memory
from echoless.core.profiles import ActionKind
from echoless.core.settings import Choices, resolve
from echoless.ingest import Guard, remember
from echoless.ingest.request import Details
from echoless.stores.files import Snapshot
from echoless.stores.markdown import commit, tree
from echoless.stores.markdown.store import MarkdownStore
from tests.conformance.stores import contents, fill, plan_by_hand

NO_VECTORS = resolve(Choices(encoder="none"))
FACT = "Run `make test` before every commit, and fix what fails."


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_md", ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def read(url: Path | str) -> dict[str, Memory]:
    with open_store(url) as store:
        return {memory.id: memory for memory in store.scan()}


def said(url: Path | str) -> str:
    with open_store(url) as store:
        list(store.scan())
        assert isinstance(store, MarkdownStore)
        return "\n".join(store.remarks())


def facts(url: Path | str) -> list[tuple[str, str]]:
    return [(memory.namespace, memory.content) for memory in read(url).values()]


# ------------------------------------------------------------------ what is a memory


def test_a_bullet_with_what_is_below_it_is_a_memory_under_its_headings(tmp_path: Path) -> None:
    text = (
        "# Guide\n\nA paragraph\nof two lines.\n\n## Test\n\n- one\n  - nested\n\n  more\n"
        "* two\n1. three\n   ```\n   # four\n   ```\n- [x] done\n\nSetext\n======\n> five\n"
    )
    assert facts(write(tmp_path, N_md=text) / "N.md") == [
        ("Guide", "A paragraph\nof two lines."),
        ("Guide > Test", "one\n- nested\n\nmore"),
        ("Guide > Test", "two"),
        ("Guide > Test", "three\n```\n# four\n```"),
        ("Guide > Test", "[x] done"),
        ("Setext", "> five"),
    ]


def test_code_tables_and_introductions_are_units_that_are_never_hidden(tmp_path: Path) -> None:
    block = "```sh\nmake all\n```\n\n| a |\n|---|\n| 1 |\n\nThese hold:\n\n- x is y\n"
    url = write(tmp_path, N_md=f"{block}\n{block}") / "N.md"
    with open_store(url) as store:
        assert isinstance(store, MarkdownStore)
        shielded = [m.content.split("\n")[0] for m in store.scan() if store.protected(m)]
        assert shielded == ["```sh", "| a |", "These hold:"] * 2
        found = find(store, settings=resolve(Choices(encoder="none")))
        assert all(
            not store.protected(store.get([m.id])[m.id]) for g in found.groups for m in g.members
        )


def test_comments_front_matter_and_references_are_no_memories(tmp_path: Path) -> None:
    text = "---\na: 1\n---\n<!-- - no -->\n[x]: http://example.com\n\n- yes\n"
    assert facts(write(tmp_path, N_md=text) / "N.md") == [("", "yes")]


def test_a_topic_file_is_a_memory_with_its_body_as_text(tmp_path: Path) -> None:
    write(
        tmp_path,
        MEMORY_md="- [A](a.md) \u2014 hook\n",
        a_md="---\nname: A\ndescription: hook\ntype: user\ntags: [x]\n---\n\nBody.\n",
        b_md="---\nmetadata:\n  type: feedback\noriginSessionId: 7\n---\nOther.",
        c_md="---\ndescription: only this\n---\n",
    )
    memories = read(tmp_path)
    assert [(m.id, m.content, m.type) for m in memories.values()] == [
        ("a.md", "Body.", "user"),
        ("b.md", "Other.", "feedback"),
        ("c.md", "only this", ""),
    ]
    assert memories["a.md"].tags == ("x",)
    assert memories["a.md"].metadata == {"name": "A", "description": "hook"}
    assert memories["b.md"].metadata["originSessionId"] == 7


def test_observations_have_category_and_tags_and_relations_are_left_alone(tmp_path: Path) -> None:
    text = (
        "---\npermalink: n/coffee\n---\n# Coffee\n\n- [tip] Grind late #brew #a/b (for espresso)\n"
        "- [ ] a task\n- pairs_with [[Milk]]\n- [[Tea]]\n- see [[Tea]] before you pour\n"
    )
    memories = list(read(write(tmp_path, c_md=text)).values())
    assert [(m.type, m.content, m.tags) for m in memories] == [
        ("tip", "Grind late (for espresso)", ("brew", "a/b")),
        ("", "[ ] a task", ()),
        ("", "see [[Tea]] before you pour", ()),
    ]
    assert {m.namespace for m in memories} == {"c.md"}


def test_daily_notes_are_one_scope_and_know_their_day(tmp_path: Path) -> None:
    write(tmp_path, **{"memory__2026-01-05_md": f"# 2026-01-05\n\n- {FACT}\n"})
    write(tmp_path, **{"memory__2026-01-06-x_md": f"# 2026-01-06\n\n- {FACT}\n"})
    memories = read(tmp_path).values()
    assert [(m.namespace, m.created_at) for m in memories] == [
        ("", "2026-01-05"),
        ("", "2026-01-06"),
    ]


def test_a_file_is_named_by_its_preset(tmp_path: Path) -> None:
    write(tmp_path, CLAUDE_md="- a\n", README_md="- b\n", sub__AGENTS_md="- c\n")
    assert [m.id.partition("#")[0] for m in read(tmp_path).values()] == [
        "CLAUDE.md",
        "sub/AGENTS.md",
    ]
    assert len(read(f"markdown:///{tmp_path}?preset=notes")) == 3


@pytest.mark.parametrize(
    ("scope", "namespaces"),
    [("heading", {"CLAUDE.md > A", "CLAUDE.md > B"}), ("file", {"CLAUDE.md"}), ("folder", {""})],
)
def test_the_url_says_what_separates_memories(
    tmp_path: Path, scope: str, namespaces: set[str]
) -> None:
    write(tmp_path, CLAUDE_md="# A\n- a\n# B\n- b\n")
    memories = read(f"markdown:///{tmp_path}?scope={scope}")
    assert {m.namespace for m in memories.values()} == namespaces


@pytest.mark.parametrize("query", ["scope=word", "hide=away", "preset=none", "depth=1"])
def test_what_a_url_may_say_is_named(tmp_path: Path, query: str) -> None:
    with pytest.raises(UsageError, match="Known: "):
        open_store(f"markdown:///{tmp_path}?{query}")


def test_ids_of_copies_stay_when_one_of_them_is_hidden(tmp_path: Path) -> None:
    url = write(tmp_path, N_md=f"- {FACT}\n- {FACT}\n- {FACT}\n") / "N.md"
    first, second, third = read(url)
    assert (second, third) == (f"{first}-2", f"{first}-3")
    with open_store(url) as store:
        apply(store, plan_by_hand(store, [(third, first)], "mark"))
    assert list(read(url)) == [first, second, third]
    url.write_text(f"- {FACT}\n- {FACT}\n- {FACT}\n")
    assert {*read(url)} == {first, second, third, f"{first}-4"}


def test_folders_of_other_stores_are_not_taken_for_notes(tmp_path: Path) -> None:
    write(tmp_path, README_md="- a\n")
    assert MarkdownStore.recognises(tmp_path)
    (tmp_path / "chroma.sqlite3").touch()
    assert not MarkdownStore.recognises(tmp_path)
    other = write(tmp_path / "lance", README_md="- a\n")
    (other / "t.lance").mkdir()
    assert not MarkdownStore.recognises(other)
    assert not MarkdownStore.recognises(tmp_path / "t.lance")


# ------------------------------------------------------------------ hiding


def test_a_hidden_bullet_leaves_for_the_archive_with_a_reference(tmp_path: Path) -> None:
    folder = write(tmp_path, AGENTS_md=f"## A\n\n- {FACT}\n- Other.\n- {FACT}\n")
    with open_store(folder) as store:
        one, _, two = (m.id for m in store.scan())
        apply(store, plan_by_hand(store, [(one, two)], "mark"))
    assert (folder / "AGENTS.md").read_text() == f"## A\n\n- {FACT}\n- Other.\n"
    archived = (folder / ".echoless-archive/AGENTS.md.md").read_text()
    assert f"- {FACT}\n" in archived
    assert f'"survivor": "{one}"' in archived
    assert '"place": "AGENTS.md > A"' in archived


def test_a_hidden_file_leaves_with_its_line_of_the_index(tmp_path: Path) -> None:
    folder = write(tmp_path, MEMORY_md="# Index\n- [A](a.md)\n- [B](b.md)\n", a_md="x", b_md="y")
    with open_store(folder) as store:
        apply(store, plan_by_hand(store, [("a.md", "b.md")], "mark"))
    assert (folder / "MEMORY.md").read_text() == "# Index\n- [A](a.md)\n"
    assert (folder / ".echoless-archive/b.md").read_text() == "y"
    assert not (folder / "b.md").exists()


def test_a_unit_stays_without_which_the_rest_would_be_divided_otherwise(tmp_path: Path) -> None:
    """Without the paragraph, the code would become a part of the bullet."""
    text = f"- a\n\n{FACT}\n\n    code\n\n- last\n\n{FACT}\n"
    url = write(tmp_path, N_md=text) / "N.md"
    with open_store(url) as store:
        first, second = (m.id for m in store.scan() if m.content == FACT)
        run = apply(store, plan_by_hand(store, [(second, first)], "mark"))
        assert [refusal.reason for refusal in run.refused] == [
            f"{first} is protected: without it the block below would belong to what is above"
        ]
        assert url.read_text() == text
        made = plan(find(store, settings=resolve(Choices(encoder="none"))))
        assert [action.survivor for action in made.actions] == [first]


def test_a_hidden_memory_that_somebody_took_away_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, AGENTS_md=f"- {FACT}\n- Other.\n- {FACT}\n")
    with open_store(folder) as store:
        one, _, two = (m.id for m in store.scan())
        run = apply(store, plan_by_hand(store, [(one, two)], "mark"))
        shutil.rmtree(folder / ".echoless-archive")
        assert two not in store.get([two])
        assert any(two in problem.ids for problem in check(store, mend=False).problems)
        undo(store, run.id)
        assert any(f"{two} is in conflict" in note for note in store.notes())  # type: ignore[attr-defined]
        assert check(store).sound
    assert (folder / "AGENTS.md").read_text() == f"- {FACT}\n- Other.\n"


def test_a_memory_edited_in_the_archive_comes_back_as_edited(tmp_path: Path) -> None:
    folder = write(tmp_path, AGENTS_md=f"- {FACT}\n- Other.\n- {FACT}\n")
    with open_store(folder) as store:
        one, _, two = (m.id for m in store.scan())
        run = apply(store, plan_by_hand(store, [(one, two)], "mark"))
        archived = folder / ".echoless-archive/AGENTS.md.md"
        archived.write_text(archived.read_text().replace(f"- {FACT}", "- Edited by hand."))
        assert store.get([two])[two].content == "Edited by hand."
        undo(store, run.id)
        assert any("was edited in" in note for note in store.notes())  # type: ignore[attr-defined]
    assert (folder / "AGENTS.md").read_text() == f"- {FACT}\n- Other.\n- Edited by hand.\n"


SECTIONS = "# A\n\n- {0}\n\nOne paragraph of two.\n\n# B\n\n- {0}\n- Last.\n"


@pytest.mark.parametrize("action", ["mark", "delete"])
def test_after_an_edit_a_line_comes_back_at_the_end_of_its_section(
    tmp_path: Path, action: ActionKind
) -> None:
    folder = write(tmp_path, AGENTS_md=SECTIONS.format(FACT))
    path = folder / "AGENTS.md"
    with open_store(folder) as store:
        bullet, paragraph, survivor, _ = (m.id for m in store.scan())
        groups = [(survivor, bullet, paragraph)]
        run = apply(store, plan_by_hand(store, groups, action))
    path.write_text(path.read_text().replace("# B", "- Mine.\n\n# B").replace("Last", "Edited"))
    with open_store(folder) as store:
        undo(store, run.id)
        assert isinstance(store, MarkdownStore)
        (note,) = store.notes()
        assert note.startswith(f"{path} was edited since, so 2 memories came back at the end of")
        assert check(store).sound
    assert path.read_text() == (
        f"# A\n\n- Mine.\n- {FACT}\n\nOne paragraph of two.\n\n# B\n\n- {FACT}\n- Edited.\n"
    )


def test_after_an_edit_a_line_whose_section_is_gone_comes_back_with_its_heading(
    tmp_path: Path,
) -> None:
    folder = write(tmp_path, AGENTS_md=SECTIONS.format(FACT))
    path = folder / "AGENTS.md"
    with open_store(folder) as store:
        survivor, _, bullet, _ = (m.id for m in store.scan())
        run = apply(store, plan_by_hand(store, [(survivor, bullet)], "mark"))
        path.write_text(f"# A\n\n- {FACT}\n- Mine.\n")
        undo(store, run.id)
    assert path.read_text() == f"# A\n\n- {FACT}\n- Mine.\n\n# B\n\n- {FACT}\n"


def test_after_an_edit_of_the_index_the_line_of_a_note_comes_back_as_the_last(
    tmp_path: Path,
) -> None:
    folder = write(tmp_path, MEMORY_md="- [B](b.md)\n- [A](a.md)\n", a_md="x", b_md="y")
    with open_store(folder) as store:
        run = apply(store, plan_by_hand(store, [("a.md", "b.md")], "mark"))
        write(folder, MEMORY_md="- [A](a.md) mine")
        undo(store, run.id)
        assert isinstance(store, MarkdownStore)
        assert any("so the line of b.md is last" in note for note in store.notes())
    assert (folder / "MEMORY.md").read_text() == "- [A](a.md) mine\n- [B](b.md)\n"


def test_a_file_that_exists_again_is_not_overwritten_by_the_hidden_one(tmp_path: Path) -> None:
    folder = write(tmp_path, MEMORY_md="- [A](a.md)\n- [B](b.md)\n", a_md="x", b_md="y")
    with open_store(folder) as store:
        run = apply(store, plan_by_hand(store, [("a.md", "b.md")], "mark"))
        write(folder, b_md="new")
        undo(store, run.id)
        assert any("b.md is in conflict" in note for note in store.notes())  # type: ignore[attr-defined]
    assert (folder / "b.md").read_text() == "new"
    assert (folder / ".echoless-archive/b.md").read_text() == "y"


def test_a_memory_edited_since_the_plan_is_refused_and_reported(tmp_path: Path) -> None:
    folder = write(tmp_path, MEMORY_md="- [A](a.md)\n", a_md=f"{FACT}\n", b_md=f"{FACT}\n")
    with open_store(folder) as store:
        found = find(store, settings=resolve(Choices(encoder="none")))
        made = plan(found)
        write(folder, b_md="Edited by the agent.\n")
        before = contents(folder)
        run = apply(store, made)
        assert [refusal.reason for refusal in run.refused] == [
            "b.md changed since the plan was made"
        ]
    assert contents(folder) == before


def test_a_merge_edits_only_the_fields_it_changes(tmp_path: Path) -> None:
    front = "---\nname: A   # mine\ntags:\n  - x\nmetadata: {type: user}\n---\r\n"
    after = '---\nname: A   # mine\ntags: ["x", "y"]\nmetadata: {type: user}\nk: v\n---\r\n'
    folder = write(
        tmp_path, MEMORY_md="", a_md=f"{front}{FACT}", b_md=f"---\ntags: [y]\nk: 'v'\n---\n{FACT}\n"
    )
    with open_store(folder) as store:
        run = apply(store, plan_by_hand(store, [("a.md", "b.md")], "merge"))
        assert (folder / "a.md").read_bytes().decode() == after + FACT
        undo(store, run.id)
    assert (folder / "a.md").read_bytes().decode() == front + FACT


# ------------------------------------------------------------------ odd files


def test_front_matter_that_cannot_be_read_is_reported_and_left_alone(tmp_path: Path) -> None:
    write(tmp_path, MEMORY_md="- [A](a.md)\n", a_md="---\nname: [a\n---\nBody.\n", b_md="Body.\n")
    assert read(tmp_path)["a.md"].content == "Body."
    assert "The front matter of a.md cannot be read (expected ','" in said(tmp_path)
    with open_store(tmp_path) as store, store.writing():
        with pytest.raises(StoreError, match=r"a\.md was not changed\. Its front matter cannot"):
            store.put([replace(store.get(["a.md"])["a.md"], tags=("x",))])
    with open_store(tmp_path) as store:
        undo(store, apply(store, plan_by_hand(store, [("b.md", "a.md")], "mark")).id)
    assert (tmp_path / "a.md").read_text() == "---\nname: [a\n---\nBody.\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("said_so", ["use pytest: never unittest #1", "a: b", "@work: x", "Soon:"])
def test_front_matter_with_an_unquoted_colon_is_read_as_claude_code_reads_it(
    tmp_path: Path, end: str, said_so: str
) -> None:
    front = f"---\nname: A\ndescription: {said_so}  \nmetadata:\n  type: feedback\n---\n"
    after = f'{front.removesuffix("---" + chr(10))}tags: ["x"]\n---\n'.replace("\n", end)
    text = f"{front}\n{FACT}\n".replace("\n", end)
    write(tmp_path, MEMORY_md="- [A](a.md)\n", a_md=text, b_md=f"---\ntags: [x]\n---\n{FACT}\n")
    memory = read(tmp_path)["a.md"]
    assert (memory.type, memory.metadata["description"]) == ("feedback", said_so)
    assert "front matter" not in said(tmp_path)
    with open_store(tmp_path) as store:
        run = apply(store, plan_by_hand(store, [("a.md", "b.md")], "merge"))
        assert (tmp_path / "a.md").read_bytes().decode() == f"{after}{end}{FACT}{end}"
        assert store.get(["a.md"])["a.md"].metadata == memory.metadata
        undo(store, run.id)
    assert (tmp_path / "a.md").read_bytes().decode() == text


def test_the_index_is_reported_as_full_as_it_is(tmp_path: Path) -> None:
    lines = "".join(f"- [T](t{n}.md) \u2014 hook\n" for n in range(201))
    write(tmp_path, MEMORY_md=f"{lines}- A note.\n", t0_md="x\n", lost_md="y\n")
    text = said(tmp_path)
    assert "MEMORY.md has 202 of 200 lines" in text
    assert "what follows is not loaded" in text
    assert "names 200 missing files: t1.md" in text
    assert "does not name 1 file: lost.md" in text
    assert "has 1 title more than once: T" in text
    assert [m.content for m in read(tmp_path).values()] == ["y", "x", "A note."]


def test_imports_are_reported_and_not_read(tmp_path: Path) -> None:
    text = "- See @docs/a.md and @gone.md, mail a@b.org, run `@not/this.md`.\n- @AGENTS.md\n"
    write(tmp_path, CLAUDE_md=text, AGENTS_md="- x\n", docs__a_md="@b.md\n")
    assert [line for line in said(tmp_path).split("\n") if "imports" in line] == [
        "CLAUDE.md imports @docs/a.md; what is in it is not read as memories of this store.",
        "CLAUDE.md imports @gone.md, which does not exist.",
        "CLAUDE.md imports @AGENTS.md, which is read as a file of this store.",
        "docs/a.md imports @b.md, which does not exist.",
    ]


def test_links_out_of_the_folder_are_reported_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "out", secret_md="- secret\n")
    folder = write(tmp_path / "in", CLAUDE_md="- inside\n")
    (folder / "GEMINI.md").symlink_to(tmp_path / "out/secret.md")
    (folder / "docs").symlink_to(tmp_path / "out")
    os.mkfifo(folder / "CLAUDE.local.md")  # to read it would never end
    (folder / "AGENTS.md").symlink_to("CLAUDE.md")
    assert [m.content for m in read(folder).values()] == ["inside"]
    text = said(folder)
    assert f"GEMINI.md leads out of {folder}; it is not followed." in text
    assert f"docs leads out of {folder}; it is not followed." in text
    assert "AGENTS.md is a link to a file of this folder; that is read once." in text


def test_a_note_of_ten_megabytes_is_reported_and_not_read(tmp_path: Path) -> None:
    write(tmp_path, a_md="- small\n", big_md="- x\n" * 2_700_000)
    assert [m.content for m in read(tmp_path).values()] == ["small"]
    assert f"big.md is larger than {tree.LARGEST // 1024 // 1024} MB; it is not read." in said(
        tmp_path
    )


def test_a_merge_conflict_is_refused_with_its_line(tmp_path: Path) -> None:
    text = "- a\n<<<<<<< HEAD\n- b\n=======\n- c\n>>>>>>> other\n"
    write(tmp_path / "one", CLAUDE_md=text)
    with pytest.raises(BadRecord, match=r"Line 2 of .*CLAUDE\.md begins a merge conflict"):
        read(tmp_path / "one")
    write(tmp_path / "two", MEMORY_md="- [A](a.md)\n", a_md=text)
    with pytest.raises(BadRecord, match=r"Line 2 of .*a\.md begins a merge conflict"):
        read(tmp_path / "two")
    write(tmp_path / "three", CLAUDE_md=f"```\n{text}```\n")
    assert len(read(tmp_path / "three")) == 1


def test_a_text_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_bytes(b"- a\n- caf\xe9\n")
    with pytest.raises(ForeignStore, match=r"Line 2 of .*CLAUDE\.md is not UTF-8"):
        read(tmp_path / "CLAUDE.md")


def test_a_folder_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, CLAUDE_md="- a\n")

    def forbidden(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(tree.os, "scandir", forbidden)
    with pytest.raises(StoreReadOnly):
        open_store(f"markdown:///{tmp_path}")


def test_a_missing_folder_and_a_file_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        open_store(f"markdown:///{tmp_path}/gone")
    (tmp_path / "a.txt").write_text("- a\n")
    with pytest.raises(ForeignStore, match="is no Markdown"):
        open_store(f"markdown:///{tmp_path}/a.txt")


def test_an_id_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", MEMORY_md="")
    with open_store(f"markdown:///{folder}?preset=claude-memory") as store, store.writing():
        for id_ in ("../x.md", "/x.md", ".echoless-archive/x.md", "MEMORY.md", "x"):
            with pytest.raises(StoreError, match="is no id for a memory file"):
                store.put([Memory(id=id_, content="x")])
    assert contents(tmp_path).keys() == {"in/MEMORY.md", ".in.lock", "in.echoless"}


def test_a_disk_that_fails_between_two_files_changes_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path, CLAUDE_md=f"- {FACT}\n- x\n", sub__CLAUDE_md=f"- {FACT}\n- y\n")
    before = contents(folder)
    replaced = commit.replace_bytes

    def failing(path: Path, data: bytes, expected: Snapshot | None) -> None:
        if path == folder / "sub/CLAUDE.md" and b"y" not in data:
            raise StoreFull("no space left")
        replaced(path, data, expected)

    with open_store(folder) as store:
        a, *others = [m.id for m in store.scan()]
        monkeypatch.setattr(commit, "replace_bytes", failing)
        with pytest.raises(StoreFull):
            apply(store, plan_by_hand(store, [(a, *others)], "mark"))
        assert len(list(store.scan())) == 4
        assert check(store).sound
    assert contents(folder) == before


# ------------------------------------------------------------------ new memories


def test_memories_are_imported_where_markdown_holds_what_they_have(tmp_path: Path) -> None:
    plain = [Memory(id="m-1", content=FACT), Memory(id="m-2", content="Two\n\nparts.")]
    fill(f"jsonl:///{tmp_path}/plain.jsonl", plain)
    with open_store(tmp_path / "plain.jsonl") as source:
        import_into(source, tmp_path / "NOTES.md")
    assert (tmp_path / "NOTES.md").read_text() == f"- {FACT}\n- Two\n\n  parts.\n"
    assert list(read(tmp_path / "NOTES.md").values()) == plain
    tagged = Memory(id="a.md", content=FACT, tags=("x",), created_at="2026-01-05T10:00:00Z")
    fill(f"jsonl:///{tmp_path}/tagged.jsonl", [tagged])
    url = f"markdown:///{tmp_path}/memory?preset=claude-memory"
    with open_store(tmp_path / "tagged.jsonl") as source:
        import_into(source, url)
        with pytest.raises(StoreError, match="does not hold its"):
            import_into(source, tmp_path / "OTHER.md")
    assert not (tmp_path / "OTHER.md").read_bytes()
    assert list(read(url).values()) == [tagged]
    title = " ".join(FACT.split()[:6])
    assert (tmp_path / "memory/MEMORY.md").read_text() == f"- [{title}](a.md) \u2014 {FACT}\n"


def test_a_note_is_named_by_its_kind_and_its_first_words(tmp_path: Path) -> None:
    folder = write(tmp_path / "memory", MEMORY_md="")
    with open_store(f"markdown:///{folder}?preset=claude-memory") as store:
        with Guard(store, NO_VECTORS) as guard:
            guard.remember("We use Node 24 now.")
            guard.remember("Prices are [integer] cents.\n\nWhy: no floats.", type="feedback")
            guard.remember("Call it so.", id="own.md")
    assert sorted(path.name for path in folder.iterdir()) == [
        "MEMORY.md",
        "feedback_prices_are_integer_cents.md",
        "own.md",
        "project_we_use_node_24_now.md",
    ]
    assert (folder / "MEMORY.md").read_text() == (
        "- [We use Node 24 now.](project_we_use_node_24_now.md)\n"
        "- [Prices are (integer) cents.](feedback_prices_are_integer_cents.md) \u2014 "
        "Prices are [integer] cents.\n"
        "- [Call it so.](own.md)\n"
    )


def test_a_new_note_takes_the_name_of_no_other_that_is_or_may_come_back(tmp_path: Path) -> None:
    folder = write(tmp_path / "memory", MEMORY_md="")
    url = f"markdown:///{folder}?preset=claude-memory"
    fact = "The printer in the hallway has {} sheets."
    with open_store(url) as store:
        (folder / "project_the_printer_in_the_hallway_has.md").write_text("Mine.\n")
        with Guard(store, NO_VECTORS) as guard:
            answers = [guard.remember(fact.format(each), force=True) for each in (3, 4)]
        first, second = (str(answer.to_json()["id"]) for answer in answers)
        assert [first[-5:], second[-5:]] == ["_2.md", "_3.md"]
        apply(store, plan_by_hand(store, [(second, first)], "mark"))
    with open_store(url) as store, Guard(store, NO_VECTORS) as guard:
        third = guard.remember(fact.format(5), force=True).to_json()
        undo(store, str(third["run"]))
        many = [(fact.format(each), Details(force=True)) for each in (6, 7)]
        last = [answer.to_json()["id"] for answer in guard.remember_many(many)]
        assert [third["id"][-5:], *(each[-5:] for each in last)] == ["_4.md", "_5.md", "_6.md"]
        assert len(list(store.scan())) == 5


def test_an_undo_is_exact_however_the_file_is_read(tmp_path: Path) -> None:
    text = f"# A\n\n- {FACT}\n\n# B\n\n- {FACT}\n"
    file = write(tmp_path, CLAUDE_md=text) / "CLAUDE.md"
    with open_store(f"markdown:///{file}?scope=file") as store:
        a, b = [memory.id for memory in store.scan()]
        apply(store, plan_by_hand(store, [(a, b)], "mark"))
    with open_store(f"markdown:///{file}?scope=heading") as store:
        assert undo(store, "last").exact
    assert file.read_text() == text


def test_a_name_that_another_writer_takes_meanwhile_is_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "memory", MEMORY_md="")
    taken = folder / "project_we_use_node_24_now.md"
    shaped = MarkdownStore.shaped

    def late(store: MarkdownStore, memory: Memory) -> Memory:
        made = shaped(store, memory)
        taken.write_text("Something else entirely.\n")
        return made

    with open_store(f"markdown:///{folder}?preset=claude-memory") as store:
        monkeypatch.setattr(MarkdownStore, "shaped", late)
        answer = remember(store, "We use Node 24 now.", settings=NO_VECTORS)
        with pytest.raises(DuplicateId, match="is a memory"):
            remember(store, "Own name.", id="project_we_use_node_24_now", settings=NO_VECTORS)
    assert answer.to_json()["id"] == "project_we_use_node_24_now_2.md"
    assert taken.read_text() == "Something else entirely.\n"


@pytest.mark.parametrize("scope", ["scope=file", "scope=heading"])
def test_a_new_bullet_goes_to_the_end_of_its_section_and_leaves_without_trace(
    tmp_path: Path, scope: str
) -> None:
    text = "# A\n\n* one\n\n## B\n\nEnd."
    folder = write(tmp_path, CLAUDE_md=text)
    new = {
        "CLAUDE.md > A": "# A\n\n* one\n* new\n\n## B\n\nEnd.",
        "CLAUDE.md > A > B": "# A\n\n* one\n\n## B\n\nEnd.\n\n- new\n",
        "CLAUDE.md > A > C": "# A\n\n* one\n\n## B\n\nEnd.\n\n## C\n\n- new\n",
        "CLAUDE.md > D": "# A\n\n* one\n\n## B\n\nEnd.\n\n# D\n\n- new\n",
        "other.md > E": text,
    }
    url = f"markdown:///{folder}?{scope}"
    with open_store(url) as store, store.writing():
        for namespace, expected in new.items():
            name = "AGENTS.md" if namespace.startswith("other") else "CLAUDE.md"
            space = namespace.replace("other.md", name)
            made = store.shaped(Memory(id="n", content="new", namespace=space))
            assert made.namespace == (name if scope == "scope=file" else space)
            store.put([made])
            assert (folder / "CLAUDE.md").read_text() == expected
            store.remove(["n"])
            assert (folder / "CLAUDE.md").read_text() == text
            assert not (folder / "AGENTS.md").exists()
