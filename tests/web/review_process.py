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

_LINK: Final = re.compile(r"https?://[\w.:\[\]-]+/\?token=[\w-]+")
_PATIENCE: Final = 60.0


class ReviewProcess:
    """A running review.

    Attributes:
        link: The address with its token, as it was printed.
        address: The same without the token: `http://127.0.0.1:PORT`.
    """

    def __init__(self, store: str, *options: str, environment: Mapping[str, str] | None = None):
        """Starts it and waits for the link.

        Args:
            store: URL of the store.
            options: More options of the command.
            environment: Added to that of this process.
        """
        command = [sys.executable, "-m", "echoless", "review", store, "--no-browser", *options]
        self._process = subprocess.Popen(
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

    def new_link(self) -> str:
        """Asks for another link, as a person does with Enter."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._awaited_link()

    def stop(self) -> int:
        """Ends it as Ctrl-C does, and returns its exit code; `output` then holds all of it."""
        self._process.send_signal(signal.SIGINT)
        return self._ended()

    def kill(self) -> None:
        """Kills it, as a crash or the system does."""
        self._process.kill()
        self._ended()

    def _ended(self) -> int:
        code = self._process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output += line
            self._lines.put(line)
        self._lines.put(None)

    def _awaited_link(self) -> str:
        while (line := self._lines.get(timeout=_PATIENCE)) is not None:
            if match := _LINK.search(line):
                return match[0]
        raise AssertionError(f"the review ended before it gave a link:\n{self.output}")
