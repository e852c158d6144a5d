"""Long notes are compared by claims, and what they repeat is told with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from echoless import Findings, Guard, audit, find, open_store, plan
from echoless.core.claims import MOST_CLAIMS, split_claims
from echoless.core.model import merges, verdict_name
from echoless.core.settings import Choices, Settings, resolve
from echoless.workflows.audit.report import kept_report, read_kept, report_json
from echoless.workflows.dedupe import claims
from echoless.workflows.retrieval.search import search
from tests.conformance.stores import fill, simple

SETTINGS: Settings = resolve(Choices(encoder="none", cache=False))

PARTS = (
    "The API listens on port 8080 and the worker polls the queue every 30 seconds for new jobs.",
    "Deployments go through GitHub Actions; staging is updated on every push to main.",
    "We keep PostgreSQL 15 because the extension for vectors is packaged for that version only.",
    "Logs are shipped to Loki and kept for 14 days. Alerts go to the on-call channel.",
    "Anna reviews database migrations; nobody merges one without her approval since March.",
    "Feature flags live in the table flags and are cached for 60 seconds in every web process.",
    "Invoices are rendered at night by a job that reads the orders of the day from the replica.",
    "The mobile app asks for a new token when the old one has less than five minutes left.",
)
NOTE = "\n\n".join(PARTS)
OTHER = "Uploads above ten megabytes go straight to the object store with a signed address."


def found_in(place: Path, texts: Mapping[str, str], settings: Settings = SETTINGS) -> Findings:
    place.mkdir(exist_ok=True)
    url = f"sqlite:///{place}/notes.db"
    fill(url, [simple(1, id=id_, content=text) for id_, text in texts.items()])
    with open_store(url) as store:
        return find(store, settings)


def groups(found: Findings) -> list[tuple[str, list[str]]]:
    return [(group.survivor, [m.id for m in group.members]) for group in found.groups]


def changed(old: str, new: str, note: str = NOTE) -> str:
    assert old in note
    return note.replace(old, new)


@pytest.mark.parametrize(
    ("text", "survivor"),
    [
        ("\n\n".join(reversed(PARTS)), None),
        ("\n".join(f"- {part}" for part in reversed(PARTS)), None),
        ("\n\n".join((*PARTS[5:], OTHER, *PARTS[:5])), "b"),
        ("\n\n".join(reversed(PARTS[:6])), "a"),
        (PARTS[4], "a"),
    ],
    ids=["reordered", "as bullets", "with one more", "with two less", "one claim"],
)
def test_a_note_whose_claims_are_all_in_another_stands_behind_it(
    text: str, survivor: str | None, tmp_path: Path
) -> None:
    found = found_in(tmp_path, {"a": NOTE, "b": text})
    ((kept, (member,)),) = groups(found)
    assert {kept, member} == {"a", "b"}
    assert survivor in {kept, None}
    assert found.claims == ()


@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(reversed(changed("14 days", "30 days").split("\n\n"))),
        changed("14 days", "30 days") + f"\n\n{OTHER}",
        changed("listens on", "no longer listens on"),
        changed("Anna", "Boris"),
    ],
    ids=["reordered", "with one more", "negated", "another name"],
)
def test_another_value_in_one_claim_is_reported_and_never_merged(text: str, tmp_path: Path) -> None:
    found = found_in(tmp_path, {"a": NOTE, "b": text})
    assert groups(found) == []
    assert {(each.a, each.b) for each in found.claims} == {("a", "b")}
    same = [each for each in found.claims if merges(each.verdict)]
    assert len(same) == len(split_claims(NOTE)) - 1
    assert plan(found).actions == ()


SECTIONS = "# API\n\n- The port is 8080.\n\n# Worker\n\n- The port is 8081.\n\n# All\n\n" + NOTE
STEPS = (
    "How to release:\n\n1. Stop the queue workers on all hosts.\n2. Run the migrations.\n"
    "3. Start the new version of the web tier.\n\n" + NOTE
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SECTIONS, SECTIONS.replace("8081", "x").replace("8080", "8081").replace("x", "8080")),
        (SECTIONS, SECTIONS.replace("API", "x").replace("Worker", "API").replace("x", "Worker")),
        (
            STEPS,
            STEPS.replace("Run the migrations", "x")
            .replace("Start the new version of the web tier", "Run the migrations")
            .replace("x.\n3", "Start the new version of the web tier.\n3"),
        ),
    ],
    ids=["values of two sections", "headings of two sections", "steps"],
)
def test_what_stands_above_a_claim_and_the_order_of_steps_count(
    one: str, other: str, tmp_path: Path
) -> None:
    assert one != other
    assert groups(found_in(tmp_path, {"a": one, "b": other})) == []


IDEA = "Keep the sessions of the web tier in Redis with one replica for each region."


@pytest.mark.parametrize(
    "above",
    [
        *("# Rejected ideas", "# TODO", "# Staging only", "We decided against:"),
        *("- No longer used\n  ", "# Requests", "# Expectations", "# Copilot"),
    ],
)
def test_a_claim_under_what_takes_it_back_or_limits_it_hides_nothing(
    above: str, tmp_path: Path
) -> None:
    indent = "" if above.startswith("-") else "\n\n"
    note = f"{above}{indent}- {IDEA}\n\n# Decisions\n\n{NOTE}"
    found = found_in(tmp_path, {"a": IDEA, "b": note})
    assert groups(found) == []
    ((start, end),) = (each.span_b for each in found.claims)
    assert note[start:end].strip() == f"- {IDEA}"


def test_a_claim_under_a_heading_that_changes_nothing_says_the_memory(tmp_path: Path) -> None:
    note = f"# Sessions\n\n- {IDEA}\n\n# Decisions\n\n{NOTE}"
    assert groups(found_in(tmp_path, {"a": IDEA, "b": note})) == [("b", ["a"])]


def test_each_claim_that_another_note_says_is_told_with_both_places(tmp_path: Path) -> None:
    half = "\n\n".join((*PARTS[:2], OTHER, "The office closes at six on Fridays in summer."))
    found = found_in(tmp_path, {"a": NOTE, "b": half})
    assert groups(found) == []
    told = [each for each in found.claims if each.a != each.b]
    assert {NOTE[slice(*each.span_a)].strip() for each in told} == {*PARTS[:2]}
    assert {half[slice(*each.span_b)].strip() for each in told} == {*PARTS[:2]}


RULE = "Deploys of the web tier need a second approval."


@pytest.mark.parametrize(
    "more",
    [
        "This does not hold on Fridays.",
        "Hotfixes of the team are exempt.",
        "That was only for the release of May.",
        "Nobody follows this rule any more since June.",
        "Das gilt nicht am Freitag.",
        "Cela ne vaut pas le vendredi.",
        "周五不适用这条规则。",
    ],
)
@pytest.mark.parametrize("mark", ["", "- "])
@pytest.mark.parametrize("encoder", ["none", "fast"])
def test_a_rule_does_not_go_behind_one_with_an_exception_in_the_next_sentence(
    mark: str, more: str, encoder: str, tmp_path: Path
) -> None:
    asked = resolve(Choices(encoder=encoder, cache=False))
    texts = {"a": RULE, "b": f"{mark}{RULE} {more}\n\n{NOTE}"}
    assert groups(found_in(tmp_path, texts, asked)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            f"{RULE} This does not hold on Fridays.",
            f"{RULE}\n\nRestarts are free. This does not hold on Fridays.",
        ),
        (
            "Anna is on call this week. She prefers calls in the morning.",
            "Anna is on call this week.\n\nMaria is her deputy. She prefers calls in the morning.",
        ),
        ("---\nstatus: draft\n---", "---\nstatus: final\n---"),
    ],
    ids=["another rule", "another person", "front matter"],
)
def test_what_a_sentence_hangs_on_has_to_be_the_same(one: str, other: str, tmp_path: Path) -> None:
    texts = {"a": f"{one}\n\n{NOTE}", "b": f"{other}\n\n{NOTE}\n\n{OTHER}"}
    assert groups(found_in(tmp_path, texts)) == []


def test_a_title_a_list_name_and_code_are_no_claims(tmp_path: Path) -> None:
    shared = "## Deploys\n\nThe steps:\n\n- docs/deploys.md\n\n```sh\nmake all\n```\n\n"
    found = found_in(
        tmp_path,
        {"a": shared + "\n\n".join(PARTS[:4]) + OTHER, "b": shared + "\n\n".join(PARTS[4:])},
    )
    assert found.claims == ()
    assert groups(found) == []


def test_fragments_under_other_headings_are_judged_only_where_a_note_may_go_behind_another(
    tmp_path: Path,
) -> None:
    row = "- this lamp by the gate stays {} until the first ferry has left in the morning"

    def note(wing: str, light: str, *parts: str) -> str:
        return "\n\n".join((f"# The {wing} wing", row.format(light), *parts))

    one = note("east", "dim", *PARTS)
    told = found_in(tmp_path / "a", {"a": one, "b": note("west", "blue", OTHER, *PARTS[1:])})
    held = found_in(tmp_path / "b", {"a": one, "b": note("west", "blue", OTHER, *PARTS)})
    assert (told.verdicts.total(), held.verdicts.total()) == (0, 1)


SHORT = "All green; nothing was deployed."
COUNTED = "{} lamp tests pass and the tide table is unchanged."
STATED = "The ferry office moves to the north pier for the whole winter."
PIER = tuple(f"{each} is mended by the crew of the {n} o'clock boat." for n, each in enumerate(
    ("The old gate", "A broken rail", "Every lamp", "This bench", "The bell rope", "One buoy",
     "The ticket hut", "Our ladder", "The crane hook", "A torn flag", "The slip way", "The ramp")
))  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "told", "beside"),
    [
        (SHORT, SHORT, 0, 1),
        (COUNTED.format(168), COUNTED.format(153), 0, 0),
        (STATED, STATED, 1, 1),
        (f"{STATED}\n\n{SHORT}", f"{STATED}\n\n{SHORT}", 2, 2),
    ],
    ids=["a short sentence", "a figure", "a statement", "a short sentence beside a statement"],
)
def test_what_may_speak_of_its_note_is_told_only_below_the_same_heading(
    one: str, other: str, told: int, beside: int, tmp_path: Path
) -> None:
    def pair(head: str) -> dict[str, str]:
        a = "\n\n".join(("# Lamps", one, "# More", *PARTS))
        return {"a": a, "b": "\n\n".join((f"# {head}", other, "# Rest", *PIER))}

    assert len(found_in(tmp_path / "a", pair("Piers")).claims) == told
    assert len(found_in(tmp_path / "b", pair("Lamps")).claims) == beside


@pytest.mark.parametrize(("said", "told"), [(SHORT, 0), (STATED, 1)])
def test_two_notes_without_headings_have_none_in_common(
    said: str, told: int, tmp_path: Path
) -> None:
    notes = {"a": "\n\n".join((said, *PARTS)), "b": "\n\n".join((said, *PIER))}
    assert len(found_in(tmp_path, notes).claims) == told


def test_what_many_notes_say_is_told_from_one_to_the_next(tmp_path: Path) -> None:
    parts = [PARTS[:4], PARTS[4:], PIER[:6], PIER[6:]]
    fillers = [" ".join(f"{part} {each}." for each in range(3)) for part in map(" ".join, parts)]
    notes = {f"n{n}": f"{STATED}\n\n{filler}" for n, filler in enumerate(fillers)}
    found = found_in(tmp_path, notes)
    assert sum(notes[c.a][slice(*c.span_a)].strip() == STATED for c in found.claims) == 3


def test_namespaces_never_meet(tmp_path: Path) -> None:
    memories = [
        simple(1, id="0", content="x" * 900, namespace="alone"),
        simple(1, id="a", content=NOTE, namespace="one"),
        simple(1, id="b", content="\n\n".join((*reversed(PARTS), OTHER)), namespace="one"),
        simple(1, id="c", content=NOTE, namespace="two"),
        simple(1, id="d", content=changed("14 days", "30 days"), namespace="two"),
    ]
    url = f"sqlite:///{tmp_path}/notes.db"
    fill(url, memories)
    with open_store(url) as store:
        found = find(store, SETTINGS)
    assert groups(found) == [("b", ["a"])]
    assert {(each.a, each.b) for each in found.claims} == {("c", "d")}


def test_tomorrow_of_two_days_is_not_one_day(tmp_path: Path) -> None:
    text = f"{NOTE}\n\nThe replica is rebuilt tomorrow."
    moved = "\n\n".join(reversed(text.split("\n\n")))
    memories = [
        simple(1, id="a", content=text, created_at="2026-03-01T08:00:00Z"),
        simple(1, id="b", content=moved, created_at="2026-03-05T08:00:00Z"),
    ]
    url = f"sqlite:///{tmp_path}/notes.db"
    fill(url, memories)
    with open_store(url) as store:
        assert groups(find(store, SETTINGS)) == []


def test_neither_ids_nor_order_change_what_is_found(tmp_path: Path) -> None:
    texts = {
        "reordered": "\n\n".join(reversed(PARTS)),
        "changed": changed("14 days", "30 days"),
        "less": "\n\n".join(PARTS[:6]),
        "short": PARTS[4],
        "note": NOTE,
    }
    seen = []
    for turn, names in enumerate((list(texts), list(reversed(texts)))):
        ids = {f"m-{at}": name for at, name in enumerate(names)}
        found = found_in(tmp_path / str(turn), {id_: texts[name] for id_, name in ids.items()})
        verdicts = {frozenset((ids[j.a], ids[j.b])): verdict_name(j.verdict) for j in found.judged}
        claims = Counter(verdict_name(each.verdict) for each in found.claims)
        seen.append((verdicts, claims))
    assert seen[0] == seen[1]


def test_claims_beyond_the_cap_are_counted_and_not_merged(tmp_path: Path) -> None:
    lines = [f"- Rule {n} of the house style names case {n * 7}." for n in range(MOST_CLAIMS + 9)]
    other = [*reversed(lines[:9]), *lines[9:-1], "- The last rule says something else."]
    found = found_in(tmp_path, {"a": "\n".join(lines), "b": "\n".join(other)})
    assert found.tally.skipped[claims.CAPPED] == ("a", "b")
    assert groups(found) == []
    assert {(each.a, each.b) for each in found.claims} == {("a", "b")}


def test_an_audit_that_is_taken_over_tells_the_same_claims(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"a": NOTE, "b": changed("14 days", "30 days")})
    report = audit(found)
    assert len(report.claims) == len(found.claims) > 0
    assert read_kept(kept_report(report)) == report


def test_a_report_without_long_notes_has_no_claims(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"a": PARTS[0], "b": PARTS[1]})
    assert "claims" not in report_json(audit(found))


def test_a_new_value_of_one_claim_replaces_no_note(tmp_path: Path) -> None:
    two = "The standup of the web team is on Tuesdays. Its room is 4.12 in the annex."
    for at, (old, new, words) in enumerate(
        [
            (NOTE, "Logs are now shipped to Loki and kept for 30 days.", "PostgreSQL vectors"),
            (two, "The standup of the web team is now on Wednesdays.", "room annex"),
        ]
    ):
        fill(url := f"sqlite:///{tmp_path}/{at}.db", [simple(1, id="a", content=old)])
        with open_store(url) as store:
            with Guard(store, SETTINGS) as guard:
                assert type(guard.remember(new)).__name__ in {"Updates", "Admitted"}
            assert [hit.memory.id for hit in search(store, words).hits] == ["a"]


def test_the_guard_knows_a_long_note_in_another_order(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/notes.db"
    fill(url, [simple(1, id="a", content=NOTE)])
    with open_store(url) as store, Guard(store, SETTINGS) as guard:
        told = guard.remember("\n\n".join(reversed(PARTS)))
        assert (type(told).__name__, getattr(told, "survivor", "")) == ("AlreadyKnown", "a")
        told = guard.remember("\n\n".join(reversed(changed("14 days", "30 days").split("\n\n"))))
        assert type(told).__name__ != "AlreadyKnown"
