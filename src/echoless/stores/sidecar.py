"""The ledger beside a store that cannot hold one: `NAME.echoless`, an SQLite file."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final, Self

from echoless import lineage
from echoless.core import drafts
from echoless.database import (
    Database,
    in_memory,
    open_for_reading,
    open_for_writing,
    table_exists,
)
from echoless.errors import StoreError
from echoless.ledger import Ledger
from echoless.stores.files import speaking_of

SUFFIX: Final = drafts.SIDECAR


class Sidecar:
    """The lineage of one file; made by the first write, never by a reader."""

    def __init__(self, store: Path, *, path: Path | None = None) -> None:
        """Open the sidecar of a store's file if there is one.

        Args:
            store: The store's file or folder.
            path: The sidecar itself, for a store that is no file.
        """
        self.path = path or store.with_name(store.name + SUFFIX)
        self._store = store
        self._database = self._open_reader()

    def _open_reader(self) -> Database:
        if self.path.exists() and self.path.stat().st_size > 0:
            database = open_for_reading(self.path)
            lineage.migrations.check(database)
            if table_exists(database.connection, "facts"):
                return database
            database.close()  # whoever made it was stopped before there was anything to remember
        database = in_memory()
        lineage.migrations.apply(database)
        return database

    @property
    def ledger(self) -> Ledger:
        """The ledger as it is now."""
        return Ledger(self._database)

    @property
    def identity(self) -> str:
        """Written when the sidecar is made, so it survives moving both files.

        Until then it is derived from where the store lies.
        """
        known = self.ledger.fact("store")
        if known:
            return known
        return hashlib.sha256(str(self._store.resolve()).encode()).hexdigest()[:32]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open for writing, made if missing."""
        identity = self.identity
        reader = self._database
        with speaking_of(self.path):
            drafts.make_private(self.path, like=self._store)
            drafts.follow(self.path, self._store)
        writer = open_for_writing(self.path, create=True)
        reader.close()
        try:
            lineage.migrations.apply(writer)
            self._database = writer
            with writer.transaction():
                if self.ledger.fact("store") is None:
                    self.ledger.set_fact("store", identity)
            yield
        finally:
            writer.close()
            self._database = self._open_reader()

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class MemorySidecar:
    """Lineage that lasts as long as the object: for a store that is no file and needs no past."""

    def __init__(self) -> None:
        """Make an empty ledger."""
        self._database = in_memory()
        lineage.migrations.apply(self._database)
        self.identity = uuid.uuid4().hex

    @property
    def ledger(self) -> Ledger:
        """The ledger as it is now."""
        return Ledger(self._database)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Nothing has to be opened."""
        yield

    def close(self) -> None:
        """Forget it."""
        self._database.close()


class BesideSidecar:
    """What stores have in common whose ledger lies beside them.

    Attributes:
        url: Where the store is.
    """

    url: str
    _sidecar: Sidecar | MemorySidecar
    _writing: bool
    _turn: RLock
    """Threads that share the store write one after the other."""

    @property
    def identity(self) -> str:
        """Given by the sidecar; before it exists, derived from where the store lies."""
        return self._sidecar.identity

    @property
    def ledger(self) -> Ledger:
        """In the sidecar."""
        return self._sidecar.ledger

    def _must_write(self) -> None:
        """Refuse a change outside of `writing()`.

        Raises:
            StoreError: The store is open for reading.
        """
        if not self._writing:
            raise StoreError(f"{self.url} is open for reading; write inside store.writing().")

    def close(self) -> None:
        """Close the sidecar."""
        self._sidecar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
