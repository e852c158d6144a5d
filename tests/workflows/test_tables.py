"""Findings and reports as tables: the same rows and types in pandas and in Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import Findings, Memory, Report, audit, find, open_store
from echoless.core import optional
from echoless.core.errors import MissingExtra, UsageError
from echoless.stores.base import Store
from echoless.testing.stores import fill
from echoless.workflows.tables import COLUMNS, EXTRA, TYPES
from tests.conformance.strategies import hostile_texts, worlds
from tests.laws.worlds import safe, world

PAGE = Path(__file__).parents[2] / "docs" / "notebooks.md"
FINDINGS = ("members", "held", "memories")
REPORT = ("members", "held", "namespaces", "months")
ARROW = {
    "string": pa.string(),
    "int64": pa.int64(),
    "Int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "datetime64[us, UTC]": pa.timestamp("us", tz="UTC"),
}
few = settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A group of three, one of two in another namespace, and a pair with another port."""
    told = [
        ("m-1", "The database listens on port 5432.", "work"),
        ("m-2", "The database listens on port 5432.", "work"),
        ("m-3", "the database listens on port 5432", "work"),
        ("m-4", "The database listens on port 5433.", "work"),
        ("m-5", "Anna drinks green tea in the morning.", "home"),
        ("m-6", "Anna drinks green tea in the morning!", "home"),
    ]
    url = f"sqlite:///{tmp_path}/agent.db"
    made = [Memory(id=i, content=c, namespace=n, created_at="2026-01-02") for i, c, n in told]
    fill(url, made)
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def findings(store: Store) -> Findings:
    return find(store, safe())


def plain(frame: pd.DataFrame) -> list[dict[str, object]]:
    """The rows of a data frame, with None for what is missing and times as Python has them."""
    return [
        {
            name: None if pd.isna(cell) else getattr(cell, "to_pydatetime", lambda c=cell: c)()
            for name, cell in row.items()
        }
        for row in frame.to_dict("records")
    ]


def check_types(name: str, frame: pd.DataFrame, table: pa.Table) -> None:
    assert list(frame.columns) == table.column_names == COLUMNS[name].split()
    for column in frame.columns:
        dtype = TYPES.get(column, "string")
        assert frame.dtypes[column] == dtype
        assert table.schema.field(column).type == ARROW[dtype]


@few
@given(made=st.one_of(worlds(), worlds(content=hostile_texts())))
def test_pandas_and_arrow_have_the_same_rows_and_they_agree_with_the_counts(
    made: list[Memory],
) -> None:
    readable = [replace(m, content=m.content.replace("\0", "")) for m in made]
    with world("sqlite", readable) as store:
        found = find(store, safe())
        report = audit(found)
        tables = [(name, found.to_pandas(name), found.to_arrow(name)) for name in FINDINGS]
        tables += [
            (n, report.to_pandas(n, store=store), report.to_arrow(n, store=store)) for n in REPORT
        ]
    for name, frame, table in tables:
        check_types(name, frame, table)
        assert plain(frame) == table.to_pylist()
    rows = {id(table): len(frame) for _, frame, table in tables}
    members, held, memories, reported, apart, namespaces, _ = (t for _, _, t in tables)
    assert rows[id(members)] == found.counts["redundant"]
    assert rows[id(held)] == found.counts["held"]
    assert rows[id(memories)] == found.counts["total"]
    assert rows[id(apart)] == report.counts["held"]
    assert reported.equals(members)
    assert sum(namespaces["redundant"].to_pylist()) == found.counts["redundant"]
    assert memories["role"].to_pylist().count("member") == found.counts["redundant"]
    assert len(set(memories["group"].drop_null().to_pylist())) == found.counts["groups"]


