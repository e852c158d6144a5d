"""Demo: the road from audit to undo, by the commands one would type, on two samples.

The first is a memory folder of Claude Code, the second 1,200 memories in an SQLite store.

`echoless demo`, or `python -m echoless.cli.demo`. Every step runs the real command line in this
process, so what it shows is what the commands do; at the end every record is compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from echoless.cli.main import main, run
from echoless.core.errors import INTERRUPTED, UsageError
from echoless.core.json_codec import memory_to_json
from echoless.core.model import digest
from echoless.stores import open_store

SAMPLE: Final = "sample.jsonl"
STORE: Final = "agent.db"
FOLDER: Final = "claude_memory"
"""Memory folder of a Claude Code user, as it lies in `~/.claude/projects/NAME/memory`."""

_ROAD: Final = (
    ("audit", "--top", "2", "--pairs", "1"),
    ("dedup", "--top", "1"),
    ("dedup", "--top", "0", "--apply"),
    ("undo",),
)
"""Commands on each sample; the store is named behind the first word."""


def demo(keep: Path | None = None) -> bool:
    """Runs the demo; returns whether every command ended with 0 and both samples are as they were.

    Args:
        keep: A new or empty folder to work in; a temporary one if None.

    Raises:
        UsageError: The folder is not empty.
    """
    data = files("echoless") / "data"
    with _folder(keep) as folder, contextlib.chdir(folder):
        Path(FOLDER).mkdir()
        for sample in (data / FOLDER).iterdir():
            Path(FOLDER, sample.name).write_bytes(sample.read_bytes())
        Path(SAMPLE).write_bytes((data / SAMPLE).read_bytes())
        print(f"1. {FOLDER}: invented memories of Claude Code, one file each, and an index.")
        failed = _walked(FOLDER, "every file, every byte", folder_digest)
        print(f"\n2. {SAMPLE}: 1,200 invented memories of an agent.")
        failed += _failed(["import", SAMPLE, STORE])
        failed += _walked(STORE, "every record, every field", store_digest)
    if failed:
        print(f"This is a bug: {', '.join(failed)}.")
    return not failed


def _walked(name: str, every: str, digest_of: Callable[[str], str]) -> list[str]:
    """Walks the road on one sample, and returns what went wrong."""
    before = digest_of(name)
    failed = [each for command, *more in _ROAD for each in _failed([command, name, *more])]
    after = digest_of(name)
    print(f"\nDigest before: {before}\nDigest after:  {after}")
    if before != after:
        return [*failed, f"{name} is not as it was"]
    print(f"{name} is exactly as it was before: {every}.")
    return failed


def folder_digest(name: str) -> str:
    """Returns one digest over the names and bytes of all files in a folder, in order."""
    total, folder = hashlib.sha256(), Path(name)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            total.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
            total.update(data)
    return total.hexdigest()[:32]


def store_digest(url: str) -> str:
    """Returns one digest over every field of every record, in the store's own order."""
    with open_store(url) as store:
        return digest([memory_to_json(memory, with_native=True) for memory in store.scan()])


def _failed(words: Sequence[str]) -> list[str]:
    """Prints a command and runs it; returns it where it failed."""
    command = shlex.join(["echoless", *words])
    print(f"\n$ {command}", flush=True)
    try:
        main(args=list(words), prog_name="echoless")
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            raise KeyboardInterrupt from None
        return [command] if ended.code else []
    return []


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Yields the folder to work in, made if it is not there; a temporary one is removed."""
    if keep is None:
        prefix = "echoless-demo-"
        with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as made:
            yield Path(made)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"{keep} is not an empty folder. Name a new one; demo overwrites nothing.")
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageError(f"{keep} cannot be made ({problem.strerror}). Name another.") from problem
    yield keep.resolve()


if __name__ == "__main__":
    run(["demo", *sys.argv[1:]])
