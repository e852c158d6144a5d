"""Declares every kind of store that can be written to files: its URL and how a small one is made.

Left out: PostgreSQL, whose server makes the file calls, and
stores over a live object of LangGraph or mem0, which have no URL (their files are here).
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from tests.conformance.stores import fill

from benchmarks.foreign_stores import fill_memory_files, fill_qdrant
from echoless.core.model import Link, Memory, Vector

GROUPS: Final = ((1, 2), (4, 5, 6))
"""Memories that say the same, by number; number 3 stands alone."""

MANY: Final = (*GROUPS, *((n, n + 1, n + 2) for n in range(7, 22, 3)))
_ENDS: Final = (".", "!", "")
_FIRST: Final = 3
"""How many memories lie in the first of two files or entities."""

_OWN_WAY: Final = ("import into",)
"""Cases left out where a program gives ids itself, so that an import is another test."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of store.

    Attributes:
        name: On the command line and in results.
        place: Its URL, with `{}` for the folder.
        named: The id of memory number n, where the one who puts it gives it.
        dressed: A memory as this kind holds it.
        fill: Makes the store of a URL as its own program would.
        large: Whether runs on a larger world are worth it.
        slow: Whether a point takes about a second, so that it gets a tenth of the points.
        exact: Whether undo gives back each byte of its text files and each row of its tables.
        without: Cases this kind has no place for.
        libraries: Modules it needs, loaded before any fork.
    """

    name: str
    place: str
    named: Callable[[int], str] = "m-{}".format
    dressed: Callable[[Memory], Memory] = lambda memory: memory
    fill: Callable[[str, Sequence[Memory]], None] = fill
    large: bool = False
    slow: bool = False
    exact: bool = False
    without: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    def url(self, folder: Path) -> str:
        """Returns the URL of the store of a folder."""
        return self.place.format(folder)


def said(number: int) -> str:
    """Returns the text of memory number n; those of a group differ in their last sign alone."""
    group = next((each for each in MANY if number in each), (number,))
    return (
        f"Service number {group[0]} of the store listens on port {8000 + group[0]}"
        + _ENDS[group.index(number)]
    )


def memories(kind: Kind, count: int) -> list[Memory]:
    """Returns memories 1 to `count`, as a kind holds them."""
    made = []
    for number in range(1, count + 1):
        memory = Memory(
            id=kind.named(number),
            content=said(number),
            tags=(f"t{number}",),
            access_count=number % 4,
            created_at=f"2026-01-{1 + number % 28:02d}T00:00:00Z",
            metadata={f"k{number}": number},
            links=(Link(kind.named(2)),) if number == _FIRST else (),
        )
        made.append(kind.dressed(memory))
    return made


# ------------------------------------------------------------------ fields of a kind


def _vector(model: str, dimensions: int, memory: Memory) -> Memory:
    numbers = [float(1 + (len(memory.content) + k) % 7) for k in range(dimensions)]
    return replace(memory, vectors=(Vector(model, struct.pack(f"<{dimensions}f", *numbers)),))


def _recall(memory: Memory) -> Memory:
    number = int(memory.id.rpartition("#")[2])
    return Memory(
        id=memory.id,
        content=memory.content,
        namespace="work",
        importance=1 + number % 10,
        created_at=memory.created_at,
        extra={"table": "breadcrumbs"},
    )


def _llm_memory(memory: Memory) -> Memory:
    return _vector("llm-memory", 384, replace(memory, namespace="work"))


def _shodh(memory: Memory) -> Memory:
    return Memory(id=memory.id, content=memory.content, type="Learning", tags=memory.tags)


# ------------------------------------------------------------------ stores of other programs


def _markdown(
    names: tuple[str, str], form: str, head: str, url: str, held: Sequence[Memory]
) -> None:
    """Writes two files of bullets, the first memories in the one and the others in the other."""
    folder = Path(url.removeprefix("markdown:///").partition("?")[0])
    for name, part in zip(names, (held[:_FIRST], held[_FIRST:]), strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(form.format(memory.content, memory.tags[0]) for memory in part)
        path.write_text(f"{head.format(path.stem)}# Services\n\n{lines}", "utf-8")


def _graph(url: str, held: Sequence[Memory]) -> None:
    """Writes a file of the MCP memory server: two entities with observations, and a relation."""
    parts = {"Gateway": held[:_FIRST], "Store": held[_FIRST:]}
    rows: list[Mapping[str, object]] = [
        {"type": "entity", "name": name, "entityType": "system",
         "observations": [memory.content for memory in part]}
        for name, part in parts.items()
    ]  # fmt: skip
    rows.append({"type": "relation", "from": "Gateway", "to": "Store", "relationType": "uses"})
    _write_graph(url, rows)


def _write_graph(url: str, rows: Sequence[Mapping[str, object]]) -> None:
    path = Path(url.removeprefix("mcp-memory:///").partition("#")[0])
    lines = (json.dumps(row, separators=(",", ":")) for row in rows)
    path.write_text("\n".join(lines), "utf-8")


def _table(url: str, held: Sequence[Memory]) -> None:
    path = url.removeprefix("sql:///").partition("#")[0].partition("?")[0]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT NOT NULL, tags TEXT, "
            "created_at TEXT, updated_at TEXT, archived INTEGER NOT NULL DEFAULT 0, image BLOB)"
        )
        db.execute("CREATE TABLE others (id INTEGER PRIMARY KEY, word TEXT)")
        db.execute("INSERT INTO others (word) VALUES ('untouched')")
        db.executemany(
            "INSERT INTO notes (id, content, tags, created_at, image) VALUES (?, ?, ?, ?, ?)",
            (
                (m.id, m.content, json.dumps(m.tags), m.created_at, bytes([n, 0, 255]))
                for n, m in enumerate(held)
            ),
        )


def _langgraph(url: str, held: Sequence[Memory]) -> None:
    from langgraph.store.sqlite import SqliteStore

    path = url.removeprefix("sql:///").partition("#")[0].partition("?")[0]
    with SqliteStore.from_conn_string(path) as store:
        store.setup()
        for memory in held:
            store.put(("users", "ann"), memory.id, {"text": memory.content, "n": len(memory.id)})


# ------------------------------------------------------------------ all of them


def _bullets(name: str, names: tuple[str, str], *, form: str = "- {}\n",
             head: str = "", without: tuple[str, ...] = _OWN_WAY) -> Kind:  # fmt: skip
    place = f"markdown:///{{}}/notes?preset={name}"
    return Kind(
        f"markdown {name}",
        place,
        fill=partial(_markdown, names, form, head),
        exact=True,
        without=without,
    )


_OBSERVED: Final = "- [fact] {} #{}\n"
_SQL: Final = partial(Kind, fill=_table, exact=True, without=_OWN_WAY)
_POINTS: Final = partial(
    Kind,
    fill=fill_qdrant,
    dressed=partial(_vector, "mem0", 6),
    without=(*_OWN_WAY, "remember", "supersede"),
    libraries=("qdrant_client",),
)
_GRAPHS: Final = partial(
    Kind,
    fill=_langgraph,
    exact=True,
    without=_OWN_WAY,
    libraries=("langgraph.store.sqlite",),
)
_CHROMA: Final = partial(
    Kind,
    dressed=partial(_vector, "chroma:notes", 6),
    slow=True,
    without=("remember", "supersede"),
    libraries=("chromadb",),
)
_LANCE: Final = partial(Kind, slow=True, libraries=("lancedb",))
_SHODH: Final = partial(
    Kind,
    dressed=_shodh,
    slow=True,
    without=_OWN_WAY,  # the library gives each note a new id
)

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("sqlite", "sqlite:///{}/memories.db", large=True),
        Kind("jsonl", "jsonl:///{}/memories.jsonl", large=True),
        Kind("jsonl move", "jsonl:///{}/memories.jsonl?hide=move", exact=True, without=_OWN_WAY),
        Kind(
            "recall",
            "recall:///{}/recall.db",
            "breadcrumbs#{}".format,
            _recall,
            large=True,
            without=("remember", "supersede", "import into"),  # it gives rows their ids and times
        ),
        *(
            Kind(
                f"llm-memory{' expire' if options else ''}",
                f"llm-memory:///{{}}/llm_memory.db{options}",
                dressed=_llm_memory,
                large=not options,
                without=("remember", "supersede"),
                libraries=("apsw", "sqlite_vec"),
            )
            for options in ("", "?hide=expire")
        ),
        _bullets("openclaw", ("MEMORY.md", "memory/2026-01-05.md")),
        _bullets("obsidian", ("Archives.md", "Services.md"), form=_OBSERVED),
        _bullets("codex", ("MEMORY.md", "raw_memories.md")),
        _bullets(
            "basic-memory",
            ("archives.md", "services.md"),
            form=_OBSERVED,
            head="---\ntitle: {0}\ntype: note\npermalink: {0}\n---\n\n",
        ),
        _bullets("agent-rules", ("AGENTS.md", "CLAUDE.md")),
        Kind(
            "markdown claude-memory",
            "markdown:///{}/notes?preset=claude-memory",
            fill=fill_memory_files,
            exact=True,
            without=_OWN_WAY,
        ),
        Kind(
            "mcp-memory",
            "mcp-memory:///{}/memory.jsonl",
            fill=_graph,
            exact=True,
            without=_OWN_WAY,
        ),
        _SQL("sql mark", "sql:///{}/notes.db#notes"),
        _SQL("sql column", "sql:///{}/notes.db?hide=archived#notes"),
        _SQL("sql move", "sql:///{}/notes.db?hide=move#notes"),
        _GRAPHS("langgraph mark", "sql:///{}/graph.db#store"),
        _GRAPHS("langgraph move", "sql:///{}/graph.db?hide=move#store"),
        _POINTS("mem0", "mem0:///{}/qdrant#mem0"),
        _POINTS("qdrant", "qdrant:///{}/qdrant?map=content:data#mem0"),
        _CHROMA("chroma", "chroma:///{}/chroma#notes"),
        _CHROMA("chroma move", "chroma:///{}/chroma?hide=move#notes"),
        _LANCE("lancedb", "lancedb:///{}/db#memories"),
        _LANCE("lancedb move", "lancedb:///{}/db?hide=move#memories"),
        _SHODH("shodh", "shodh:///{}/project"),
        _SHODH("shodh move", "shodh:///{}/project?hide=move"),
    )
}
