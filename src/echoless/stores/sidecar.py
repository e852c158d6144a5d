"""Ledger beside a store that cannot hold one: `NAME.echoless`, an SQLite file."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import RLock
from typing import Final, Protocol, Self

from echoless.core import drafts
from echoless.core.errors import EcholessError, ForeignStore, LedgerDamaged, StoreError
from echoless.core.sqlite import (
    Database,
    in_memory,
    open_for_reading,
    open_for_writing,
    table_exists,
)
from echoless.stores import ledger_schema as lineage
from echoless.stores.files import speaking_of
from echoless.stores.ledger import Ledger

SUFFIX: Final = drafts.SIDECAR


class LedgerPlace(Protocol):
    """Where the lineage of a store lies that does not hold it in its own file."""

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger as it is now.

        Raises:
            LedgerDamaged: Nothing of it can be read.
        """
        ...

    @property
    def name(self) -> str:
        """Returns a short name of the place, for messages."""
        ...

    @property
    def is_sound(self) -> bool:
        """Returns whether the ledger can be read; one that is not there is an empty one."""
        ...

    @property
    def identity(self) -> str:
        """Returns the identity of the store."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Opens the ledger for writing, and makes it if it is missing."""
        ...

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the files in which another writer was stopped in the middle."""
        ...

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves."""
        ...

    def close(self) -> None:
        """Closes the ledger."""
        ...


class Sidecar:
    """Lineage of one file; made by the first write, never by a reader."""

    def __init__(self, store: Path, *, path: Path | None = None) -> None:
        """Opens the sidecar of a store's file if there is one.

        Args:
            store: The store's file or folder.
            path: The sidecar itself, for a store that is no file.
        """
        self.path = path or store.with_name(store.name + SUFFIX)
        self._store = store
        self._damage: EcholessError | None = None
        self._database = self._open_reader()

    def _open_reader(self) -> Database:
        """Opens the file for reading, or an empty ledger in memory where there is none."""
        self._damage = None
        if self.path.exists() and self.path.stat().st_size > 0:
            try:
                database = open_for_reading(self.path)
                lineage.KNOWN.check(database, writing=False)
                lineage.migrations.check(database)
                if table_exists(database.connection, "facts"):
                    return database
                database.close()  # its maker was stopped before anything was in it
            except ForeignStore as problem:  # raised when the ledger is asked for
                self._damage = lost(self.path, problem)
        database = in_memory()
        lineage.migrations.apply(database)
        return database

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger as it is now.

        Raises:
            LedgerDamaged: The file is there and cannot be read at all.
        """
        if self._damage is not None:
            raise self._damage
        return Ledger(self._database)

    @property
    def database(self) -> Database:
        """Returns the database of the ledger, for tables beside those of the lineage."""
        return self._database

    @property
    def name(self) -> str:
        """Returns the name of the file."""
        return self.path.name

    @property
    def is_sound(self) -> bool:
        """Returns whether the ledger can be read; one that is not there is an empty one."""
        return self._damage is None

    @property
    def identity(self) -> str:
        """Returns the identity of the store, written when the sidecar is made.

        So it survives moving both files. Until then it is derived from the place of the store.
        """
        known = self.ledger.fact("store")
        if known:
            return known
        return hashlib.sha256(str(self._store.resolve()).encode()).hexdigest()[:32]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Opens the file for writing, and makes it if it is missing."""
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
        """Returns the file, where another writer was stopped in the middle."""
        return (self.path,) if self._database.unfinished else ()

    def take_back(self) -> None:
        """Undoes the unfinished write on the file itself."""
        self._database.heal()

    def close(self) -> None:
        """Closes the file."""
        self._database.close()


def lost(path: Path, problem: EcholessError) -> LedgerDamaged:
    """Returns the error for a sidecar of which nothing can be read."""
    why = f"cannot be read at all ({problem})"
    return LedgerDamaged(
        f"The ledger {path} {why} The memories lie in another file and are not touched by that. To "
        f"go on without it, move {path.name} away: then hidden memories are shown again, and "
        "earlier runs cannot be undone. Memories hidden with hide=move lie in it: keep it.",
        part=f"the file {path.name} {why}",
    )


class MemorySidecar:
    """Lineage that lasts as long as the object, for a store that is no file."""

    def __init__(self) -> None:
        """Makes an empty ledger."""
        self._database = in_memory()
        lineage.migrations.apply(self._database)
        self.identity = uuid.uuid4().hex

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger as it is now."""
        return Ledger(self._database)

    @property
    def database(self) -> Database:
        """Returns the database of the ledger, for tables beside those of the lineage."""
        return self._database

    @property
    def name(self) -> str:
        """Returns where it lies."""
        return "memory"

    @property
    def is_sound(self) -> bool:
        """Returns True: no other program changes it."""
        return True

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Does nothing: there is no file to open."""
        yield

    def unfinished(self) -> tuple[Path, ...]:
        """Returns nothing: no other program writes it."""
        return ()

    def take_back(self) -> None:
        """Does nothing: there is no write to undo."""

    def close(self) -> None:
        """Drops the lineage."""
        self._database.close()


class BesideSidecar:
    """Common part of the stores whose ledger lies beside them.

    Attributes:
        url: Where the store is.
    """

    url: str
    _sidecar: LedgerPlace
    _writing: bool
    _turn: RLock
    """Threads that share the store write one after the other."""

    @property
    def identity(self) -> str:
        """Returns the identity the sidecar gives, or one from the place of the store before."""
        return self._sidecar.identity

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger in the sidecar."""
        return self._sidecar.ledger

    @property
    def ledger_name(self) -> str:
        """Returns where the ledger lies, in a word or two."""
        return self._sidecar.name

    @property
    def ledger_file(self) -> Path | None:
        """Returns where the sidecar lies, or will lie; None if the ledger is in no file."""
        return self._sidecar.path if isinstance(self._sidecar, Sidecar) else None

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the files in which a write was stopped in the middle."""
        return self._sidecar.unfinished()

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves."""
        self._sidecar.take_back()

    def _must_write(self) -> None:
        """Refuses a change outside of `writing()`.

        Raises:
            StoreError: The store is open for reading.
        """
        if not self._writing:
            raise StoreError(f"{self.url} is open for reading; write inside store.writing().")

    def close(self) -> None:
        """Closes the sidecar."""
        self._sidecar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class DatabaseBesideSidecar(BesideSidecar):
    """Common part of the stores that are an SQLite file of another program."""

    _database: Database

    def integrity(self) -> list[str]:
        """Returns what is wrong with the file, one sentence each; empty if nothing is."""
        return self._database.faults()

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the file or its sidecar, where a writer was stopped in the middle."""
        path = self._database.path
        own = (path,) if path is not None and self._database.unfinished else ()
        return (*own, *super().unfinished())

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves."""
        self._database.heal()
        super().take_back()

    def close(self) -> None:
        """Closes both files."""
        self._database.close()
        super().close()
