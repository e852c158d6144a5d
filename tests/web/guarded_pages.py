"""Small pages behind the guard of the review, on a server in a thread of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from echoless.core.address import Address
from echoless.core.errors import UsageError
from echoless.web.security import AccessTokens, PageLimits
from echoless.web.server import make_server, taken_place
from echoless.web.store_queue import Busy, Ended, Work

SECRET_TEXT = "The boiler is in the cellar."
STEPS = {
    "mistake": ValueError("broken inside"),
    "refused": UsageError("Choose which memory stays: a, b."),
    "busy": Busy(Work("Applying the plan", stage="writing", done=3, whole=12)),
    "ended": Ended(),
}


async def _home(_request: Request) -> Response:
    return HTMLResponse(f"<p>{SECRET_TEXT}", headers={"Cache-Control": "max-age=9"})


async def _answer(request: Request) -> Response:
    return HTMLResponse(f"{len(await request.body())}")


async def _fail(request: Request) -> Response:
    raise STEPS[request.path_params["kind"]]


async def _half(_request: Request) -> Response:
    async def parts() -> object:
        yield b"a half "
        raise ValueError("broken in the middle")

    from starlette.responses import StreamingResponse

    return StreamingResponse(parts(), media_type="text/html")  # type: ignore[arg-type]


async def _slow(_request: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError("waits for ever")


async def _plain(_request: Request) -> Response:
    return PlainTextResponse("it was gone", status_code=410)


async def _style(_request: Request) -> Response:
    return Response("p { color: red }", media_type="text/css")


PAGES = Starlette(
    routes=[
        Route("/", _home),
        Route("/answer", _answer, methods=["POST"]),
        Route("/fail/{kind}", _fail, methods=["GET", "POST"]),
        Route("/half", _half),
        Route("/slow", _slow),
        Route("/plain", _plain),
        Route("/static/style.css", _style),
    ]
)


@dataclass(slots=True)
class Pages:
    """A running server.

    Attributes:
        bound: Its address.
        tokens: Those of its links.
        reported: Mistakes of the program.
    """

    bound: Address
    tokens: AccessTokens = field(default_factory=AccessTokens)
    reported: list[Exception] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.bound.shown}"

    @property
    def link(self) -> str:
        """A new link with a token."""
        return f"{self.url}/?token={self.tokens.new_token()}"

    def client(self, **headers: str) -> httpx.Client:
        """A client without a cookie."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=20, trust_env=False)

    @contextmanager
    def entered(self, **headers: str) -> Iterator[httpx.Client]:
        """A client that opened a link and has the cookie of a session."""
        with self.client(**headers) as client:
            assert client.get(self.link).status_code == 303
            yield client


@contextmanager
def pages(**limits: float) -> Iterator[Pages]:
    """Serves the pages within the block."""
    with taken_place(Address("127.0.0.1", 0)) as place:
        made = Pages(place.address)
        server = make_server(
            PAGES,
            bound=made.bound,
            tokens=made.tokens,
            limits=PageLimits(**limits),  # type: ignore[arg-type]
            report=made.reported.append,
        )
        with _in_thread(lambda: server.run(sockets=[place.socket])):
            place.socket.listen()
            try:
                yield made
            finally:
                server.should_exit = True


@contextmanager
def _in_thread(work: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join(20)
        assert not thread.is_alive()
