"""An audit beside an earlier one: what got better, what got worse."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless import Memory, Report, apply, audit, find, plan
from echoless.core.errors import InputError
from echoless.core.model import JsonObject
from echoless.workflows.audit.audit_comparison import AuditComparison, compare_audits
from echoless.workflows.audit.earlier_audit import EarlierAnswer, read_earlier_answer
from echoless.workflows.audit.report import FORMAT, report_json
from tests.conformance.strategies import worlds
from tests.laws.worlds import quick, safe, world

few = settings(quick, max_examples=6)
URL = "sqlite:///agent.db"
PORT = "The database listens on port 5432."
TEA = "Anna drinks green tea in the morning."


def report_of(*texts: str, namespace: str = "", **choices: object) -> Report:
    """The audit of memories with ids from `m-1` on; an empty text stands for no memory."""
    made = [
        Memory(id=f"m-{at}", content=text, namespace=namespace, created_at=f"2026-01-{at:02}")
        for at, text in enumerate(texts, 1)
        if text
    ]
    with world("sqlite", made) as store:
        return replace(audit(find(store, safe(**choices))), url=URL)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[object], EarlierAnswer]:
    """Reads what is given as a file of JSON."""

    def answer(data: object) -> EarlierAnswer:
        path = tmp_path / "old.json"
        path.write_text(json.dumps(data), "utf-8")
        return read_earlier_answer(path)

    return answer


@pytest.fixture
def compared(
    read: Callable[[object], EarlierAnswer],
) -> Callable[[Report, Report], AuditComparison]:
    """Compares a report with an earlier one, through its JSON."""

    def comparison(now: Report, before: Report) -> AuditComparison:
        earlier = read(report_json(before)).of(now.url, alone=True)
        assert earlier is not None
        return compare_audits(now, earlier)

    return comparison


Compared = Callable[[Report, Report], AuditComparison]


@few
@given(made=worlds())
def test_a_report_beside_itself_says_that_nothing_changed(
    compared: Compared, made: list[Memory]
) -> None:
    with world("sqlite", made) as store:
        report = audit(find(store, safe()))
    same = compared(report, report)
    assert {figure.change for figure in same.figures} == {"same"}
    told = (same.groups, same.new_pairs, same.gone_pairs, same.namespaces, same.notes)
    assert told == ((),) * 5
    assert same.unchanged == report.counts["groups"]
    assert not same.is_worse


@few
@given(made=worlds(), cut=st.integers(0, 8))
def test_figures_agree_with_the_counts_of_both_and_the_groups_with_their_number(
    compared: Compared, made: list[Memory], cut: int
) -> None:
    with world("sqlite", made[:cut]) as store:
        before = audit(find(store, safe()))
    with world("sqlite", made) as store:
        now = audit(find(store, safe()))
    result = compared(now, before)
    for figure in result.figures:
        if figure.name in now.counts:
            told = before.counts[figure.name], now.counts[figure.name]
            assert (figure.before, figure.now) == told
    kinds = [group.change for group in result.groups]
    assert len(kinds) - kinds.count("gone") + result.unchanged == now.counts["groups"]
    assert len(kinds) - kinds.count("new") + result.unchanged == before.counts["groups"]


def test_a_run_makes_it_better(compared: Compared) -> None:
    made = [Memory(id=f"m-{at}", content=TEA) for at in range(3)]
    with world("sqlite", made) as store:
        found = find(store, safe())
        before = audit(found)
        apply(store, plan(found))
        now = audit(find(store, safe()))
    result = compared(now, before)
    assert (result.share.change, result.is_worse) == ("better", False)
    (gone,) = result.groups
    assert (gone.survivor, gone.change, gone.before, gone.now) == ("m-0", "gone", 2, 0)


def test_new_larger_and_smaller_groups_are_told_apart(compared: Compared) -> None:
    before = report_of(PORT, PORT, TEA, TEA, TEA)
    now = report_of(PORT, PORT, TEA, TEA, "", PORT, "The bell rings.", "The bell rings.")
    result = compared(now, before)
    told = [(group.survivor, group.change, group.before, group.now) for group in result.groups]
    assert told == [("m-7", "new", 0, 1), ("m-1", "larger", 1, 2), ("m-3", "smaller", 2, 1)]


def test_a_group_with_another_survivor_is_the_same_group(compared: Compared) -> None:
    result = compared(report_of("", PORT, PORT, PORT), report_of(PORT, PORT, PORT))
    (group,) = result.groups
    assert (group.survivor, group.change, group.before, group.now) == ("m-2", "changed", 2, 2)


def test_of_groups_that_became_one_all_but_one_are_gone(
    read: Callable[[object], EarlierAnswer],
) -> None:
    now = report_of(PORT, PORT, PORT, PORT, PORT)
    data = report_json(now)
    (group,) = data["groups"]  # type: ignore[misc]
    first, *rest = group["members"]  # type: ignore[index, call-overload]
    split = [
        {"survivor": "m-1", "why": "", "members": [first]},
        {"survivor": rest[0]["id"], "why": "", "members": rest[1:]},
    ]
    earlier = read({**data, "groups": split}).of(URL, alone=True)
    assert earlier is not None
    result = compare_audits(now, earlier)
    assert [(group.survivor, group.change) for group in result.groups] == [
        ("m-1", "larger"),
        ("m-3", "gone"),
    ]


def test_new_updates_and_contradictions_are_named_and_old_ones_are_not(compared: Compared) -> None:
    before = report_of(PORT, "The database listens on port 5433.")
    other = ("The kettle holds 3 litres.", "The kettle holds 4 litres.")
    result = compared(report_of(PORT, "The database listens on port 5433.", *other), before)
    assert [{pair.a, pair.b} for pair in result.new_pairs] == [{"m-3", "m-4"}]
    assert result.gone_pairs == ()
    back = compared(before, report_of(PORT, "The database listens on port 5433.", *other))
    assert [{pair.a, pair.b} for pair in back.gone_pairs] == [{"m-3", "m-4"}]


def test_namespaces_that_got_worse_come_first(compared: Compared) -> None:
    worse = compared(
        report_of(PORT, PORT, namespace="work"), report_of(PORT, TEA, namespace="work")
    )
    assert [(each.namespace, each.change) for each in worse.namespaces] == [("work", "worse")]
    moved = compared(report_of(PORT, PORT, namespace="b"), report_of(PORT, PORT, namespace="a"))
    assert [(e.namespace, e.change) for e in moved.namespaces] == [("b", "worse"), ("a", "better")]


def test_another_store_profile_setting_or_release_is_said(
    compared: Compared, read: Callable[[object], EarlierAnswer]
) -> None:
    before = report_of(PORT)
    assert compared(replace(before, url="sqlite:///b.db"), before).notes == (
        f"The earlier audit is of {URL}, this one of sqlite:///b.db.",
    )
    limited = compared(report_of(PORT, limit=5), before)
    assert limited.notes[0] == "Settings differ: limit: not set before, 5 now."
    data = report_json(before)
    old = read({**data, "echoless": "0.1.9", "profile": "recall"}).of(URL, alone=True)
    assert old is not None
    told = " ".join(compare_audits(before, old).notes)
    assert "The profile was recall, it is safe now." in told
    assert "made by echoless 0.1.9" in told
    for name in ("format", "echoless", "settings"):
        del data[name]
    first = read(data).of(URL, alone=True)
    assert first is not None
    assert "does not say with which settings" in compare_audits(before, first).notes[0]


# ------------------------------------------------------------------ files


def changed(data: JsonObject, **fields: object) -> dict[str, object]:
    return {**data, **fields}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"ratio": None}, "'ratio' must be a number from 0 on"),
        ({"ratio": -1}, "'ratio' must be a number from 0 on"),
        ({"tokens": "many"}, "'tokens' must be a finite number"),
        ({"counts": []}, "counts is no object"),
        ({"counts": {}}, "'total' must be a number"),
        ({"groups": {}}, "groups is no list"),
        ({"groups": [{"survivor": 1, "members": []}]}, "'survivor' must be a text"),
        ({"held": [{"a": "m-1"}]}, "'b' must be a text"),
        ({"by_namespace": {"": 1}}, "a namespace is no object"),
        ({"settings": 7}, "settings is no object"),
    ],
)
def test_what_is_no_answer_of_an_audit_is_refused_with_the_reason(
    read: Callable[[object], EarlierAnswer], fields: dict[str, object], problem: str
) -> None:
    data = changed(report_json(report_of(PORT)), **fields)
    with pytest.raises(InputError, match="is not an answer of `echoless audit --json`") as raised:
        read(data)
    assert problem in str(raised.value)


@pytest.mark.parametrize("data", [[], 7, None, {}, {"stores": {}}, {"stores": [3]}])
def test_other_json_is_refused(read: Callable[[object], EarlierAnswer], data: object) -> None:
    with pytest.raises(InputError, match="is not an answer of `echoless audit --json`"):
        read(data)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    with pytest.raises(InputError, match="cannot be read"):
        read_earlier_answer(path)
    path.write_bytes(b"\n")
    with pytest.raises(InputError, match="is empty"):
        read_earlier_answer(path)
    for damaged in (b"{", b"\xff\xff\xff", b"[" * 1_100):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="is not an answer"):
            read_earlier_answer(path)


def test_a_newer_format_is_refused(read: Callable[[object], EarlierAnswer]) -> None:
    with pytest.raises(InputError, match=f"has format {FORMAT + 1}, and this echoless reads up to"):
        read({"format": FORMAT + 1, "store": "something else"})


def test_a_file_as_another_shell_writes_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps(report_json(report_of(PORT))), "utf-16")
    assert read_earlier_answer(path).of(URL, alone=True) is not None


def test_of_several_stores_the_one_of_that_url_is_taken(
    read: Callable[[object], EarlierAnswer],
) -> None:
    one = report_json(report_of(PORT))
    other = changed(one, store="sqlite:///b.db", ratio=0.5)
    several = read({"stores": [one, other, {"store": "sqlite:///c.db", "error": "locked"}]})
    chosen = several.of("sqlite:///b.db", alone=True)
    assert chosen is not None
    assert chosen.ratio == 0.5
    assert several.of("sqlite:///c.db", alone=False) is None
    with pytest.raises(InputError, match=r"has no audit of sqlite:///c\.db"):
        several.of("sqlite:///c.db", alone=True)
    assert read(one).of("sqlite:///b.db", alone=False) is None
    assert read(one).of("sqlite:///b.db", alone=True) is not None
