"""`echoless review` as a process, with a small page in place of the real one.

`python -m tests.web.small_review STORE …` runs the command with it, so that these tests are about
the server and the terminal alone.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from echoless.cli.main import run
from echoless.web.store_queue import Job, StoreQueue
from echoless.workflows.review.session import ReviewSession

LINK: Final = re.compile(r"http://\S+/\?token=([\w-]+)")
_PATIENCE: Final = 60.0


def review_app(session: ReviewSession, calls: StoreQueue, **_names: str) -> Starlette:
    """Returns pages that answer, fail, and do long work until a file is there."""

    async def home(_request: Request) -> Response:
        states = await calls.call(lambda: [session.state(key) for key in session.items])
        return HTMLResponse(" ".join(states))

    async def answer(_request: Request) -> Response:
        key = next(iter(session.items))
        await calls.call(lambda: session.skip(key))
        return HTMLResponse("stored")

    async def long(request: Request) -> Response:
        gate = Path(request.query_params["gate"])

        def work(job: Job) -> None:
            job.actions(1, 2)
            while not gate.exists():
                time.sleep(0.01)

        calls.begin("Applying the plan", work)
        return HTMLResponse("begun")

    async def mistake(_request: Request) -> Response:
        raise ValueError("a broken page")

    post = ["POST"]
    return Starlette(
        routes=[
            Route("/", home),
            Route("/answer", answer, methods=post),
            Route("/long", long, methods=post),
            Route("/mistake", mistake),
        ]
    )


class SmallReview:
    """A running review.

    Attributes:
        process: The process.
        output: What it printed so far, on both channels.
    """

    def __init__(self, store: Path, *options: str, input_: int = subprocess.PIPE) -> None:
        words = [sys.executable, "-m", "tests.web.small_review", "review", str(store)]
        self.process = subprocess.Popen(
            [*words, "--no-semantic", *options],
            stdin=input_,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            text=True,
        )
        self.output = ""
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def link(self) -> str:
        """The next link it prints."""
        return self.line(LINK.pattern).strip()

    def line(self, pattern: str) -> str:
        """The next line it prints in which a pattern occurs."""
        while line := self._lines.get(timeout=_PATIENCE):
            if re.search(pattern, line):
                return line
        raise AssertionError(f"the review ended without {pattern!r}:\n{self.output}")

    def enter(self) -> None:
        """Presses Enter."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, number: int | None = signal.SIGINT) -> int:
        """Sends a signal, waits for the end and returns the exit code."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line
            self._lines.put(line)
        self._lines.put("")


@contextmanager
def small_review(store: Path, *options: str) -> Iterator[SmallReview]:
    """Runs a review within the block; it is killed at the end if it still runs."""
    review = SmallReview(store, *options)
    try:
        yield review
    finally:
        if review.process.poll() is None:
            review.process.kill()
            review.end(None)
        for pipe in (review.process.stdin, review.process.stdout):
            if pipe is not None:
                pipe.close()


if __name__ == "__main__":
    module = ModuleType("echoless.web.app")
    module.review_app = review_app  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    run()
