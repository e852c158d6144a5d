"""A file with one JSON object a line: `jsonl:///memories.jsonl`.

The file is replaced atomically and only where it changes: untouched lines, unknown fields, number
formats, line ends and blank lines stay byte for byte. Lineage lives in a sidecar, `NAME.echoless`,
made by the first write.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final, Self

from echoless.database import is_sqlite
from echoless.errors import DuplicateId, ForeignStore, StoreNotFound, StoreReadOnly, UsageError
from echoless.model import Memory
from echoless.stores import files
from echoless.stores import jsonl_record as records
from echoless.stores.base import ALL, Head, Scope
from echoless.stores.files import Snapshot, exclusive, read_bytes, replace_bytes
from echoless.stores.sidecar import SUFFIX, BesideSidecar, Sidecar

_BOM: Final = b"\xef\xbb\xbf"
_ENDED: Final = "jsonl_line_that_had_no_end"
"""Digest of the last line of a file without a final line feed, from the time something followed it:
when that is gone again, the file ends as before."""


class JsonlStore(BesideSidecar):
    """Memories in a JSON Lines file."""

    summary: ClassVar[str] = "one JSON object a line; replaced atomically, lineage in a sidecar"
    holds_ledger: Final = False
    profile: Final = "safe"

    def __init__(self, path: Path) -> None:
        """Read the file; use `open` or `create`."""
        self._path = real = _real(path)
        self.url = f"jsonl:///{path}"
        self._writing = False
        self._staging = False
        self._reload()
        self._sidecar = Sidecar(real)

    @classmethod
    def open(cls, location: str) -> Self:
        """Open an existing file."""
        path = Path(location)
        if not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise StoreNotFound(f"{path} {what}. Check the path.")
        return cls(path)

    @classmethod
    def create(cls, location: str) -> Self:
        """Open a file, or make an empty one."""
        path = _real(Path(location))
        if not path.exists():
            files.make_file(path)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """The first line that is not blank begins a JSON object, or the file is empty."""
        if not path.is_file() or is_sqlite(path):  # which must not be opened past SQLite
            return False
        with path.open("rb") as file:
            head = file.read(4096).removeprefix(_BOM).lstrip()
        return head.startswith(b"{") or (not head and path.suffix in {".jsonl", ".ndjson"})

    # ------------------------------------------------------------------ reading

    def _reload(self) -> None:
        data = read_bytes(self._path)
        if is_sqlite(self._path):
            raise ForeignStore(
                f"{self._path} is an SQLite database, not JSON Lines. Open it as "
                f"sqlite:///{self._path}."
            )
        self._snapshot = Snapshot.of(self._path)
        self._bom = data.startswith(_BOM)
        self._lines = _split(_decoded(self._path, data.removeprefix(_BOM)))
        self._restage()

    def _index(self, place: int, line: str, copies: Counter[str]) -> None:
        data = records.parse(line, self._path, place + 1)
        id_ = records.given_id(data, self._path, place + 1)
        text = records.content(data, self._path, place + 1)
        if id_ is None:
            key = records.derived_id(text)
            copies[key] += 1
            id_ = key if copies[key] == 1 else f"{key}-{copies[key]}"
            self._derived.add(id_)
        if id_ in self._places:
            raise DuplicateId(
                f"{self._path} has the id {id_!r} twice, on lines {self._places[id_] + 1} and "
                f"{place + 1}. Give each memory its own id."
            )
        self._places[id_] = place
        self._heads[id_] = records.head(data, id_)

    def _memory(self, id_: str) -> Memory:
        place = self._places[id_]
        return records.memory(self._lines[place], id_, self._path, place)

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """All memories in the scope, in the order of the lines."""
        ids = [head.id for head in scope.narrow(self._told())] if scope != ALL else [*self._places]
        yield from (self._memory(id_) for id_ in ids)

    def _told(self) -> Iterator[Head]:
        """What a scope asks of each memory, in the order of the lines."""
        for id_, head in self._heads.items():
            if head is None:
                self._memory(id_)  # says what is wrong with the line
            else:
                yield head

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Copies by id, from the file as it is now."""
        if not self._staging and Snapshot.of(self._path) != self._snapshot:
            self._reload()
        return {id_: self._memory(id_) for id_ in sorted(set(ids)) if id_ in self._places}

    def count(self, scope: Scope = ALL) -> int:
        """Number of memories in the scope."""
        return len(self._places) if scope == ALL else sum(1 for _ in scope.narrow(self._told()))

    def namespaces(self) -> Mapping[str, int]:
        """Number of memories by namespace."""
        return dict(sorted(Counter(head.namespace for head in self._told()).items()))

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Whether the file that was read is another one than before; not which records differ."""
        return files.since(str(self._snapshot), since)

    # ------------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer's lock, and the sidecar open for writing."""
        if self._writing:
            yield
            return
        with exclusive(self._path), self._sidecar.writing():
            self._reload()
            self._writing = True
            try:
                yield
            finally:
                self._writing = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Stage changes and replace the file once, at the end; on failure nothing happened."""
        self._must_write()
        if self._staging:
            yield
            return
        if Snapshot.of(self._path) != self._snapshot:
            self._reload()
        before = list(self._lines)
        self._staging = True
        try:
            yield
            if self._lines != before:
                self._write()
        except BaseException:
            self._staging = False
            self._reload()
            raise
        finally:
            self._staging = False

    def leftovers(self) -> list[Path]:
        """Drafts that stopped writers left beside the file; call inside `writing()` to be sure."""
        return files.drafts_of(self._path)

    def remove_leftovers(self) -> list[Path]:
        """Remove them; inside `writing()`."""
        self._must_write()
        return files.remove_drafts(self._path)

    def _write(self) -> None:
        data = "".join(self._lines).encode("utf-8")
        replace_bytes(self._path, (_BOM if self._bom else b"") + data, self._snapshot)
        self._reload()

    def put(self, memories: Sequence[Memory]) -> None:
        """Replace or add; a line taken out earlier goes back to its old place."""
        with self.transaction():
            returning: list[tuple[int, str]] = []
            for memory in memories:
                if memory.id in self._places:
                    self._replace(memory)
                elif isinstance(place := memory.native.get("at"), int):
                    returning.append((place, self._line(memory, fallback=None)))
                else:
                    self._insert(len(self._lines), records.written(memory) + "\n")
            for place, line in sorted(returning):
                self._insert(place, line)
            self._restage()

    def _line(self, memory: Memory, *, fallback: str | None) -> str:
        """The text of a memory: its raw line with what changed since put in, or a new line."""
        line = records.native_line(memory) or fallback
        if line is None:
            return records.written(memory) + "\n"
        return records.changed(line, records.memory(line, memory.id, self._path, 0), memory)

    def _replace(self, memory: Memory) -> None:
        self._refuse_derived(memory.id)
        place = self._places[memory.id]
        old = self._lines[place]
        end = old[len(old.rstrip("\r\n")) :]
        self._lines[place] = self._line(memory, fallback=old).rstrip("\r\n") + end

    def _insert(self, place: int, line: str) -> None:
        place = min(place, len(self._lines))
        if place and not self._lines[place - 1].endswith("\n"):
            self.ledger.set_fact(_ENDED, _digest(self._lines[place - 1]))
            self._lines[place - 1] += "\n"
        if place < len(self._lines) and not line.endswith("\n"):
            line += "\n"
        self._lines.insert(place, line)

    def remove(self, ids: Iterable[str]) -> None:
        """Take lines out."""
        with self.transaction():
            gone = [id_ for id_ in sorted(set(ids)) if id_ in self._places]
            for id_ in gone:
                self._refuse_derived(id_)
            places = {self._places[id_] for id_ in gone}
            self._lines = [line for at, line in enumerate(self._lines) if at not in places]
            self._end_as_before(gone)
            self._restage()

    def _end_as_before(self, gone: Sequence[str]) -> None:
        """Take the last line feed away again where only what follows had made it necessary."""
        ended = self.ledger.fact(_ENDED) if gone and self._lines else None
        if ended and ended == _digest(self._lines[-1].removesuffix("\n")):
            self._lines[-1] = self._lines[-1].removesuffix("\n")
            self.ledger.set_fact(_ENDED, "")

    def _restage(self) -> None:
        self._places: dict[str, int] = {}
        self._heads: dict[str, Head | None] = {}
        self._derived: set[str] = set()
        copies: Counter[str] = Counter()
        for place, line in enumerate(self._lines):
            if line.strip():
                self._index(place, line, copies)

    def _refuse_derived(self, id_: str) -> None:
        if id_ in self._derived:
            raise StoreReadOnly(
                f'Line {self._places[id_] + 1} of {self._path} has no "id", so it can be marked '
                "but not changed or removed. `echoless import` into a new store gives ids."
            )


def _real(path: Path) -> Path:
    """The file itself where a name is a symbolic link: lock, draft and ledger lie beside it.

    Raises:
        UsageError: Version 0.1 left a ledger beside the link, and none is beside the file.
    """
    if not path.is_symlink():
        return path
    real = path.resolve()
    beside_link, beside_file = (p.with_name(p.name + SUFFIX) for p in (path, real))
    if beside_link.exists() and not beside_file.exists():
        raise UsageError(
            f"{path} is a link to {real}, and its ledger {beside_link} lies beside the link. Move "
            f"the ledger to {beside_file}, so that every name of the file finds it."
        )
    return real


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


def _split(text: str) -> list[str]:
    """Lines with their ends.

    Only a line feed ends a line: JSON texts may hold U+2028 and others `str.splitlines` breaks at.
    """
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise ForeignStore(
            f"Line {line} of {path} is not UTF-8 text. Convert the file to UTF-8."
        ) from problem
