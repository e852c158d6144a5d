"""States of a folder after a loss of power, made from a trace of all changes to its files.

The model is that of a journalling file system (ext4, XFS, Btrfs, APFS): data that was not
synchronised may be there, be missing, be torn at a sector, or be there while older data are not;
names (creating, linking, renaming, removing) become durable in the order they were given, at the
latest when their folder is synchronised. With `strict`, names may be reordered as POSIX allows.
Source of the method: Pillai et al., All File Systems Are Not Created Equal, OSDI 2014.
"""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SECTOR: Final = 512
_HEAD: Final = struct.Struct("<cQQQQ")


@dataclass(frozen=True, slots=True)
class Operation:
    """One change to files.

    Attributes:
        kind: `C` created, `W` written, `T` cut, `S` synchronised, `D` folder synchronised,
            `R` renamed, `L` linked, `U` removed, `M` folder made, `X` folder removed, `Y` symlink.
        file: Number of the file (inode).
        offset: Where data were written, or the size a file was cut to.
        first: Data, or a path.
        second: The other path of `R`, `L` and `Y`.
    """

    kind: str
    file: int
    offset: int
    first: bytes
    second: bytes

    @property
    def is_name(self) -> bool:
        """Whether it changes names, not data."""
        return self.kind in "CRLUMXY"


def read_trace(path: Path) -> list[Operation]:
    """The operations of a trace, in order."""
    data, at, operations = path.read_bytes(), 0, []
    while at < len(data):
        kind, file, offset, one, two = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        first, second = data[at : at + one], data[at + one : at + one + two]
        at += one + two
        operations.append(Operation(kind.decode(), file, offset, first, second))
    return operations


@dataclass
class Disk:
    """Files by number, and names, as they would be found after the power came back."""

    files: dict[int, bytearray] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    modes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path) -> Disk:
        """What is below a folder now."""
        disk = cls()
        for path in [root, *sorted(root.rglob("*"))]:
            status = path.lstat()
            if path.is_dir():
                disk.folders.add(str(path))
            else:
                disk.names[str(path)] = status.st_ino
                disk.files[status.st_ino] = bytearray(path.read_bytes())
        return disk

    def copy(self) -> Disk:
        """The same again."""
        files = {number: bytearray(data) for number, data in self.files.items()}
        return Disk(files, dict(self.names), set(self.folders))

    def take(self, operation: Operation, part: int | None = None) -> None:
        """Apply one operation, or the first `part` bytes of a write."""
        path, other = operation.first.decode("utf-8", "surrogateescape"), operation.second.decode()
        match operation.kind:
            case "C":
                self.names[path] = operation.file
                self.files.setdefault(operation.file, bytearray())
            case "W":
                self._write(operation, part)
            case "T":
                data = self.files.setdefault(operation.file, bytearray())
                del data[operation.offset :]
                data.extend(bytes(operation.offset - len(data)))
            case "R" | "L":
                if path in self.names:
                    self.names[other] = self.names[path]
                    if operation.kind == "R":
                        del self.names[path]
            case "U":
                self.names.pop(path, None)
            case "M":
                self.folders.add(path)
            case "X":
                self.folders.discard(path)
            case _:
                pass

    def _write(self, operation: Operation, part: int | None) -> None:
        data = self.files.setdefault(operation.file, bytearray())
        new = operation.first[:part]
        if len(data) < operation.offset:
            data.extend(bytes(operation.offset - len(data)))
        data[operation.offset : operation.offset + len(new)] = new

    def write_to(self, root: Path) -> None:
        """Make the folder look like this disk."""
        shutil.rmtree(root)
        for folder in sorted(self.folders):
            Path(folder).mkdir(parents=True, exist_ok=True)
        linked: dict[int, str] = {}
        for name, number in self.names.items():
            path = Path(name)
            if not path.parent.is_dir():
                continue
            if number in linked:
                path.hardlink_to(linked[number])
            else:
                path.write_bytes(self.files.get(number, b""))
                linked[number] = name


def states(
    start: Disk,
    operations: Sequence[Operation],
    at: int,
    *,
    draw: random.Random,
    count: int,
    strict: bool = False,
) -> Iterator[Disk]:
    """Draws states the disk may be in when the power fails before operation number `at`.

    Args:
        start: The disk before the first operation, all of it durable.
        operations: The trace.
        at: How many operations were given before the power failed.
        draw: Chooses what arrived.
        count: How many states; the first two are "nothing more than promised" and "everything".
        strict: Names are reordered too.
    """
    given = operations[:at]
    durable = _durable(given)
    for number in range(count):
        share = 0.0 if number == 0 else 1.0 if number == 1 else draw.random()
        yield _state(start, given, durable, draw, share, strict=strict)


def _durable(given: Sequence[Operation]) -> list[bool]:
    """Whether each operation is promised to be on the disk."""
    promised = [False] * len(given)
    for at, operation in enumerate(given):
        if operation.kind == "S":
            for earlier in range(at):
                if given[earlier].file == operation.file and given[earlier].kind in "WT":
                    promised[earlier] = True
        elif operation.kind == "D":
            for earlier in range(at):
                promised[earlier] = promised[earlier] or given[earlier].is_name
    return promised


def _state(
    start: Disk,
    given: Sequence[Operation],
    durable: Sequence[bool],
    draw: random.Random,
    share: float,
    *,
    strict: bool,
) -> Disk:
    disk = start.copy()
    names_end = False
    for operation, promised in zip(given, durable, strict=True):
        if promised:
            disk.take(operation)
        elif operation.is_name:
            arrives = draw.random() < share or share == 1.0
            if arrives and not names_end:
                disk.take(operation)
            elif not arrives and not strict:
                names_end = True  # later names can only follow where none is promised
        elif operation.kind in "WT" and (share == 1.0 or draw.random() < share):
            torn = operation.kind == "W" and share < 1.0 and draw.random() < 0.2
            sectors = len(operation.first) // SECTOR
            disk.take(operation, draw.randint(0, sectors) * SECTOR if torn and sectors else None)
    return disk
