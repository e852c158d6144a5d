"""The contract of a store, and the capabilities it may declare.

A store is registered as an entry point of the group `echoless.stores` under the scheme of its URL:
a class with the class methods of `StoreKind`. `echoless.testing.stores` holds the conformance suite
every adapter passes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol, Self, runtime_checkable

from echoless.errors import StoreLocked, UsageError
from echoless.ledger import Ledger, Mark
from echoless.model import Memory
from echoless.stores.prints import Printed, Prints
from echoless.stores.scope import ALL, Head, Scope

if TYPE_CHECKING:
    from echoless.stores.field_map import FieldMap

__all__: Final = (
    "ALL",
    "Changes",
    "Head",
    "HidesMarked",
    "LinkSearch",
    "Printed",
    "Prints",
    "Protects",
    "RecordsRemovals",
    "Remarks",
    "Remembers",
    "Reports",
    "Retains",
    "Scope",
    "Shapes",
    "Store",
    "StoreKind",
    "TakesMap",
    "TextSearch",
    "Transaction",
    "Unfinished",
    "Unites",
    "Unrestored",
    "check_namespace",
    "together",
    "together_with_ledger",
    "writing_within",
)


class Store(Protocol):
    """Memories behind one URL.

    Reading never changes a byte. Writing happens inside `writing()`, which takes the one writer's
    lock; `put` and `remove` outside of it raise. Every method raises the errors of `errors.py`
    only.
    """

    @property
    def url(self) -> str:
        """Where it is, in the canonical form `open_store` takes."""
        ...

    @property
    def identity(self) -> str:
        """Stays the same for the life of the store; what a plan is bound to."""
        ...

    @property
    def profile(self) -> str:
        """Name of the profile it proposes."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Lineage: in the store itself or in a sidecar; in memory until a store has one."""
        ...

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """All memories in the scope, in the store's own order."""
        ...

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Fresh copies by id; ids that are not there are left out."""
        ...

    def put(self, memories: Sequence[Memory]) -> None:
        """Write memories: replace those whose id is there, add the others.

        A memory whose `native` came from this store goes back to its old place.
        """
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """Take memories out; unknown ids are ignored (callers verify by reading)."""
        ...

    def count(self, scope: Scope = ALL) -> int:
        """Number of memories in the scope."""
        ...

    def namespaces(self) -> Mapping[str, int]:
        """Number of memories by namespace, names sorted."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Hold the writer's lock.

        Raises:
            StoreLocked: Another writer holds it.
            StoreReadOnly: The store may not be written.
        """
        ...

    def close(self) -> None:
        """Release everything. May be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...


class StoreKind(Protocol):
    """What an entry point of `echoless.stores` offers besides the store itself."""

    summary: str
    """One line for `echoless stores`."""

    @classmethod
    def open(cls, location: str) -> Store:
        """Open what stands after `scheme://`; it must exist.

        Raises:
            StoreNotFound: Nothing is there.
            ForeignStore: Something else is there.
        """
        ...

    @classmethod
    def create(cls, location: str) -> Store:
        """Open, or make an empty store where there is none."""
        ...

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Whether a file or folder looks, by its content, like one of its stores."""
        ...


@runtime_checkable
class TakesMap(Protocol):
    """A kind of store that reads its owner's columns or keys by a map in the URL."""

    def mapped(self, location: str, field_map: FieldMap) -> str:
        """A location with a map, filled up from the one it has.

        Args:
            location: What stands after `scheme:///`.
            field_map: Field of a memory to the store's column or metadata key.
        """
        ...


@runtime_checkable
class Transaction(Protocol):
    """The store can change many records at once, all or nothing."""

    @property
    def holds_ledger(self) -> bool:
        """Whether the ledger takes part in the same transaction."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Changes inside the block become visible together, or not at all."""
        ...


def check_namespace(store: Store, namespace: str | None) -> None:
    """Refuse a namespace the store does not have; None, for all, is always there.

    Raises:
        UsageError: There is no such namespace; the message lists those there are.
    """
    if namespace is not None and namespace not in (known := store.namespaces()):
        raise UsageError(
            f"There is no namespace {namespace!r} in {store.url}. "
            f"It has: {', '.join(repr(n) for n in known) or 'none'}."
        )


def together(store: Store) -> AbstractContextManager[None]:
    """One transaction for the records, where the store has transactions."""
    return store.transaction() if isinstance(store, Transaction) else nullcontext()


def together_with_ledger(store: Store) -> AbstractContextManager[None]:
    """One transaction for records and lineage, where the store holds both."""
    if isinstance(store, Transaction) and store.holds_ledger:
        return store.transaction()
    return nullcontext()


@contextmanager
def writing_within(store: Store, seconds: float) -> Iterator[None]:
    """Hold the writer's lock, waiting for other writers.

    Where records and lineage share a transaction it is open inside the block: that is what locks
    such a store.

    Args:
        store: The store.
        seconds: How long to wait for them, at least 0; a try of its own takes a few seconds.

    Raises:
        StoreLocked: They did not come to an end in time.
    """
    end = monotonic() + seconds
    while True:
        with ExitStack() as stack:
            try:
                stack.enter_context(store.writing())
                stack.enter_context(together_with_ledger(store))
            except StoreLocked:
                if monotonic() >= end:
                    raise
                continue
            yield
            return


