"""A command in a pseudo-terminal."""

import os
import pty
import re
import select
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

LONGEST = 40.0
"""Seconds after which a command is taken to hang."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(slots=True)
class PseudoTerminal:
    """A running command.

    Attributes:
        pid: Its process.
        master: The end of the terminal that a person sits at.
        output: What it printed so far.
    """

    pid: int
    master: int
    output: str = field(default="", init=False)

    @classmethod
    def start(cls, *words: str, folder: Path, **variables: str) -> "PseudoTerminal":
        """Starts echoless in a terminal."""
        environment: Mapping[str, str] = {
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "TERM": "xterm",
            "COLUMNS": "100",
            **variables,
        }
        program = [sys.executable, "-c", "from echoless.cli.main import run; run()", *words]
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execve(sys.executable, program, environment)
        return cls(pid, master)

    def end(self) -> int:
        """Reads to the end.

        Returns:
            The exit code; below 0 for the signal that ended it.
        """
        limit = monotonic() + LONGEST
        while self._read():
            assert monotonic() < limit, self.output
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        """Reads what there is within a moment; returns whether the command goes on."""
        if not select.select([self.master], [], [], 0.02)[0]:
            return True
        try:
            data = os.read(self.master, 65_536)
        except OSError:  # the other end is closed
            return False
        self.output = _COLOURS.sub("", self.output + data.decode("utf-8", "replace"))
        self.output = self.output.replace("\r", "")
        return bool(data)
