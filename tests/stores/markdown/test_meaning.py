"""What a note in Markdown says of itself: state, metadata, who loads it, who links to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from itertools import combinations
from pathlib import Path
from unicodedata import normalize

import pytest

from echoless import apply, check, find, open_store, plan, undo
from echoless.core.eligibility import LEADS
from echoless.core.model import IN_FORCE, Memory, Promise
from echoless.core.settings import Choices, resolve
from echoless.core.text import BOXES, retired, struck
from echoless.stores.markdown.store import MarkdownStore
from tests.conformance.stores import plan_by_hand

RULE = "Sign every release tag with the team key."
OTHER = "Use tabs for indentation in the Makefile and in Go."


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def texts(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    files = [path for path in found if ".echoless" not in path.name]
    files = [path for path in files if path.suffix != ".lock"]  # nor the lineage beside it
    return {str(path.relative_to(folder)): path.read_bytes().decode() for path in files}


def deduped(url: Path | str) -> str:
    """Hides what says the same, and returns the run."""
    with open_store(url) as store:
        found = find(store, settings=resolve(Choices(encoder="none")))
        return apply(store, plan(found)).id


def taken_back(url: Path | str, run: str) -> None:
    with open_store(url) as store:
        undo(store, run)
        assert check(store).sound


def promises(url: Path | str) -> dict[str, Promise]:
    with open_store(url) as store:
        return {f"{m.id.partition('#')[0]}: {m.content}": m.promise for m in store.scan()}


def memories(url: Path | str) -> dict[str, Memory]:
    with open_store(url) as store:
        return {memory.id: memory for memory in store.scan()}


# ------------------------------------------------------------------ struck out


@pytest.mark.parametrize(
    "mark",
    ["~~{}~~", "**~~{}~~**", "<del>{}</del>", "<S>{}</s>", "~{}~", "[ ] ~~{}~~", "~~{}~~ (old)"],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_rule_in_force_and_one_struck_out_are_two(tmp_path: Path, mark: str, first: bool) -> None:
    lines = [f"- {RULE}\n", f"- {mark.format(RULE)}\n"]
    folder = write(tmp_path, {"CLAUDE.md": "".join(lines if first else lines[::-1])})
    before = texts(folder)
    deduped(folder / "CLAUDE.md")
    assert texts(folder) == before


def test_two_copies_of_a_rule_that_are_both_struck_out_are_one(tmp_path: Path) -> None:
    path = write(tmp_path, {"CLAUDE.md": f"- ~~{RULE}~~\n- ~~{RULE.lower()}~~\n"}) / "CLAUDE.md"
    run = deduped(path)
    assert path.read_text().count("~~") == 2
    taken_back(path, run)
    assert path.read_text() == f"- ~~{RULE}~~\n- ~~{RULE.lower()}~~\n"


def test_a_rule_in_force_is_not_held_by_one_that_begins_with_its_struck_text(
    tmp_path: Path,
) -> None:
    text = f"- {OTHER}\n- ~~{OTHER}~~ Spaces are used for indentation now.\n"
    path = write(tmp_path, {"CLAUDE.md": text}) / "CLAUDE.md"
    deduped(path)
    assert path.read_text() == text


def test_the_words_that_are_struck_out_are_told_apart_from_the_others() -> None:
    assert struck("~~Use npm.~~ Use pnpm.") == (" Use pnpm.", "Use npm.")
    assert struck("- ~~Use npm.~~") == ("- Use npm.", "- Use npm.")
    for text in ("`~~x~~`", "~/a and ~/b", "about ~5 of ~10", "~~~\nx\n~~~", "a~b~c", "~~a\n\nb~~"):
        assert struck(text) == (text, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"~~{RULE}~~", "struck out"),
        (f"- [ ] <del>{RULE}</del>.", "struck out"),
        (f"[x] {RULE}", "done"),
        (f"- [-] {RULE}", "cancelled"),
        (f"[ ] {RULE}", ""),
        (f"~~Old.~~ {RULE}", ""),
    ],
)
def test_a_note_tells_by_its_marks_why_it_is_not_in_force(
    tmp_path: Path, text: str, why: str
) -> None:
    assert retired(text) == why
    path = write(tmp_path, {"NOTES.md": f"{text}\n\n{OTHER}\n"}) / "NOTES.md"
    assert [each.retired for each in promises(path).values()] == [why, ""]


# ------------------------------------------------------------------ boxes


@pytest.mark.parametrize("vault", [True, False], ids=["vault", "file"])
def test_a_task_in_one_state_never_hides_it_in_another(tmp_path: Path, vault: bool) -> None:
    signs = sorted({name: sign for sign, name in BOXES.items()}.values())
    folder = write(tmp_path / "v", {".obsidian/app.json": "{}"}) if vault else tmp_path
    for one, other in combinations([*signs, "&"], 2):
        text = f"- [{one}] {RULE}\n- [{other}] {RULE}\n"
        assert len(find_groups(write(folder, {"t.md": text}))) == 0, (one, other)


def find_groups(folder: Path) -> list[set[str]]:
    with open_store(folder) as store:
        found = find(store, settings=resolve(Choices(encoder="none", cache=False)))
        return [{each.id for each in group.members} for group in found.groups]


@pytest.mark.parametrize("sign", [" ", "x", "-", ">", "?", "!", "<", '"', "b"])
def test_copies_of_a_task_in_one_state_are_one(tmp_path: Path, sign: str) -> None:
    text = f"- [{sign}] {RULE}\n- [{sign}] {RULE.lower()}\n"
    folder = write(tmp_path, {".obsidian/app.json": "{}", "t.md": text})
    run = deduped(folder)
    assert (folder / "t.md").read_text().count(f"[{sign}]") == 1
    taken_back(folder, run)
    assert (folder / "t.md").read_text() == text


# ------------------------------------------------------------------ metadata

TOML = '+++\ntitle = "Deploy"\ndate = 2026-01-01\ntags = ["a"]\n+++\n'
JSON = '{\n  "title": "Deploy",\n  "tags": ["a"]\n}\n'
FENCED = ';;;\n{"title": "Deploy"}\n;;;\n'
BARE = ';;;\n"title": "Deploy"\n;;;\n'
TWO = "---\npermalink: a/b\n---\n\n---\ntitle: Deploy\nlist:\n  - x\n- y\n---\n"


@pytest.mark.parametrize("front", [TOML, JSON, FENCED, BARE, TWO, TOML.replace("\n", "\r\n")])
def test_front_matter_of_every_form_is_no_memory_and_stays(tmp_path: Path, front: str) -> None:
    files = {f"{name}.md": f"{front}\n- {RULE}\n" for name in "abc"}
    files["b.md"] = "\ufeff" + files["b.md"]
    url = f"markdown:///{write(tmp_path / 'n', files)}?scope=folder"
    assert {memory.content for memory in memories(url).values()} == {RULE}
    run = deduped(url)
    left = texts(tmp_path / "n")
    assert all(left[name].removeprefix("\ufeff").startswith(front) for name in files)
    assert sum(left[name].count(RULE) for name in files) == 1
    taken_back(url, run)
    assert texts(tmp_path / "n") == files


def test_text_between_two_rules_behind_the_front_matter_is_text(tmp_path: Path) -> None:
    path = write(tmp_path, {"n.md": f"---\na: b\n---\n\n---\n\n{RULE}\n\n---\n"}) / "n.md"
    assert [memory.content for memory in memories(path).values()] == [RULE]
    path.write_text(f"{{not JSON}}\n\n{RULE}\n")
    assert [memory.content for memory in memories(path).values()] == ["{not JSON}", RULE]


@pytest.mark.parametrize(
    ("front", "fields"),
    [
        (TOML, {"title": "Deploy"}),
        (JSON, {"title": "Deploy"}),
        (BARE, {"title": "Deploy"}),
        ("+++\nn = 1\nf = nan\n[t]\nd = 2026-01-01T10:00:00Z\n+++\n", None),
        ("---\nname: first\n---\n---\nname: second\ntype: user\n---\n", {"name": "first"}),
    ],
)
def test_fields_of_every_form_are_read(
    tmp_path: Path, front: str, fields: dict[str, str] | None
) -> None:
    folder = write(tmp_path, {"MEMORY.md": "- [A](a.md)\n", "a.md": f"{front}\n{RULE}\n"})
    (memory,) = memories(folder).values()
    assert memory.content == RULE
    if fields is None:
        assert memory.metadata["t"] == {"d": "2026-01-01 10:00:00+00:00"}
    else:
        assert {key: memory.metadata[key] for key in fields} == fields
    assert memory.type == ("user" if "second" in front else "")


@pytest.mark.parametrize("front", ["+++\n= broken\n+++\n", ";;;\nbroken\n;;;\n"])
def test_front_matter_that_cannot_be_read_is_told_and_stays(tmp_path: Path, front: str) -> None:
    folder = write(tmp_path, {"MEMORY.md": "- [A](a.md)\n", "a.md": f"{front}\n{RULE}\n"})
    with open_store(folder) as store:
        assert [memory.content for memory in store.scan()] == [RULE]
        assert isinstance(store, MarkdownStore)
        assert any("front matter of a.md cannot be read" in each for each in store.remarks())


def test_front_matter_in_toml_is_never_changed(tmp_path: Path) -> None:
    body = f"\n{RULE}\n"
    files = {"MEMORY.md": "- [A](a.md)\n- [B](b.md)\n", "a.md": TOML + body}
    files["b.md"] = f"---\ntags: [other]\ncolour: red\n---\n{body}"
    folder = write(tmp_path / "m", files)
    with open_store(folder) as store:
        found = find(store, settings=resolve(Choices(encoder="none")))
        run = apply(store, plan(found, action="merge")).id
    left = texts(folder)
    assert left.get("a.md", TOML).startswith(TOML)
    taken_back(folder, run)
    assert texts(folder) == files


@pytest.mark.parametrize(
    ("front", "promise"),
    [
        ("status: archived", Promise(retired="archived")),
        ("status: Superseded", Promise(retired="superseded")),
        ("metadata:\n  status: deprecated", Promise(retired="deprecated")),
        ("archived: true", Promise(retired="archived")),
        ("superseded_by: other.md", Promise(retired="superseded")),
        ("expires_at: 2027-01-31", Promise(until="2027-01-31")),
        ("status: active", IN_FORCE),
        ("archived: false", IN_FORCE),
        ("title: archived things", IN_FORCE),
    ],
)
def test_a_note_tells_in_its_front_matter_whether_it_is_in_force(
    tmp_path: Path, front: str, promise: Promise
) -> None:
    note = f"---\n{front}\n---\n\n{RULE}\n"
    of_files = write(tmp_path / "files", {"MEMORY.md": "- [A](a.md)\n", "a.md": note})
    of_units = write(tmp_path / "units", {"a.md": note})
    (of_file,) = promises(of_files).values()
    assert [replace(of_file, readers=None)] == [*promises(of_units).values()] == [promise]


# ------------------------------------------------------------------ names of files


@pytest.mark.parametrize(
    ("on_disk", "in_link"), [("NFD", "NFC"), ("NFC", "NFD"), ("NFC", "NFC"), ("NFD", "NFD")]
)
def test_the_line_of_the_index_goes_with_a_file_whose_name_is_composed_in_another_way(
    tmp_path: Path, on_disk: str, in_link: str
) -> None:
    def index(form: str) -> str:
        return "".join(f"- [{n}]({normalize(form, n)}.md)\n" for n in ("größe", "zürich", "port"))

    named = {normalize(on_disk, n): f"{RULE}\n" for n in ("größe.md", "zürich.md")}
    files = {"MEMORY.md": index(in_link), "port.md": "It listens on 3128.\n", **named}
    folder = write(tmp_path / "m", files)
    with open_store(folder) as store:
        assert [*store.scan()]
        assert isinstance(store, MarkdownStore)
        assert not any("missing" in each or "not name" in each for each in store.remarks())
    run = deduped(folder)
    assert (folder / "MEMORY.md").read_text().count("- [") == 2
    taken_back(folder, run)
    assert texts(folder) == files


# ------------------------------------------------------------------ links


@pytest.mark.parametrize(
    "link",
    ["[[b]]", "[[b|the key]]", "[[b#Why]]", "[the key](b.md)", "[key](./b.md#why)", "[[key-rule]]"],
)
def test_a_note_that_another_one_links_to_is_the_one_that_stays(tmp_path: Path, link: str) -> None:
    files = {
        "MEMORY.md": "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n",
        "a.md": f"---\nname: a-rule\n---\n\n{RULE}\n",
        "b.md": f"---\nname: key-rule\n---\n\n{RULE}\n",
        "c.md": f"Releases leave on Tuesdays, see {link}.\n",
    }
    folder = write(tmp_path / "m", files)
    run = deduped(folder)
    assert (folder / "b.md").exists()
    assert not (folder / "a.md").exists()
    taken_back(folder, run)
    assert texts(folder) == files


def test_a_link_that_was_written_to_a_hidden_note_is_a_fault(tmp_path: Path) -> None:
    notes = {"a.md": f"{RULE}\n", "b.md": f"{RULE}\n", "c.md": "Releases leave on Tuesdays.\n"}
    folder = write(tmp_path, {"MEMORY.md": "- [A](a.md)\n- [B](b.md)\n", **notes})
    run = deduped(folder)
    with open_store(folder) as store:
        assert check(store).sound
    (hidden,) = {"a.md", "b.md"} - {path.name for path in folder.glob("*.md")}
    (folder / "c.md").write_text(f"Releases leave on Tuesdays, see [[{hidden[0]}]].\n")
    with open_store(folder) as store:
        (problem,) = check(store).problems
    assert problem.says == f"{hidden} is hidden, and a link to it leads nowhere: in c.md."
    with open_store(folder) as store:
        undo(store, run)
        assert check(store).sound


def test_a_link_of_a_note_to_itself_and_of_the_index_keep_nothing(tmp_path: Path) -> None:
    files = {"MEMORY.md": "- [A](a.md)\n- [B](b.md)\n"}
    for name in "ab":
        files[f"{name}.md"] = f"---\nname: {name}\nabout: '[[{name}]]'\n---\n{RULE}"
    deduped(write(tmp_path, files))
    assert sum((tmp_path / f"{name}.md").exists() for name in "ab") == 1


def test_notes_with_links_to_them_are_told(tmp_path: Path) -> None:
    files = {"MEMORY.md": "- [A](a.md)\n", "a.md": f"{RULE}\n", "b.md": "See [[A]].\n"}
    with open_store(write(tmp_path, files)) as store:
        assert [*store.scan()]
        assert isinstance(store, MarkdownStore)
        assert "Other notes link to 1 note: never hidden." in store.remarks()


# ------------------------------------------------------------------ where hidden things lie

BASIC_MEMORY_IGNORES = (".*", "*.db", "config.json", "node_modules", "build", "dist", "*.tmp")
"""Of `DEFAULT_IGNORE_PATTERNS` in basic_memory/ignore_utils.py (0.24.1): a file is passed
over where a part of its path fits one of them."""


def indexed(folder: Path) -> str:
    """Returns all text that basic-memory or Obsidian index."""
    return "".join(
        text
        for path, text in texts(folder).items()
        if not any(
            fnmatch(part, each) for part in Path(path).parts for each in BASIC_MEMORY_IGNORES
        )
    )


@pytest.mark.parametrize("kind", ["files", "bullets", "one file"])
def test_what_is_hidden_is_not_indexed_and_nothing_is_left_over_after_the_undo(
    tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "notes"
    if kind == "files":
        files = {"MEMORY.md": "- [A](a.md)\n- [B](b.md)\n", "a.md": RULE, "b.md": RULE}
    else:
        files = {"specs/A b.md": f"---\npermalink: x\n---\n\n- {RULE}\n- {RULE.lower()}\n"}
    folder = write(root, files)
    url = folder / "specs/A b.md" if kind == "one file" else folder
    run = deduped(url)
    assert indexed(folder).lower().count(RULE.lower()) == 1
    taken_back(url, run)
    assert texts(folder) == files
    assert not (url.parent if url.is_file() else url).joinpath(".echoless-archive").exists()


def test_an_own_folder_named_archive_stays_as_it_is(tmp_path: Path) -> None:
    own = {"archive/n.md.md": "- mine\n", "archive/old.md": "- mine\n"}
    folder = write(tmp_path / "m", {**own, "n.md": f"- {RULE}\n- {RULE}\n"})
    run = deduped(folder)
    assert {path: text for path, text in texts(folder).items() if path in own} == own
    taken_back(folder, run)
    assert texts(folder) == {**own, "n.md": f"- {RULE}\n- {RULE}\n"}


def test_front_matter_that_another_program_gave_the_archive_goes_with_it(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", {"n.md": f"- {RULE}\n- {RULE}\n"})
    run = deduped(folder)
    archived = folder / ".echoless-archive/n.md.md"
    archived.write_text(f"---\npermalink: x\n---\n\n{archived.read_text()}")
    taken_back(folder, run)
    assert texts(folder) == {"n.md": f"- {RULE}\n- {RULE}\n"}


# ------------------------------------------------------------------ who loads what


def readers(folder: Path, files: Mapping[str, str]) -> dict[str, frozenset[str] | None]:
    url = f"markdown:///{write(folder, files)}?scope=folder"
    return {
        memory.id.partition("#")[0]: memory.promise.readers for memory in memories(url).values()
    }


def rule(front: str) -> str:
    return f"---\n{front}\n---\n\n- {RULE}\n"


def test_each_file_has_the_agents_that_load_it(tmp_path: Path) -> None:
    bare = f"- {RULE}\n"
    found = readers(
        tmp_path,
        {
            "CLAUDE.md": bare,
            "AGENTS.md": bare,
            "GEMINI.md": bare,
            ".github/copilot-instructions.md": bare,
            "memory-bank/brief.md": bare,
            "src/CLAUDE.md": bare,
            ".cursor/rules/always.mdc": rule("alwaysApply: true"),
            ".cursor/rules/glob.mdc": rule("globs: *.json, src/**\nalwaysApply: false"),
            ".cursor/rules/asked.mdc": rule("description: releases"),
            ".claude/rules/all.md": bare,
            ".claude/rules/some.md": rule('paths:\n  - "src/api/**"'),
            ".github/instructions/a.instructions.md": rule('applyTo: "**"'),
        },
    )
    narrow = {"claude:src/**", "claude:src/api/**"}
    globs = {"cursor:*.json", "cursor:src/**"}
    asked = "cursor:.cursor/rules/asked.mdc"
    assert found == {
        "CLAUDE.md": {"claude", *narrow},
        "AGENTS.md": {"agents.md"},
        "GEMINI.md": {"gemini"},
        ".github/copilot-instructions.md": {"copilot"},
        "memory-bank/brief.md": frozenset(),
        "src/CLAUDE.md": narrow,
        ".cursor/rules/always.mdc": {"cursor", asked, *globs},
        ".cursor/rules/glob.mdc": globs,
        ".cursor/rules/asked.mdc": {asked},
        ".claude/rules/all.md": {"claude", *narrow},
        ".claude/rules/some.md": {"claude:src/api/**"},
        ".github/instructions/a.instructions.md": {"copilot"},
    }


@pytest.mark.parametrize(
    "way", ["@AGENTS.md", "See @./AGENTS.md for more.", "@docs/all.md", "link"]
)
def test_a_file_that_another_agents_file_leads_to_is_loaded_by_both(
    tmp_path: Path, way: str
) -> None:
    files = {"AGENTS.md": f"- {RULE}\n", "docs/all.md": "@../AGENTS.md\n"}
    if way == "link":
        write(tmp_path, files)
        (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    else:
        files["CLAUDE.md"] = f"{way}\n"
    assert readers(tmp_path, files)["AGENTS.md"] == {"agents.md", "claude"}


def test_without_a_file_that_an_agent_loads_all_read_all(tmp_path: Path) -> None:
    assert readers(tmp_path, {"a.md": f"- {RULE}\n", "b.md": f"- {RULE}\n"}) == {
        "a.md": None,
        "b.md": None,
    }


def test_an_index_is_loaded_and_what_lies_beside_it_is_not(tmp_path: Path) -> None:
    files = {"MEMORY.md": f"- {RULE}\n", "memory/2026-01-01.md": f"- {RULE}\n"}
    assert readers(tmp_path, files) == {
        "MEMORY.md": {"memory"},
        "memory/2026-01-01.md": frozenset(),
    }


@pytest.mark.parametrize("name", [".cursorrules", ".windsurfrules", ".clinerules", ".goosehints"])
def test_a_file_of_rules_without_a_suffix_is_markdown(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, {name: f"# Rules\n\n- {RULE}\n- {RULE.lower()}\n"}) / name
    run = deduped(path)
    assert path.read_text().lower().count(RULE.lower()) == 1
    taken_back(f"markdown:///{path}", run)
    assert path.read_text() == f"# Rules\n\n- {RULE}\n- {RULE.lower()}\n"


@pytest.mark.parametrize(
    "day", ["April 12, 2026 at 2:00 AM", "12 April 2026", "Sunday, Apr. 12th, 2026", "2026-04-12"]
)
def test_a_heading_with_a_day_in_words_does_not_separate_daily_notes(
    tmp_path: Path, day: str
) -> None:
    files = {"memory/2026-04-12.md": "- It listens on 3128.\n"}
    files["DREAMS.md"] = f"## {day}\n\n- {RULE}\n\n## May matters\n\n- {OTHER}\n"
    found = memories(f"markdown:///{write(tmp_path, files)}?scope=heading").values()
    assert {m.content: m.namespace for m in found if m.content in {RULE, OTHER}} == {
        RULE: "",
        OTHER: "May matters",
    }


@pytest.mark.parametrize("line", ["assistant:", "**Missing:**", "次のとおり：", "Règles :"])
def test_a_line_that_leads_what_follows_is_never_hidden(tmp_path: Path, line: str) -> None:
    talk = f"# Session\n\n{line}\n\nFirst, the disk is full.\n\n{line}\n\nSecond, it is not.\n"
    write(tmp_path, {"MEMORY.md": f"- {RULE}\n", "memory/2026-05-24.md": talk})
    with open_store(tmp_path) as store:
        found = find(store, resolve(Choices(encoder="none")))
    assert found.groups == ()
    assert found.tally.counts[LEADS] == 2


# ------------------------------------------------------------------ entries of Hermes

ENTRIES = ["Uses Homebrew.", "Port 2222.\n\nThe key is in ~/.ssh.", "- one\n- two", "uses homebrew"]


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("gone", [g for n in (1, 2, 3) for g in combinations(range(4), n)])
def test_an_entry_takes_one_line_of_the_dividing_ones_with_it(
    tmp_path: Path, gone: tuple[int, ...], end: str
) -> None:
    text = "\n\u00a7\n".join(ENTRIES) + end
    path = write(tmp_path, {"MEMORY.md": text}) / "MEMORY.md"
    stays = next(at for at in range(4) if at not in gone)
    with open_store(f"markdown:///{path}") as store:
        ids = [memory.id for memory in store.scan()]
        assert [store.get([id_])[id_].content for id_ in ids] == ENTRIES
        runs = [
            apply(store, plan_by_hand(store, [(ids[stays], ids[at])], "mark")).id for at in gone
        ]
        assert sorted(memory.id for memory in store.scan()) == sorted(ids)
        left = path.read_text().split("\n\u00a7\n")
        left = [each.strip() for each in left if each.strip()]  # as Hermes reads it
        assert left == [each for at, each in enumerate(ENTRIES) if at not in gone]
        for run in reversed(runs):
            undo(store, run)
    assert path.read_text() == text


def test_a_text_that_is_remembered_is_a_new_entry_and_leaves_without_trace(tmp_path: Path) -> None:
    text = "\n\u00a7\n".join(ENTRIES)
    path = write(tmp_path, {"USER.md": text}) / "USER.md"
    with open_store(str(path)) as store, store.writing():
        store.put([Memory(id="n", content="Lives in Turku.\nSince May.")])
        assert path.read_text() == f"{text}\n\u00a7\nLives in Turku.\nSince May.\n"
        store.remove(["n"])
    assert path.read_text() == text


def test_a_sign_alone_on_a_line_of_another_note_divides_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.md": "- one\n\u00a7\n- two\n"}) / "a.md"
    assert len(memories(path)) == 2
