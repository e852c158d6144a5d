"""Tables of other programs, recognised by their columns, and how each is read.

A preset says which columns make a table one of that program, where each field of a memory lies, and
how the program itself hides a row. Where it has no way to hide one, a hidden memory is hidden from
echoless alone, and the report says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from echoless.core.optional import lazy_module, require_module
from echoless.stores.field_map import FieldMap

if TYPE_CHECKING:
    from mem0.utils import lemmatization
else:
    lemmatization = lazy_module("mem0.utils.lemmatization")

EXPIRED: Final = "1970-01-01"
"""Date of a hidden memory in tables whose program hides expired rows."""


@dataclass(frozen=True, slots=True)
class TablePreset:
    """Layout of a program's table.

    Attributes:
        program: Its name.
        signs: Columns that such a table has.
        map: Field to column, or to `column->key` inside a column of JSON.
        content: Places of the text, the first with a text counts; that of the map if empty.
        context: Columns with the subject of a text, or with more of it: they are compared with it.
            One alone, a text or a list of texts in JSON, is the text of a row without another.
        scope: Places that make the namespace, by their label; that of the map if empty.
        rest: Column of JSON, or place inside one, whose other keys are the metadata.
        hide: Column or place that hides a row from the program; may be empty.
        hidden: Value of that place in a hidden row; empty if it names the survivor.
        survivor: Column that names a survivor there.
        gone: Column that is set in a row the program has deleted; may be empty.
        vectors: Table of sqlite-vec that holds the vectors by the number of the row; may be empty.
        model: Name of the vectors' model; empty to name it after the table.
        counters: Columns the program changes whenever it reads or reorders, which are no edit.
        fades: Whether the importance changes by itself.
        unit: Unit of times that are numbers: 1 for seconds, 1000 for milliseconds.
        derived: Function of the text by place, for values that follow it.
        written: Field of a time by column, for columns that repeat one as ISO 8601.
        exactly: Whether such a table has no other columns.
    """

    program: str
    signs: frozenset[str]
    map: FieldMap
    content: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    scope: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""
    hide: str = ""
    hidden: str = ""
    survivor: str = ""
    gone: str = ""
    vectors: str = ""
    model: str = ""
    counters: frozenset[str] = frozenset()
    fades: bool = False
    unit: int = 1
    derived: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    exactly: bool = False

    def fits(self, columns: Collection[str]) -> bool:
        """Returns whether a table with these columns is one of the program."""
        return self.signs <= set(columns) and (not self.exactly or self.signs == set(columns))


def _normal_hash(text: str) -> str:
    """Returns the hash mcp-memory-service 12.4 gives a text (`utils/hashing.py`)."""
    return hashlib.sha256(text.strip().lower().encode("utf-8")).hexdigest()


def _md5(text: str) -> str:
    """Returns the hash mem0 2.2 gives a text."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _lemmatized(text: str) -> str:
    """Returns the words mem0 2.2 searches a text by."""
    require_module("mem0", "A new text in a table of mem0", "mem0")
    return str(lemmatization.lemmatize_for_bm25(text))


PRESETS: Final = (
    # mcp-memory-service 12.4: `storage/mixins/migrations.py`; its searches skip `superseded_by`
    # (`storage/mixins/retrieve.py`) and rows with `deleted_at`.
    TablePreset(
        "mcp-memory-service",
        frozenset({"id", "content_hash", "content", "tags", "memory_type", "metadata"}),
        FieldMap(
            {
                "content": "content",
                "tags": "tags",
                "type": "memory_type",
                "created_at": "created_at",
                "updated_at": "updated_at",
                "namespace": "store",
                "last_accessed": "last_accessed",
            }
        ),
        rest="metadata",
        hide="superseded_by",
        survivor="content_hash",
        gone="deleted_at",
        vectors="memory_embeddings",
        derived={"content_hash": _normal_hash},
        written={"created_at_iso": "created_at", "updated_at_iso": "updated_at"},
    ),
    # langgraph-checkpoint-sqlite 3.1 and -postgres 3: `store/*/base.py`. LangMem keeps its text
    # under `content`.
    TablePreset(
        "LangGraph",
        frozenset({"prefix", "key", "value", "created_at", "updated_at"}),
        FieldMap({"namespace": "prefix", "created_at": "created_at", "updated_at": "updated_at"}),
        content=("value->text", "value->content->content", "value->content"),
        rest="value",
    ),
    # agno 3.1: `db/sqlite/schemas.py`; the text is a JSON string.
    TablePreset(
        "agno",
        frozenset({"memory_id", "memory", "user_id", "agent_id", "team_id", "topics"}),
        FieldMap(
            {
                "content": "memory",
                "tags": "topics",
                "created_at": "created_at",
                "updated_at": "updated_at",
            }
        ),
        scope={"agent_id": "agent_id", "team_id": "team_id", "user_id": "user_id"},
    ),
    # mem0 2.2 on pgvector: `vector_stores/pgvector.py`, `memory/main.py`.
    TablePreset(
        "mem0",
        frozenset({"id", "vector", "payload"}),
        FieldMap(
            {
                "content": "payload->data",
                "created_at": "payload->created_at",
                "updated_at": "payload->updated_at",
                "vectors": "vector",
            }
        ),
        scope={
            "agent_id": "payload->agent_id",
            "run_id": "payload->run_id",
            "user_id": "payload->user_id",
        },
        rest="payload",
        hide="payload->expiration_date",
        hidden=EXPIRED,
        derived={"payload->hash": _md5, "payload->text_lemmatized": _lemmatized},
        exactly=True,
    ),
    # OpenMemory (CaviraOSS): `core/db.ts`; the vectors lie in a table of their own.
    TablePreset(
        "OpenMemory",
        frozenset({"id", "user_id", "content", "primary_sector", "tags", "meta", "salience"}),
        FieldMap(
            {
                "content": "content",
                "namespace": "user_id",
                "type": "primary_sector",
                "tags": "tags",
                "created_at": "created_at",
                "updated_at": "updated_at",
                "last_accessed": "last_seen_at",
                "importance": "salience",
            }
        ),
        rest="meta",
        counters=frozenset({"feedback_score", "coactivations", "decay_lambda", "segment"}),
        fades=True,
        unit=1000,
    ),
    # claude-mem 13.25: its migrations; rows from before 2025-12 have `text` and no `narrative`, and
    # its first tables have no such column, nor one for the title and the facts.
    TablePreset(
        "claude-mem",
        frozenset({"id", "project", "text", "type", "created_at", "created_at_epoch"}),
        FieldMap(
            {
                "namespace": "project",
                "type": "type",
                "tags": "concepts",
                "created_at": "created_at_epoch",
            }
        ),
        content=("narrative", "text", "facts", "subtitle", "title"),
        context=("title", "subtitle", "facts"),
        counters=frozenset({"relevance_count", "merged_into_project"}),
        unit=1000,
    ),
)
"""Presets in the order of the search."""


def preset_of(columns: Collection[str]) -> TablePreset | None:
    """Returns the preset of a table with these columns, or None."""
    return next((each for each in PRESETS if each.fits(columns)), None)
