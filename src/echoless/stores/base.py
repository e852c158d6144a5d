"""Contract of a store: one class with defaults, and what a store declares of itself.

A kind of store is an entry point of the group `echoless.stores` under the scheme of its URL: a
class that inherits `StoreKind`. What it opens inherits `Store`; most kinds are one class that
inherits both. Every kind passes the suite `tests/conformance/stores.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self, runtime_checkable

from echoless.core.errors import EcholessError, StoreError, StoreLocked, UsageError
from echoless.core.model import Memory
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.scope import ALL, Head, Scope

if TYPE_CHECKING:
    from echoless.stores.field_map import FieldMap

__all__: Final = ("ALL", "Head", "Scope")  # of other modules, and part of the contract


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store declares of itself, where that changes how a run goes.

    Attributes:
        transactions: `transaction` makes many changes at once, all or nothing.
        savepoints: `savepoint` takes back a part of an open transaction, records and lineage.
        holds_ledger: The ledger takes part in the same transaction.
        hides: The store's own clients stop seeing what `hide` gets.
        sectioned: The namespaces are sections of one owner, such as headings, and not users. A
            report may go across them unasked; a plan never does.
        exclusive: Nobody else can open the store while it is open, in the same process neither.
    """

    transactions: bool = False
    savepoints: bool = False
    holds_ledger: bool = False
    hides: bool = False
    sectioned: bool = False
    exclusive: bool = False


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


PART_OF: Final = "parent_drawer_id"
"""Key by which MemPalace names the drawer of which a record is a part."""


