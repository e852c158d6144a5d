"""Contract of a store, and the capabilities it may declare.

A store is registered as an entry point of the group `echoless.stores` under the scheme of its URL:
a class with the class methods of `StoreKind`. `echoless.testing.stores` holds the conformance suite
every adapter passes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeGuard, runtime_checkable

from echoless.core.errors import StoreLocked, UsageError
from echoless.core.model import Memory
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.scope import ALL, Head, Scope

if TYPE_CHECKING:
    from echoless.stores.field_map import FieldMap

__all__: Final = ("ALL", "Head", "Scope")  # of other modules, and part of the contract


class Store(Protocol):
    """Memories behind one URL.

    Reading never changes a byte. Writing happens inside `writing()`, which takes the one writer's
    lock; `put` and `remove` outside of it raise. Every method raises the errors of `core/errors.py`
    only.
    """

    @property
    def url(self) -> str:
        """Returns the URL of the store, in the canonical form `open_store` takes."""
        ...

    @property
    def identity(self) -> str:
        """Returns a text that never changes in the life of the store; a plan is bound to it."""
        ...

    @property
    def profile(self) -> str:
        """Returns the name of the profile the store proposes."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Returns the lineage, kept in the store, in a sidecar, or in memory before one exists."""
        ...

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the store's own order."""
        ...

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id; ids that are not in the store are left out."""
        ...

    def put(self, memories: Sequence[Memory]) -> None:
        """Writes memories: replaces those whose id is in the store, and adds the others.

        A memory whose `native` came from this store goes back to its old place.
        """
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories; unknown ids are ignored (callers verify by reading)."""
        ...

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        ...

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace, names sorted."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Holds the writer's lock inside the block.

        Raises:
            StoreLocked: Another writer holds it.
            StoreReadOnly: The store may not be written.
        """
        ...

    def close(self) -> None:
        """Releases all files and connections; may be called twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...


class StoreKind(Protocol):
    """Class behind an entry point of `echoless.stores`: opens, makes and recognises its stores."""

    summary: str
    """One line for `echoless stores`."""

    @classmethod
    def open(cls, location: str) -> Store:
        """Opens the store at what stands after `scheme://`; it must exist.

        Raises:
            StoreNotFound: Nothing is there.
            ForeignStore: Something else is there.
        """
        ...

    @classmethod
    def create(cls, location: str) -> Store:
        """Opens a store, or makes an empty one where there is none."""
        ...

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether a file or folder looks, by its content, like a store of this kind."""
        ...


@runtime_checkable
class TakesMap(Protocol):
    """Kind of store that reads its owner's columns or keys by a map in the URL."""

    def mapped(self, location: str, field_map: FieldMap) -> str:
        """Returns a location with a map; fields the map lacks come from the location's own map.

        Args:
            location: What stands after `scheme:///`.
            field_map: Field of a memory to the store's column or metadata key.
        """
        ...


@runtime_checkable
class OneFile(Protocol):
    """Kind of store that is one file, with at most a ledger beside it.

    Such a store can be drafted under another name, and get its own when it is complete.
    """

    one_file: bool
    """True; a kind that is no single file lacks the attribute."""


@runtime_checkable
class General(Protocol):
    """Kind of store that recognises files of a general form, such as any lines of JSON objects.

    A file that another kind recognises too belongs to the other kind.
    """

    general: bool
    """True; a kind that knows its files by more than their form lacks the attribute."""


@runtime_checkable
class Signed(Protocol):
    """Kind of store whose files carry a sign that files of no other kind have."""

    def signed(self, path: Path) -> bool:
        """Returns whether a file carries the sign; it may be damaged all the same."""
        ...


@runtime_checkable
class HoldsStores(Protocol):
    """Kind of store of which one folder or file may hold several, such as tables."""

    def locations_in(self, path: Path) -> Sequence[str]:
        """Returns the locations of all stores at a path, as `open` takes them; reads only.

        Args:
            path: One that `recognises` accepts.

        Raises:
            ForeignStore: It cannot be read.
        """
        ...


