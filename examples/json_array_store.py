"""A store of one's own: memories as one JSON array in a file, `jsonarray:///memories.json`.

python examples/json_array_store.py

Installed with an entry point of the group `echoless.stores` it opens by its URL, see
docs/extending.md. Here it is made by hand: found, hidden, undone. Runs and asserts.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from echoless import Memory, apply, find, plan, undo
from echoless.core.errors import ForeignStore, StoreNotFound
from echoless.core.json_codec import memory_from_json, memory_to_json
from echoless.stores.base import ALL, Capabilities, Scope, StoreKind
from echoless.stores.expiration import promised
from echoless.stores.files import Snapshot, read_bytes, replace_bytes, write_new
from echoless.stores.scope import owned
from echoless.stores.sidecar import BesideSidecar, Sidecar

PLACE: Final = "jsonarray.place"
"""Key of `native` with the place in the array; memories of other kinds have no such key."""


class JsonArrayStore(StoreKind, BesideSidecar):
    """One JSON array in a file."""

    summary = "one JSON array in a file (example)"
    capabilities = Capabilities(transactions=True)
    one_file = True

    def __init__(self, path: Path) -> None:
        path = path.resolve()  # lock, draft and ledger lie beside the file, not beside a link to it
        super().__init__(Sidecar(path))
        self.url, self._path = f"jsonarray:///{path}", path
        self._staged: list[Memory] | None = None
        self._read()

    @classmethod
    def open(cls, location: str | Path) -> JsonArrayStore:
        """Opens a file that is there."""
        if not Path(location).is_file():
            raise StoreNotFound(f"There is no file {location}. Check the path.")
        return cls(Path(location))

    @classmethod
    def create(cls, location: str | Path) -> JsonArrayStore:
        """Opens a file, and makes an empty one where there is none."""
        if not Path(location).exists():
            write_new(Path(location), b"[]")
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether this class opens a path; asked about every path, so it is quick."""
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(1) == b"["

    def _read(self) -> None:
        self._snapshot = Snapshot.of(self._path)
        try:
            memories = [memory_from_json(each) for each in json.loads(read_bytes(self._path))]
        except (ValueError, TypeError, AttributeError) as problem:
            raise ForeignStore(f"{self._path} is no array of memories ({problem}).") from problem
        self._memories = {
            m.id: owned(promised(replace(m, native={PLACE: at}))) for at, m in enumerate(memories)
        }

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields the memories of a scope."""
        yield from scope.narrow(list(self._memories.values()))

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns the memories of some ids, by id."""
        if self._staged is None and Snapshot.of(self._path) != self._snapshot:
            self._read()
        return {id_: self._memories[id_] for id_ in sorted(set(ids)) if id_ in self._memories}

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        self._read()  # the lock is held
        yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Collects changes and writes them at once, or none of them."""
        self._must_write()
        if self._staged is not None:
            yield
            return
        self._staged = list(self._memories.values())
        try:
            yield
            text = json.dumps([memory_to_json(m) for m in self._staged])
            replace_bytes(self._path, text.encode(), self._snapshot)
        finally:
            self._staged = None
            self._read()

    def put(self, memories: Iterable[Memory]) -> None:
        """Writes memories; one that was removed goes back to its old place."""
        with self.transaction():
            staged, given = self._staged or [], {m.id: m for m in memories}
            self._staged = [given.pop(m.id, m) for m in staged]
            end = len(self._staged) + len(given)
            for memory in sorted(given.values(), key=lambda each: _place(each, end)):
                self._staged.insert(_place(memory, end), memory)
            self._memories = {m.id: m for m in self._staged}

    def remove(self, ids: Iterable[str]) -> None:
        """Removes memories."""
        with self.transaction():
            gone = set(ids)
            self._staged = [m for m in self._staged or () if m.id not in gone]
            self._memories = {m.id: m for m in self._staged}


def _place(memory: Memory, end: int) -> int:
    """Returns the place of a memory in the array; the end for one that never had a place."""
    place = memory.native.get(PLACE)
    return place if isinstance(place, int) else end


def main() -> None:
    """Two texts that say the same: one is hidden, and shown again."""
    memories = [
        Memory(id="m-1", content="The gateway listens on 8443."),
        Memory(id="m-2", content="the gateway listens on 8443"),
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        JsonArrayStore.create(Path(folder) / "memories.json") as store,
    ):
        with store.writing():
            store.put(memories)
        run = apply(store, plan(find(store, encoder="none")))
        assert run.counts["mark"] == 1
        assert undo(store, run.id).shown == ("m-2",)
        print(f"{store.url}: {run.counts['mark']} hidden, and shown again")


if __name__ == "__main__":
    main()
