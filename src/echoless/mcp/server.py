"""Server over its two transports. On standard output stands the protocol and nothing else."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver.tools import Tool
from pydantic import AnyHttpUrl
from starlette.types import ASGIApp

from echoless.core.address import Address, bind
from echoless.core.errors import UsageError
from echoless.core.http_connection import timed_protocol
from echoless.mcp.access import Clients, OnlyLocal, SingleTokenVerifier, security
from echoless.mcp.ingest_tools import IngestTools
from echoless.mcp.instructions import instructions, prompts
from echoless.mcp.read_tools import ReadTools
from echoless.mcp.served_store import ServedStore
from echoless.mcp.tool import MemoryTool
from echoless.mcp.write_tools import WriteTools

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_CHUNK: Final = 65_536


@contextmanager
def interruptible_input() -> Iterator[None]:
    """Lets SIGINT and SIGTERM end standard input within the block.

    Reading standard input blocks a thread that cannot be interrupted. So a pipe takes its place:
    what comes in is passed on, and a signal closes the pipe, which ends every server.
    """
    if sys.platform == "win32":  # no waiting on two pipes there; Ctrl-C interrupts
        yield
        return
    source = os.dup(0)
    reader, writer = os.pipe()
    wake, waker = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    threading.Thread(target=_pass_on, args=(source, writer, wake), daemon=True).start()

    def end(_number: int, _frame: object) -> None:
        os.write(waker, b"\0")

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield
    finally:
        os.write(waker, b"\0")
        for number, handler in before.items():
            signal.signal(number, handler)
        os.dup2(source, 0)


def _pass_on(source: int, writer: int, wake: int) -> None:
    """Copies until the source ends, the reader goes, or `wake` has input; then closes the pipe."""
    with suppress(OSError):
        while True:
            ready, _, _ = select.select([source, wake], [], [])
            if wake in ready:
                break
            chunk = os.read(source, _CHUNK)
            if not chunk:
                break
            while chunk:
                chunk = chunk[os.write(writer, chunk) :]
    os.close(writer)


PATH = "/mcp"

_PREFIX = "memory_"
"""Begins the name of each tool."""

_SHUTDOWN_SECONDS = 3
"""Seconds for open connections to end when the server does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """Limits for clients over HTTP, of a server that serves one person's agents.

    Attributes:
        sessions: Open at a time; one more takes the place of one that is not used.
        idle: Seconds after which a session without a request ends; the client opens another.
        body: Bytes of a request; more is answered 413.
        connections: Open at a time, those of sessions included; one more is answered 503.
        seconds: Time in which a request has to come in whole.
    """

    sessions: int = 64
    idle: float = 1_800
    body: int = 4 << 20
    connections: int = 256
    seconds: float = 10


def make_server(
    served: ServedStore, *, token: str | None = None, issuer: str = "http://localhost"
) -> MCPServer:
    """Makes the server with tools and the prompt, over one store.

    Args:
        served: The store and settings to serve.
        token: The token clients over HTTP have to send; None asks for none.
        issuer: Its own address, told to clients that ask who gives out tokens.
    """
    tools: list[Tool] = [tool for tool in _tools(served) if served.offers(tool.name)]
    server: MCPServer = MCPServer(
        name="echoless",
        title="echoless memory",
        description="The memory of an agent, kept free of repetition.",
        instructions=instructions(served),
        version=version("echoless"),
        tools=tools,
        log_level="WARNING",
        token_verifier=None if token is None else SingleTokenVerifier(token),
        auth=None
        if token is None
        else AuthSettings(issuer_url=AnyHttpUrl(issuer), resource_server_url=None),
    )
    for prompt in prompts(served):
        server.add_prompt(prompt)
    return server


def _tools(served: ServedStore) -> list[MemoryTool]:
    """Returns all tools that fit the store, in the order agents read them."""
    return [*IngestTools(served).tools(), *ReadTools(served).tools(), *WriteTools(served).tools()]


def tools_named(served: ServedStore, written: str) -> frozenset[str]:
    """Returns the full names of some tools of a server.

    Args:
        served: The store and settings to serve.
        written: Names with commas between them; `memory_` may be left out.

    Raises:
        UsageError: A name is none of a tool of this server, or there is no name.
    """
    known = [tool.name for tool in _tools(served)]
    wanted = [name.strip() for name in written.split(",") if name.strip()]
    names = {name if name.startswith(_PREFIX) else f"{_PREFIX}{name}" for name in wanted}
    unknown = sorted(names.difference(known))
    if unknown or not names:
        which = f"has no tool {unknown[0].removeprefix(_PREFIX)!r}" if unknown else "needs a tool"
        mode = " with --read-only" if served.read_only else ""
        short = ", ".join(name.removeprefix(_PREFIX) for name in known)
        raise UsageError(f"The server{mode} {which}. --tools takes some of: {short}.")
    return frozenset(names)


def serve_stdio(served: ServedStore) -> None:
    """Serves one client on standard input and output, until it goes or a signal comes."""
    with interruptible_input(), served:
        anyio.run(make_server(served).run_stdio_async)


def serve_http(
    served: ServedStore, address: Address, *, token: str | None, announce: Callable[[str], None]
) -> None:
    """Serves any number of clients over streamable HTTP, until a signal comes.

    Args:
        served: The store and settings to serve.
        address: Where to listen.
        token: The token clients have to send; needed where others than this machine can reach it.
        announce: Given the URL once it can be reached.

    Raises:
        UsageError: There is no token where there has to be one, or the port is taken.
    """
    if token is None and not address.loopback:
        raise UsageError(f"Listening on {address.shown} needs a token.")
    listening = bind(
        address, advice="Choose another port with --http HOST:PORT; port 0 takes a free one."
    )
    listening.listen()  # who reads the address below may connect at once
    bound = Address(address.host, listening.getsockname()[1])
    server = http_server(served, bound, token=token)
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(_is_no_cancellation)
    # uvicorn raises the signal again once it has come to its end: that is the end we want
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)
    with listening, served:
        announce(f"http://{bound.shown}{PATH}")
        server.run(sockets=[listening])


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Returns False for the traceback of a request that the end of the server cut off."""
    cancelled = (asyncio.CancelledError, concurrent.futures.CancelledError)  # one for each side
    return record.exc_info is None or not isinstance(record.exc_info[1], cancelled)


def http_server(
    served: ServedStore, bound: Address, *, token: str | None, bounds: SessionLimits | None = None
) -> uvicorn.Server:
    """Makes a server over HTTP that does not listen yet.

    Args:
        served: The store and settings to serve.
        bound: Where it will be reached, with its port.
        token: The token clients have to send; None asks for none.
        bounds: Limits for clients.
    """
    bounds = bounds or SessionLimits()
    app: ASGIApp = make_server(
        served, token=token, issuer=f"http://{bound.shown}"
    ).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security(bound, token=token is not None),
        host=bound.host,
        max_sessions=bounds.sessions + 1,
        session_idle_timeout=bounds.idle,
        max_request_body_size=bounds.body,
    )
    app = Clients(app, bounds.sessions)
    if token is None or bound.loopback:  # elsewhere a token is asked for, which no page can know
        app = OnlyLocal(app, bound)
    config = uvicorn.Config(
        app,
        http=timed_protocol(bounds.seconds, bounds.connections),
        limit_concurrency=bounds.connections + 1,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)
