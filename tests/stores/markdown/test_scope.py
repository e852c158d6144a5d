"""What is one scope in Markdown, and what the headings above a line change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import ascii_letters

import pytest

from echoless import apply, between_namespaces, check, find, open_store, plan, undo
from echoless.core.model import (
    FILE,
    IN_OTHER_WORDS,
    UNDER,
    Contradiction,
    Difference,
    DifferenceKind,
    Duplicate,
    Evidence,
    Memory,
    Related,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    line_of,
    merges,
    verdict_name,
)
from echoless.core.profiles import ActionKind
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, resolve
from echoless.matching.guards import in_place
from echoless.stores.reading import visible_memories
from echoless.workflows.audit.staleness import signs_of

BY_RULES = resolve(Choices(encoder="none"))
RULE = "Run `make test` before every commit, and fix what fails."
PORT = "The database listens on port 5432 of the first host."


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def sections(line: str, *headings: str) -> str:
    return "# Orchard\n" + "".join(f"\n## {heading}\n\n- {line}\n" for heading in headings)


def hidden(url: Path | str) -> dict[str, str]:
    """What a plan would hide: file of what goes, by file of what stays."""
    with open_store(url) as store:
        groups = find(store, settings=BY_RULES).groups
    return {
        member.id.partition("#")[0]: group.survivor.partition("#")[0]
        for group in groups
        for member in group.members
    }


def verdicts(url: Path | str) -> list[str]:
    with open_store(url) as store:
        return [verdict_name(each.verdict) for each in find(store, settings=BY_RULES).judged]


# ------------------------------------------------------------------ headings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Style", "Testing"),
        ("General", "2. Best practices"),
        ("Commit rules", "🚀 Getting started"),
        ("Release", "Commands and tests"),
        ("Allgemein", "Regeln"),
    ],
)
@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md"])
def test_a_statement_under_two_neutral_headings_is_hidden_once(
    tmp_path: Path, name: str, one: str, other: str
) -> None:
    folder = write(tmp_path / "p", {name: sections(RULE, one, other)})
    assert hidden(folder) == {name: name}
    assert hidden(folder / name) == {name: name}
    assert hidden(f"markdown:///{folder}?scope=heading") == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Staging", "Production"),
        ("Do", "Don't"),
        ("Frontend", "Backend"),
        ("Phase 1: Setup", "Phase 2: Setup"),
        ("Version 1", "Version 2"),
        ("Windows", "macOS"),
        ("Payments", "General"),
        ("Deprecated", "General"),
        ("Terraform standards", "Pulumi standards"),
    ],
)
@pytest.mark.parametrize(
    "line", [RULE, PORT, "Port 5432", "[ ] Rename the table of the orders now"]
)
def test_a_heading_that_limits_keeps_two_lines_apart(
    tmp_path: Path, line: str, one: str, other: str
) -> None:
    path = write(tmp_path, {"CLAUDE.md": sections(line, one, other)}) / "CLAUDE.md"
    assert hidden(path) == {}
    assert hidden(f"markdown:///{path}?scope=file") == {}


@pytest.mark.parametrize(
    "line",
    [
        "Jest",
        "**Impact: MEDIUM**",
        "Linting: ESLint",
        "no approval record check",
        "This tool calls a model and may take up to a minute.",
        "It listens on the second port of the host.",
        "[x] Write the integration tests of the payment service",
    ],
)
def test_what_a_heading_completes_stays_under_each(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, {"CLAUDE.md": sections(line, "Style", "Testing")}) / "CLAUDE.md"
    assert hidden(path) == {}
    twice = write(tmp_path / "b", {"CLAUDE.md": f"## Style\n\n- {line}\n- {line}\n"})
    assert len(hidden(twice / "CLAUDE.md")) == 1


def test_a_step_of_a_numbered_list_stays_in_each(tmp_path: Path) -> None:
    text = f"## Style\n\n1. {RULE}\n2. Push.\n\n## Testing\n\n1. Pull.\n2. {RULE}\n"
    assert hidden(write(tmp_path, {"CLAUDE.md": text}) / "CLAUDE.md") == {}


@pytest.mark.parametrize("lead", ["In {}:", "**{}**"])
def test_the_line_that_introduces_a_list_limits_it(tmp_path: Path, lead: str) -> None:
    lists = (f"{lead.format(where)}\n\n- {PORT}\n\n" for where in ("staging", "production"))
    assert hidden(write(tmp_path, {"CLAUDE.md": "".join(lists)}) / "CLAUDE.md") == {}


def test_a_line_in_bold_is_not_hidden_behind_what_stands_under_it(tmp_path: Path) -> None:
    text = f"## Style\n\n**{RULE}**\n\n{RULE}\n"
    assert hidden(write(tmp_path, {"CLAUDE.md": text}) / "CLAUDE.md") == {}


def test_a_heading_whose_words_the_line_says_itself_limits_nothing(tmp_path: Path) -> None:
    line = "Redis keys of the cache expire after one day."
    path = write(tmp_path, {"CLAUDE.md": sections(line, "Redis cache", "Rules")}) / "CLAUDE.md"
    assert hidden(path) == {"CLAUDE.md": "CLAUDE.md"}


def test_under_other_headings_the_model_needs_words_that_both_share() -> None:
    said = Subsumes(Evidence(IN_OTHER_WORDS, "semantic", 0.8, chance=0.9), "b")
    short, far = "Kafka carries all events of the shop", "Brokers listen behind infra/net/edge.yaml"
    near = "Never push directly to main; open a pull request."

    def under(text: str, heading: str) -> Memory:
        return Memory(id=text, content=text, native={UNDER: ["CLAUDE.md", heading]})

    one, other = under(short, "Style"), under(far, "Testing")
    assert isinstance(in_place(one, other, said), Unsure)
    assert in_place(one, under(far, "Style"), said) == said
    pushing = under("IMPORTANT: never push to main directly.", "Style")
    assert in_place(pushing, under(near, "Testing"), said) == said


def test_two_values_under_headings_that_limit_are_no_conflict(tmp_path: Path) -> None:
    other = PORT.replace("5432", "6432")
    text = f"## Staging\n\n- {PORT}\n\n## Production\n\n- {other}\n"
    assert verdicts(write(tmp_path / "a", {"CLAUDE.md": text}) / "CLAUDE.md") == ["sibling"]
    text = text.replace("Staging", "General").replace("Production", "Notes")
    assert verdicts(write(tmp_path / "b", {"CLAUDE.md": text}) / "CLAUDE.md") == ["contradiction"]


def test_a_statement_in_other_words_under_a_heading_that_limits_is_for_a_person() -> None:
    def under(text: str, *headings: str) -> Memory:
        return Memory(id=text, content=text, native={UNDER: ["MEMORY.md", *headings]})

    said = Duplicate(Evidence(IN_OTHER_WORDS, "semantic", 0.8, chance=0.9))
    one = under("Consolidated 8 heartbeats into a single one.", "Decisions of March")
    other = under("8 agent heartbeats were consolidated into one.", "Archive", "Mission control")
    told = in_place(one, other, said)
    assert isinstance(told, Unsure)
    assert told.evidence.difference is DifferenceKind.SCOPE
    assert isinstance(in_place(one, under(one.content, "Archive"), said), Sibling)


@pytest.mark.parametrize(
    ("older", "newer"),
    [("09:12", "18:30"), ("2026-11-20", "2026-11-21"), ("Session 09:12", "Session 2026-11-21")],
)
def test_the_time_above_a_statement_keeps_copies_apart_and_no_conflict(
    older: str, newer: str
) -> None:
    def under(text: str, heading: str) -> Memory:
        return Memory(id=text, content=text, native={UNDER: ["log.md", heading]})

    one = under("The nightly export runs at 02:30 UTC.", older)
    other = under("The nightly export runs at 03:00 UTC.", newer)
    evidence = Evidence("number-differs", "semantic", 0.9)
    assert isinstance(in_place(one, other, Contradiction(evidence)), Contradiction)
    assert not merges(in_place(one, other, Duplicate(evidence)))


def daily(text: str, day: str = "2026-04-26", heading: str = "") -> Memory:
    """Returns a line of a note whose name is a day."""
    above = [heading] if heading else []
    file = f"memory/{day}.md"
    return Memory(id=text, content=text, created_at=day, native={UNDER: above, FILE: file})


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (daily("The nightly sync ran at 02:10."), daily("The late sync ran at 19:30."), "date"),
        (daily("Coverage: 86 of 126 tools."), daily("Coverage: 93 of 128 tools."), "number"),
        (daily("Let me read the log."), daily("I need to run the tests now."), "detail"),
        (daily("Block 139 is written."), daily("Block 140 is.", heading="Late"), "number"),
        (daily("It is 24 days old.", "poll-2026-04-06"), daily("26.", "poll-2026-04-08"), "number"),
        (
            daily("The market brief ran at 12:02."),
            daily("The market brief ran at 22:25 instead of 09:00.", "2026-04-25"),
            "date",
        ),
    ],
)
def test_what_notes_of_a_day_tell_of_their_time_is_not_out_of_date(
    one: Memory, other: Memory, kind: str
) -> None:
    apart = Difference(DifferenceKind(kind), ("12:02",), ("22:25",))
    said = Contradiction(Evidence(f"{kind}-differs", "semantic", 0.9, (apart,)))
    assert isinstance(in_place(one, other, said), Sibling)


def test_a_note_of_a_day_that_tells_a_change_is_told() -> None:
    times = Difference(DifferenceKind.DATE, ("14:00",), ("15:00",))
    said = Update(Evidence("date-differs", "semantic", 0.9, (times,)), "b")
    planned = daily("The design review is at 14:00.", "2026-04-25")
    moved = daily("The design review has moved to 15:00.")
    assert in_place(planned, moved, said) == said
    figure = Difference(DifferenceKind.NUMBER, ("8080",), ("8443",))
    said = Update(Evidence("number-differs", "semantic", 0.9, (figure,)), "b")
    assert (
        in_place(daily("The gateway is on port 8080."), daily("It is on 8443 now."), said) == said
    )
    later = daily("The gateway listens on port 8443.", "2026-05-02")
    assert in_place(daily("The gateway listens on port 8080."), later, said) == said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is **not** built yet:", "What is built:"),
        ("```\nmake lint\n```", "```\nmake ty\n```"),
    ],
)
@pytest.mark.parametrize("verdict", [Contradiction, Duplicate])
def test_what_leads_a_list_or_is_code_says_nothing_by_itself(
    one: str, other: str, verdict: type[Contradiction | Duplicate]
) -> None:
    said = verdict(Evidence("as-the-model-says", "semantic", 0.9))
    a, b = (
        Memory(id=each, content=each, native={UNDER: [], FILE: "a.md"}) for each in (one, other)
    )
    assert isinstance(in_place(a, b, said), Related)
    assert merges(in_place(a, a, Duplicate(said.evidence)))


def test_a_line_of_a_note_of_a_day_is_neither_finished_nor_stale(tmp_path: Path) -> None:
    said = "Status: COMPLETE\n\n- Due on 2026-04-09: see `notes/gone.md` and [it](missing.md).\n"
    for name in ("memory/2026-04-01.md", "MEMORY.md"):
        write(tmp_path, {name: said})
    with open_store(tmp_path) as store:
        signs = {each.id.partition("#")[0] for each in signs_of(visible_memories(store, Tally()))}
    assert signs == {"MEMORY.md"}


def test_clock_times_in_rows_of_two_reports_are_not_out_of_date(tmp_path: Path) -> None:
    rows = "\n".join(f"| {each} | {each * 3} | {each * 2} {each * 4} |" for each in ascii_letters)
    for day, rest in (
        ("08", "19:00 UTC | 5 scans, healthy |"),
        ("07", "15:00 UTC | a new issue |"),
    ):
        row = f"| Loop | Orchard Intel | Active | 2026-04-07 {rest}"
        text = f"| what | how | when |\n|--|--|--|\n{row}\n{rows}\n"
        write(tmp_path, {f"memory/2026-04-{day}.md": text})
    with open_store(tmp_path) as store:
        told = find(store, settings=BY_RULES).claims
    assert not [each for each in told if isinstance(each.verdict, Update | Contradiction)]


@pytest.mark.parametrize(
    ("name", "verdict"), [("poll-2026-04-08", "sibling"), ("2026-04-08", "contradiction")]
)
def test_what_two_reports_of_one_name_say_is_of_their_day(
    tmp_path: Path, name: str, verdict: str
) -> None:
    write(tmp_path, {"memory/2026-04-01.md": "- Fed.\n"})
    for each, port in (("poll-2026-04-06", "5432"), (name, "6432")):
        text = f"# Poll\n\n- {PORT.replace('5432', port)}\n"
        write(tmp_path, {f"memory/{each}.md": text})
    assert verdicts(tmp_path) == [verdict]


def test_a_line_of_a_memory_is_that_of_its_file_also_when_another_one_is_hidden(
    tmp_path: Path,
) -> None:
    text = (
        f"---\nalwaysApply: true\n---\n\n# Style\n\n- {PORT}\n- {RULE}\n\nOne line.\nTwo lines.\n"
    )
    path = write(tmp_path, {"CLAUDE.md": f"{text}\n- {PORT}\n"}) / "CLAUDE.md"

    def lines() -> dict[str, int]:
        with open_store(path) as store:
            away = store.ledger.marks()
            return {m.content: line_of(m, 0) for m in store.scan() if m.id not in away}

    for _ in range(2):
        said = path.read_text().splitlines()
        for content, line in lines().items():
            assert content.splitlines()[0] in said[line - 1]
        with open_store(path) as store:
            apply(store, plan(find(store, settings=BY_RULES)))


# ------------------------------------------------------------------ files

IMPORTING = f"# Orchard\n\n@AGENTS.md\n\n## Style\n\n- {RULE}\n"
CURSOR = f"---\nalwaysApply: true\n---\n- {RULE}\n"


def test_files_that_an_agent_always_loads_together_are_one_scope(tmp_path: Path) -> None:
    files = {"CLAUDE.md": IMPORTING, "AGENTS.md": f"# For agents\n\n## Tests\n\n- {RULE}\n"}
    assert hidden(write(tmp_path / "a", files)) == {"CLAUDE.md": "AGENTS.md"}
    files["CLAUDE.md"] = IMPORTING.replace("@AGENTS.md", "See AGENTS.md.")
    assert hidden(write(tmp_path / "b", files)) == {}
    files = {".cursor/rules/style.mdc": CURSOR, ".cursor/rules/general.mdc": CURSOR}
    assert len(hidden(write(tmp_path / "c", files))) == 1
    files = {".cursor/rules/backend.mdc": CURSOR, ".cursor/rules/frontend.mdc": CURSOR}
    assert hidden(write(tmp_path / "d", files)) == {}
    files = {
        name: text.replace("alwaysApply: true", "globs: src/*") for name, text in files.items()
    }
    assert hidden(write(tmp_path / "e", files)) == {}


def test_a_folder_of_memories_is_one_scope(tmp_path: Path) -> None:
    notes = {"MEMORY.md": f"## Rules\n\n- {RULE}\n", "memory/2026-04-12.md": f"- {RULE}\n"}
    assert hidden(write(tmp_path / "claw", notes)) == {"memory/2026-04-12.md": "MEMORY.md"}
    day = {"MEMORY.md": f"## 2026-04-11\n\n- {RULE}\n\n## April 12, 2026\n\n- {RULE}\n"}
    assert hidden(write(tmp_path / "days", {"memory/2026-04-11.md": "- x\n", **day})) == {
        "MEMORY.md": "MEMORY.md"
    }
    bank = {"progress.md": f"- {RULE}\n", "activeContext.md": f"- {RULE}\n- {RULE}\n"}
    assert hidden(write(tmp_path / "memory-bank", bank)) == {"activeContext.md": "activeContext.md"}


def test_what_other_agents_load_is_reported_and_never_hidden(tmp_path: Path) -> None:
    files = {"CLAUDE.md": f"- {RULE}\n", "AGENTS.md": f"- {RULE}\n", ".cursor/rules/a.mdc": CURSOR}
    url = write(tmp_path, files)
    assert hidden(url) == {}
    with open_store(url) as store:
        shared = between_namespaces(store, BY_RULES)
    (group,) = shared.groups
    assert {shared.places[id_].namespace for id_ in group.ids} == {*files}


# ------------------------------------------------------------------ another scope than before


@pytest.mark.parametrize("action", ["mark", "merge", "delete"])
@pytest.mark.parametrize(("first", "then"), [("heading", "file"), ("file", "heading")])
def test_a_run_of_another_scope_is_undone_to_the_byte(
    tmp_path: Path, action: ActionKind, first: str, then: str
) -> None:
    text = sections(RULE, "Style").rstrip("\n") + f"\n- {RULE}\n"
    folder = write(tmp_path / "p", {"CLAUDE.md": text})
    with open_store(f"markdown:///{folder}?scope={first}") as store:
        run = apply(store, plan(find(store, settings=BY_RULES), action=action)).id
    assert (folder / "CLAUDE.md").read_text() != text
    with open_store(f"markdown:///{folder}?scope={then}") as store:
        assert check(store).sound
        undo(store, run)
        assert check(store).sound
    assert (folder / "CLAUDE.md").read_text() == text


def test_a_pair_kept_apart_in_another_scope_stays_apart(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", {"CLAUDE.md": sections(RULE, "Style") + f"- {RULE}\n"})
    with open_store(f"markdown:///{folder}?scope=heading") as store:
        run = apply(store, plan(find(store, settings=BY_RULES))).id
        undo(store, run, keep_both=True)
    assert hidden(folder) == {}


def test_a_plan_of_another_scope_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    text = sections(RULE, "Style") + f"- {RULE}\n"
    folder = write(tmp_path / "p", {"CLAUDE.md": text})
    with open_store(f"markdown:///{folder}?scope=heading") as store:
        old = plan(find(store, settings=BY_RULES))
    with open_store(folder) as store:
        done = apply(store, old)
    assert "changed since the plan was made" in str(done.refused)
    assert (folder / "CLAUDE.md").read_text() == text


def test_a_paragraph_that_a_journal_holds_once_for_each_tag_is_one(tmp_path: Path) -> None:
    said = "The pager rota moves to weekly shifts, as context was lost between handovers."
    other = "Invoices are numbered per country from October on."
    path = tmp_path / "2026-08-27.md"
    heads = ("09:14 [decision]", "09:14 [lesson]", "11:02 [lesson]", "11:02 Staging", "Production")
    texts = (said, said, other, other, other)
    parts = (f"## {head}\n\n{text}\n" for head, text in zip(heads, texts, strict=True))
    path.write_text("# 2026-08-27\n\n" + "\n".join(parts))
    with open_store(f"markdown:///{path}?scope=file") as store:
        (group,) = find(store, encoder="none").groups
        assert {store.get([i])[i].content for i in (group.survivor, group.members[0].id)} == {said}
