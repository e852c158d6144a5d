"""Ledger in a file beside a store that cannot hold it: `NAME.echoless`, an SQLite file."""

from __future__ import annotations

import hashlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Final

from echoless.core import drafts
from echoless.core.errors import EcholessError, ForeignStore, LedgerDamaged, StoreLocked
from echoless.core.failures import kind_of, misplaced
from echoless.core.model import Memory
from echoless.core.sqlite import (
    BUSY_TIMEOUT_SECONDS,
    Database,
    in_memory,
    open_for_reading,
    open_for_writing,
    table_exists,
)
from echoless.stores import ledger_schema as lineage
from echoless.stores.base import Store
from echoless.stores.files import exclusive, speaking_of
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.ledger_rows import Image
from echoless.stores.ledger_schema import LedgerDatabase

SUFFIX: Final = drafts.SIDECAR


class LedgerPlace(ABC):
    """Where the lineage of a store lies that does not hold it in its own file."""

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """Returns the present ledger.

        Raises:
            LedgerDamaged: Nothing of it can be read.
        """

    @property
    @abstractmethod
    def name(self) -> str:
        """Returns a short name of the place, for messages."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Returns the identity of the store."""

    @property
    def is_sound(self) -> bool:
        """Checks whether the ledger can be read; a missing ledger counts as an empty one."""
        return True

    def locked(self) -> AbstractContextManager[None]:
        """Locks out other writers of the store inside the block."""
        return nullcontext()

    def writing(self) -> AbstractContextManager[None]:
        """Opens the ledger for writing, and makes it if it is missing."""
        return nullcontext()

    def remarks(self) -> tuple[str, ...]:
        """Returns where else lineage of the store lies, one sentence each."""
        return ()

    def faults(self) -> Sequence[str]:
        """Returns what is wrong with the ledger's own tables, one sentence each."""
        return ()

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the files in which another writer was stopped in the middle."""
        return ()

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves."""

    @abstractmethod
    def close(self) -> None:
        """Closes the ledger."""


class Sidecar(LedgerPlace):
    """Lineage of one file; made by the first write, never by a reader.

    Attributes:
        database: The database of the ledger, for tables beside those of the lineage.
    """

    def __init__(self, store: Path, *, path: Path | None = None) -> None:
        """Opens the sidecar of a store's file if there is one.

        Args:
            store: The store's file or folder.
            path: The sidecar itself, for a store that is no file.
        """
        self.path = path or store.with_name(store.name + SUFFIX)
        self._store = store
        self._damage: EcholessError | None = None
        self.database = self._open_reader()

    def _open_reader(self) -> Database:
        """Opens the file for reading, or an empty ledger in memory where there is none."""
        self._damage = None
        if kind_of(self.path) not in {"file", ""}:
            self._damage = lost(self.path, misplaced(self.path, "file"))
        elif self.path.exists() and self.path.stat().st_size > 0:
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
        """Returns the present ledger.

        Raises:
            LedgerDamaged: The file is there and cannot be read at all.
        """
        if self._damage is not None:
            raise self._damage
        return Ledger(self.database)

    @property
    def name(self) -> str:
        """Returns the name of the file."""
        return self.path.name

    @property
    def is_sound(self) -> bool:
        """Checks whether the ledger can be read; a missing ledger counts as an empty one."""
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

    def locked(self) -> AbstractContextManager[None]:
        """Locks the store's own file or folder against other writers inside the block."""
        return exclusive(self._store)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Opens the file for writing, and makes it if it is missing."""
        identity = self.identity
        reader = self.database
        with speaking_of(self.path):
            drafts.make_private(self.path, like=self._store)
            drafts.follow(self.path, self._store)
        writer = open_for_writing(self.path, create=True)
        lineage.KNOWN.check(writer, writing=True)
        reader.close()
        try:
            lineage.migrations.apply(writer)
            self.database = writer
            with writer.transaction():
                if self.ledger.fact("store") is None:
                    self.ledger.set_fact("store", identity)
            yield
        finally:
            writer.close()
            self.database = self._open_reader()

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the file, where another writer was stopped in the middle."""
        return (self.path,) if self.database.unfinished else ()

    def take_back(self) -> None:
        """Undoes the unfinished write on the file itself."""
        self.database.heal()

    def close(self) -> None:
        """Closes the file."""
        self.database.close()


def lost(path: Path, problem: EcholessError) -> LedgerDamaged:
    """Returns the error for a sidecar of which nothing can be read."""
    why = f"cannot be read at all ({problem})"
    return LedgerDamaged(
        f"The ledger {path} {why} The memories lie in another file and are not touched by that. To "
        f"go on without it, move {path.name} away: then hidden memories are shown again, and "
        "earlier runs cannot be undone. Memories hidden with hide=move lie in it: keep it.",
        part=f"the file {path.name} {why}",
    )


class MemorySidecar(LedgerPlace):
    """Lineage in memory, for a store that is no file.

    Attributes:
        database: The database of the ledger, for tables beside those of the lineage.
    """

    def __init__(self) -> None:
        """Makes an empty ledger."""
        self.database = in_memory()
        lineage.migrations.apply(self.database)
        self._identity = uuid.uuid4().hex

    @property
    def identity(self) -> str:
        """Returns a new identity for each object."""
        return self._identity

    @property
    def ledger(self) -> Ledger:
        """Returns the present ledger."""
        return Ledger(self.database)

    @property
    def name(self) -> str:
        """Returns where it lies."""
        return "memory"

    def close(self) -> None:
        """Drops the lineage."""
        self.database.close()