@runtime_checkable
class Transaction(Protocol):
    """Store that can change many records at once, all or nothing."""

    @property
    def holds_ledger(self) -> bool:
        """Returns whether the ledger takes part in the same transaction."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Makes all changes inside the block visible together, or none of them."""
        ...


@runtime_checkable
class Savepoints(Transaction, Protocol):
    """Store that can take back a part of an open transaction, records and lineage."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Takes back the changes inside the block, and only these, if it raises."""
        ...


def check_namespace(store: Store, namespace: str | None) -> None:
    """Refuses a namespace the store does not have; None stands for all and is always accepted.

    Raises:
        UsageError: There is no such namespace; the message lists those there are.
    """
    if namespace is not None and namespace not in (known := store.namespaces()):
        raise UsageError(
            f"There is no namespace {namespace!r} in {store.url}. "
            f"It has: {', '.join(repr(n) for n in known) or 'none'}."
        )


def has_transactions(store: Store) -> TypeGuard[Transaction]:
    """Returns whether a store is a `Transaction`: what `isinstance` says, in a tenth of its time.

    It is asked three times for each text that is written.
    """
    return hasattr(store, "transaction") and hasattr(store, "holds_ledger")


def together(store: Store) -> AbstractContextManager[None]:
    """Opens one transaction for the records, where the store has transactions."""
    return store.transaction() if has_transactions(store) else nullcontext()


def together_with_ledger(store: Store) -> AbstractContextManager[None]:
    """Opens one transaction for records and lineage, where the store holds both."""
    if has_transactions(store) and store.holds_ledger:
        return store.transaction()
    return nullcontext()


@contextmanager
def writing_within(store: Store, seconds: float) -> Iterator[None]:
    """Holds the writer's lock inside the block, and waits for other writers first.

    Where records and lineage share a transaction it is open inside the block: that is what locks
    such a store.

    Args:
        store: The store.
        seconds: How long to wait for them, at least 0; one attempt alone takes a few seconds.

    Raises:
        StoreLocked: They did not finish in time.
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
    """Store that demands something of new records: an id of its own form, a time it can hold."""

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new record as this store would give it back; nothing is written.

        Raises:
            StoreError: It cannot hold such a record.
        """
        ...


