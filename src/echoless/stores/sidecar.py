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
from echoless.errors import EcholessError, ForeignStore, LedgerDamaged, StoreError
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
        self._damage: EcholessError | None = None
        self._database = self._open_reader()

    def _open_reader(self) -> Database:
        self._damage = None
        if self.path.exists() and self.path.stat().st_size > 0:
            try:
                database = open_for_reading(self.path)
                lineage.KNOWN.check(database, writing=False)
                lineage.migrations.check(database)
                if table_exists(database.connection, "facts"):
                    return database
                database.close()  # whoever made it was stopped before there was anything in it
            except ForeignStore as problem:  # told by whatever asks for the ledger
                self._damage = lost(self.path, problem)
        database = in_memory()
        lineage.migrations.apply(database)
        return database

    @property
    def ledger(self) -> Ledger:
        """The ledger as it is now.

        Raises:
            LedgerDamaged: The file is there and cannot be read at all.
        """
        if self._damage is not None:
            raise self._damage
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
        lineage.KNOWN.check(writer, writing=True)
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

    def unfinished(self) -> tuple[Path, ...]:
        """The file, where another writer was stopped in the middle."""
        return (self.path,) if self._database.unfinished else ()

    def take_back(self) -> None:
        """Take the stopped write back on the file itself."""
        self._database.heal()

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def lost(path: Path, problem: EcholessError) -> LedgerDamaged:
    """The error for a sidecar of which nothing can be read."""
    why = f"cannot be read at all ({problem})"
    return LedgerDamaged(
        f"The ledger {path} {why} The memories lie in another file and are not touched by that. To "
        f"go on without it, move {path.name} away: then hidden memories are shown again, and "
        "earlier runs cannot be undone.",
        part=f"the file {path.name} {why}",
    )


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

    def unfinished(self) -> tuple[Path, ...]:
        """No other program writes it."""
        return ()

    def take_back(self) -> None:
        """There is nothing to take back."""

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

    def unfinished(self) -> tuple[Path, ...]:
        """Files in which a write was stopped in the middle."""
        return self._sidecar.unfinished()

    def take_back(self) -> None:
        """Take such writes back on the files themselves."""
        self._sidecar.take_back()

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
