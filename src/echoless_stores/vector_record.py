"""A record of a collection, and a memory as its payload and vectors and back.

A payload that was read and not changed is written as it was. Of one that changed, only the keys
that have to change do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from echoless.core.errors import BadRecord, StoreError
from echoless.core.json_codec import json_text
from echoless.core.model import Json, JsonObject, Memory, Vector, canonical
from echoless.stores import column_values as values
from echoless.stores.expiration import promised, searched, shown
from echoless.stores.field_map import presets
from echoless.stores.scope import OWNERS, Head, no_owners, owned, owned_by, owners_of
from echoless_stores.live import payload as records

UNNAMED: Final = ""
"""Name of the vector of a collection that has one vector without a name."""

_MODELS: Final = "models"
_NO_TIMES: Final = {"created_at": None, "updated_at": None}

# ------------------------------------------------------------------ layouts

_CLASSES: Final = ("public", "private")


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """The place of each field in the records of a collection.

    Attributes:
        keys: Key by field, without that of the text.
        content: Key of the text.
        document: Key of the text of a record without `content`, so that each record is a memory;
            empty where one without a text is none.
        owners: Keys whose values together are the namespace; empty where it is one key or none.
        privacy: Key of a boolean that splits memories into the namespaces `private` and `public`,
            where the key of the namespace holds no other; empty for none.
        digest: Key of the MD5 of the text, which follows the text; empty for none.
        derived: Keys made of the text by the owner, and dropped when the text changes.
        expires: Key of the day from which on the owner hides a record; empty for none.
        link: A link in the owner's form, with empty values.
        apart: Name in `extra` by key, for keys of the owner that are no metadata.
        fits: Whether a record can hold a metadata value under a key exactly; None where it always
            can.
    """

    keys: Mapping[str, str]
    content: str
    document: str = ""
    owners: tuple[str, ...] = ()
    privacy: str = ""
    digest: str = ""
    derived: tuple[str, ...] = ()
    expires: str = ""
    link: JsonObject | None = None
    apart: Mapping[str, str] = field(default_factory=dict)
    fits: Callable[[str, Json], bool] | None = None

    @property
    def taken(self) -> frozenset[str]:
        """Returns the keys that hold fields, or follow from them."""
        own = (self.content, *self.owners, self.privacy, self.digest, *self.derived)
        more = ("id",) if self.owners else ()
        return frozenset({*self.keys.values(), *own, *self.apart, *more} - {""})

    @property
    def has_namespace(self) -> bool:
        """Returns whether the namespace is a key of the records, or made of several."""
        return bool(self.owners or self.privacy or "namespace" in self.keys)

    def read(
        self, record: Mapping[str, Json], names: Iterable[str] | None = None
    ) -> tuple[dict[str, object], set[str]]:
        """Returns fields by name, and the keys they were read from.

        A field is left out where its key is missing, or holds what cannot be read as that field.

        Args:
            record: Fields of the stored record.
            names: Only these fields; all by default.
        """
        read: dict[str, object] = {}
        used: set[str] = set()
        for name in self.keys if names is None else names:
            key = self.keys.get(name)
            if key is None or key not in record:
                continue
            try:
                read[name] = values.read(name, record[key])
            except BadRecord:
                continue
            used.add(key)
        if self.privacy:
            used.add(self.privacy)
            read.setdefault("namespace", _CLASSES[values.is_true(record.get(self.privacy))])
        if self.owners:
            used |= set(self.owners)
            read["namespace"] = owned_by(record)
        return read, used

    def change(self, record: dict[str, Json], old: Memory, new: Memory) -> None:
        """Writes the fields that changed, and what follows from the text.

        Raises:
            StoreError: The namespace names no owner, or a key cannot hold the field in its form.
        """
        for name in {**self.keys, "namespace": ""} if self.owners else self.keys:
            if canonical(values.as_json(new, name)) != canonical(values.as_json(old, name)):
                self._write(record, name, new)
        if new.content != old.content:
            if self.digest:
                data = new.content.encode()
                record[self.digest] = hashlib.md5(data, usedforsecurity=False).hexdigest()
            for key in self.derived:
                record.pop(key, None)

    def _write(self, record: dict[str, Json], name: str, memory: Memory) -> None:
        """Writes one field in the form its key has."""
        if name == "namespace" and self.owners:
            owners = owners_of(memory.namespace)
            if not owners:
                raise StoreError(no_owners(memory))
            for owner in self.owners:
                if str(record.get(owner) or "") != owners.get(owner, ""):
                    values.set_or_remove(record, owner, owners.get(owner))
        elif name == "namespace" and self.privacy:
            is_class = memory.namespace in (*_CLASSES, "")
            values.set_or_remove(record, self.keys[name], None if is_class else memory.namespace)
            record[self.privacy] = memory.namespace == "private"
        else:
            values.change(record, self.keys[name], name, memory, link=self.link)


MEM0: Final = RecordLayout(
    {k: v for k, v in presets()["mem0"].columns.items() if k not in {"content", "namespace"}},
    content="data",
    owners=OWNERS,
    digest="hash",
    derived=("text_lemmatized",),
    expires="expiration_date",
    apart={"expiration_date": "expiration_date"},
)
"""Records of mem0 2.2 in a vector store (`mem0/memory/main.py`)."""


# ------------------------------------------------------------------ records


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a collection.

    Attributes:
        id: Its id.
        payload: Its fields.
        dense: Bytes of its vectors (little-endian float32) by name.
        other: Its sparse vectors (`indices` and `values`) and lists of vectors, by name.
        numbers: The dense vectors as they are stored, where that is more exact than float32.
        bare: Whether the record stores its single vector without an object of names.
    """

    id: str
    payload: Mapping[str, Json] = field(default_factory=dict)
    dense: Mapping[str, bytes] = field(default_factory=dict)
    other: Mapping[str, Json] = field(default_factory=dict)
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bare: bool = False

    def says(self, other: Record) -> bool:
        """Returns whether another record holds the same."""
        alike = canonical(self.payload) == canonical(other.payload)  # true is not 1
        return alike and self.has_vectors_of(other)

    def has_vectors_of(self, other: Record) -> bool:
        """Returns whether another record has the same vectors."""
        return (self.dense, self.other) == (other.dense, other.other)


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of a collection.

    Attributes:
        model: Name of their model where a record names no other; with the name of a vector behind
            it, where that has one.
        sizes: Number of components by name; None where it is not known.
    """

    model: str
    sizes: Mapping[str, int | None]

    def usual(self, name: str) -> str:
        """Returns the model of the vector of a name, where nothing else is known."""
        return f"{self.model}/{name}" if name else self.model

    def slot(self, vector: Vector) -> str | None:
        """Returns the name under which a vector is kept; None where none is right."""
        for name in self.sizes:
            if vector.model == self.usual(name):
                return name
        return next(iter(self.sizes)) if len(self.sizes) == 1 else None

    def models(self, memory: Memory) -> dict[str, Json]:
        """Returns the models of vectors that are not of the usual ones, by name."""
        placed = {name: v.model for v in memory.vectors if (name := self.slot(v)) is not None}
        return {name: model for name, model in placed.items() if model != self.usual(name)}


@dataclass(frozen=True, slots=True)
class RecordCodec:
    """Conversion of the records of a collection to memories and back.

    Attributes:
        kind: Key of `native` under which a memory keeps its record.
        layout: Of the payloads.
        space: The vectors of the collection.
    """

    kind: str
    layout: RecordLayout
    space: Space

    def saved(self, memory: Memory) -> Record | None:
        """Returns the record a memory was read from, without dense vectors; or None."""
        saved = memory.native.get(self.kind)
        if not isinstance(saved, Mapping):
            return None
        payload, other = saved.get("payload"), saved.get("vectors")
        return Record(
            id=memory.id,
            payload=dict(payload) if isinstance(payload, Mapping) else {},
            other=dict(other) if isinstance(other, Mapping) else {},
            bare=bool(saved.get("bare")),
        )

    # ------------------------------------------------------------------ reading

    def namespace(self, payload: JsonObject) -> str:
        """Returns the namespace of a payload: under the key of the map, where that names one.

        Without such a key, and without owners, it is what echoless wrote beside the fields.
        """
        if self.layout.has_namespace:
            fields, _ = self.layout.read(payload, ["namespace"])
            return str(fields.get("namespace", ""))
        return str((records.own_fields(payload) or {}).get("namespace") or "")

    def head(self, record: Record) -> Head:
        """Returns the id, namespace and time of a record's memory."""
        if "created_at" in self.layout.keys:
            fields, _ = self.layout.read(record.payload, ["created_at"])
            time = fields.get("created_at")
        else:
            time = (records.own_fields(record.payload) or {}).get("created_at")
        namespace = self.namespace(record.payload)
        return Head(record.id, namespace, None if time is None else str(time))

    def text(self, payload: JsonObject) -> str | None:
        """Returns the text of a payload; None where it is no memory."""
        text = payload.get(self.layout.content)
        if isinstance(text, str) or not self.layout.document:
            return text if isinstance(text, str) else None
        document = payload.get(self.layout.document)
        return document if isinstance(document, str) else ""

    def decode(self, record: Record) -> Memory | None:
        """Returns the memory of a record; None if it has no text.

        A value that cannot be read as the field of its key stays in `metadata` as it is, and the
        field takes its default.

        Raises:
            BadRecord: The fields under `echoless` have another form than echoless writes.
        """
        layout, space = self.layout, self.space
        payload = shown(record.payload, layout.expires)
        text = self.text(payload)
        if text is None:
            return None
        fields, used = layout.read(payload)
        taken = layout.taken - ({*layout.keys.values()} - used)  # what cannot be read is metadata
        rest = {key: value for key, value in payload.items() if key not in taken}
        own = records.own_fields(rest)
        if own is not None:
            rest[records.OWN] = own
        home = self.namespace(payload)
        memory = records.decode(record.id, text, home, rest, _NO_TIMES)
        apart = {name: payload[key] for key, name in layout.apart.items() if key in payload}
        native: dict[str, Json] = {"payload": payload}
        if record.other:
            native["vectors"] = dict(record.other)
        if record.bare:
            native["bare"] = True
        named = _named(own or {})
        whole = replace(
            memory,
            vectors=tuple(
                Vector(str(named.get(name) or space.usual(name)), record.dense[name])
                for name in sorted(record.dense)
            ),
            extra={**memory.extra, **(apart if layout.content in payload else {})},
            native={self.kind: native},
            **fields,  # type: ignore[arg-type]
        )
        whole = searched(whole) if space.sizes else whole
        return owned(promised(whole), whole=not (layout.owners or layout.privacy))

    # ------------------------------------------------------------------ writing

    def encode(self, memory: Memory, base: Record | None, old: Memory | None) -> dict[str, Json]:
        """Returns the payload of a memory.

        Args:
            memory: As it has to read afterwards.
            base: The record it was; None for a new one.
            old: The memory of that record; None if it had none.

        Raises:
            BadRecord: Its text, id or namespace cannot be stored.
            StoreError: A field has no place in the form this record has.
        """
        layout, models = self.layout, self.space.models(memory)
        if base is None or old is None:
            if layout.owners and not memory.namespace and self.saved(memory) is None:
                raise BadRecord(no_owners(memory))
            payload = self._whole(memory, models)
            old = Memory(id=memory.id, content="")
        else:
            payload = shown(base.payload, layout.expires)
            had = _named(records.own_fields(payload) or {})
            if memory == replace(old, vectors=memory.vectors) and models == had:
                return payload
            changed, gone = difference(self._whole(old, had), self._whole(memory, models))
            payload = {k: v for k, v in {**payload, **changed}.items() if k not in gone}
        layout.change(payload, old, memory)
        return payload

    def _whole(self, memory: Memory, models: JsonObject) -> dict[str, Json]:
        """Returns the payload of a new record, without what `RecordLayout.change` writes."""
        layout = self.layout
        apart = {key: memory.extra[n] for key, n in layout.apart.items() if n in memory.extra}
        extra = {k: v for k, v in memory.extra.items() if k not in layout.apart.values()}
        blank = {name: values.default(name) for name in layout.keys}
        plain = replace(memory, vectors=(), extra=extra, **blank)  # type: ignore[arg-type]
        fits = layout.fits or (lambda _key, _value: True)
        unfit = {key for key, value in memory.metadata.items() if not fits(key, value)}
        payload = records.encode(plain, layout.taken | unfit, _NO_TIMES)
        own = payload.pop(records.OWN, None)
        own = dict(own) if isinstance(own, Mapping) else {}
        if memory.namespace and not layout.has_namespace:
            own["namespace"] = memory.namespace
        if models:
            own[_MODELS] = models
        if own:
            payload[records.OWN] = json_text(own)
        return {**payload, layout.content: memory.content, **apart}


def _named(own: JsonObject) -> JsonObject:
    """Returns the models of vectors by name that a record states."""
    named = own.get(_MODELS)
    return named if isinstance(named, Mapping) else {}


def difference(old: JsonObject, new: JsonObject) -> tuple[dict[str, Json], list[str]]:
    """Returns the fields that are new or changed from one payload to another, and those gone."""
    changed = {
        key: value
        for key, value in new.items()
        if key not in old or canonical(old[key]) != canonical(value)
    }
    return changed, [key for key in old if key not in new]