@runtime_checkable
class Changes(Protocol):
    """Store that knows what changed in it, whoever changed it."""

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns the present state, and which memories may differ from an earlier state.

        Args:
            since: A state this method returned before; empty for none.

        Returns:
            The state, and the ids of memories that were added, changed or removed since; None where
            that is unknown, so that any of them may have been.
        """
        ...


@dataclass(frozen=True, slots=True)
class Prints:
    """Digests of what a store holds.

    Attributes:
        by_namespace: 64 bytes for each namespace with memories, over every field and vector of
            every memory in it. Without these, nobody can guess them.
        homes: Namespace by id, of the memories that were asked about and are there.
        moment: State of the store when the digests were made, for `Printed.still`.
    """

    by_namespace: Mapping[str, bytes]
    homes: Mapping[str, str]
    moment: object = None


@runtime_checkable
class Printed(Protocol):
    """Store that digests what it holds in far less time than it takes to read it."""

    def prints(
        self, namespaces: Collection[str] | None = None, homes_of: Collection[str] | None = ()
    ) -> Prints:
        """Returns digests of what the store holds now.

        Args:
            namespaces: Only these; all by default.
            homes_of: Ids whose namespace is wanted, as far as they are in those namespaces; None
                for those of all memories in them.
        """
        ...

    def still(self, prints: Prints) -> bool:
        """Returns whether the store knows, without reading, that nothing was written since.

        Args:
            prints: Made by this object.

        Returns:
            False where something was, or may have been.
        """
        ...


@runtime_checkable
class Partitioned(Protocol):
    """Store that may read the memories of some namespaces without reading those of others."""

    @property
    def partitioned(self) -> bool:
        """Returns whether a scope of some namespaces costs what is in them, as it was opened.

        That holds of `scan`, `count` and `Printed.prints`. `namespaces` then reads no whole record.
        """
        ...


@runtime_checkable
class TextSearch(Protocol):
    """Store that can find memories by words."""

    def search_text(self, query: str, scope: Scope, limit: int) -> Sequence[tuple[str, float]]:
        """Returns at most `limit` ids with a score, best first (higher is better), ties by id."""
        ...


@runtime_checkable
class TextFiles(Protocol):
    """Store that is one text file or a folder of text files, so that a change of it is a patch."""

    @property
    def root(self) -> Path:
        """Returns the file, or the folder all files lie in; links are resolved."""
        ...

    @property
    def ledger_file(self) -> Path | None:
        """Returns where the ledger lies, below the folder of `root`; None if it is in memory."""
        ...

    def text_files(self) -> Sequence[Path]:
        """Returns every file that a write may change, sorted; the ledger is none of them."""
        ...

    def url_at(self, root: Path) -> str:
        """Returns the URL of a copy of this store, with the options of its own URL.

        Args:
            root: Where the copy of `root` lies.
        """
        ...


@runtime_checkable
class Located(Protocol):
    """Store that knows in which line of which text file a memory stands."""

    def place(self, id_: str) -> tuple[Path, int] | None:
        """Returns file and line, from 1, of a memory as it was last read; None if it is not there.

        The path begins as that of the URL does, so that a relative one stays relative.
        """
        ...


@runtime_checkable
class Contexts(Protocol):
    """Store whose memories do not say by themselves what they are about.

    The judge reads the context before the text (`in_context`). Findings, plans, fingerprints and
    reports show the text alone.
    """

    def context(self, memory: Memory) -> str:
        """Returns what a memory is about, such as the name of its entity; empty for none.

        It depends on the fields of the memory alone, so that a memory that is not stored yet has
        one too, and an equal memory the same.
        """
        ...


def in_context(store: Store, memory: Memory) -> Memory:
    """Returns a memory as the judge reads it: `CONTEXT: TEXT` where the store has contexts."""
    context = store.context(memory) if isinstance(store, Contexts) else ""
    return replace(memory, content=f"{context}: {memory.content}") if context else memory


def in_contexts(store: Store, memories: Mapping[str, Memory]) -> Mapping[str, Memory]:
    """Returns memories as the judge reads them, by id; the same object without contexts."""
    if not isinstance(store, Contexts):
        return memories
    return {id_: in_context(store, memory) for id_, memory in memories.items()}


@runtime_checkable
class LinkSearch(Protocol):
    """Store that finds the memories linking to given ones without reading all it holds."""

    def linking(self, ids: Collection[str]) -> Collection[str]:
        """Returns the ids of the memories with a link to one of these, as the store is now.

        What other programs and the open transaction wrote counts. It may name too many (the caller
        reads them), never too few.
        """
        ...


@runtime_checkable
class Unites(Protocol):
    """Store with rules of its own for what a survivor takes over, besides the common rules."""

    def united(
        self,
        old: Memory,
        members: Sequence[Memory],
        new: Memory,
        *,
        at: str | None,
        removed: bool,
    ) -> Memory:
        """Returns the survivor as this store wants it; nothing is read or written.

        Args:
            old: The survivor as it is.
            members: Its duplicates, in the order of the plan.
            new: The survivor as the common rules make it.
            at: Time of the merge; None in a preview, which leaves out what depends on it.
            removed: Whether the members will be removed, so that what belongs to them moves.
        """
        ...

    def relinked(self, new: Memory) -> Memory:
        """Returns a memory whose links now point at survivors, as this store can hold it."""
        ...


@runtime_checkable
class Remarks(Protocol):
    """Store that notes odd records while it reads, and leaves them as they are."""

    def remarks(self) -> Sequence[str]:
        """Returns what the last complete `scan` found odd, one sentence each."""
        ...


@runtime_checkable
class Protects(Protocol):
    """Store with protected memories, which are never hidden, merged away or removed."""

    def protected(self, memory: Memory) -> str | None:
        """Returns why a memory is protected now, as a half sentence, or None.

        Asked when groups are made and again when a plan is carried out. Not a field of the memory:
        it may depend on the time and on how often the memory was recalled.
        """
        ...


@runtime_checkable
class Sectioned(Protocol):
    """Store of one owner whose namespaces are sections of it, such as headings, and not users.

    A report may go across such namespaces unasked; a plan never does.
    """

    @property
    def sectioned(self) -> bool:
        """Returns whether all namespaces belong to one owner, as the store was opened."""
        ...


@runtime_checkable
class Retains(Protocol):
    """Store with memories that may be hidden but not removed, as when others refer to them."""

    def retained(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Returns why duplicates must stay in the store.

        Args:
            pairs: (duplicate, survivor).

        Returns:
            The reason, a half sentence, by duplicate; those that may go are left out.
        """
        ...


