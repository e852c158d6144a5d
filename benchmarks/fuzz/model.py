"""What is fuzzed: targets with their valid files, their mutation and the doors they come in by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

Files: TypeAlias = Mapping[str, bytes]
"""Files of a case by path, `/` between folders."""

Effect = Literal["reads", "writes", "undone"]
"""What a door may do: change nothing, change something, change something that `undo` takes back."""

Fault = Literal[
    "internal error", "killed by a signal", "hang", "memory", "changed by reading",
    "changed by a refusal", "not undone", "control characters", "canary touched",
    "canary read out", "executed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that must not happen, and did.

    Attributes:
        fault: Which law of the fuzzer it breaks.
        door: Name of the door.
        error: Type of the exception, the signal, or a short sentence.
        frame: Innermost place in echoless, as `file.py:function`; empty where there is none.
        detail: For a person: the message, the end of the traceback.
    """

    fault: Fault
    door: str
    error: str
    frame: str = ""
    detail: str = ""

    @property
    def signature(self) -> tuple[str, str, str]:
        """The same for all inputs that find the same mistake."""
        return (self.fault, self.error, self.frame)


@dataclass(frozen=True, slots=True)
class Door:
    """One way in for a case: a command line, or a function that talks to something else.

    Attributes:
        name: For reports; unique within a target.
        words: The command line; `{store}` stands for the store of the target.
        effect: What it may do.
        stdin: File of the case that is its standard input.
        makes: Beginnings of the names of files it may make. A refused command makes none.
        partial: Whether a part may be done where the exit code tells of trouble.
        talk: Instead of a command line: drives the case in the current folder, tells what went
            wrong.
    """

    name: str
    words: tuple[str, ...] = ()
    effect: Effect = "reads"
    stdin: str | None = None
    makes: tuple[str, ...] = ()
    partial: bool = False
    talk: Callable[[str], list[Wrong]] | None = None


Mutation: TypeAlias = Callable[[Random, dict[str, bytes]], None]
"""Changes files of a case in place."""


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of input.

    Attributes:
        name: On the command line and in the corpus.
        share: Its part of all inputs, relative to the other targets.
        make: Writes a valid case into an empty folder, which is the current one.
        mutate: Damages it.
        doors: Ways in. An input goes through some that read and one that writes.
        store: What `{store}` stands for; a path within the case.
        fresh: Whether an entry of the corpus holds what was changed, not the files: caches of one
            edition are nothing to another one.
        warm: Modules imported before the children are forked.
        rehearse: Whether every door is opened once before, in the parent of the children, so that
            they find all modules in place. Not for libraries whose threads do not survive a fork.
        environment: Variables for its children.
        housekeeping: Whether the library of the store tidies its own files up when it opens them,
            so that not even reading leaves their bytes alone.
        undo_may_refuse: Whether the ledger itself is damaged, so that `undo` may say that it cannot
            go back. It must not say that it did.
        aborts: Whether the library of the store may end the process (SIGABRT) where its own files
            are damaged, which no caller can catch. It is counted with the exit codes, as -6.
        cases: Number of valid cases: ids, times and the layout of pages differ between them.
    """

    name: str
    share: int
    make: Callable[[Path], None]
    mutate: Mutation
    doors: tuple[Door, ...]
    store: str = ""
    fresh: bool = False
    warm: tuple[str, ...] = ()
    rehearse: bool = True
    environment: Mapping[str, str] | None = None
    housekeeping: bool = False
    undo_may_refuse: bool = False
    aborts: bool = False
    cases: int = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one input.

    Attributes:
        wrong: All that went wrong.
        seconds: Wall time of its process.
        cpu: Its processor time in seconds, user and system.
        peak_mb: Its peak resident memory, in MB of 10^6 bytes.
        codes: How often each exit code was seen.
    """

    wrong: tuple[Wrong, ...]
    seconds: float
    cpu: float
    peak_mb: float
    codes: Mapping[int, int]
