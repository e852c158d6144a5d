"""Tables of findings and reports for pandas and Arrow.

The columns are declared once; both libraries get the same rows in the same order from them, also
where there are none. The values are those of the caller's own process: no secret is masked in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.core.optional import lazy_module, require_module
from echoless.core.text import token_estimate
from echoless.core.timestamps import instant
from echoless.stores.base import Store
from echoless.workflows.audit.namespace_report import (
    ReportedGroup,
    ReportedPair,
    Share,
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

_NOT_A_TIME: Final = np.iinfo("int64").min
"""The integer that numpy reads as no time."""

FindingsTable: TypeAlias = Literal["members", "held", "memories"]
ReportTable: TypeAlias = Literal["members", "held", "namespaces", "months"]
Kind: TypeAlias = Literal["text", "integer", "number", "boolean", "time"]
Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its name.
        kind: What its cells are; a time is an integer of microseconds since 1970-01-01 UTC.
        optional: Whether a cell may be missing.
    """

    name: str
    kind: Kind
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table before it belongs to a library.

    Attributes:
        columns: In their order.
        rows: One cell for each column.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Row]

    def cells(self) -> Iterator[tuple[Column, list[Cell]]]:
        """Yields each column with its cells."""
        for at, column in enumerate(self.columns):
            cells = [row[at] for row in self.rows]
            if column.kind == "text":
                cells = [_encodable(cell) for cell in cells]
            yield column, cells


_KINDS: Final[Mapping[str, Kind]] = {
    "text": "text", "integer": "integer", "number": "number", "boolean": "boolean", "time": "time",
}  # fmt: skip


def _columns(declared: str) -> tuple[Column, ...]:
    """Returns the columns declared as `name:kind`; one with a question mark is optional."""
    parts = ([*each.rstrip("?").split(":"), each[-1]] for each in declared.split())
    return tuple(Column(name, _KINDS[kind], optional=last == "?") for name, kind, last in parts)


_SHARES: Final = "total:integer redundant:integer ratio:number"

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "members": _columns(
        "group:integer survivor:text member:text verdict:text? similarity:number? chance:number? "
        "namespace:text action:text evidence:text? why:text survivor_text:text? member_text:text?"
    ),
    "held": _columns(
        "a:text b:text verdict:text difference:text? similarity:number chance:number? "
        "namespace:text evidence:text a_text:text? b_text:text?"
    ),
    "memories": _columns(
        "id:text namespace:text role:text group:integer? survivor:text? tokens:integer "
        "created_at:time? type:text importance:number? access_count:integer pinned:boolean "
        "text:text"
    ),
    "namespaces": _columns(f"namespace:text {_SHARES}"),
    "months": _columns(f"month:text {_SHARES}"),
}
"""Columns by table. `docs/notebooks.md` says what each of them means."""


def findings_table(findings: Findings, name: str) -> Table:
    """Returns a table of findings.

    Args:
        findings: Of a run.
        name: A `FindingsTable`.

    Raises:
        UsageError: There is no such table.
    """
    contents = findings.memories
    makers: dict[str, Callable[[], Iterable[Row]]] = {
        "members": lambda: _members(
            map(group_reporter(findings), findings.groups),
            findings.settings.profile.action,
            lambda id_: contents[id_].namespace,
            lambda id_: contents[id_].content,
        ),
        "held": lambda: _held(
            map(reported_pair, findings.held),
            lambda id_: contents[id_].namespace,
            lambda id_: contents[id_].content,
        ),
        "memories": lambda: _memories(findings),
    }
    return _made(name, makers)


def report_table(report: Report, name: str, store: Store | None) -> Table:
    """Returns a table of a report.

    Args:
        report: Of an audit.
        name: A `ReportTable`.
        store: Open, the one that was audited; without it the columns of texts are empty.

    Raises:
        UsageError: There is no such table.
    """
    namespaces = {
        id_: page.namespace
        for page in report.pages
        for id_ in (*(g.survivor for g in page.groups), *(pair.a for pair in page.held))
    }
    makers: dict[str, Callable[[], Iterable[Row]]] = {
        "members": lambda: _members(
            report.groups,
            report.action,
            namespaces.__getitem__,
            _texts(store, report.groups),
        ),
        "held": lambda: _held(report.held, namespaces.__getitem__, _texts(store, report.held)),
        "namespaces": lambda: _shares(report.by_namespace),
        "months": lambda: _shares(report.by_month),
    }
    return _made(name, makers)


def _made(name: str, makers: Mapping[str, Callable[[], Iterable[Row]]]) -> Table:
    """Returns the table of a name.

    Raises:
        UsageError: There is no such table; the message lists them.
    """
    if name not in makers:
        raise UsageError(f"There is no table {name!r} here. Known: {', '.join(makers)}.")
    return Table(COLUMNS[name], tuple(makers[name]()))


