"""Each documented place of Markdown: opened by path, found, hidden from its program, and undone."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from types import FrameType

import pytest

from echoless import apply, check, find, open_store, plan, undo
from echoless.core.errors import StoreError
from echoless.core.model import Memory
from echoless.core.settings import Choices, resolve
from echoless.stores.markdown import virtual
from echoless.stores.markdown.presets import PRESETS, is_markdown
from echoless.stores.places import IN_PROJECTS, PROJECT_PLACES, USER_PLACES, StorePlace
from echoless.workflows.discovery.search import discover
from tests.conformance.stores import plan_by_hand

RULE = "Sign every release tag with the team key."
OTHER = "Use tabs for indentation in the Makefile and in Go."
SIGN = "\n\u00a7\n"
DOCS = Path(__file__).parents[3] / "docs"
NAMES = {"hermes": "MEMORY.md", "openclaw": "MEMORY.md", "letta": "system/a.md"}


def named(place: StorePlace) -> str:
    return "/".join(filter(None, (place.base.path if place.base else "", place.path)))


PLACES = [
    place
    for place in (*USER_PLACES, *PROJECT_PLACES)
    if place.scheme == "markdown" and not (place.base and place.base.root == "system")
]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def filled(place: StorePlace, root: Path) -> Path:
    """Writes two copies where a program would, and returns the store."""
    where = root / named(place).replace("*", "x")
    preset = PRESETS.get(place.preset, PRESETS["notes"])
    if place.up:
        copies = write(where.with_name("MEMORY.md"), f"- {RULE}\n- {OTHER}\n- {RULE.lower()}\n")
        return (
            write(where, "" if where.suffix else "{}").parent if where != copies else where.parent
        )
    if is_markdown(where):
        write(where, f"- {RULE}\n- {OTHER}\n- {RULE.lower()}\n")
    elif preset.grain == "file":
        for name, text in {"a": RULE, "b/c": OTHER, "d": RULE.lower()}.items():
            write(where / f"{name}.md", text + "\n")
    elif preset.grain == "entry":
        write(where / "MEMORY.md", SIGN.join([RULE, OTHER, RULE.lower()]))
    else:
        name = NAMES.get(place.preset, f"a{place.suffix}")
        write(where / name, f"- {RULE}\n- {OTHER}\n- {RULE.lower()}\n")
    return where


def seen(store: Path) -> dict[str, bytes]:
    """The files that the program reads: none of a folder of echoless."""
    files = [store] if store.is_file() else [p for p in store.rglob("*") if p.is_file()]
    own = (".echoless", "x.echoless")
    return {
        str(path): path.read_bytes()
        for path in files
        if not any(part.startswith(own) for part in path.parts)
    }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "code" / "app" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home / "code" / "app")
    return home


@pytest.mark.parametrize("place", PLACES, ids=named)
def test_a_place_is_found_and_what_is_hidden_there_comes_back_byte_for_byte(
    place: StorePlace, home: Path
) -> None:
    root = Path.cwd()
    if place.base:
        root = home / ".config" if place.base.root == "config" else home
    store = filled(place, root)
    before = seen(store)
    assert {each.path for each in discover(environment={}).stores} == {store}
    with open_store(store) as opened:
        run = apply(opened, plan(find(opened, settings=resolve(Choices(encoder="none")))))
    read = b"".join(seen(store).values()).decode().casefold()
    assert read.count(RULE.casefold()) == 1
    assert read.count(OTHER.casefold()) == 1
    with open_store(store) as opened:
        assert opened.count() == 3
        undo(opened, run.id)
        assert check(opened).sound
    assert seen(store) == before


@pytest.mark.parametrize("place", [p for p in PLACES if p.preset], ids=named)
def test_what_lies_in_a_place_is_read_as_its_program_reads_it(
    place: StorePlace, home: Path
) -> None:
    store = filled(place, home if place.base else Path.cwd())
    with open_store(store) as opened:
        [*opened.scan()]
        assert opened.remarks()[0].startswith(f"Read as {place.preset}:") or is_markdown(store)


def test_a_folder_reads_the_rules_of_all_agents_in_it(tmp_path: Path) -> None:
    rules = [p for p in IN_PROJECTS if PRESETS.get(p.preset, PRESETS["notes"]).rules]
    for place in rules:
        if not (tmp_path / place.path).exists():
            filled(place, tmp_path)
    with open_store(tmp_path) as store:
        files = {memory.id.partition("#")[0] for memory in store.scan()}
    missing = {p.path for p in rules if not any(each.startswith(p.path) for each in files)}
    assert missing == set()
    assert not any(".serena" in each for each in files)


def test_an_opened_file_of_a_folder_of_rules_is_read_as_that_folder(tmp_path: Path) -> None:
    path = write(tmp_path / ".kiro/steering/tech.md", f"## Go\n\n- {RULE}\n\n## C\n\n- {RULE}\n")
    with open_store(path) as store:
        assert {memory.namespace for memory in store.scan()} == {""}


# ------------------------------------------------------------------ entries with limits


def entries(path: Path) -> list[str]:
    """What Hermes reads."""
    parts = path.read_text().split(SIGN)
    return [each.strip() for each in parts if each.strip()]


def contents(url: Path | str) -> list[str]:
    with open_store(url) as store:
        return [memory.content for memory in store.scan()]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", []),
        ("one", ["one"]),
        ("- one\n- two", ["- one\n- two"]),
        (f"one{SIGN}two\n\u00a7", ["one", "two"]),
        (f"\u00a7\none{SIGN}two", ["one", "two"]),
        (f"one{SIGN}{SIGN}two", ["one", "two"]),
        (f"one{SIGN}  \n{SIGN}two", ["one", "two"]),
        ("see \u00a7 5 of it\n\u00a7\ntwo \u00a7", ["see \u00a7 5 of it", "two \u00a7"]),
        ("one\r\n\u00a7\r\ntwo\r\nthree\r\n", ["one", "two\nthree"]),
        ("\ufeffone\n\u00a7\ntwo", ["one", "two"]),
        (f"one\n \u00a7\nrest{SIGN}two", ["one\n \u00a7\nrest", "two"]),
    ],
)
def test_an_entry_ends_at_a_line_with_the_sign_alone(
    tmp_path: Path, text: str, read: list[str]
) -> None:
    folder = tmp_path / ".hermes/memories"
    path = write(folder / "MEMORY.md", text)
    assert contents(folder) == contents(path) == read


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_budget_is_said_in_characters_as_the_program_counts_them(
    tmp_path: Path, end: str
) -> None:
    folder = tmp_path / ".hermes/memories"
    write(folder / "MEMORY.md", f"{'ü' * 1000}{end}\u00a7{end}{'x' * 581}{end}")
    write(folder / "USER.md", "y" * 1375)
    with open_store(folder) as store:
        [*store.scan()]
        said = " ".join(store.remarks())
    assert "MEMORY.md takes 72 % of 2,200 characters." in said
    assert "USER.md takes 100 % of 1,375 characters." in said


def test_a_copy_in_the_other_file_of_hermes_is_hidden_too(tmp_path: Path) -> None:
    folder = tmp_path / ".hermes/memories"
    memory = write(folder / "MEMORY.md", f"{OTHER}{SIGN}{RULE}")
    user = write(folder / "USER.md", f"Lives in Turku.{SIGN}{RULE.lower()}")
    with open_store(folder) as store:
        run = apply(store, plan(find(store, settings=resolve(Choices(encoder="none")))))
    assert sorted(map(str.lower, entries(memory) + entries(user))) == sorted(
        each.lower() for each in (OTHER, RULE, "Lives in Turku.")
    )
    with open_store(folder) as store:
        undo(store, run.id)
    assert entries(user) == ["Lives in Turku.", RULE.lower()]


def test_the_first_memory_of_an_empty_file_of_hermes_is_no_bullet(tmp_path: Path) -> None:
    path = write(tmp_path / ".hermes/memories/MEMORY.md", "")
    with open_store(path) as store, store.writing():
        store.put([Memory(id="a", content=RULE), Memory(id="b", content="Two\nlines.")])
    assert entries(path) == [RULE, "Two\nlines."]


def test_a_folder_elsewhere_is_known_by_its_signs(tmp_path: Path) -> None:
    write(tmp_path / "m/MEMORY.md", f"{RULE}{SIGN}- {OTHER}")
    with open_store(tmp_path / "m") as store:
        assert [memory.content for memory in store.scan()] == [RULE, f"- {OTHER}"]
        assert store.remarks()[0].startswith("Read as hermes:")
    write(tmp_path / "m/notes.md", f"- {OTHER}\n")
    assert OTHER in contents(tmp_path / "m")


def lines_run(path: Path) -> int:
    """Counts the lines of one module that hiding half of a file and an undo run."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename == virtual.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    text = path.read_bytes()
    try:
        with open_store(path) as store:
            ids = [memory.id for memory in store.scan()]
            half = len(ids) // 2
            pairs = [*zip(ids[:half], ids[half:], strict=True)]
            undo(store, apply(store, plan_by_hand(store, pairs, "mark")).id)
    finally:
        sys.settrace(before)
    assert path.read_bytes() == text
    return count


