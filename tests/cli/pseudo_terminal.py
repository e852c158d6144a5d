"""A command in a pseudo-terminal, and a person who presses keys once they are asked."""

import os
import pty
import re
import select
import signal
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

LONGEST = 40.0
"""Seconds after which a command is taken to hang."""

_PROMPTS = re.compile(r"(\[y/N\]|all:|leave it:|Number:) $")
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
            **{n: v for n, v in os.environ.items() if n not in {"VISUAL", "EDITOR", "NO_COLOR"}},
            "TERM": "xterm",
            "COLUMNS": "100",
            **variables,
        }
        program = [sys.executable, "-c", "from echoless.cli.main import run; run()", *words]
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(folder)
            for number in (signal.SIGINT, signal.SIGHUP):  # a parent may ignore them
                signal.signal(number, signal.SIG_DFL)
            os.execve(sys.executable, program, environment)
        return cls(pid, master)

    def press(self, *keys: str) -> str:
        """Presses each key once the command waits for one, or types a line where it asks for one.

        Returns:
            What was printed until it waited again, or ended.
        """
        before = len(self.output)
        for key in keys:
            self.wait()
            os.write(self.master, key.encode())
            self._read_until_taken(key)
        self.wait()
        return self.output[before:]

    def wait(self) -> None:
        """Reads until the command waits for a key or a line, or has ended."""
        limit = monotonic() + LONGEST
        while self._read() and not self._asks():
            assert monotonic() < limit, self.output

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

    def hang_up(self) -> int:
        """Closes the terminal, as one closes a window; returns as `end`."""
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> int:
        """Kills the command; returns as `end`."""
        os.kill(self.pid, signal.SIGKILL)
        return self.end()

    def _asks(self) -> bool:
        """Returns whether the command waits: for a key without line editing, or for a line."""
        if not termios.tcgetattr(self.master)[3] & termios.ICANON:
            return self.output.endswith(": ")
        return _PROMPTS.search(self.output) is not None

    def _read_until_taken(self, key: str) -> None:
        """Reads until the command has printed something after a key, or has ended."""
        before, limit = len(self.output), monotonic() + LONGEST
        while len(self.output) == before and self._read():
            assert monotonic() < limit, (key, self.output)

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
