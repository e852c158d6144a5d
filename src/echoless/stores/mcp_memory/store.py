"""Store in the file of the MCP reference memory server, whose memories are observations.

The namespace of a memory is the name of its entity. A hidden observation leaves the server's file
for the file of hidden texts, which knows its place in the array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.core.document import names
from echoless.core.errors import BadRecord, ForeignStore, StoreChanged, StoreNotFound, UsageError
from echoless.core.model import Memory
from echoless.core.sqlite import is_sqlite
from echoless.stores import files
from echoless.stores.base import ALL, Capabilities, Scope, StoreKind
from echoless.stores.files import Snapshot, read_bytes, refuse_changed, replace_bytes
from echoless.stores.json_splice import not_read
from echoless.stores.ledger import Ledger, Mark
from echoless.stores.mcp_memory.graph_lines import (
    BOM,
    SUFFIX,
    UNKNOWN_KEY,
    UNKNOWN_LINE,
    GraphLine,
    HiddenFile,
    Triple,
    alike_note,
    file_digest,
    is_graph,
    read_line,
)
from echoless.stores.mcp_memory.observations import Graph, arrived
from echoless.stores.sidecar import BesideSidecar, JoinedLedger, Sidecar

REREAD: Final = (
    "A running memory server reads the file anew for each call: it sees the change without a "
    "restart."
)
_NAMED: Final = 3
"""Most examples a sentence names."""
_NO_TEXT: Final = (
    "Observations that are no text: {:,}. They are no memories and stay as they are; the server's "
    "search fails on them."
)
_NO_LIST: Final = (
    "Entities without a list of observations: {:,}. They stay as they are; the server's search "
    "fails on them."
)
_HEAD: Final = 65_536
"""Bytes of a file that are looked at to recognise it."""
ATTEMPTS: Final = 20
"""How often a transaction is carried out at most, where the server writes each time meanwhile."""


class McpMemoryStore(StoreKind, BesideSidecar):
    """The memory server's file, with a ledger and a file of hidden texts beside it."""

    summary: ClassVar[str] = "the MCP memory server's memory.jsonl: observations of entities"
    capabilities = Capabilities(transactions=True, hides=True, sectioned=True)
    """Namespaces are entities, and no users."""

    def __init__(self, path: Path) -> None:
        """Reads the file, behind a link the file it leads to; use `open` or `create`."""
        self._path = path.resolve() if path.is_symlink() else path
        self.url = f"mcp-memory:///{path}"
        self._hidden_file = HiddenFile(self._path.with_name(self._path.name + SUFFIX))
        self._staging = False
        self._written: Counter[str] = Counter()
        self._steps: list[Callable[[Graph], None]] = []
        self._touched: dict[str, object] = {}
        self._lines: list[GraphLine] = []
        self._reload()
        super().__init__(Sidecar(self._path))

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing file.

        Raises:
            StoreNotFound: Nothing is there.
            UsageError: There is a part behind `#`.
        """
        name, _, part = location.partition("#")
        if part:
            raise UsageError(f"{name} has no part {part!r}. Leave away #{part}.")
        path = Path(name)
        if not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise StoreNotFound(
                f"{path} {what}. Check the path; the server has it from the "
                "variable MEMORY_FILE_PATH."
            )
        return cls(path)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a file, or makes an empty one."""
        path = Path(location.partition("#")[0])
        if not path.exists():
            files.make_file(path)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether the first line with text is an entity or a relation of the server."""
        if not path.is_file() or is_sqlite(path):
            return False
        with path.open("rb") as file:
            return is_graph(file.read(_HEAD).decode("utf-8", "replace"))

    @property
    def ledger(self) -> Ledger:
        """Returns the ledger of the sidecar, with the marks of what is hidden."""
        return JoinedLedger(
            self._sidecar.ledger.database, lambda own: {**self._graph.marks(), **own}
        )

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
            states = self._hidden_file.read(data, partial(arrived, self._lines))
            self._state, self._settled = states
            self._graph = Graph(self._lines, self._state)
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

    def _memory(self, id_: str) -> Memory:
        try:
            return self._graph.memory(id_)
        except BadRecord as problem:
            raise self._hidden_file.damaged(str(problem)) from problem

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the order of the file."""
        self._refresh()
        ids = [head.id for head in scope.narrow(self._graph.heads())]
        yield from (self._memory(id_) for id_ in ids)

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns copies by id, from the file as it is now."""
        self._refresh()
        return {id_: self._memory(id_) for id_ in sorted(set(ids)) if id_ in self._graph}

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        self._refresh()
        return sum(1 for _ in scope.narrow(self._graph.heads()))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        self._refresh()
        return dict(sorted(Counter(head.namespace for head in self._graph.heads()).items()))

    def context(self, memory: Memory) -> str:
        """Returns the name of the entity a memory is about."""
        return memory.namespace

    def shaped(self, memory: Memory) -> Memory:
        """Returns a new memory with the type of its entity, where there is that entity."""
        type_ = self._graph.type_of(memory.namespace)
        return memory if type_ is None else replace(memory, type=type_)

    # ------------------------------------------------------------------ writing

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds observations; a removed one goes back to its old place."""
        self._take((memory.id for memory in memories), lambda graph: graph.put(memories))

    def remove(self, ids: Iterable[str]) -> None:
        """Removes observations, hidden ones too; an entity stays, unless echoless added it."""
        wanted = sorted(set(ids))
        self._take(wanted, lambda graph: graph.remove(wanted))

    def hide(self, marks: Sequence[Mark]) -> None:
        """Takes observations out of the server's file; they stay in the file of hidden texts."""
        ids = (id_ for mark in marks for id_ in (mark.duplicate, mark.survivor))
        self._take(ids, lambda graph: graph.hide(marks))

    def unhide(self, ids: Iterable[str]) -> None:
        """Puts observations back to their places; see `Graph.unhide`."""
        wanted = set(ids)

        def step(graph: Graph) -> None:
            undone = set(self.ledger.open_runs()) & {
                event.run for event in self.ledger.events(kind="undo_started")
            }
            self._written += graph.unhide(wanted, undone)

        self._take(wanted, step)

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

    def _take(self, ids: Iterable[str], step: Callable[[Graph], None]) -> None:
        """Carries out a step of a transaction, which may have to be carried out again.

        Args:
            ids: The memories that it changes, hides or shows.
            step: Changes what was read of the file.
        """
        with self.transaction():
            self._touched.update((i, self._graph.said(i)) for i in ids if i not in self._touched)
            self._steps.append(step)
            step(self._graph)

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
        changed = [i for i, before in self._touched.items() if self._graph.said(i) != before]
        if changed:
            raise StoreChanged(
                f"{self._path} was changed by another program meanwhile, and {changed[0]!r} with "
                "it. Nothing was changed; try again."
            )
        self._written = Counter(noted)
        for step in self._steps:
            step(self._graph)

    def _commit(self) -> None:
        """Writes what changed: first what is hidden, then the server's file.

        Raises:
            StoreChanged: Another program wrote to the file meanwhile; nothing was changed.
        """
        text = "\n".join(self._graph.lines())
        data = ((BOM if self._bom else "") + text).encode("utf-8")
        before, after = file_digest(self._data), file_digest(data)
        old, new = self._state, self._graph.state()
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

    def remarks(self) -> list[str]:
        """Returns oddities of the file, and entities that may be the same, one sentence each."""
        odd = Counter(line.odd for line in self._lines)
        relations = Counter(line.relation for line in self._lines if line.relation)
        twice = [triple for triple, times in relations.items() if times > 1]
        entities = Counter(line.entity.name for line in self._lines if line.entity)
        same = [name for name, times in entities.items() if times > 1]
        nowhere = [each for each in relations if not {each[0], each[1]} <= entities.keys()]
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
            f"({names(map(repr, same), _NAMED)}). The memory server adds to the first alone.",
            twice
            and f"Relations that stand more than once: {len(twice):,} "
            f"({names(map(shown, twice), _NAMED)}).",
            nowhere
            and f"Relations to an entity that is not in the file: {len(nowhere):,} "
            f"({names(map(shown, nowhere), _NAMED)}).",
        ]
        bare = sum(line.entity is not None and line.entity.elements is None for line in self._lines)
        odd_ones = self._graph.without_text
        notes += [odd_ones and _NO_TEXT.format(odd_ones), bare and _NO_LIST.format(bare)]
        sentences = [sentence for sentence in notes if isinstance(sentence, str)]
        return [*sentences, *alike_note(self._lines)]


def shown(relation: Triple) -> str:
    """Returns a relation in the form for a person."""
    return f"{relation[0]} -{relation[2]}-> {relation[1]}"
