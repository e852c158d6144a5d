"""`echoless review` as a process, with a small page in place of the real one.

`python -m tests.web.small_review STORE …` runs the command with it, so that these tests are about
the server and the terminal alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from echoless.cli.main import run
from echoless.web.store_queue import StoreQueue, Work
from echoless.workflows.review.session import ReviewSession
from tests.web.review_process import ReviewProcess


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

        def work(job: Work) -> None:
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


@contextmanager
def small_review(store: Path, *options: str) -> Iterator[ReviewProcess]:
    """Runs a review within the block; it is killed at the end if it still runs."""
    review = ReviewProcess(
        str(store), "--set", "semantic=no", *options, module="tests.web.small_review"
    )
    try:
        yield review
    finally:
        review.kill()


if __name__ == "__main__":
    module = ModuleType("echoless.web.app")
    module.review_app = review_app  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    run()
