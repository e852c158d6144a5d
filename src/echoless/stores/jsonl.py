"""Store in a file with one JSON object a line: `jsonl:///memories.jsonl`.

A file that is one JSON array of memories or texts, or one object with such an array (`facts`,
`results`), is read and written in its form: an element stands where a line would.

The file is replaced atomically and only where it changes: untouched lines, unknown fields, number
formats, line ends and blank lines stay byte for byte. Lineage lives in a sidecar, `NAME.echoless`,
made by the first write.

With `?hide=move` the line of a hidden memory leaves the file for the sidecar, so that programs that
read the file do not see it. Here the lines of the file and those that were moved make one list, in
their old order (`jsonl_record`). A line without an id gets one from its text and its place among
equal texts; while a line is moved, the others keep theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import time_ns
from typing import ClassVar, Final, Self

from echoless.core.errors import BadRecord, DuplicateId, ForeignStore, StoreNotFound, StoreReadOnly
from echoless.core.model import Memory
from echoless.core.sqlite import is_sqlite
from echoless.core.text import lazy_pattern
from echoless.stores import files
from echoless.stores import jsonl_record as lines
from echoless.stores import jsonl_record as records
from echoless.stores.base import ALL, Capabilities, Head, Scope, StoreKind
from echoless.stores.field_map import Hiding, MappedUrl, read_path
from echoless.stores.files import Snapshot, read_bytes, read_end, replace_bytes
from echoless.stores.hidden_records import HiddenRecord, HiddenRecords, HidesOnRequest, back_again
from echoless.stores.json_splice import LARGEST, bound_to, not_read, records_in
from echoless.stores.ledger import Mark
from echoless.stores.sidecar import Sidecar

_BOM: Final = b"\xef\xbb\xbf"
_OPENING: Final = re.compile(rb"\{|\[\s*(?:[\[{\"\]]|$)")
_OF_VECTORS: Final = frozenset({".npy", ".npz", ".faiss", ".usearch", ".ann", ".hnsw", ".voy"})
_HEAD: Final = 65_536
"""Bytes of a large file that tell whether it has lines."""
_LAST_KEY: Final = lazy_pattern(r'"((?:[^"\\]|\\.)*)"\s*:\s*\[\Z')
_WITH_TEXT: Final = ".. | objects | select(.content // .text // .memory)"
"""What `jq` is asked for the memories of any JSON document."""
_ENDED: Final = "jsonl_line_that_had_no_end"
"""Fact of the ledger: digest of the last line of a file that had no final line feed, kept from the
first addition on. When the additions are gone again, the file ends as before."""
_AT_REST: Final = 2_000_000_000
"""Nanoseconds from which a file can be known by its time: as long as the coarsest clock of a file
system stands still (FAT, 2 s), an edit may leave size and time as they are."""


class JsonlStore(StoreKind, HidesOnRequest):
    """Memories in a JSON Lines file."""

    summary: ClassVar[str] = "JSON Lines file (history is kept in NAME.echoless)"
    one_file: ClassVar[bool] = True
    general: ClassVar[bool] = True
    _sidecar: Sidecar
    capabilities = Capabilities(transactions=True, hides=True)

    def __init__(self, path: Path, hide: Hiding = "") -> None:
        """Reads the file; use `open` or `create`."""
        self._path = real = path.resolve() if path.is_symlink() else path
        self._location = MappedUrl(path, hide=hide)
        self._asked = hide
        self.url = f"jsonl:///{self._location}"
        self.owner_reads = f"programs that read {path}"
        self._staging = False
        self._untouched = 0
        super().__init__(Sidecar(real))
        self._reload()

    @classmethod
    def open(cls, location: str) -> Self:
        """Opens an existing file: `PATH` or `PATH?hide=move`."""
        asked = read_path(location)
        path = asked.path
        if not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise StoreNotFound(f"{path} {what}. Check the path.")
        return cls(path, asked.hide)

    @classmethod
    def create(cls, location: str) -> Self:
        """Opens a file, or makes an empty one."""
        path = read_path(location).path
        if not path.exists():
            files.make_file(path.resolve() if path.is_symlink() else path)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether a text begins with a JSON object or an array, or is empty.

        An array of numbers is none. One of arrays is refused when it is opened, with the reason.
        """
        if not path.is_file() or is_sqlite(path):  # which must not be opened past SQLite
            return False
        with path.open("rb") as file:
            head = file.read(4096).removeprefix(_BOM).lstrip()
        empty = not head and path.suffix in {".jsonl", ".ndjson"}
        return empty or _OPENING.match(head) is not None

    # ------------------------------------------------------------------ reading

    def _reload(self) -> None:
        """Reads the file and indexes its lines, each with its end.

        Only a line feed ends a line: JSON texts may hold U+2028 and others `str.splitlines` breaks
        at.

        Raises:
            ForeignStore: It is no UTF-8 text.
            BadRecord: A line is no record.
            DuplicateId: Two lines have one id.
        """
        self._snapshot = snapshot = Snapshot.of(self._path)  # before: what comes later is an edit
        if snapshot is not None and snapshot.size > LARGEST:
            self._refuse_a_large_document()
        data = read_bytes(self._path)
        if is_sqlite(self._path):
            raise ForeignStore(
                f"{self._path} is an SQLite database, not JSON Lines. Open it as "
                f"sqlite:///{self._path}."
            )
        self._known = snapshot is not None and time_ns() - snapshot.modified > _AT_REST
        self._end = read_end(data)
        self._bom = data.startswith(_BOM)
        data = data.removeprefix(_BOM)
        text = files.text_of(data, self._path)
        *ended, last = text.split("\n")
        self._lines = [line + "\n" for line in ended] + ([last] if last else [])
        self._head, self._tail, self._between, self._bound = "", "", "", ""
        if not records.holds_record(self._lines):
            self._read_document(text)
        self._away: set[str] = set()
        self._back: set[str] = set()
        self._is_edited = False
        self._moved_ids = [""] * len(self._lines)
        self._index_lines()
        if self._strange and not self._places and not self._sidecar.path.exists():
            raise BadRecord(
                f"Line {self._strange[0]} of {self._path} has no text, nor has any other entry: "
                'none of "content", "text" and "memory" is a string. Write the texts under one of '
                "these keys; nothing was read or changed."
            )
        self._counts = {str(snapshot): len(self._places)}
        self._add_moved()

    def _refuse_a_large_document(self) -> None:
        """Refuses a file that is too large to be read as one JSON document.

        Raises:
            BadRecord: Its first line is no record.
        """
        head = read_bytes(self._path, limit=_HEAD).removeprefix(_BOM).decode("utf-8", "replace")
        if not records.holds_record(head.split("\n")):
            raise BadRecord(
                f"{self._path} is larger than {LARGEST // 2**20} MB, too large for one JSON "
                "document, which is read as a whole. Divide it, or write it as JSON Lines, one "
                "memory a line; nothing was read or changed."
            )

    def _read_document(self, text: str) -> None:
        """Reads a file that is one JSON document; any other file stays a list of lines.

        Raises:
            BadRecord: The file is a document, and its memories have no simple place in it.
        """
        document = records_in(text, records.is_record)
        if document is not None:
            self._head, self._lines, self._tail = document
            self._between = ","
            self._bound = bound_to(text, len(self._lines))
            beside = sorted(self._path.parent.glob("*"))
            if names := [each.name for each in beside if each.suffix in _OF_VECTORS]:
                self._bound = f"{names[0]} beside it may hold a row for each element"
            return
        alone = self._path.suffix == ".json"
        if advice := not_read(text, self._path, alone=alone, query=_WITH_TEXT):
            raise BadRecord(advice)

    @property
    def bound(self) -> str:
        """Returns what stands beside the elements of the document, by their places."""
        return self._bound

    def _add_moved(self) -> None:
        """Puts moved lines to their places among those of the file; the file counts before them."""
        table = HiddenRecords(self._sidecar.ledger) if self._sidecar.is_sound else None
        self._moved_state = table.state() if table else ""
        if table is None or not self._moved_state:
            return
        rows = table.read()
        named = {id_ for id_, each in rows.items() if records.is_named(each.memory)}
        self._back = named & self._places.keys()
        moved = [each for id_, each in rows.items() if id_ not in self._back]
        if moved:
            known = self._sidecar.ledger.fact(lines.FACT) or ""
            whole, self._is_edited = lines.joined(self._lines, moved, known)
            self._lines, self._moved_ids = [[*each] for each in zip(*whole, strict=True)]
            self._away = rows.keys() - self._back
            self._index_lines()

    def _index_lines(self, first: int = 0) -> None:
        """Finds id and head of each line; a line without an id gets one from its text.

        Args:
            first: Place of the first line that is new; the index of those before it stays.
        """
        if not first:
            self._places: dict[str, int] = {}
            self._heads: dict[str, Head | None] = {}
            self._derived: set[str] = set()
            self._numbers: dict[str, int] = {}
            self._following = 1 + self._head.count("\n")
            self._strange: list[int] = []
        copies: Counter[str] = Counter()
        taken = set(self._moved_ids)
        for place in range(first, len(self._lines)):
            line = self._lines[place]
            number = self._following + line[: len(line) - len(line.lstrip())].count("\n")
            self._following += line.count("\n")
            if not line.strip():
                continue
            data = records.parse(line, self._path, number, others=bool(self._head))
            text = records.text_of(data)
            if text is None:
                self._strange.append(number)
                continue
            id_ = records.given_id(data, self._path, number)
            if id_ is None:
                key, id_ = records.derived_id(text), self._moved_ids[place]
                while not id_:
                    copies[key] += 1
                    free = key if copies[key] == 1 else f"{key}-{copies[key]}"
                    id_ = "" if free in taken else free
                self._derived.add(id_)
            if id_ in self._places:
                raise DuplicateId(
                    f"{self._path} has the id {id_!r} twice, on lines {self._numbers[id_]} and "
                    f"{number}. Give each memory its own id."
                )
            self._places[id_] = place
            self._numbers[id_] = number
            self._heads[id_] = records.head(data, id_)

    def _memory(self, id_: str) -> Memory:
        place = self._places[id_]
        return records.memory(self._lines[place], id_, self._path, place, self._numbers[id_])

    def scan(self, scope: Scope = ALL) -> Iterator[Memory]:
        """Yields all memories in the scope, in the order of the lines."""
        whole = scope == ALL
        ids = [*self._places] if whole else [h.id for h in scope.narrow(self._sound_heads())]
        yield from (self._memory(id_) for id_ in ids)

    def sample(self) -> Iterator[Memory]:
        """Yields the memories; the file was read already."""
        return map(self._memory, self._places)

    def _sound_heads(self) -> Iterator[Head]:
        """Yields the fields of each memory that a scope needs, in the order of the lines.

        Raises:
            BadRecord: A line has them in a wrong form.
        """
        for id_, head in self._heads.items():
            if head is None:
                self._memory(id_)  # raises the error that names what is wrong with the line
            else:
                yield head

    def get(self, ids: Iterable[str]) -> Mapping[str, Memory]:
        """Returns copies by id, from the file as it is now."""
        if not self._staging and not self._is_current():
            self._reload()
        return {id_: self._memory(id_) for id_ in sorted(set(ids)) if id_ in self._places}

    def _is_current(self) -> bool:
        """Checks whether neither the file nor what was moved out of it changed since."""
        if Snapshot.of(self._path) != self._snapshot or read_end(self._path) != self._end:
            return False
        sound = self._sidecar.is_sound
        return not sound or HiddenRecords(self.ledger).state() == self._moved_state

    def remarks(self) -> Sequence[str]:
        """Returns what was passed over, and hidden memories that are in the file again."""
        said = list(back_again(sorted(self._back)))
        if self._is_edited:
            said.append(
                f"{self._path.name} was edited since lines were moved out of it. Hidden memories "
                "come back as its last lines."
            )
        if not self._strange:
            return said
        key = _LAST_KEY.search(self._head)
        named = f"its list {key[1]!r}" if key else self._path.name
        passed = (
            f"Entries of {named} without a text, passed over: {len(self._strange)} (the first on "
            f"line {self._strange[0]}). They are no memories and stay as they are."
        )
        return (passed, *said)

    def returned(self) -> Collection[str]:
        """Returns the moved memories that are in the file again."""
        return self._back

    def passed_over(self) -> tuple[str, int, int]:
        """Returns how many entries the file has, and how many have no text."""
        return "entry", len(self._places) + len(self._strange), len(self._strange)

    def count(self, scope: Scope = ALL) -> int:
        """Returns the number of memories in the scope."""
        if scope == ALL:
            return len(self._places)
        return sum(1 for _ in scope.narrow(self._sound_heads()))

    def namespaces(self) -> Mapping[str, int]:
        """Returns the number of memories by namespace."""
        return dict(sorted(Counter(head.namespace for head in self._sound_heads()).items()))

    @property
    def root(self) -> Path:
        """Returns the file, behind any symbolic link."""
        return self._path.resolve()

    def text_files(self) -> tuple[Path, ...]:
        """Returns the file."""
        return (self.root,)

    def place(self, id_: str) -> tuple[Path, int] | None:
        """Returns the file, as it was named, and the line of a memory."""
        number = self._numbers.get(id_)
        return None if number is None else (self._location.path, number)

    def changes(self, since: str) -> tuple[str, Collection[str] | None]:
        """Returns what was added since; of any other change only that there was one."""
        state, count = self._with_hidden(str(self._snapshot)), self._counts.get(since)
        if count is None or self._moved_state or self._staging:
            return files.since(state, since)
        return state, tuple(islice(reversed(self._places), len(self._places) - count))

    # ------------------------------------------------------------------ writing

    @contextmanager
    def _opened_for_writing(self) -> Iterator[None]:
        if not (self._known and self._is_current()):
            self._reload()
        yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Stages changes and replaces the file once, at the end; on failure nothing changes."""
        self._must_write()
        if self._staging:
            yield
            return
        if not self._is_current():
            self._reload()
        before, away = list(self._lines), set(self._away)
        self._staging, self._untouched = True, len(before)
        try:
            yield
            self._commit(before, changed=self._away != away)
        except BaseException:
            self._staging = False
            self._reload()
            raise
        finally:
            self._staging = False

    def _commit(self, before: Sequence[str], *, changed: bool) -> None:
        """Writes what was staged.

        Args:
            before: All lines before the change.
            changed: Whether lines were moved out of the file or into it.
        """
        added_only = self._untouched == len(before) and not changed
        if added_only and len(self._lines) == len(before):
            return
        snapshot = self._write(before)
        if snapshot is None or not added_only or self._between or self._moved_state:
            self._reload()
            return
        self._snapshot, self._known = snapshot, True
        self._end = read_end(self._end + "".join(self._lines[len(before) :]).encode())
        self._counts[str(snapshot)] = len(self._places)

    def _write(self, before: Sequence[str]) -> Snapshot | None:
        """Replaces the file, and brings what was moved out of it up to date around that.

        Args:
            before: All lines before the change.

        Returns:
            As `replace_bytes`; None also where the file stays as it is.
        """
        made = None
        table = HiddenRecords(self.ledger)
        rows = table.read().keys()  # a damaged ledger refuses before anything changes
        places = {self._places[id_]: id_ for id_ in self._away}
        if places:  # safe in the sidecar before they leave the file
            with self.ledger.transaction():
                moved = sorted(places.items())
                table.save(HiddenRecord(self._memory(id_), at) for at, id_ in moved)
                known = f"{lines.digest(before)} {lines.digest(self._lines)}"
                self.ledger.set_fact(lines.FACT, known)
        shown = self._between.join(lines.shown(self._lines, places))
        data = f"{self._head}{shown}{self._tail}".encode()
        if data != read_bytes(self._path).removeprefix(_BOM):
            made = replace_bytes(self._path, (_BOM if self._bom else b"") + data, self._snapshot)
        again = self._back & self._places.keys()
        table.drop(rows - self._away - again)
        return made

    def hide(self, marks: Sequence[Mark]) -> None:
        """Moves the lines of memories into the sidecar, where the store was told to."""
        self._must_write()
        if not self._remember_hiding():
            return
        HiddenRecords(self.ledger).insist_on_commit()
        with self.transaction():
            self._away |= {mark.duplicate for mark in marks} & self._places.keys()

    def unhide(self, ids: Iterable[str]) -> None:
        """Puts moved lines back to their places in the file."""
        wanted = set(ids)
        back = self._back & wanted
        if back or self._away & wanted:
            HiddenRecords(self.ledger).insist_on_commit()
            with self.transaction():
                self._away -= wanted
            HiddenRecords(self.ledger).drop(back)
            self._back -= back

    def leftovers(self) -> list[Path]:
        """Returns drafts of stopped writers beside the file; exact only inside `writing()`."""
        return files.drafts_of(self._path)

    def remove_leftovers(self) -> list[Path]:
        """Removes drafts of stopped writers; called inside `writing()`."""
        self._must_write()
        return files.remove_drafts(self._path)

    def put(self, memories: Sequence[Memory]) -> None:
        """Replaces or adds memories; a removed line goes back to its old place."""
        with self.transaction():
            returning: list[tuple[int, str]] = []
            size = len(self._lines)
            untouched, self._untouched = self._untouched, size
            for memory in memories:
                if memory.id in self._places:
                    self._refuse_derived(memory.id)
                    place = self._places[memory.id]
                    self._untouched = min(self._untouched, place)
                    old = self._lines[place]
                    end = old[len(old.rstrip("\r\n")) :]
                    self._lines[place] = self._line(memory, fallback=old).rstrip("\r\n") + end
                elif isinstance(before := memory.native.get("at"), int):
                    returning.append((before, self._line(memory, fallback=None)))
                else:
                    self._refuse_texts()
                    self.insist_on_unbound()
                    self._insert(len(self._lines), records.written(memory) + "\n")
            for place, line in sorted(returning):
                self._insert(place, line)
            self._index_lines(size if self._untouched == size else 0)
            self._untouched = min(self._untouched, untouched)

    def _line(self, memory: Memory, *, fallback: str | None) -> str:
        """Returns the line of a memory: its old line with the changed fields, or a new one."""
        line = records.native_line(memory) or fallback
        if line is None:
            return records.written(memory) + "\n"
        return records.changed(line, records.memory(line, memory.id, self._path, 0), memory)

    def _insert(self, place: int, line: str) -> None:
        """Inserts a line, and ends the line before it where it has no end."""
        place = min(place, len(self._lines))
        self._untouched = min(self._untouched, place)
        if not self._between and place and not self._lines[place - 1].endswith("\n"):
            self.ledger.set_fact(_ENDED, lines.digest([self._lines[place - 1]]))
            self._lines[place - 1] += "\n"
            self._untouched = min(self._untouched, place - 1)
        if not self._between and place < len(self._lines) and not line.endswith("\n"):
            line += "\n"
        self._lines.insert(place, line)
        self._moved_ids.insert(place, "")

    def remove(self, ids: Iterable[str]) -> None:
        """Removes the lines of memories."""
        with self.transaction():
            present = [id_ for id_ in sorted(set(ids)) if id_ in self._places]
            for id_ in present:
                self._refuse_derived(id_)
            places = {self._places[id_] for id_ in present}
            self._away.difference_update(present)
            self._untouched = min(self._untouched, *places, len(self._lines))
            self._lines = lines.shown(self._lines, places)
            self._moved_ids = lines.shown(self._moved_ids, places)
            # the last line feed goes again where only what followed had made it necessary
            ended = self.ledger.fact(_ENDED) if present and self._lines else None
            if ended and ended == lines.digest([self._lines[-1].removesuffix("\n")]):
                self._lines[-1] = self._lines[-1].removesuffix("\n")
                self.ledger.set_fact(_ENDED, "")
            self._index_lines()

    def _refuse_derived(self, id_: str) -> None:
        """Refuses to change a line without an id of its own."""
        if id_ in self._derived:
            raise StoreReadOnly(
                f'Line {self._numbers[id_]} of {self._path} has no "id", so it can be marked '
                "but not changed or removed. `echoless import` into a new store gives ids."
            )

    def _refuse_texts(self) -> None:
        """Refuses to add an object to a list of texts, whose program reads nothing else."""
        first = next((line for line in self._lines if line.strip()), "")
        if first.lstrip().startswith('"'):
            raise StoreReadOnly(
                f"{self._path} is a list of texts, where a new memory has no place for its id. "
                "`echoless import` into a new store gives ids; nothing was changed."
            )
