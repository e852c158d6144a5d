"""Demo: all steps from audit to undo, by the commands one would type, on two samples.

The first is a memory folder of Claude Code, the second 1,200 memories in an SQLite store.

`echoless demo`, or `python -m echoless.cli.demo`. Every step runs the real command line in this
process, so what it shows is what the commands do; at the end every record is compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from echoless.cli.main import main, run
from echoless.core.errors import INTERRUPTED, UsageError
from echoless.core.json_codec import memory_to_json
from echoless.core.model import Json, digest
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.registry import open_encoder
from echoless.stores import open_store

SAMPLE: Final = "sample.jsonl"
STORE: Final = "agent.db"
FOLDER: Final = "claude_memory"
"""Memory folder of a Claude Code user, as it lies in `~/.claude/projects/NAME/memory`."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the demo, with its exit code."""

    command: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Result of the demo.

    Attributes:
        steps: Commands in order.
        before: Digest of every file of the memory folder, and of every record of the store.
        after: The same at the end.
        folder: Where the files are, or None if they were temporary.
    """

    steps: tuple[Step, ...]
    before: tuple[str, str]
    after: tuple[str, str]
    folder: str | None

    @property
    def sound(self) -> bool:
        """Whether every command ended with 0 and both samples are as they were."""
        return self.before == self.after and all(s.exit_code == 0 for s in self.steps)

    def to_json(self) -> dict[str, Json]:
        """Returns the result as in `echoless demo --json`."""
        return {
            "steps": [{"command": s.command, "exit_code": s.exit_code} for s in self.steps],
            "files_before": self.before[0],
            "files_after": self.after[0],
            "digest_before": self.before[1],
            "digest_after": self.after[1],
            "equal": self.before == self.after,
            "folder": self.folder,
        }


def demo(
    keep: Path | None = None, *, semantic: bool | None = None, quiet: bool = False
) -> DemoResult:
    """Runs the demo.

    Args:
        keep: A new or empty folder to work in; a temporary one if None.
        semantic: Compare by meaning too; None: where an encoder is installed.
        quiet: Print nothing.

    Raises:
        UsageError: The folder is not empty.
    """
    encoder = open_encoder("auto")
    semantic = encoder is not None if semantic is None else semantic
    words = [] if semantic else ["--set", "semantic=no"]
    silence = contextlib.redirect_stdout(io.StringIO()) if quiet else contextlib.nullcontext()
    with _folder(keep) as folder, contextlib.chdir(folder), silence:
        print(_compared_by(encoder, semantic=semantic))
        Path(FOLDER).mkdir()
        samples = [*(files("echoless") / "data" / FOLDER).iterdir()]
        for sample in samples:
            Path(FOLDER, sample.name).write_bytes(sample.read_bytes())
        number = len(samples) - 1  # without the index
        print(
            f"1. {FOLDER}: {number} invented memories of Claude Code, one file each, and an index."
        )
        steps, *first = _walked(
            FOLDER, "folder, file, byte", folder_digest, _folder_commands(words)
        )
        Path(SAMPLE).write_bytes((files("echoless") / "data" / SAMPLE).read_bytes())
        print(f"\n2. {SAMPLE}: 1,200 invented memories of an agent.")
        steps.append(_step(["import", SAMPLE, STORE]))
        more, *second = _walked(STORE, "store, record, field", store_digest, _store_commands(words))
        result = DemoResult(
            (*steps, *more),
            (first[0], second[0]),
            (first[1], second[1]),
            None if keep is None else str(folder),
        )
        if not result.sound:
            failed = ", ".join(step.command for step in result.steps if step.exit_code)
            print(f"This is a bug: {failed or 'a sample is not as it was'}.")
    return result


def _compared_by(encoder: Encoder | None, *, semantic: bool) -> str:
    """Returns the sentences that say by what memories are compared."""
    if encoder is None:
        return (
            "Memories are compared by wording: no encoder is installed. With one, copies in other "
            "words are found too: pip install echoless\n"
        )
    if not semantic:
        return "Memories are compared by wording alone.\n"
    return f"Memories are compared by wording and by meaning, with the encoder {encoder.model}.\n"


def _walked(
    name: str, what: str, digest_of: Callable[[str], str], commands: Iterable[list[str]]
) -> tuple[list[Step], str, str]:
    """Runs commands on one sample.

    Args:
        name: Path of the sample.
        what: What is compared: the whole, its parts, and what of each.
        digest_of: Returns the digest of the sample.
        commands: In their order.

    Returns:
        The steps, and the digests of the sample before and after.
    """
    whole, parts, every = what.split(", ")
    before = digest_of(name)
    print(f"\nDigest of all {parts}s, every {every}: {before}")
    steps = [_step(command) for command in commands]
    after = digest_of(name)
    print(f"\nDigest before: {before}\nDigest after:  {after}")
    if before == after:
        print(f"The {whole} is exactly as it was before: every {parts}, every {every}.")
    return steps, before, after


def _folder_commands(words: list[str]) -> Iterator[list[str]]:
    """Yields the commands on the memory folder."""
    yield ["discover", "."]
    yield ["audit", FOLDER, "--top", "2", "--pairs", "1", *words]
    yield ["dedup", FOLDER, "--top", "1", *words]
    yield ["dedup", FOLDER, "--top", "0", "--apply", *words]
    yield ["undo", FOLDER, "last"]


def _store_commands(words: list[str]) -> Iterator[list[str]]:
    """Yields the commands on the embedded store, after the import."""
    yield ["audit", STORE, "--top", "2", "--pairs", "1", *words]
    yield ["dedup", STORE, "--top", "3", *words]
    yield ["dedup", STORE, "--top", "0", "--apply", *words]
    yield ["search", STORE, "webhook signature clock", "--limit", "3"]
    yield ["history", STORE]
    yield ["undo", STORE, "last"]
    yield ["check", STORE]


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


def _step(words: Sequence[str]) -> Step:
    """Prints a command and runs it."""
    command = shlex.join(["echoless", *words])
    print(f"\n$ {command}", flush=True)
    try:
        main(args=list(words), prog_name="echoless")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if code == INTERRUPTED:
            raise KeyboardInterrupt from None
        return Step(command, code)
    return Step(command, 0)


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Yields the folder to work in, made if it is not there; a temporary one is removed."""
    if keep is None:
        made = tempfile.mkdtemp(prefix="echoless-demo-")
        try:
            yield Path(made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
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
