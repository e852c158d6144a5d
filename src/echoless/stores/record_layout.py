"""Where the fields of a memory lie in the record of another program, and changes made there.

A record that was read and not changed goes back as it was. Of one that changed, only the keys of
fields that changed do, each in the form it had.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from echoless.core.errors import BadRecord
from echoless.core.model import Json, JsonObject, Memory, canonical
from echoless.stores import column_values as values
from echoless.stores.field_map import presets
from echoless.stores.scope import OWNERS, no_owners, owned_by, owners_of

_CLASSES: Final = ("public", "private")


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """The place of each field in the records of a collection.

    Attributes:
        keys: Key by field, without that of the text.
        content: Key of the text; empty where the text lies beside the keys.
        owners: Keys whose values together are the namespace; empty where it is one key or none.
        privacy: Key of a boolean that splits memories into the namespaces `private` and `public`,
            where the key of the namespace holds no other; empty for none.
        digest: Key of the MD5 of the text, which follows the text; empty for none.
        derived: Keys made of the text by the owner, and dropped when the text changes.
        expires: Key of the day from which on the owner hides a record; empty for none.
        link: A link in the owner's form, with empty values.
    """

    keys: Mapping[str, str]
    content: str = ""
    owners: tuple[str, ...] = ()
    privacy: str = ""
    digest: str = ""
    derived: tuple[str, ...] = ()
    expires: str = ""
    link: JsonObject | None = None

    @property
    def taken(self) -> frozenset[str]:
        """Returns the keys that hold fields, or follow from them."""
        own = (self.content, *self.owners, self.privacy, self.digest, *self.derived)
        return frozenset({*self.keys.values(), *own} - {""})

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
            BadRecord: The namespace names no owner.
            StoreError: A field has no place in the form its key has.
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
                raise BadRecord(no_owners(memory))
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
)
"""Records of mem0 2.2 in a vector store (`mem0/memory/main.py`)."""