def _texts(
    store: Store | None, reported: Iterable[ReportedGroup | ReportedPair]
) -> Callable[[str], str | None]:
    """Returns what gives the text of a reported memory, as it is in the store now, by its id.

    It gives None without a store, and for a memory that is gone.
    """
    ids = set() if store is None else {id_ for each in reported for id_ in each.ids}
    memories = store.get(ids) if store is not None and ids else {}
    return {id_: memory.content for id_, memory in memories.items()}.get


# ------------------------------------------------------------------ rows


def _members(
    groups: Iterable[ReportedGroup],
    action: str,
    namespace: Callable[[str], str],
    text: Callable[[str], str | None],
) -> Iterator[Row]:
    """Yields a row for each memory that stands behind a survivor; groups are numbered from 1."""
    for number, group in enumerate(groups, 1):
        survivor_text = text(group.survivor)
        for member in group.members:
            yield (
                number,
                group.survivor,
                member.id,
                member.verdict,
                member.similarity,
                member.chance,
                namespace(group.survivor),
                action,
                member.evidence,
                group.why,
                survivor_text,
                text(member.id),
            )


def _held(
    pairs: Iterable[ReportedPair],
    namespace: Callable[[str], str],
    text: Callable[[str], str | None],
) -> Iterator[Row]:
    """Yields a row for each pair that looks alike and stays apart."""
    for pair in pairs:
        yield (
            pair.a,
            pair.b,
            pair.verdict,
            pair.difference,
            pair.similarity,
            pair.chance,
            namespace(pair.a),
            pair.evidence,
            text(pair.a),
            text(pair.b),
        )


def _memories(findings: Findings) -> Iterator[Row]:
    """Yields a row for each memory in scope, by id."""
    places: dict[str, tuple[str, int, str]] = {}
    for number, group in enumerate(findings.groups, 1):
        places[group.survivor] = ("survivor", number, group.survivor)
        for member in group.members:
            places[member.id] = ("member", number, group.survivor)
    for id_ in sorted(findings.memories):
        memory = findings.memories[id_]
        role, group_number, survivor = places.get(id_, ("unique", None, None))
        if id_ in findings.marked:
            role, survivor = "hidden", findings.marked[id_]
        yield (
            id_,
            memory.namespace,
            role,
            group_number,
            survivor,
            token_estimate(memory.content),
            _microseconds(memory),
            memory.type,
            None if memory.importance is None else float(memory.importance),
            memory.access_count,
            memory.pinned,
            memory.content,
        )


def _shares(shares: Mapping[str, Share]) -> Iterator[Row]:
    """Yields a row for each part of a store."""
    for name, share in shares.items():
        yield name, share.total, share.redundant, share.ratio


def _microseconds(memory: Memory) -> int | None:
    """Returns when a memory was made, in microseconds since 1970; None where that is unknown."""
    moment = instant(memory.created_at)
    return None if moment is None else moment // 1_000


def _encodable(cell: Cell) -> Cell:
    """Returns a text with escapes for lone surrogates, which Arrow cannot hold."""
    if not isinstance(cell, str) or cell.isascii():
        return cell
    return cell.encode("utf-8", "backslashreplace").decode("utf-8")


# ------------------------------------------------------------------ both libraries


def to_pandas(table: Table) -> pandas.DataFrame:
    """Returns a table as a data frame.

    Texts have the dtype `string`, integers `int64` (`Int64` where one may be missing), numbers
    `float64`, booleans `bool` and times `datetime64[us, UTC]`.

    Raises:
        MissingExtra: pandas is not installed.
    """
    require_module("pandas", "A data frame", EXTRA)
    return pandas.DataFrame(
        {column.name: _series(column, cells) for column, cells in table.cells()}
    )


def _series(column: Column, cells: list[Cell]) -> pandas.Series:
    """Returns a column as a series of its dtype."""
    match column.kind:
        case "text":
            return pandas.Series(cells, dtype="string")
        case "integer":
            return pandas.Series(cells, dtype="Int64" if column.optional else "int64")
        case "number":
            return pandas.Series(cells, dtype="float64")
        case "boolean":
            return pandas.Series(cells, dtype="bool")
        case "time":
            moments = [_NOT_A_TIME if cell is None else cell for cell in cells]
            array = np.array(moments, dtype="int64").view("datetime64[us]")
            return pandas.Series(array).dt.tz_localize("UTC")


def to_arrow(table: Table) -> pyarrow.Table:
    """Returns a table as an Arrow table.

    Texts are `string`, integers `int64`, numbers `double`, booleans `bool` and times
    `timestamp[us, tz=UTC]`. A column in which nothing may be missing says so (`not null`).

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    require_module("pyarrow", "An Arrow table", EXTRA)
    types = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
    }
    schema = pyarrow.schema(
        [pyarrow.field(c.name, types[c.kind], nullable=c.optional) for c in table.columns]
    )
    cells = {column.name: each for column, each in table.cells()}
    return pyarrow.Table.from_pydict(cells, schema=schema)