class Store(ABC):
    """Memories behind one URL.

    Reading never changes a byte. Writing happens inside `writing()`, which takes the one writer's
    lock; `put` and `remove` outside of it raise. Every method raises the errors of `core/errors.py`
    only. A method with a default is overridden only where the store can do more.

    Attributes:
        url: In the canonical form `open_store` takes.
        capabilities: What the store declares of itself.
    """

    url: str
    capabilities: Capabilities = Capabilities()
    _writing: bool = False

    # ------------------------------------------------------------------ what it is

    @property
    @abstractmethod
    def identity(self) -> str:
        """Returns a text that never changes in the life of the store; a plan is bound to it."""

    @property
    def profile(self) -> str:
        """Returns the name of the profile the store proposes."""
        return "safe"

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """Returns the lineage, kept in the store, in a sidecar, or in memory before one exists."""

    @property
    def owner_view(self) -> OwnerView:
        """Returns what the program that owns the store sees of hidden memories."""
        if self.capabilities.holds_ledger or self.capabilities.hides:
            return OwnerView()
        return OwnerView(
            f"other programs that read {self.url} go on seeing them",
            way="--action delete takes them out of the store.",
        )

    @property
    def unrestored(self) -> str:
        """Returns what an undo cannot bring back of a record, in one sentence or two."""
        return ""

    @property
    def makes_vectors(self) -> bool:
        """Returns whether the store's program makes the vector of a record that has none."""
        return False

    @property
    def remains(self) -> str:
        """Returns where the store's program keeps removed texts, in one sentence; mostly none."""
        return ""

    # ------------------------------------------------------------------ reading

    @abstractmethod
    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the store's own order."""

    @abstractmethod
    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns fresh copies by id; ids that are not in the store are left out."""

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        return sum(1 for _ in self.scan(scope))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace, names sorted."""
        return dict(sorted(Counter(memory.namespace for memory in self.scan()).items()))

    def linking(self, ids: Collection[str]) -> Collection[str] | None:
        """Returns the ids of the memories with a link to one of these, as the store is now.

        What other programs and the open transaction wrote counts. It may name too many (the caller
        reads them), never too few. None where the store has to be read whole for that.
        """
        return None

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns the present state, and which memories may differ from an earlier state.

        Args:
            since: A state this method returned before; empty for none.

        Returns:
            The state, empty where the store knows none; and the ids of memories that were added,
            changed or removed since by anyone, None where any of them may have been.
        """
        return "", None

    def gone(self) -> Collection[str]:
        """Returns the ids that were in the store and are not any more, whoever removed them."""
        return ()

    def sample(self) -> Iterator[Memory]:
        """Yields memories in any order; who takes a few reads no more than these, where it can."""
        return self.scan()

    def returned(self) -> Collection[str]:
        """Returns the ids of moved memories that the owner's program sees all the same."""
        return ()

    def place(self, id_: str) -> tuple[Path, int] | None:
        """Returns file and line, from 1, of a memory as it was last read; None if it has none.

        The path begins as that of the URL does, so that a relative one stays relative.
        """
        return None

    def remarks(self) -> Sequence[str]:
        """Returns oddities that the last complete `scan` left unchanged, one sentence each."""
        return ()

    def unloaded(self) -> Sequence[tuple[str, int]]:
        """Returns remarks on what the store's own program does not load; each with how many."""
        return ()

    # ------------------------------------------------------------------ judging and merging

    def context(self, memory: Memory) -> str:
        """Returns the subject of a memory that its text does not name, such as an entity's name.

        The judge reads it before the text (`in_context`). Findings, plans, fingerprints and reports
        show the text alone. It depends on the fields of the memory alone, so that a memory that is
        not stored yet has one too, and an equal memory the same.
        """
        return ""

    def protected(self, memory: Memory) -> str | None:
        """Returns why a memory may not be hidden, merged away or removed now, as a half sentence.

        Asked when groups are made and again when a plan is carried out. Not a field of the memory:
        it may depend on the time and on how often the memory was recalled.
        """
        if memory.metadata.get(PART_OF):
            return "it is a part of a longer note, which its program reads whole"
        return None

    def keeps_text(self, memory: Memory) -> str | None:
        """Returns why a plan may not take a claim out of a text, as `protected` does."""
        return self.protected(memory)

    def retained(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
        """Returns why duplicates may be hidden but not removed, as when others refer to them.

        Args:
            pairs: (duplicate, survivor).

        Returns:
            The reason, a half sentence, by duplicate; those that may go are left out.
        """
        return {}

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
            old: The survivor before the merge.
            members: Its duplicates, in the order of the plan.
            new: The survivor as the common rules make it.
            at: Time of the merge; None in a preview, which leaves out what depends on it.
            removed: Whether the members will be removed, so that their parts move to the survivor.
        """
        return new

    def relinked(self, new: Memory) -> Memory:
        """Returns a memory whose links now point at survivors, as this store can hold it."""
        return new

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new record as this store would give it back; nothing is written.

        Raises:
            StoreError: It cannot hold such a record.
        """
        return memory

    # ------------------------------------------------------------------ writing

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """Holds the writer's lock inside the block.

        Raises:
            StoreLocked: Another writer holds it.
            StoreReadOnly: The store may not be written.
        """

    def _must_write(self) -> None:
        """Refuses a change outside of `writing()`.

        Raises:
            StoreError: The store is open for reading.
        """
        if not self._writing:
            raise StoreError(f"{self.url} is open for reading; write inside store.writing().")

    def transaction(self) -> AbstractContextManager[None]:
        """Makes all changes inside the block visible together, where the store can do that."""
        return nullcontext()

    def savepoint(self) -> AbstractContextManager[None]:
        """Takes back the changes inside the block, and only these, if it raises.

        Called where the store declares `savepoints`.
        """
        return nullcontext()

    @abstractmethod
    def put(self, memories: Sequence[Memory]) -> None:
        """Writes memories: replaces those whose id is in the store, and adds the others.

        A memory whose `native` came from this store goes back to its old place.
        """

    @abstractmethod
    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories; unknown ids are ignored (callers verify by reading)."""

    def scrub(self, ids: Collection[str], /) -> None:
        """Takes what removed memories left out of the files, as far as the store's program can.

        Called inside `writing()` and outside of transactions.

        Args:
            ids: The memories, which no undo brings back.
        """

    def record_removals(self, removed: Sequence[Mark]) -> None:
        """Records removals in the store's own way, in the transaction that is about to remove."""

    def hide(self, marks: Sequence[Mark]) -> None:
        """Hides memories from the store's own clients, where the store declares `hides`.

        Called in the transaction of the run, before the marks stand in the ledger, and again by a
        recovery. To hide what is hidden, or does not exist, does nothing.

        Args:
            marks: Each hidden memory with the visible one it stands behind, and why.
        """

    def unhide(self, ids: Iterable[str]) -> None:
        """Undoes `hide`; ids that are not hidden are ignored."""

    def notes(self) -> Sequence[str]:
        """Returns what writes left behind since the store was opened, one sentence each."""
        return ()

    def passed_over(self) -> tuple[str, int, int]:
        """Returns a noun, and how many such things the last `scan` read and passed over."""
        return "", 0, 0

    # ------------------------------------------------------------------ files

    def leftovers(self) -> Sequence[Path]:
        """Returns drafts beside the store; outside of `writing()`, those of running writers too."""
        return ()

    def remove_leftovers(self) -> Sequence[Path]:
        """Removes drafts of stopped writers and returns them; called inside `writing()`."""
        return ()

    def unfinished(self) -> Sequence[Path]:
        """Returns the files with a stopped, unfinished write; readers do not see it."""
        return ()

    def take_back(self) -> None:
        """Undoes unfinished writes on the files themselves; `writing()` does so too.

        Raises:
            StoreError: A file is locked, or may not be written.
        """

    def integrity(self) -> Sequence[str]:
        """Returns what is wrong with the files of the store, one sentence each."""
        return ()

    def close(self) -> None:
        """Releases all files and connections; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class StoreKind(ABC):
    """Class behind an entry point of `echoless.stores`: opens, makes and recognises its stores.

    Attributes:
        summary: One line for `echoless stores`.
        one_file: A store is one file, with at most a ledger beside it. It can be drafted under
            another name, and gets its own when it is complete.
        general: It recognises files of a general form, such as any lines of JSON objects. A file
            that another kind recognises too belongs to the other kind.
        takes_map: It reads its owner's columns or keys by a map in the URL (`mapped`).
    """

    summary: ClassVar[str]
    one_file: ClassVar[bool] = False
    general: ClassVar[bool] = False
    takes_map: ClassVar[bool] = False

    @property
    def self_contained(self) -> bool:
        """Returns whether what it reads hangs on its own files and their ledger alone."""
        return self.one_file

    @classmethod
    @abstractmethod
    def open(cls, location: str) -> Store:
        """Opens an existing store at a location, the part of the address behind `scheme://`.

        Raises:
            StoreNotFound: There is nothing at the location.
            ForeignStore: The location holds something else.
        """

    @classmethod
    @abstractmethod
    def create(cls, location: str) -> Store:
        """Opens a store, or makes an empty one where there is none."""

    @classmethod
    @abstractmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether a file or folder looks, by its content, like a store of this kind."""

    @classmethod
    def signed(cls, path: Path) -> bool:
        """Returns whether a file, perhaps damaged, carries a sign that no other kind has."""
        return False

    @classmethod
    def locations_in(cls, path: Path) -> Sequence[str]:
        """Returns the locations of the stores at a path, as `open` takes them; reads only.

        Args:
            path: Path that `recognises` accepts.

        Returns:
            Empty where a path holds one store at most.

        Raises:
            ForeignStore: It cannot be read.
        """
        return ()

    @classmethod
    def mapped(cls, location: str, field_map: FieldMap) -> str:
        """Returns a location with a map; fields the map lacks come from the location's own map.

        Called where the kind `takes_map`.

        Args:
            location: Part of the address behind `scheme:///`.
            field_map: Field of a memory to the store's column or metadata key.
        """
        return location


@runtime_checkable
class TextSearch(Protocol):
    """Store that can find memories by words."""

    def search_text(self, query: str, scope: Scope, limit: int) -> Sequence[tuple[str, float]]:
        """Returns at most `limit` ids with a score, best first (higher is better), ties by id."""


@runtime_checkable
class TextFiles(Protocol):
    """Store in one text file or a folder of text files, which its own program reads."""

    @property
    def root(self) -> Path:
        """Returns the file, or the folder all files lie in; links are resolved."""

    @property
    def ledger_file(self) -> Path | None:
        """Returns where the ledger lies, below the folder of `root`; None if it is in memory."""

    def text_files(self) -> Sequence[Path]:
        """Returns every file that a write may change, sorted; the ledger is none of them."""


def check_namespace(store: Store, namespace: str | None) -> None:
    """Refuses a namespace the store does not have; None stands for all and is always accepted.

    Raises:
        UsageError: The store has no such namespace; the message lists its namespaces.
    """
    if namespace is not None and namespace not in (known := store.namespaces()):
        raise UsageError(
            f"There is no namespace {namespace!r} in {store.url}. "
            f"It has: {', '.join(repr(n) for n in known) or 'none'}."
        )


def together_with_ledger(store: Store) -> AbstractContextManager[None]:
    """Opens one transaction for records and lineage, where the store holds both."""
    return store.transaction() if store.capabilities.holds_ledger else nullcontext()


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


def in_context(store: Store, memory: Memory) -> Memory:
    """Returns a memory as the judge reads it: `CONTEXT: TEXT` where it has a context."""
    context = store.context(memory)
    return replace(memory, content=f"{context}: {memory.content}") if context else memory


def in_contexts(store: Store, memories: Mapping[str, Memory]) -> Mapping[str, Memory]:
    """Returns memories as the judge reads them, by id; the same object without contexts."""
    read = {id_: in_context(store, memory) for id_, memory in memories.items()}
    if all(read[id_] is memory for id_, memory in memories.items()):
        return memories
    return read


def new_files(store: Store) -> str | None:
    """Returns which files the first write made beside a memory, and that Git sees them."""
    if not isinstance(store, TextFiles) or store.ledger_file is None:
        return None
    try:
        started = store.ledger.events(kind="run_started")
        undone = store.ledger.events(kind="run_undone")
        if len(list(islice(started, 2))) != 1 or list(islice(undone, 1)):
            return None
    except EcholessError:
        return None  # the write is done; `check` tells of a damaged ledger
    root = store.root
    names = (store.ledger_file.name, f".{root.name}.lock", ".echoless-archive")
    made = (folder / name for folder in (root.parent, root) for name in names)
    shown = ", ".join(str(each.relative_to(root.parent)) for each in made if each.exists())
    git = any((folder / ".git").exists() for folder in (root, *root.parents))
    hint = " Commit them with it, or name them in .gitignore." if git else ""
    return f"Beside {root.name} echoless keeps what undo needs: {shown}.{hint}"