@runtime_checkable
class Shapes(Protocol):
    """The store asks something of new records: an id of its own form, a time it can hold."""

    def shaped(self, memory: Memory) -> Memory:
        """A new record as this store would hand it back. Pure: nothing is written.

        Raises:
            StoreError: It cannot hold such a record.
        """
        ...


@runtime_checkable
class Changes(Protocol):
    """The store can tell what changed in it, whoever changed it."""

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Its state now, and which memories may look otherwise than in an earlier state.

        Args:
            since: A state it told before; empty for none.

        Returns:
            The state, and the ids of memories that were added, changed or removed since; None where
            that cannot be told, so that any of them may have been.
        """
        ...


@runtime_checkable
class TextSearch(Protocol):
    """The store can find memories by words."""

    def search_text(self, query: str, scope: Scope, limit: int) -> Sequence[tuple[str, float]]:
        """Ids with a score, best first (higher is better), ties by id; at most `limit`."""
        ...


@runtime_checkable
class LinkSearch(Protocol):
    """The store can tell which memories link to given ones, without reading all it holds."""

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Ids of the memories with a link to one of these, as the store is now.

        What other programs and the open transaction wrote counts. It may name too many (the caller
        reads them), never too few.
        """
        ...


@runtime_checkable
class Unites(Protocol):
    """The store has rules of its own for what a survivor takes over, beside those of `merging`."""

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],
        new: Memory,
        *,
        at: str | None,
        removed: bool,
    ) -> Memory:
        """The survivor as this store wants it. Pure: nothing is read or written.

        Args:
            old: The survivor as it is.
            members: Its duplicates, in the order of the plan.
            new: The survivor as the common rules make it.
            at: Time of the merge; None in a preview, which tells what does not depend on it.
            removed: Whether the members will be removed, so that what belongs to them moves.
        """
        ...

    def relinked(self, new: Memory) -> Memory:
        """A memory whose links were pointed at survivors, as this store can hold them."""
        ...


@runtime_checkable
class Remarks(Protocol):
    """The store notices oddities while it reads, and leaves them as they are."""

    def remarks(self) -> Sequence[str]:
        """What the last complete `scan` found odd, one sentence each; none if nothing was."""
        ...


@runtime_checkable
class Protects(Protocol):
    """The store's owner holds some memories dear: they are never hidden, merged away or removed."""

    def protected(self, memory: Memory) -> str | None:
        """Why a memory is protected now, as a half sentence, or None.

        Asked when groups are made and again when a plan is carried out. Not a field of the memory:
        it may depend on the time and on how often the memory was recalled.
        """
        ...


@runtime_checkable
class Retains(Protocol):
    """Some memories may be hidden but not removed: others refer to them, or they know more."""

    def retained(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Why duplicates must stay in the store.

        Args:
            pairs: (duplicate, survivor).

        Returns:
            The reason, a half sentence, by duplicate; those that may go are left out.
        """
        ...


@runtime_checkable
class Reports(Protocol):
    """The store keeps something beside the memories that a write may leave behind."""

    def notes(self) -> Sequence[str]:
        """What was left behind since it was opened, one sentence each."""
        ...


@runtime_checkable
class LeavesDrafts(Protocol):
    """The store drafts files beside its own; a writer that was stopped may leave some behind."""

    def leftovers(self) -> Sequence[Path]:
        """Drafts beside the store; those of living writers too, unless inside `writing()`."""
        ...

    def remove_leftovers(self) -> Sequence[Path]:
        """Remove drafts of stopped writers; called inside `writing()`.

        Returns:
            What was removed.
        """
        ...


@runtime_checkable
class RecordsRemovals(Protocol):
    """The store keeps its own record of what was removed, and for which survivor."""

    def record_removals(self, removed: Sequence[Mark]) -> None:
        """Note removals; called in the transaction that carries them out, before it does."""
        ...


@runtime_checkable
class HidesMarked(Protocol):
    """The store's own clients stop seeing a marked memory too."""

    def hide(self, marks: Sequence[Mark]) -> None:
        """Hide memories in the store's own way.

        Called in the transaction of the run, before the marks stand in the ledger, and again by a
        recovery. To hide what is hidden, or does not exist, does nothing.

        Args:
            marks: Each hidden memory with the visible one it stands behind, and why.
        """
        ...

    def unhide(self, ids: Iterable[str]) -> None:
        """Take `hide` back; ids that are not hidden are ignored."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """The store knows which memories it once held, whoever removed them."""

    def gone(self) -> Collection[str]:
        """Ids that were here and are not any more."""
        ...


@runtime_checkable
class Unfinished(Protocol):
    """The store can tell that a program was stopped in the middle of a write to its files."""

    def unfinished(self) -> Sequence[Path]:
        """Files in which a write was stopped and stands as it was left; readers do not see it."""
        ...

    def take_back(self) -> None:
        """Take such writes back on the files themselves; `writing()` does so too.

        Raises:
            StoreError: A file is locked, or may not be written.
        """
        ...


@runtime_checkable
class Exclusive(Protocol):
    """No one else can open the store as long as it is open: it stays what it is."""

    @property
    def exclusive(self) -> bool:
        """Whether that is so; a second opening, in the same process too, is refused then."""
        ...


@runtime_checkable
class Unrestored(Protocol):
    """An undo puts records back, but not all that the program behind the store knew of them."""

    @property
    def unrestored(self) -> str:
        """What an undo cannot bring back, in one sentence or two."""
        ...
