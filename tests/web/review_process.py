"""`echoless review` as a person starts it: a process of its own, on a port of its own."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Final

LINK: Final = re.compile(r"https?://[\w.:\[\]-]+/\?token=([\w-]+)")
_PATIENCE: Final = 60.0


class ReviewProcess:
    """A running review.

    Attributes:
        process: The process.
        output: What it printed so far, on both channels.
        link: The address with its token, as it was printed first.
        address: The same without the token: `http://127.0.0.1:PORT`.
    """

    def __init__(
        self,
        store: str,
        *options: str,
        module: str = "echoless",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts it and waits for the link.

        Args:
            store: URL of the store.
            options: More options of the command.
            module: What Python runs.
            environment: Added to that of this process.
        """
        command = [sys.executable, "-m", module, "review", store, "--no-browser", *options]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
            text=True,
            encoding="utf-8",
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.output = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.link = self._awaited_link()
        self.address = self.link.partition("/?")[0]

    @property
    def token(self) -> str:
        """Returns the token of the link."""
        return self.link.partition("token=")[2]

    def line(self, pattern: re.Pattern[str] | str) -> str:
        """Returns the next line it prints in which a pattern occurs."""
        while (line := self._lines.get(timeout=_PATIENCE)) is not None:
            if re.search(pattern, line):
                return line
        raise AssertionError(f"the review ended without {pattern!r}:\n{self.output}")

    def new_link(self) -> str:
        """Asks for another link, as a person does with Enter."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._awaited_link()

    def stop(self) -> int:
        """Ends it as Ctrl-C does, and returns its exit code; `output` then holds all of it."""
        return self.end(signal.SIGINT)

    def kill(self) -> None:
        """Kills it, as a crash or the system does."""
        self.process.kill()
        self.end(None)

    def end(self, number: int | None) -> int:
        """Sends a signal, if one is given, waits for the end and returns the exit code."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line
            self._lines.put(line)
        self._lines.put(None)

    def _awaited_link(self) -> str:
        match = LINK.search(self.line(LINK))
        assert match is not None
        return match[0]