def test_a_row_of_members_says_who_stands_behind_whom_and_why(findings: Findings) -> None:
    first, second, third = findings.to_arrow().to_pylist()
    judged = findings.groups[0].members[0].judged
    assert judged is not None
    assert first == {
        "group": 1,
        "survivor": "m-1",
        "member": "m-2",
        "verdict": "duplicate",
        "similarity": 1.0,
        "chance": None,
        "namespace": "work",
        "action": "mark",
        "evidence": "same bytes",
        "why": findings.reasons["m-1"],
        "survivor_text": "The database listens on port 5432.",
        "member_text": "The database listens on port 5432.",
    }
    assert (second["group"], second["member"]) == (1, "m-3")
    assert (third["group"], third["namespace"]) == (2, "home")


def test_memories_have_their_role_and_their_time(findings: Findings) -> None:
    frame = findings.to_pandas("memories").set_index("id")
    assert list(frame["role"]) == ["survivor", "member", "member", "unique", "survivor", "member"]
    assert frame.loc["m-3", "survivor"] == "m-1"
    assert frame.loc["m-4", "group"] is pd.NA
    assert frame.loc["m-1", "created_at"] == datetime(2026, 1, 2, tzinfo=UTC)


def test_times_that_cannot_be_read_are_missing_and_early_ones_fit(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    times = ("yesterday", "0001-01-01T00:00:00Z", None)
    fill(url, [Memory(id=f"{n}", content=f"{n}", created_at=t) for n, t in enumerate(times)])
    with open_store(url) as store:
        found = find(store, safe())
    expected = [None, datetime(1, 1, 1, tzinfo=UTC), None]
    assert found.to_arrow("memories")["created_at"].to_pylist() == expected
    assert [row["created_at"] for row in plain(found.to_pandas("memories"))] == expected


def test_a_report_without_its_store_has_no_texts(findings: Findings, store: Store) -> None:
    report = audit(findings)
    assert report.to_pandas()["member_text"].isna().all()
    assert report.to_pandas("held")["a_text"].isna().all()
    whole = report.to_pandas("held", store=store)
    assert whole["a_text"].str.contains("port").all()
    with store.writing():
        store.remove(["m-2"])
    assert report.to_arrow(store=store)["member_text"].to_pylist()[0] is None


def test_nothing_found_gives_empty_tables_of_the_same_types(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/agent.db"
    fill(url, [])
    with open_store(url) as store:
        found = find(store, safe())
    sources: list[tuple[Findings | Report, tuple[str, ...]]] = [
        (found, FINDINGS),
        (audit(found), REPORT),
    ]
    for source, names in sources:
        for name in names:
            frame, table = source.to_pandas(name), source.to_arrow(name)
            assert (len(frame), table.num_rows) == (0, 0)
            check_types(name, frame, table)


def test_an_unknown_table_names_those_there_are(findings: Findings) -> None:
    with pytest.raises(UsageError, match="Known: members, held, memories"):
        findings.to_pandas("months")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Known: members, held, namespaces, months"):
        audit(findings).to_arrow("memories")  # type: ignore[arg-type]


@pytest.mark.parametrize(("library", "method"), [("pandas", "to_pandas"), ("pyarrow", "to_arrow")])
def test_each_door_needs_its_own_library_only(
    findings: Findings, library: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = optional.find_spec
    monkeypatch.setattr(optional, "find_spec", lambda n: None if n == library else known(n))
    for source in (findings, audit(findings)):
        with pytest.raises(MissingExtra, match=re.escape(f"pip install 'echoless[{EXTRA}]'")):
            getattr(source, method)()
    other = "to_arrow" if method == "to_pandas" else "to_pandas"
    assert len(getattr(findings, other)()) == 3


def test_the_page_lists_each_column_with_its_type() -> None:
    text = PAGE.read_text("utf-8")
    kinds = {"string": "text", "float64": "number", "bool": "boolean", "int64": "integer"}
    kinds |= {"Int64": "integer", "datetime64[us, UTC]": "time"}
    for name, columns in COLUMNS.items():
        section = text.partition(f"### `{name}`")[2].partition("\n##")[0]
        for column in columns.split():
            kind = kinds[TYPES.get(column, "string")]
            assert f"| `{column}` | {kind}" in section, (name, column)
