"""Tables of findings and reports for pandas and Arrow.

Both libraries get the same cells in the same order, with the same types also where there are none.
The values are those of the caller's own process: no secret is masked in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from echoless.core.errors import UsageError
from echoless.core.optional import lazy_module, require_module
from echoless.core.text import token_estimate
from echoless.core.timestamps import instant
from echoless.stores.base import Store
from echoless.workflows.audit.namespace_report import (
    ReportedGroup,
    ReportedPair,
    group_reporter,
    reported_pair,
)
from echoless.workflows.audit.report import Report
from echoless.workflows.dedupe.findings import Findings

if TYPE_CHECKING:
    import pandas
    import pyarrow
else:
    pandas = lazy_module("pandas")
    pyarrow = lazy_module("pyarrow")

EXTRA: Final = "notebook"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

FindingsTable: TypeAlias = Literal["members", "held", "memories"]
ReportTable: TypeAlias = Literal["members", "held", "namespaces", "months"]
Cell: TypeAlias = str | int | float | bool | datetime | None
Table: TypeAlias = Mapping[str, list[Cell]]
"""Cells by column, before they belong to a library."""

COLUMNS: Final[Mapping[str, str]] = {
    "members": "group survivor member verdict similarity chance namespace action evidence why "
    "survivor_text member_text",
    "held": "a b verdict difference similarity chance namespace evidence a_text b_text",
    "memories": "id namespace role group survivor tokens created_at type importance access_count "
    "pinned text",
    "namespaces": "namespace total redundant ratio",
    "months": "month total redundant ratio",
}
"""Columns by table. `docs/notebooks.md` says what each of them means."""

TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tokens", "access_count", "total", "redundant"), "int64"),
    **dict.fromkeys(("similarity", "chance", "importance", "ratio"), "float64"),
    "group": "Int64",
    "pinned": "bool",
    "created_at": "datetime64[us, UTC]",
}
"""Types of pandas by column; any other column is a `string`."""


def findings_table(findings: Findings, name: str) -> Table:
    """Returns a table of findings.

    Args:
        findings: Of a run.
        name: A `FindingsTable`.

    Raises:
        UsageError: There is no table of this name.
    """
    texts = {id_: memory.content for id_, memory in findings.memories.items()}
    namespaces = {id_: memory.namespace for id_, memory in findings.memories.items()}
    action = findings.settings.profile.action
    groups = map(group_reporter(findings), findings.groups)
    return _made(
        name,
        members=_members(groups, action, namespaces, texts),
        held=_held(map(reported_pair, findings.held), namespaces, texts),
        memories=_memories(findings),
    )


def report_table(report: Report, name: str, store: Store | None) -> Table:
    """Returns a table of a report.

    Args:
        report: Of an audit.
        name: A `ReportTable`.
        store: Open, the one that was audited; without it the columns of texts are empty.

    Raises:
        UsageError: There is no table of this name.
    """
    items = [(p.namespace, g.ids) for p in report.pages for g in p.groups]
    items += [(p.namespace, pair.ids) for p in report.pages for pair in p.held]
    namespaces = {id_: namespace for namespace, ids in items for id_ in ids}
    shown = namespaces if name in {"members", "held"} else {}
    memories = store.get(shown) if store is not None and shown else {}
    texts = {id_: memory.content for id_, memory in memories.items()}
    return _made(
        name,
        members=_members(report.groups, report.action, namespaces, texts),
        held=_held(report.held, namespaces, texts),
        namespaces=((n, s.total, s.redundant, s.ratio) for n, s in report.by_namespace.items()),
        months=((m, s.total, s.redundant, s.ratio) for m, s in report.by_month.items()),
    )


def _made(name: str, **tables: Iterator[tuple[Cell, ...]]) -> Table:
    """Returns the table of a name; the rows of the others are never made.

    Raises:
        UsageError: There is no table of this name; the message lists all names.
    """
    if name not in tables:
        raise UsageError(f"There is no table {name!r} here. Known: {', '.join(tables)}.")
    rows = list(tables[name])
    columns = enumerate(COLUMNS[name].split())
    return {column: [_encodable(row[at]) for row in rows] for at, column in columns}


def _members(
    groups: Iterable[ReportedGroup],
    action: str,
    namespaces: Mapping[str, str],
    texts: Mapping[str, str],
) -> Iterator[tuple[Cell, ...]]:
    """Yields a row for each memory that stands behind a survivor; groups are numbered from 1."""
    for number, group in enumerate(groups, 1):
        survivor, text = group.survivor, texts.get(group.survivor)
        for each in group.members:
            judged = (each.verdict, each.similarity, each.chance)
            reasons = (namespaces[survivor], action, each.evidence, group.why)
            yield number, survivor, each.id, *judged, *reasons, text, texts.get(each.id)


def _held(
    pairs: Iterable[ReportedPair], namespaces: Mapping[str, str], texts: Mapping[str, str]
) -> Iterator[tuple[Cell, ...]]:
    """Yields a row for each pair that looks alike and stays apart."""
    for pair in pairs:
        judged = (pair.verdict, pair.difference, pair.similarity, pair.chance)
        shown = (namespaces[pair.a], pair.evidence, texts.get(pair.a), texts.get(pair.b))
        yield pair.a, pair.b, *judged, *shown


def _memories(findings: Findings) -> Iterator[tuple[Cell, ...]]:
    """Yields a row for each memory in scope, by id."""
    places: dict[str, tuple[str, int | None, str]] = {}
    for number, group in enumerate(findings.groups, 1):
        places |= {member.id: ("member", number, group.survivor) for member in group.members}
        places[group.survivor] = ("survivor", number, group.survivor)
    for id_, memory in sorted(findings.memories.items()):
        place = places.get(id_, ("unique", None, None))
        if id_ in findings.marked:
            place = ("hidden", place[1], findings.marked[id_])
        moment = instant(memory.created_at)
        yield (
            *(id_, memory.namespace, *place, token_estimate(memory.content)),
            None if moment is None else _EPOCH + timedelta(microseconds=moment // 1_000),
            memory.type,
            None if memory.importance is None else float(memory.importance),
            *(memory.access_count, memory.pinned, memory.content),
        )


def _encodable(cell: Cell) -> Cell:
    """Returns a text with escapes for lone surrogates, which Arrow cannot hold."""
    if not isinstance(cell, str) or cell.isascii():
        return cell
    return cell.encode("utf-8", "backslashreplace").decode("utf-8")


def to_pandas(table: Table) -> pandas.DataFrame:
    """Returns a table as a data frame; the columns have their `TYPES`.

    Raises:
        MissingExtra: pandas is not installed.
    """
    require_module("pandas", "A data frame", EXTRA)
    types = {name: TYPES.get(name, "string") for name in table}
    return pandas.DataFrame({n: pandas.Series(cells, dtype=types[n]) for n, cells in table.items()})


def to_arrow(table: Table) -> pyarrow.Table:
    """Returns a table as an Arrow table, with the types of Arrow for those of `TYPES`.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    require_module("pyarrow", "An Arrow table", EXTRA)
    types = {name: TYPES.get(name, "string").lower() for name in table}
    types |= {"created_at": pyarrow.timestamp("us", tz="UTC")}
    return pyarrow.table({n: pyarrow.array(cells, types[n]) for n, cells in table.items()})