class BesideSidecar(Store):
    """Common part of the stores whose ledger lies beside them: lineage, and the one writer.

    `writing` holds `_locked`, the sidecar and `_opened_for_writing`, in this order; a store
    overrides what differs. SQLite files that it names in `_databases` are checked, healed and
    closed here.
    """

    _sidecar: LedgerPlace

    def __init__(self, sidecar: LedgerPlace) -> None:
        """Takes the ledger, which is closed with the store."""
        self._sidecar = sidecar
        self._turn = RLock()

    @property
    def identity(self) -> str:
        """Returns the identity the sidecar gives, or one from the place of the store before."""
        return self._sidecar.identity

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger in the sidecar."""
        return self._sidecar.ledger

    @property
    def ledger_file(self) -> Path | None:
        """Returns where the sidecar lies, or will lie; None if the ledger is in no file."""
        return self._sidecar.path if isinstance(self._sidecar, Sidecar) else None

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the writer's lock, with store and sidecar open for writing.

        Threads that share the store write one after the other.
        """
        if not self._turn.acquire(timeout=BUSY_TIMEOUT_SECONDS):
            raise StoreLocked(
                f"Another thread writes to {self.url}. Wait for it to end and try again; nothing "
                "was changed."
            )
        try:
            if self._writing:
                yield
                return
            with self._locked(), self._sidecar.writing():
                self._writing = True
                try:
                    with self._opened_for_writing():
                        yield
                finally:
                    self._writing = False
        finally:
            self._turn.release()

    def _locked(self) -> AbstractContextManager[None]:
        """Locks out other writers inside the block; by default as the sidecar names the store."""
        return self._sidecar.locked()

    def _opened_for_writing(self) -> AbstractContextManager[None]:
        """Opens the store itself for writing, inside the lock, and ends its writing."""
        return nullcontext()

    # ------------------------------------------------------------------ files

    def _databases(self) -> Sequence[Database]:
        """Returns the open SQLite files that the store itself consists of."""
        return ()

    def scrub(self, _ids: Collection[str], /) -> None:
        """Merges the full-text indexes of its SQLite files."""
        with self.transaction():
            for database in self._databases():
                if database.writable:
                    database.merge_full_text()

    def integrity(self) -> list[str]:
        """Returns what is wrong with the files of the store, one sentence each."""
        own = [fault for database in self._databases() for fault in database.faults()]
        return [*own, *self._sidecar.faults()]

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the files in which a write was stopped in the middle."""
        own = (each.path for each in self._databases() if each.path and each.unfinished)
        return (*own, *self._sidecar.unfinished())

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves."""
        for database in self._databases():
            database.heal()
        self._sidecar.take_back()

    def close(self) -> None:
        """Closes the store's own files and the sidecar."""
        for database in self._databases():
            database.close()
        self._sidecar.close()


# ------------------------------------------------------------------ marks of the store itself


class JoinedLedger(Ledger):
    """Ledger in a sidecar, joined with what the store itself shows as hidden.

    Where a store hides in a way of its own, its records change before the ledger has their marks,
    and other programs may hide or show records too. So the marks are those of both.
    """

    def __init__(
        self,
        database: LedgerDatabase,
        joined: Callable[[Mapping[str, Mark]], Mapping[str, Mark]],
        renamed: Callable[[Memory], Memory] = lambda memory: memory,
    ) -> None:
        """Wraps the database of a sidecar.

        Args:
            database: Of the sidecar.
            joined: Returns the marks that hold, by hidden id, for those of the sidecar alone.
            renamed: Returns a memory of an image with the namespace the store gives it now.
        """
        super().__init__(database)
        self._joined, self._renamed = joined, renamed

    def images(self, run: str) -> list[Image]:
        """Returns all images of a run, as the store would give them now."""
        return [
            each if each.memory is None else replace(each, memory=self._renamed(each.memory))
            for each in super().images(run)
        ]

    def marks(self, run: str | None = None) -> dict[str, Mark]:
        """Returns marks by hidden id, of one run if given."""
        standing = self._joined(self.own_marks())
        return {i: standing[i] for i in sorted(standing) if run in {None, standing[i].run}}

    def marks_of(self, ids: Iterable[str]) -> dict[str, Mark]:
        """Returns the marks of some hidden memories, by id."""
        wanted = set(ids)
        return {id_: mark for id_, mark in self.marks().items() if id_ in wanted}

    def marks_about(self, ids: Collection[str]) -> dict[str, Mark]:
        """Returns the marks that name one of some memories; the store's own are read as a whole."""
        wanted = set(ids)
        return {
            id_: mark
            for id_, mark in self.marks().items()
            if id_ in wanted or mark.survivor in wanted
        }

    def own_marks(self) -> dict[str, Mark]:
        """Returns the marks of the sidecar alone."""
        return super().marks()

    def mark(self, marks: Iterable[Mark]) -> None:
        """Writes marks in place of older ones, which another program may have shown again."""
        new = list(marks)
        self.unmark(mark.duplicate for mark in new)
        super().mark(new)
