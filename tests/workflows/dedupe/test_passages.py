"""Long notes are compared by passages, and reported where most of one is in the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from echoless import Findings, Guard, audit, find, open_store, plan
from echoless.core.model import verdict_name
from echoless.core.passages import MOST_PASSAGES
from echoless.core.settings import Choices, Settings, resolve
from echoless.testing.stores import fill, simple
from echoless.workflows.audit import incremental
from echoless.workflows.audit.report import report_json
from echoless.workflows.dedupe import passages

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
    ids=["reordered", "as bullets", "with one more", "with two less", "one passage"],
)
def test_a_note_whose_passages_are_all_in_another_stands_behind_it(
    text: str, survivor: str | None, tmp_path: Path
) -> None:
    found = found_in(tmp_path, {"a": NOTE, "b": text})
    ((kept, (member,)),) = groups(found)
    assert {kept, member} == {"a", "b"}
    assert survivor in {kept, None}
    assert found.overlaps == ()


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
def test_another_value_in_one_passage_is_reported_and_never_merged(
    text: str, tmp_path: Path
) -> None:
    found = found_in(tmp_path, {"a": NOTE, "b": text})
    assert groups(found) == []
    (overlap,) = found.overlaps
    assert (overlap.a, overlap.b) == ("a", "b")
    assert 0.8 < overlap.share_a < 1
    assert len(overlap.passages) == len(PARTS) - 1
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
def test_what_stands_above_a_passage_and_the_order_of_steps_count(
    one: str, other: str, tmp_path: Path
) -> None:
    assert one != other
    assert groups(found_in(tmp_path, {"a": one, "b": other})) == []


IDEA = "Keep the sessions of the web tier in Redis with one replica for each region."


@pytest.mark.parametrize(
    "above",
    ["# Rejected ideas", "# TODO", "# Staging only", "We decided against:", "- No longer used\n  "],
)
def test_a_passage_under_what_takes_it_back_or_limits_it_hides_nothing(
    above: str, tmp_path: Path
) -> None:
    indent = "" if above.startswith("-") else "\n\n"
    note = f"{above}{indent}- {IDEA}\n\n# Decisions\n\n{NOTE}"
    found = found_in(tmp_path, {"a": IDEA, "b": note})
    assert groups(found) == []
    (overlap,) = found.overlaps
    assert overlap.share_a == 1
    ((start, end),) = (each.b for each in overlap.passages)
    assert note[start:end].strip() == f"- {IDEA}"


def test_a_passage_under_a_heading_that_changes_nothing_says_the_memory(tmp_path: Path) -> None:
    note = f"# Sessions\n\n- {IDEA}\n\n# Decisions\n\n{NOTE}"
    assert groups(found_in(tmp_path, {"a": IDEA, "b": note})) == [("b", ["a"])]


def test_most_of_one_note_in_another_is_reported_with_the_passages(tmp_path: Path) -> None:
    half = "\n\n".join((*PARTS[:5], OTHER, "The office closes at six on Fridays in summer."))
    found = found_in(tmp_path, {"a": NOTE, "b": half})
    assert groups(found) == []
    (overlap,) = found.overlaps
    assert 0.5 < overlap.share_a < overlap.share_b < 1
    assert [NOTE[slice(*each.a)].strip() for each in overlap.passages] == list(PARTS[:5])
    assert [half[slice(*each.b)].strip() for each in overlap.passages] == list(PARTS[:5])
    third = "\n\n".join((*PARTS[:2], OTHER, *(f"Other fact number {n} of many." for n in "abcdef")))
    assert found_in(tmp_path / "third", {"a": NOTE, "b": third}).overlaps == ()


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
    assert [(o.a, o.b) for o in found.overlaps] == [("c", "d")]


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
        shares = {frozenset((o.share_a, o.share_b)) for o in found.overlaps}
        seen.append((verdicts, shares))
    assert seen[0] == seen[1]


def test_passages_beyond_the_cap_are_counted_and_not_merged(tmp_path: Path) -> None:
    lines = [f"- Rule {n} of the house style names case {n * 7}." for n in range(MOST_PASSAGES + 9)]
    other = [*reversed(lines[:9]), *lines[9:-1], "- The last rule says something else."]
    found = found_in(tmp_path, {"a": "\n".join(lines), "b": "\n".join(other)})
    assert found.tally.skipped[passages.CAPPED] == ("a", "b")
    assert groups(found) == []
    assert [(o.a, o.b) for o in found.overlaps] == [("a", "b")]


def test_where_there_are_more_passages_than_are_judged_nothing_is_merged_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "MOST_JUDGED", 10)
    found = found_in(tmp_path, {"a": NOTE, "b": f"{NOTE}\n\n{OTHER}", "c": "\n\n".join(PARTS[:6])})
    assert groups(found) == []
    assert found.tally.skipped[passages.UNJUDGED] == ("a", "b", "c")


def test_an_audit_that_is_taken_over_tells_the_same_overlaps(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"a": NOTE, "b": changed("14 days", "30 days")})
    (page,) = audit(found).pages
    assert page.overlaps == found.overlaps != ()
    assert incremental.unpacked(incremental.packed(page)) == page


def test_a_report_without_long_notes_has_no_overlaps(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"a": PARTS[0], "b": PARTS[1]})
    assert "overlaps" not in report_json(audit(found))


def test_the_guard_knows_a_long_note_in_another_order(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/notes.db"
    fill(url, [simple(1, id="a", content=NOTE)])
    with open_store(url) as store, Guard(store, SETTINGS) as guard:
        told = guard.remember("\n\n".join(reversed(PARTS)))
        assert (type(told).__name__, getattr(told, "survivor", "")) == ("AlreadyKnown", "a")
        told = guard.remember("\n\n".join(reversed(changed("14 days", "30 days").split("\n\n"))))
        assert type(told).__name__ != "AlreadyKnown"
