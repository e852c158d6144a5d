"""Rows of the embedded store as memories: a million of them take seconds, so every step counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from echoless.codec import read_links
from echoless.errors import BadRecord
from echoless.model import EMPTY, Json, Link, Memory, Provenance, Vector

PLAIN: Final = (
    "id",
    "content",
    "namespace",
    "type",
    "importance",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed",
)
CODED: Final = ("tags", "links", "metadata", "extra")
COLUMNS: Final = (*PLAIN, "provenance", "pinned", *CODED)

_PROVENANCE: Final = {word.value: word for word in Provenance}
_VECTOR: Final = 2
"""Columns of a row before `seq`: model and data of one vector."""

_MOST_KNOWN: Final = 100_000
"""Texts remembered because they may come again: names, kinds, tags."""


class Place(Mapping[str, Json]):
    """Where a memory stands in its file, as `native`: a tenth of what a dictionary takes."""

    __slots__ = ("_seq",)

    def __init__(self, seq: int) -> None:
        self._seq = seq

    def __getitem__(self, name: str) -> Json:
        if name == "seq":
            return self._seq
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("seq",))

    def __len__(self) -> int:
        return 1


class Rows:
    """Turns rows into memories; what comes again is held once."""

    def __init__(self, path: Path) -> None:
        """Begin.

        Args:
            path: Of the file, for messages.
        """
        self._path = path
        self._names: dict[str, str] = {}
        self._tags: dict[str, tuple[str, ...]] = {"[]": ()}

    def memories(self, batches: Iterable[Sequence[tuple[Any, ...]]]) -> Iterator[Memory]:
        """Memories, in the order of the rows.

        Args:
            batches: Rows of model, data (both None without a vector), seq and `COLUMNS`; rows of
                one memory stand together.

        Raises:
            BadRecord: A record is damaged; the message names it.
        """
        pending: tuple[Any, ...] | None = None
        vectors: tuple[Vector, ...] = ()
        same = self._names.setdefault
        for batch in batches:
            for row in batch:
                model = row[0]
                if pending is not None and pending[_VECTOR] == row[_VECTOR]:
                    vectors += (Vector(same(model, model), row[1]),)
                    continue
                if pending is not None:
                    yield self._memory(pending, vectors)
                pending = row
                vectors = () if model is None else (Vector(same(model, model), row[1]),)
        if pending is not None:
            yield self._memory(pending, vectors)

    def _memory(self, row: tuple[Any, ...], vectors: tuple[Vector, ...]) -> Memory:
        _, _, seq, id_, content, namespace, kind, importance, count, made, changed, seen = row[:12]
        provenance, pinned, tags, links, metadata, extra = row[12:]
        if len(self._names) > _MOST_KNOWN:
            self._names.clear()
        same = self._names.setdefault
        try:
            return Memory(
                id=id_,
                content=content,
                namespace=same(namespace, namespace),
                type=same(kind, kind),
                tags=self._tagged(tags),
                importance=importance,
                access_count=count,
                created_at=made,
                updated_at=changed,
                last_accessed=seen,
                provenance=_PROVENANCE.get(provenance, Provenance.UNKNOWN),
                links=() if links == "[]" else _links(links),
                pinned=bool(pinned),
                metadata=EMPTY if metadata == "{}" else json.loads(metadata),
                vectors=vectors,
                extra=EMPTY if extra == "{}" else json.loads(extra),
                native=Place(seq),
            )
        except (ValueError, TypeError, BadRecord) as problem:
            raise BadRecord(
                f"Memory {id_!r} in {self._path} is damaged ({problem}). "
                "Restore it from a backup or remove it."
            ) from problem

    def _tagged(self, text: str) -> tuple[str, ...]:
        known = self._tags.get(text)
        if known is None:
            known = tuple(json.loads(text))
            if len(self._tags) > _MOST_KNOWN:
                self._tags.clear()
            self._tags[text] = known
        return known


def _links(text: str) -> tuple[Link, ...]:
    return read_links(json.loads(text))