@pytest.mark.parametrize("copies", [2, 400])
def test_the_work_for_entries_grows_with_their_number_alone(tmp_path: Path, copies: int) -> None:
    small, large = (
        lines_run(
            write(
                tmp_path / str(number) / "MEMORY.md",
                SIGN.join(f"Fact number {n // copies}." for n in range(number)),
            )
        )
        for number in (100, 400)
    )
    assert large < 5 * small


# ------------------------------------------------------------------ OpenClaw


DIARY = """# Dream Diary

<!-- openclaw:dreaming:diary:start -->
---

*April 19, 2026 at 3:00 AM MDT*

{one}

---

*April 20, 2026, 3:01 AM*

{two}

---

*2026-04-21T08:00:00Z \u2014 Third dream*

{three}

<!-- openclaw:dreaming:diary:end -->
"""


def test_the_date_of_a_dream_is_no_memory_and_separates_nothing(tmp_path: Path) -> None:
    text = DIARY.format(one=RULE, two=f"{RULE}\n\nRain on the roof.", three=OTHER)
    path = write(tmp_path / "DREAMS.md", text)
    assert contents(path) == [RULE, RULE, "Rain on the roof.", OTHER]
    with open_store(f"markdown:///{path}?scope=heading") as store:
        assert {memory.namespace for memory in store.scan()} == {"Dream Diary"}
        run = apply(store, plan(find(store, settings=resolve(Choices(encoder="none")))))
    left = path.read_text()
    assert left.count(RULE) == 1
    assert len(re.findall(r"^\*.*\*$", left, re.MULTILINE)) == 3
    with open_store(f"markdown:///{path}?scope=heading") as store:
        undo(store, run.id)
    assert path.read_text() == text