@runtime_checkable
class Reports(Protocol):
    """Store with data beside the memories that a write may leave out of date."""

    def notes(self) -> Sequence[str]:
        """Returns what writes left behind since the store was opened, one sentence each."""
        ...


@runtime_checkable
class LeavesDrafts(Protocol):
    """Store that drafts files beside its own; a stopped writer may leave some behind."""

    def leftovers(self) -> Sequence[Path]:
        """Returns drafts beside the store; outside of `writing()`, those of running writers too."""
        ...

    def remove_leftovers(self) -> Sequence[Path]:
        """Removes drafts of stopped writers; called inside `writing()`.

        Returns:
            What was removed.
        """
        ...


@runtime_checkable
class RecordsRemovals(Protocol):
    """Store that keeps its own record of what was removed, and for which survivor."""

    def record_removals(self, removed: Sequence[Mark]) -> None:
        """Records removals; called in the transaction that removes, before it does."""
        ...


@runtime_checkable
class HidesMarked(Protocol):
    """Store whose own clients stop seeing a marked memory too."""

    def hide(self, marks: Sequence[Mark]) -> None:
        """Hides memories in the store's own way.

        Called in the transaction of the run, before the marks stand in the ledger, and again by a
        recovery. To hide what is hidden, or does not exist, does nothing.

        Args:
            marks: Each hidden memory with the visible one it stands behind, and why.
        """
        ...

    def unhide(self, ids: Iterable[str]) -> None:
        """Undoes `hide`; ids that are not hidden are ignored."""
        ...


@dataclass(frozen=True, slots=True)
class OwnerView:
    """What the program that owns a store sees of hidden memories.

    Attributes:
        sentence: Who still sees them, as half a sentence; or, where nobody does, where they lie, as
            a whole one; empty where there is nothing to say.
        hiding_url: URL of the same store under which its own program stops seeing what is hidden;
            empty where there is none or it is in use.
        way: How that program stops seeing them where no URL does it, as a whole sentence.
    """

    sentence: str = ""
    hiding_url: str = ""
    way: str = ""

    @property
    def sees_hidden(self) -> bool:
        """Returns whether the owner's program sees hidden memories."""
        return bool(self.hiding_url or self.way)


@runtime_checkable
class ShowsOwner(Protocol):
    """Store that knows what the program that owns it sees of hidden memories."""

    @property
    def owner_view(self) -> OwnerView:
        """Returns what that program sees, as the store is opened now."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """Store that knows which memories it once held, whoever removed them."""

    def gone(self) -> Collection[str]:
        """Returns the ids that were in the store and are not any more."""
        ...


@runtime_checkable
class Unfinished(Protocol):
    """Store that detects a program stopped in the middle of a write to its files."""

    def unfinished(self) -> Sequence[Path]:
        """Returns the files with a stopped, unfinished write; readers do not see it."""
        ...

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves; `writing()` does so too.

        Raises:
            StoreError: A file is locked, or may not be written.
        """
        ...


@runtime_checkable
class ChecksFiles(Protocol):
    """Store that can check its files by itself."""

    def integrity(self) -> Sequence[str]:
        """Returns what is wrong with the files of the store, one sentence each."""
        ...


@runtime_checkable
class Exclusive(Protocol):
    """Store that no one else can open while it is open, so that it stays what it is."""

    @property
    def exclusive(self) -> bool:
        """Returns whether a second opening is refused, in the same process too."""
        ...


@runtime_checkable
class Unrestored(Protocol):
    """Store where an undo restores records, but not all that its own program knew of them."""

    @property
    def unrestored(self) -> str:
        """Returns what an undo cannot bring back, in one sentence or two."""
        ...
