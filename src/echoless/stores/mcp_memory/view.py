"""Reading, locking and writing of the memory server's file."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from echoless.core.errors import BadRecord, ForeignStore, StoreChanged
from echoless.core.model import Memory
from echoless.core.sqlite import is_sqlite
from echoless.stores import files
from echoless.stores.base import ALL, Capabilities, Head, Scope
from echoless.stores.files import Snapshot, read_bytes, refuse_changed, replace_bytes
from echoless.stores.json_splice import not_read
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.mcp_memory.graph_lines import (
    BOM,
    UNKNOWN_KEY,
    UNKNOWN_LINE,
    GraphLine,
    Triple,
    read_line,
)
from echoless.stores.mcp_memory.hidden_file import SUFFIX, HiddenFile, State, file_digest
from echoless.stores.sidecar import BesideSidecar, JoinedLedger, Sidecar

REREAD: Final = (
    "A running memory server reads the file anew for each call: it sees the change without a "
    "restart."
)
_NAMED: Final = 3
"""Most examples a sentence names."""
ATTEMPTS: Final = 20
"""How often a transaction is carried out at most, where the server writes each time meanwhile."""


class GraphView(BesideSidecar):
    """The memory server's file, with a ledger and a file of hidden texts beside it."""

    capabilities = Capabilities(transactions=True, hides=True, sectioned=True)
    """Namespaces are entities, and no users."""

    def __init__(self, path: Path, url: str) -> None:
        """Reads the file.

        Args:
            path: The file; behind a link, the file it leads to.
            url: Of the store.
        """
        self._path = path.resolve() if path.is_symlink() else path
        self.url = url
        self._hidden_file = HiddenFile(self._path.with_name(self._path.name + SUFFIX))
        self._staging = False
        self._written: Counter[str] = Counter()
        self._steps: list[Callable[[], None]] = []
        self._touched: dict[str, object] = {}
        self._lines: list[GraphLine] = []
        self._reload()
        super().__init__(Sidecar(self._path))

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger of the sidecar, with the marks of what is hidden."""
        return JoinedLedger(
            self._sidecar.ledger.database, lambda own: {**self._hidden_marks(), **own}
        )

    # ------------------------------------------------------------------ what a view is

    @abstractmethod
    def _interpret(self, state: State) -> None:
        """Makes memories from the lines and from the state in the sidecar.

        Raises:
            TypeError, ValueError, KeyError: What is kept has another form.
        """

    @abstractmethod
    def _hidden_marks(self) -> Mapping[str, Mark]:
        """Returns the marks of what is hidden, by id."""

    @abstractmethod
    def _state_now(self) -> State:
        """Returns the state to write to the sidecar."""

    @abstractmethod
    def _lines_now(self) -> list[str]:
        """Returns the lines to write."""

    @abstractmethod
    def _arrived(self, old: State, new: State) -> bool:
        """Returns whether the lines, as they are, belong to a new state and not to the old one."""

    # ------------------------------------------------------------------ reading

    def _reload(self) -> None:
        """Reads the file, and its state in the sidecar.

        Raises:
            ForeignStore: It is no UTF-8 text.
            BadRecord: A line is no JSON.
            LedgerDamaged: The state in the sidecar cannot be read.
        """
        self._snapshots = self._present()
        data = read_bytes(self._path)
        if is_sqlite(self._path):
            raise ForeignStore(
                f"{self._path} is an SQLite database, not the file of a memory server. Open it as "
                f"sqlite:///{self._path}."
            )
        text = files.text_of(data, self._path)
        self._data = data
        self._bom = text.startswith(BOM)
        raws = text.removeprefix(BOM).split("\n")
        known = {line.raw: line for line in self._lines}  # most are as they were
        try:
            self._lines = [
                known.get(raw) or read_line(raw, self._path, at) for at, raw in enumerate(raws, 1)
            ]
        except BadRecord:
            advice = not_read(text.removeprefix(BOM), self._path)
            if not advice:
                raise
            raise BadRecord(f"{advice} The memory server cannot read it either.") from None
        try:
            self._state, self._settled = self._hidden_file.read(data, self._arrived)
            self._interpret(self._state)
        except (TypeError, ValueError, KeyError) as problem:
            raise self._hidden_file.damaged(str(problem)) from problem

    def _present(self) -> tuple[Snapshot | None, Snapshot | None]:
        return Snapshot.of(self._path), Snapshot.of(self._hidden_file.path, linked=False)

    def _refresh(self) -> None:
        """Reads the files again if another program wrote to them."""
        if not self._staging and self._present() != self._snapshots:
            self._reload()

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns whether the file that was read is still the same, not which records differ."""
        self._refresh()
        return files.since(str(self._snapshots), since)

    @property
    def root(self) -> Path:
        """Returns the memory server's file, behind any symbolic link."""
        return self._path.resolve()

    def text_files(self) -> tuple[Path, ...]:
        """Returns the file of the server, and the file of hidden texts if it exists."""
        hidden = self._hidden_file.path.resolve()
        return (self.root, hidden) if hidden.exists() else (self.root,)

    def url_at(self, root: Path) -> str:
        """Returns the URL of a copy."""
        return f"mcp-memory:///{root}"

    @abstractmethod
    def _heads(self) -> Iterator[Head]:
        """Yields what a scope needs to know of each memory, in the order of the file."""

    @abstractmethod
    def _listed(self) -> Collection[str]:
        """Returns the ids of all memories."""

    @abstractmethod
    def _memory(self, id_: str) -> Memory:
        """Returns the memory of an id of `_heads`."""

    @abstractmethod
    def _said(self, id_: str) -> object:
        """Returns what the files say of a memory, to compare it later; None where it is gone."""

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the order of the file."""
        self._refresh()
        ids = [head.id for head in scope.narrow(self._heads())]
        yield from (self._memory(id_) for id_ in ids)

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns copies by id, from the file as it is now."""
        self._refresh()
        listed = self._listed()
        return {id_: self._memory(id_) for id_ in sorted(set(ids)) if id_ in listed}

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        self._refresh()
        return sum(1 for _ in scope.narrow(self._heads()))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        self._refresh()
        return dict(sorted(Counter(head.namespace for head in self._heads()).items()))

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._reload()
        if not self._settled:  # a writer was stopped between the two files
            self._hidden_file.write((file_digest(self._data), self._state))
            self._reload()
        yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Stages changes and replaces the file once, at the end; on failure nothing changes."""
        self._must_write()
        if self._staging:
            yield
            return
        self._refresh()
        self._staging = True
        noted = Counter(self._written)
        self._steps, self._touched = [], {}
        try:
            yield
            self._commit_on_what_is_there(noted)
        except BaseException:
            self._staging = False
            self._written = noted
            self._reload()
            raise
        finally:
            self._staging = False
        self._reload()

    def _take(self, ids: Iterable[str], step: Callable[[], None]) -> None:
        """Carries out a step of a transaction, which may have to be carried out again.

        Args:
            ids: The memories that it changes, hides or shows.
            step: Changes what was read of the file.
        """
        with self.transaction():
            self._touched.update((i, self._said(i)) for i in ids if i not in self._touched)
            self._steps.append(step)
            step()

    def _commit_on_what_is_there(self, noted: Counter[str]) -> None:
        """Writes what changed; where the server wrote meanwhile, the steps are taken again on that.

        Args:
            noted: What writes did before this transaction.

        Raises:
            StoreChanged: The server wrote each time, or changed a memory of the transaction.
        """
        for attempt in range(ATTEMPTS):
            try:
                if attempt:
                    self._take_again(noted)
                self._commit()
            except (BadRecord, StoreChanged):  # the server may have been in the middle of a write
                settled = Snapshot.of(self._path) == self._snapshots[0]
                if settled or attempt + 1 == ATTEMPTS:
                    raise
            else:
                return

    def _take_again(self, noted: Counter[str]) -> None:
        """Reads what the server wrote, and takes the steps of the transaction on that."""
        self._reload()
        changed = [i for i, before in self._touched.items() if self._said(i) != before]
        if changed:
            raise StoreChanged(
                f"{self._path} was changed by another program meanwhile, and {changed[0]!r} with "
                "it. Nothing was changed; try again."
            )
        self._written = Counter(noted)
        for step in self._steps:
            step()

    def _commit(self) -> None:
        """Writes what changed: first what is hidden, then the server's file.

        Raises:
            StoreChanged: Another program wrote to the file meanwhile; nothing was changed.
        """
        text = "\n".join(self._lines_now())
        data = ((BOM if self._bom else "") + text).encode("utf-8")
        before, after = file_digest(self._data), file_digest(data)
        old, new = self._state, self._state_now()
        refuse_changed(self._path, self._snapshots[0])
        if data == self._data:
            if new != old:
                self._hidden_file.write((after, new))
            return
        if new == old:
            replace_bytes(self._path, data, self._snapshots[0])
        else:
            self._hidden_file.write((before, old), (after, new))
            try:
                replace_bytes(self._path, data, self._snapshots[0])
            except BaseException as problem:
                unwritten = Snapshot.of(self._path) == self._snapshots[0]
                if unwritten or isinstance(problem, StoreChanged):  # else both states are needed
                    self._hidden_file.write((before, old))
                raise
            self._hidden_file.write((after, new))
        self._written[REREAD] = 1

    def unfinished(self) -> tuple[Path, ...]:
        """Returns the file, where a writer was stopped between it and that of hidden texts."""
        self._refresh()
        return (*(() if self._settled else (self._path,)), *super().unfinished())

    def take_back(self) -> None:
        """Settles what a stopped writer left."""
        super().take_back()
        with self.writing():
            pass

    def leftovers(self) -> list[Path]:
        """Returns drafts of stopped writers beside the file; exact only inside `writing()`."""
        return [*files.drafts_of(self._path), *files.drafts_of(self._hidden_file.path)]

    def remove_leftovers(self) -> list[Path]:
        """Removes drafts of stopped writers; called inside `writing()`."""
        self._must_write()
        return [*files.remove_drafts(self._path), *files.remove_drafts(self._hidden_file.path)]

    # ------------------------------------------------------------------ reporting

    def notes(self) -> list[str]:
        """Returns what writes did since the store was opened, one sentence each."""
        return [
            sentence if sentence == REREAD else f"{sentence}: {times:,}."
            for sentence, times in self._written.items()
            if times
        ]

    def _odd_lines(self) -> list[str]:
        """Returns what is odd about the lines, one sentence each."""
        odd = Counter(line.odd for line in self._lines)
        relations = Counter(line.relation for line in self._lines if line.relation)
        twice = [triple for triple, times in relations.items() if times > 1]
        names = Counter(line.entity.name for line in self._lines if line.entity)
        same = [name for name, times in names.items() if times > 1]
        nowhere = [each for each in relations if not {each[0], each[1]} <= names.keys()]
        notes = [
            self._bom
            and "The file begins with a byte order mark: every call of the memory server fails on "
            "it. Save the file as UTF-8 without one.",
            odd[UNKNOWN_LINE]
            and f"Lines that are neither an entity nor a relation: {odd[UNKNOWN_LINE]:,}. They "
            "stay as they are, until the memory server writes and drops them.",
            odd[UNKNOWN_KEY]
            and f"Lines with keys the memory server does not know: {odd[UNKNOWN_KEY]:,}. The keys "
            "stay, until the server writes and drops them.",
            same
            and f"Entities of one name that stand on several lines: {len(same):,} "
            f"({_examples(map(repr, same))}). The memory server adds to the first alone.",
            twice
            and f"Relations that stand more than once: {len(twice):,} "
            f"({_examples(map(shown, twice))}).",
            nowhere
            and f"Relations to an entity that is not in the file: {len(nowhere):,} "
            f"({_examples(map(shown, nowhere))}).",
        ]
        return [sentence for sentence in notes if isinstance(sentence, str)]


def shown(relation: Triple) -> str:
    """Returns a relation in the form for a person."""
    return f"{relation[0]} -{relation[2]}-> {relation[1]}"


def _examples(values: Iterator[str]) -> str:
    """Returns the first of some values, and how many more there are."""
    listed = list(values)
    more = f" and {len(listed) - _NAMED:,} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more