def test_the_reports_of_dreaming_are_not_read(tmp_path: Path) -> None:
    write(tmp_path / "memory/2026-04-12.md", f"- {OTHER}\n")
    write(tmp_path / "memory/dreaming/deep/2026-04-13.md", f"- {RULE}\n")
    write(tmp_path / "memory/.dreams/a.md", f"- {RULE}\n")
    assert contents(tmp_path) == [OTHER]


def test_a_line_in_italics_with_a_day_is_text_in_other_notes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", f"*April 19, 2026*\n\n{RULE}\n")
    assert contents(path) == ["*April 19, 2026*", RULE]


# ------------------------------------------------------------------ folders


def test_what_an_agent_of_letta_always_loads_is_one_scope(tmp_path: Path) -> None:
    memory = tmp_path / ".letta/agents/agent-1/memory"
    for name in ("system/general.md", "system/style.md", "reference/notes.md"):
        write(memory / name, f"---\ndescription: x\n---\n- {RULE}\n")
    write(memory / "skills/sign/SKILL.md", f"- {RULE}\n")
    with open_store(memory) as store:
        apply(store, plan(find(store, settings=resolve(Choices(encoder="none")))))
        scopes = [memory.namespace for memory in store.scan()]
    assert scopes == ["reference/notes.md", "system/general.md", "system/general.md"]
    assert RULE in (memory / "reference/notes.md").read_text()
    system = [path.read_text() for path in sorted((memory / "system").glob("*.md"))]
    assert sum(RULE in text for text in system) == 1
    assert all(text.startswith("---\ndescription: x\n---\n") for text in system)


