"""`echoless git`: what `git merge` and `git diff` make of memory files, and what setup writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from echoless_setup import FAMILIES, claim_merge
from echoless_setup.claim_merge import Labels, by_claims, by_lines
from echoless_setup.git import claim_lines
from hypothesis import given
from hypothesis import strategies as st

from echoless.cli import render
from echoless.cli.main import main
from echoless.core.claims import split_claims
from echoless.core.errors import StoreNotFound, UsageError
from echoless.matching.rule_judge import RuleJudge

Call = Callable[..., Result]
LABELS = Labels("main", "topic")
MEMORY = "# Memory\n\n- Sam likes tea.\n- Deploys run on Fridays.\n"
PLUGIN = Path(claim_merge.__file__).parents[1]


@pytest.fixture(autouse=True)
def plugged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is there as where the plug-in is installed."""
    monkeypatch.setitem(main.__dict__, "all_families", {**main.all_families, **FAMILIES})


@pytest.fixture
def git(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A repository in the current folder, whose Git finds the program with its plug-in."""
    plug = tmp_path / "plug" / "echoless_setup-0.dist-info"
    plug.mkdir(parents=True)
    (plug / "METADATA").write_text("Metadata-Version: 2.1\nName: echoless-setup\nVersion: 0\n")
    (plug / "entry_points.txt").write_text("[echoless.commands]\nsetup = echoless_setup:FAMILIES\n")
    program = tmp_path / "bin" / "echoless"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m echoless "$@"\n')
    program.chmod(0o755)
    source = Path(main.callback.__code__.co_filename).parents[2]  # type: ignore[union-attr]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (source, PLUGIN, plug.parent))))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ana")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ana@example.org")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    run("init", "-q", "-b", "main")
    return run


@pytest.fixture
def branches(git: Callable[..., str], echoless: Call) -> Callable[[str, str, str], None]:
    """Commits a memory and two branches of it, with the driver set up."""

    def commit(text: str, message: str) -> None:
        Path("MEMORY.md").write_bytes(text.encode())
        git("add", "-A")
        git("commit", "-q", "-m", message)

    def make(base: str, ours: str, theirs: str) -> None:
        Path("MEMORY.md").write_bytes(base.encode())
        assert echoless("git", "setup", "--yes").exit_code == 0
        commit(base, "base")
        git("checkout", "-q", "-b", "topic")
        commit(theirs, "theirs")
        git("checkout", "-q", "main")
        commit(ours, "ours")

    return make


def merged(base: str, ours: str, theirs: str, *, records: bool = False) -> tuple[str, int]:
    made = by_claims(*(text.encode() for text in (base, ours, theirs)), LABELS, records=records)
    return made.data.decode(), made.conflicts


# ------------------------------------------------------------------ git merge


def test_a_fact_that_two_branches_add_in_two_wordings_is_there_once(
    git: Callable[..., str], branches: Callable[[str, str, str], None]
) -> None:
    branches(MEMORY, f"{MEMORY}- The demo is at 2 pm.\n", f"{MEMORY}- The demo starts at 14:00.\n")
    said = git("merge", "topic")
    assert Path("MEMORY.md").read_text() == f"{MEMORY}- The demo is at 2 pm.\n"
    assert 'MEMORY.md: "The demo starts at 14:00." is not written again' in said
    assert git("status", "--short") == ""


def test_two_values_of_one_thing_are_a_conflict_that_names_both_sides(
    git: Callable[..., str], branches: Callable[[str, str, str], None]
) -> None:
    port = "- The staging database listens on port {}.\n"
    ours = f"{MEMORY}{port.format(5432)}- Anna owns the release notes.\n"
    branches(MEMORY, ours, MEMORY + port.format(5433))
    assert "CONFLICT (content): Merge conflict in MEMORY.md" in git("merge", "topic", code=1)
    first, *rest = Path("MEMORY.md").read_text().split("<<<<<<< ")
    assert first == MEMORY
    name, _, conflict = rest[0].partition("\n")
    assert name in {"ours", "HEAD"}
    body, _, end = conflict.partition("\n>>>>>>> ")
    assert body == f"{port.format(5432)}=======\n{port.format(5433)}".strip()
    assert end.partition("\n")[0] in {"theirs", "topic"}
    assert end.endswith("\n- Anna owns the release notes.\n")
    assert git("status", "--short") == "UU MEMORY.md\n"


def test_where_git_has_a_conflict_facts_that_both_branches_add_at_one_place_are_both_there(
    git: Callable[..., str], branches: Callable[[str, str, str], None]
) -> None:
    ours = f"{MEMORY}- The logs are kept for a month.\n"
    theirs = f"{MEMORY}- Run migrations with pnpm.\n"
    assert by_lines(MEMORY.encode(), ours.encode(), theirs.encode(), LABELS).conflicts == 1
    branches(MEMORY, ours, theirs)
    git("merge", "topic")
    assert Path("MEMORY.md").read_text() == f"{ours}- Run migrations with pnpm.\n"


def test_where_the_program_is_gone_git_merges_as_it_does_without_it(
    git: Callable[..., str], branches: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    branches(MEMORY, f"{MEMORY}- The logs are kept.\n", f"{MEMORY}- Run the migrations.\n")
    (tmp_path / "bin" / "echoless").write_text("#!/bin/sh\nexit 127\n")
    git("merge", "topic", code=1)
    assert Path("MEMORY.md").read_text() == (
        f"{MEMORY}<<<<<<< ours\n- The logs are kept.\n=======\n- Run the migrations.\n"
        ">>>>>>> theirs\n"
    )


def test_a_difference_shows_claims_with_their_headings(
    git: Callable[..., str], branches: Callable[[str, str, str], None]
) -> None:
    text = "# Cart\n\nThe cart lives in\nRedis. It expires after\n14 days.\n"
    branches(text, text.replace("14", "15"), text.replace("14", "16"))
    said = git("diff", "HEAD~1", "HEAD", "--", "MEMORY.md")
    assert "-Cart: It expires after 14 days.\n+Cart: It expires after 15 days.\n" in said
    assert " Cart: The cart lives in Redis.\n" in said


# ------------------------------------------------------------------ the merge by claims


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        pytest.param(
            MEMORY.replace("Fridays", "Mondays"),
            MEMORY.replace("likes tea", "likes green tea"),
            MEMORY.replace("Fridays", "Mondays").replace("likes tea", "likes green tea"),
            id="each side changes a claim, side by side",
        ),
        pytest.param(
            MEMORY.replace("- Sam likes tea.\n", ""),
            f"{MEMORY}- The logs are kept.\n",
            "# Memory\n\n- Deploys run on Fridays.\n- The logs are kept.\n",
            id="removed by one and unchanged by the other is removed",
        ),
        pytest.param(
            MEMORY.replace("Fridays.", "Fridays at noon."),
            MEMORY.replace("Deploys run on Fridays.", "Deploys run on Fridays at noon."),
            MEMORY.replace("Fridays.", "Fridays at noon."),
            id="the same change on both sides",
        ),
        pytest.param(
            f"{MEMORY}- Money is stored as integer cents.\n",
            f"{MEMORY}- Amounts of money are stored in integer cents, never floats.\n",
            f"{MEMORY}- Amounts of money are stored in integer cents, never floats.\n",
            id="of two that say the same the fuller one stays",
        ),
        pytest.param(
            f"{MEMORY}\n## Tests\n\n- Use a real Postgres.\n\n## API\n\n- Validate with zod.\n",
            f"{MEMORY}- Money is in cents.\n\n## Tests\n- Mock the calls to Stripe.\n",
            f"{MEMORY}- Money is in cents.\n\n## Tests\n\n- Use a real Postgres.\n"
            "- Mock the calls to Stripe.\n\n## API\n\n- Validate with zod.\n",
            id="additions stand under their headings, a heading of both once",
        ),
    ],
)
def test_a_merge_by_claims_without_a_conflict(ours: str, theirs: str, expected: str) -> None:
    assert merged(MEMORY, ours, theirs) == (expected, 0)


@pytest.mark.parametrize("ours", ["- Deploys run on Mondays.\n", ""])
@pytest.mark.parametrize("crlf", [False, True])
def test_changed_by_one_and_changed_otherwise_or_removed_by_the_other_is_a_conflict(
    ours: str, crlf: bool
) -> None:
    own = "- Deploys run on Fridays.\n"
    texts = (MEMORY, MEMORY.replace(own, ours), MEMORY.replace("Fridays", "Tuesdays"))
    expected = MEMORY.replace(
        own, f"<<<<<<< main\n{ours}=======\n- Deploys run on Tuesdays.\n>>>>>>> topic\n"
    )
    if crlf:
        texts = tuple(each.replace("\n", "\r\n") for each in texts)  # type: ignore[assignment]
        expected = expected.replace("\n", "\r\n")
    assert merged(*texts) == (expected, 1)


def test_a_conflict_takes_the_whole_of_two_new_paragraphs() -> None:
    ours = "- Use tabs for indentation. Ana asked for it in May.\n"
    theirs = "- Use two spaces for indentation. The linter checks all of it.\n"
    conflict = f"<<<<<<< main\n{ours}=======\n{theirs}>>>>>>> topic\n"
    assert merged(MEMORY, MEMORY + ours, MEMORY + theirs) == (MEMORY + conflict, 1)


def test_where_each_side_removed_another_copy_one_stays() -> None:
    tea, rest = "- Sam likes tea.\n", "- Deploys run on Fridays.\n- The logs are kept.\n"
    base, ours, theirs = tea + rest + tea, rest + tea, tea + rest
    plain = by_lines(base.encode(), ours.encode(), theirs.encode(), LABELS)
    assert (plain.data.decode(), plain.conflicts) == (rest, 0)
    assert merged(base, ours, theirs) == (theirs, 0)


def test_line_ends_of_windows_stay_and_a_fact_in_two_wordings_is_there_once() -> None:
    base, ours, theirs = (
        (MEMORY + more).replace("\n", "\r\n")
        for more in ("", "- The demo is at 2 pm.\n", "- The demo starts at 14:00.\n")
    )
    assert merged(base, ours, theirs) == (ours, 0)


def test_where_line_ends_of_both_kinds_stand_no_line_that_was_there_changes() -> None:
    base = MEMORY.replace("tea.\n", "tea.\r\n")
    made, conflicts = merged(
        base, f"{base}- The logs are kept.\n", f"{base}- Run the migrations.\n"
    )
    assert (made, conflicts) == (f"{base}- The logs are kept.\n- Run the migrations.\n", 0)


def test_of_a_long_stretch_that_one_rewrote_and_the_other_removed_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claim_merge, "open_learned", lambda *_, **__: RuleJudge())
    base, ours, theirs = (
        "".join(f"- Order {n:03} is {word} by the depot.\n" for n in range(250))
        for word in ("packed", "sent", "kept")
    )
    made, _ = merged(base, ours, theirs[:60])
    assert all(line in made for line in (ours + theirs[:30]).splitlines())


def test_the_same_fact_added_in_two_places_is_folded_where_the_merge_by_lines_is_clean() -> None:
    ours = MEMORY.replace("\n\n", "\n\n- Always run `pnpm test` before committing.\n")
    theirs = f"{MEMORY}- Before you commit, run `pnpm test`.\n"
    assert by_lines(MEMORY.encode(), ours.encode(), theirs.encode(), LABELS).conflicts == 0
    assert merged(MEMORY, ours, theirs) == (ours, 0)


def test_the_same_words_under_two_headings_are_two_facts() -> None:
    base = "## Staging\n\n- The host is a.\n\n## Production\n\n- The host is b.\n"
    ours = base.replace("is a.\n", "is a.\n- The port is 5432.\n")
    theirs = f"{base}- The port is 5432.\n"
    text, conflicts = merged(base, ours, theirs)
    assert (text.count("5432"), conflicts) == (2, 0)


def test_sentences_that_both_sides_add_to_a_paragraph_stay_in_it() -> None:
    base = "The cart lives in Redis. It is written by the store only.\n"
    ours = base.replace("only.\n", "only. It expires after 14 days.\n")
    theirs = base.replace("only.\n", "only. Prices are integer cents.\n")
    whole = ours.replace("days.\n", "days. Prices are integer cents.\n")
    assert merged(base, ours, theirs) == (whole, 0)


def test_of_front_matter_that_both_changed_only_the_lines_that_differ_are_marked() -> None:
    text = "---\nname: cart\ntype: {}\n---\n\nThe cart lives in Redis.\n"
    made, conflicts = merged(text.format("note"), text.format("fact"), text.format("rule"))
    assert conflicts == 1
    assert made == text.format("X").replace(
        "type: X\n", "<<<<<<< main\ntype: fact\n=======\ntype: rule\n>>>>>>> topic\n"
    )


def test_two_new_files_with_a_front_matter_each_do_not_become_a_file_with_two() -> None:
    made, conflicts = merged("", "---\nname: a\n---\n\nTea.\n", "---\nname: b\n---\n\nCoffee.\n")
    assert conflicts == 1
    assert made.count("---\n") == 2


def test_records_of_json_are_merged_by_their_texts_and_ids() -> None:
    def lines(*records: dict[str, str]) -> str:
        return "".join(f"{json.dumps(each)}\n" for each in records)

    tea = {"id": "1", "content": "Sam likes tea."}
    demo = {"id": "2", "content": "The demo is at 2 pm."}
    again = {"id": "3", "content": "The demo starts at 14:00."}
    dog = {"id": "4", "content": "Bob has a dog."}
    made = merged(lines(tea), lines(tea, demo), lines(tea, again, dog), records=True)
    assert made == (lines(tea, demo, dog), 0)
    tagged = {**again, "tags": "work"}
    made = merged(lines(tea), lines(tea, demo), lines(tea, tagged), records=True)
    assert made == (lines(tea, demo, tagged), 0)
    other = {"id": "2", "content": "Bob has a dog."}
    assert merged(lines(tea), lines(tea, demo), lines(tea, other), records=True)[1] == 1


@pytest.mark.parametrize(
    "broken",
    [b"caf\xe9\n", b"x" * (claim_merge.MOST_BYTES + 1), b"a\0b\n"],
    ids=["not UTF-8", "large", "binary"],
)
def test_what_is_no_text_or_too_large_is_merged_as_git_does(broken: bytes) -> None:
    ours, theirs = broken + b"ours\n", broken + b"theirs\n"
    made, plain = by_claims(broken, ours, theirs, LABELS), by_lines(broken, ours, theirs, LABELS)
    assert (made.data, made.conflicts) == (plain.data, plain.conflicts)
    assert made.notes[-1] == "Too large, or no text in UTF-8: merged by lines."


_WORDS = st.sampled_from(["Anna", "Bob", "port 5432", "port 5433", "tea", "Redis", "not Redis"])
_CLAIM = st.tuples(_WORDS, st.sampled_from(["uses", "never uses", "likes"]), _WORDS).map(" ".join)
_LINE = st.one_of(
    _CLAIM.map(lambda said: f"- {said}.\n"),
    _CLAIM.map(lambda said: f"  - {said} here.\n"),
    st.tuples(_CLAIM, _CLAIM).map(lambda two: f"\n{two[0]} every day. {two[1]} at night.\n\n"),
    _WORDS.map(lambda said: f"\n## {said}\n\n"),
    _CLAIM.map(lambda said: f"| {said} | yes |\n"),
    _CLAIM.map(lambda said: f"```\n{said}\n```\n"),
)
_EDITS = st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), _LINE)), max_size=4)


def edited(lines: list[str], edits: list[tuple[int, str | None]]) -> str:
    lines = [*lines]
    for at, line in edits:
        if line is not None:
            lines.insert(at, line)
        elif lines:
            lines.pop(at % len(lines))
    return "".join(lines)


def claims(text: str) -> Counter[str]:
    return Counter(" ".join(each.of(text).split()) for each in split_claims(text)) - Counter([""])


@given(lines=st.lists(_LINE, max_size=8), one=_EDITS, two=_EDITS)
def test_no_claim_of_a_side_is_lost_unless_the_other_removed_it_or_says_it(
    lines: list[str], one: list[tuple[int, str | None]], two: list[tuple[int, str | None]]
) -> None:
    base, ours, theirs = "".join(lines), edited(lines, one), edited(lines, two)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim_merge, "open_learned", lambda *_, **__: RuleJudge())
        made = by_claims(*(text.encode() for text in (base, ours, theirs)), LABELS)
    text = " ".join(made.data.decode().split())
    said_by = {" ".join(said.split()): " ".join(by.split()) for said, by in made.folded}
    for side, other in ((ours, theirs), (theirs, ours)):
        removed = claims(base) - claims(other)
        for claim in claims(side) - removed:
            assert claim in text or said_by[claim] in text
    if not made.conflicts:
        assert {*claims(ours)} & {*claims(theirs)} <= {*claims(made.data.decode())}


@given(lines=st.lists(_LINE, max_size=8), edits=_EDITS)
def test_where_one_side_changed_nothing_the_result_is_the_other_side(
    lines: list[str], edits: list[tuple[int, str | None]]
) -> None:
    base, side = "".join(lines), edited(lines, edits)
    for three in ((base, side, base), (base, base, side)):
        start = claim_merge._State(three[0], records=False)
        sides = [claim_merge._State(text, start, records=False) for text in three[1:]]
        merge = claim_merge._ClaimMerge(start, sides, LABELS)
        assert merge.written() == (side, 0)


# ------------------------------------------------------------------ the commands


def test_the_driver_writes_ours_and_keeps_the_merge_of_git_when_it_fails(
    echoless: Call, monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    for name, text in (("o", MEMORY), ("a", f"{MEMORY}- One.\n"), ("b", f"{MEMORY}- Two.\n")):
        Path(name).write_text(text)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(claim_merge, "by_claims", fail)
    said = echoless("git", "merge", "o", "a", "b", "9", "CLAUDE.md", "HEAD", "%Y")
    assert said.exit_code == 1
    assert "CLAUDE.md: out of order" in said.stderr
    marks = f"{'<' * 9} HEAD\n- One.\n{'=' * 9}\n- Two.\n{'>' * 9} theirs\n"
    assert Path("a").read_text() == MEMORY + marks


def test_a_file_that_is_called_like_an_option_is_merged(
    git: Callable[..., str], echoless: Call
) -> None:
    echoless("git", "setup", "--yes", "--pattern", "*help")
    port = "- The port is {}.\n"
    for branch, text in (("base", MEMORY), ("topic", MEMORY + port.format(1)), ("main", MEMORY)):
        Path("--help").write_text(text + port.format(2) * (branch == "main"))
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", branch)
        git("checkout", "-q", *(["-b", "topic"] if branch == "base" else ["main"]))
    git("merge", "topic")
    assert all(port.format(n) in Path("--help").read_text() for n in (1, 2))


def test_a_file_of_another_form_is_merged_by_lines(echoless: Call, place: Path) -> None:
    for name, text in (("o", "{}\n"), ("a", '{"a": 1}\n'), ("b", '{"b": 1}\n')):
        Path(name).write_text(text)
    said = echoless("git", "merge", "o", "a", "b", "7", "memory.json")
    assert said.exit_code == 1
    assert "memory.json: a .json file is merged by lines." in said.stderr
    assert "<<<<<<< ours" in Path("a").read_text()


def test_the_text_of_a_memory_has_a_claim_on_each_line() -> None:
    text = (
        "---\nname: cart\n---\n\n# Cart\n\nIt lives in\nRedis. It expires after 14 days.\n\n"
        "## Rules\n\n- Never touch\n  Redis directly.\n\n| a | b |\n|---|---|\n| one | two |\n\n"
        "```\ncode\n\nmore\n```\n"
    )
    assert [*claim_lines(text)] == [
        "---",
        "name: cart",
        "---",
        "Cart: It lives in Redis.",
        "Cart: It expires after 14 days.",
        "Cart > Rules: Never touch Redis directly.",
        "Cart > Rules: | a | b |",
        "Cart > Rules: |---|---|",
        "Cart > Rules: one | two",
        "Cart > Rules: ```",
        "Cart > Rules: code",
        "Cart > Rules: more",
        "Cart > Rules: ```",
    ]


@pytest.mark.parametrize(("name", "data"), [("a.md", b"caf\xe9\n"), ("a.jsonl", b'{"id":"1"}\n')])
def test_what_has_no_claims_is_shown_as_it_is(echoless: Call, name: str, data: bytes) -> None:
    Path(name).write_bytes(data)
    assert echoless("git", "text", name).stdout_bytes == data


@pytest.mark.parametrize("before", [None, b"", b"*.png binary\n", b"*.png binary", b"a b\r\n"])
def test_setup_shows_writes_and_takes_back_to_the_byte(
    git: Callable[..., str], echoless: Call, before: bytes | None
) -> None:
    for name in ("CLAUDE.md", "README.md", "sub/.claude/memory/a.md"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(MEMORY)
    attributes, config = Path(".gitattributes"), Path(".git/config")
    if before is not None:
        attributes.write_bytes(before)
    settings = config.read_bytes()
    said = echoless("git", "setup", "sub").stdout
    assert "+CLAUDE.md merge=echoless diff=echoless" in said
    assert "+**/.claude/memory/**/*.md merge=echoless diff=echoless" in said
    assert "README" not in said
    assert "Nothing was written." in said
    assert (attributes.read_bytes() if attributes.exists() else None) == before
    assert config.read_bytes() == settings

    assert "Written." in echoless("git", "setup", "--yes").stdout
    asked = git("check-attr", "merge", "diff", "--", "x/CLAUDE.md", "sub/.claude/memory/a.md")
    assert asked.count("echoless") == 4
    driver = git("config", "merge.echoless.driver")
    assert driver.startswith("echoless git merge -- %O %A %B %L %P %X %Y || ")
    assert git("config", "diff.echoless.textconv") == "echoless git text --\n"
    written = attributes.read_bytes()
    assert "Nothing to write." in echoless("git", "setup", "--yes").stdout
    again = json.loads(
        echoless("git", "setup", "--yes", "--pattern", "my notes.md", "--json").stdout
    )
    assert (again["written"], again["settings"]) == (True, {})
    assert b'"my notes.md" merge=echoless' in attributes.read_bytes() != written

    assert "Written." in echoless("git", "setup", "--undo").stdout
    assert (attributes.read_bytes() if attributes.exists() else None) == before
    assert config.read_bytes() == settings
    assert "Nothing to write." in echoless("git", "setup", "--undo").stdout


def test_what_was_added_since_stays_when_setup_is_taken_back(
    git: Callable[..., str], echoless: Call
) -> None:
    attributes = Path(".gitattributes")
    attributes.write_bytes(b"*.png binary")
    echoless("git", "setup", "--yes", "--pattern", "*.md")
    attributes.write_bytes(attributes.read_bytes() + b"*.jpg binary\n")
    echoless("git", "setup", "--undo")
    assert attributes.read_bytes() == b"*.png binary\n*.jpg binary\n"


@pytest.mark.parametrize(("answer", "written"), [(True, True), (False, False)])
def test_a_person_is_asked_before_anything_is_written(
    git: Callable[..., str],
    echoless: Call,
    monkeypatch: pytest.MonkeyPatch,
    answer: bool,
    written: bool,
) -> None:
    monkeypatch.setattr(render, "is_interactive", lambda: True)
    monkeypatch.setattr(render, "agreed", lambda question: answer)
    echoless("git", "setup", "--pattern", "*.md")
    assert Path(".gitattributes").exists() is written


def test_without_a_repository_a_memory_or_a_right_pattern_setup_says_so(
    place: Path, echoless: Call, request: pytest.FixtureRequest
) -> None:
    assert echoless("git", "setup").exit_code == UsageError.exit_code
    request.getfixturevalue("git")
    said = echoless("git", "setup")
    assert said.exit_code == StoreNotFound.exit_code
    assert "Name some by --pattern." in said.stderr
    for pattern in ("!x", "# x", 'a"b', " ", "a\nb"):
        assert echoless("git", "setup", "--pattern", pattern).exit_code == UsageError.exit_code