def test_a_proposal_in_the_inbox_of_gemini_is_no_memory(tmp_path: Path) -> None:
    memory = tmp_path / ".gemini/tmp/app/memory"
    write(memory / "MEMORY.md", f"- {RULE}\n- More of it: [notes](notes.md)\n")
    write(memory / "notes.md", f"- {OTHER}\n")
    write(memory / ".inbox/private/extraction.patch", f"+- {OTHER}\n")
    write(memory / "skills/sign/SKILL.md", f"- {OTHER}\n")
    assert contents(memory) == [RULE, "More of it: [notes](notes.md)", OTHER]


def test_a_new_rule_goes_into_a_file_with_a_suffix(tmp_path: Path) -> None:
    write(tmp_path / ".cursorrules", f"- {OTHER}\n")
    path = write(tmp_path / "CLAUDE.md", f"- {OTHER}\n")
    with open_store(f"markdown:///{tmp_path}?scope=folder") as store, store.writing():
        store.put([store.shaped(Memory(id="n", content=RULE))])
    assert RULE in path.read_text()
    with open_store(tmp_path) as store, store.writing(), pytest.raises(StoreError):
        store.put([Memory(id="m", content=RULE, namespace=".nowhere")])


@pytest.mark.parametrize("folder", [".serena/memories", ".kiro/steering", ".hermes/memories"])
def test_a_run_on_a_folder_that_was_read_as_notes_is_undone_to_the_byte(
    tmp_path: Path, folder: str
) -> None:
    text = f"- {RULE}\n- {OTHER}\n- {RULE.lower()}\n"
    if "hermes" in folder:
        text = SIGN.join([RULE, OTHER, RULE.lower()])
    path = write(tmp_path / folder / "MEMORY.md", text)
    with open_store(f"markdown:///{path.parent}?preset=notes") as store:
        run = apply(store, plan(find(store, settings=resolve(Choices(encoder="none")))))
    assert path.read_text() != text
    with open_store(path.parent) as store:
        assert check(store).sound
        assert undo(store, run.id).exact
    assert path.read_text() == text
    with open_store(path.parent) as store:
        assert check(store).sound


NOTE = """---
title: Gateway
type: note
permalink: main/notes/gateway
tags:
- net
---

# Gateway

- [fact] The gateway listens on port 8443. #net
- [fact] The gateway service listens on port 8443. #net
- [preference] Anna prefers green tea in the morning. (since 2025)
- relates_to [[Office]]
- [fact] The gateway listens on port 8443! #net"""
"""As basic-memory 0.24.1 wrote it (`tool write-note`, `tool edit-note`)."""


def test_a_bullet_that_basic_memory_indexes_leaves_its_note_and_comes_back(tmp_path: Path) -> None:
    note = tmp_path / "notes" / "Gateway.md"
    note.parent.mkdir()
    note.write_text(NOTE, "utf-8")
    with open_store(tmp_path) as store:
        by_text = {memory.content: memory for memory in store.scan()}
        pair = ("The gateway listens on port 8443.", "The gateway listens on port 8443!")
        assert by_text[pair[0]].tags == ("net",)
        run = apply(store, plan_by_hand(store, [tuple(by_text[text].id for text in pair)], "mark"))
        assert note.read_text("utf-8") == NOTE.removesuffix(NOTE.splitlines()[-1])
        undo(store, run.id)
    assert note.read_text("utf-8") == NOTE


# ------------------------------------------------------------------ what is made from the table


def test_the_page_the_action_and_the_hook_say_what_the_table_says() -> None:
    generator = run_path(str(DOCS / "generate_programs.py"))
    for path, text in generator["updated"]().items():
        assert path.read_text("utf-8") == text, "run: python docs/generate_programs.py"


def test_no_place_is_written_twice_and_all_presets_are_used() -> None:
    rows = [(place.base, place.path) for place in (*USER_PLACES, *IN_PROJECTS)]
    assert len(rows) == len(set(rows))
    told = {"claude-memory", "basic-memory", "obsidian", "notes", "codex"}
    assert {place.preset for place in (*USER_PLACES, *IN_PROJECTS)} - {""} | told == {*PRESETS}
