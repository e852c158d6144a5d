"""What the tests of the server share: a small store, clients in this process and to others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import anyio
import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from echoless.core.answer_schemas import answer_schema
from echoless.core.settings import Choices
from echoless.mcp.served_store import Plans, ServedStore
from echoless.mcp.server import make_server

Opened: TypeAlias = Callable[..., AbstractAsyncContextManager[Client]]

MEMORIES = (
    ("m-1", "The database listens on port 5432.", "work"),
    ("m-2", "The database listens on port 5432.", "work"),
    ("m-3", "the database listens on port 5432", "work"),
    ("m-4", "The database listens on port 5433.", "work"),
    ("m-5", "Anna drinks green tea in the morning.", "home"),
    ("m-6", "Anna drinks green tea in the morning!", "home"),
    ("m-7", "The printer in the hallway is out of toner.", "home"),
)
TOKEN = "a secret of more than sixteen characters"

DESTRUCTIVE = {"memory_deduplicate", "memory_merge", "memory_undo", "memory_supersede"}
READING = {
    "memory_search",
    "memory_similar",
    "memory_audit",
    "memory_consolidate",
    "memory_explain",
    "memory_history",
}
TOOLS = {*READING, *DESTRUCTIVE, "memory_remember", "memory_keep_both"}


def write_notes(path: Path, memories: tuple[tuple[str, str, str], ...] = MEMORIES) -> Path:
    """A JSONL store."""
    lines = (
        json.dumps({"id": id_, "content": text, "namespace": name, "created_at": f"2026-01-0{day}"})
        for day, (id_, text, name) in enumerate(memories, 1)
    )
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file but locks, which hold nothing."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


# ------------------------------------------------------------------ talking


class Refused(Exception):
    """A tool said no."""


@dataclass(slots=True)
class Agent:
    """Calls tools, and checks every answer against the schema that `echoless schema` prints.

    Attributes:
        client: The session.
        called: Names of the tools it called with success.
    """

    client: Client
    called: set[str] = field(default_factory=set)
    schemas: dict[str, object] = field(default_factory=dict)

    async def learn(self) -> None:
        for tool in (await self.client.list_tools()).tools:
            self.schemas[tool.name] = tool.input_schema

    async def call(self, name: str, **arguments: object) -> dict[str, object]:
        """The structured answer.

        Raises:
            Refused: With the words of the tool.
        """
        if not self.schemas:
            await self.learn()
        return self.checked(name, arguments, await self.client.call_tool(name, arguments))

    def checked(
        self, name: str, arguments: Mapping[str, object], result: CallToolResult
    ) -> dict[str, object]:
        told = result.content[0]
        assert told.type == "text"
        if result.is_error:
            assert result.structured_content is None
            raise Refused(told.text)
        present = {key: value for key, value in arguments.items() if value is not None}
        Draft202012Validator(self.schemas[name]).validate(present)
        Draft202012Validator(answer_schema(name)).validate(result.structured_content)
        assert json.loads(told.text) == result.structured_content
        self.called.add(name)
        assert result.structured_content is not None
        return dict(result.structured_content)

    async def refused(self, name: str, **arguments: object) -> str:
        """The words with which a tool says no."""
        try:
            answer = await self.call(name, **arguments)
        except Refused as problem:
            return str(problem)
        raise AssertionError(f"{name} was to refuse {arguments}, and said {answer}")


def served_store(store: Path | str, **options: object) -> ServedStore:
    plans = options.pop("plans", Plans())
    choices = options.pop("choices", Choices(encoder="none"))
    return ServedStore(
        str(store),
        choices=choices,  # type: ignore[arg-type]
        plans=plans,  # type: ignore[arg-type]
        **options,  # type: ignore[arg-type]
    )


def talk(store: Path | str, story: Callable[[Agent], Awaitable[None]], **options: object) -> None:
    """Tell a story to a server in this process."""

    async def told() -> None:
        with served_store(store, **options) as served:
            async with Client(make_server(served)) as client:
                await story(Agent(client))

    anyio.run(told)


# ------------------------------------------------------------------ other processes


def environment(**more: str) -> dict[str, str]:
    """That of the tests, without any setting of echoless but the folders."""
    kept = {"ECHOLESS_CACHE_DIR", "ECHOLESS_CONFIG_DIR"}
    found = {k: v for k, v in os.environ.items() if k in kept or not k.startswith("ECHOLESS_")}
    return {**found, **more}


def command(store: Path | str, *options: str) -> list[str]:
    return ["-m", "echoless", "mcp", str(store), *options]


def on_stdio(store: Path | str, *options: str, **more: str) -> Client:
    arguments = command(store, *options)
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment(**more))
    return Client(server)


def _address(lines: Iterable[str]) -> str:
    """The URL a server says it can be reached at, after what else it has to say."""
    said = []
    for line in lines:
        if line.startswith("Serving "):
            return line.split()[-1]
        said.append(line)
    raise AssertionError(f"the server ended: {''.join(said)}")


@contextmanager
def serving(store: Path | str, *options: str, **more: str) -> Iterator[str]:
    """A server over HTTP in a process of its own.

    Yields:
        Its URL.
    """
    words = [sys.executable, *command(store, "--http", "127.0.0.1:0", *options)]
    with subprocess.Popen(
        words, env=environment(**more), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            yield _address(process.stderr)
        finally:
            process.terminate()
            _, said = process.communicate(timeout=20)
            assert process.returncode == 0, said
            assert "Traceback" not in said, said


@asynccontextmanager
async def on_http(url: str, token: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client


@asynccontextmanager
async def _over_stdio(store: Path, *options: str, **more: str) -> AsyncIterator[Client]:
    async with on_stdio(store, *options, **more) as client:
        yield client


@asynccontextmanager
async def _over_http(store: Path, *options: str, **more: str) -> AsyncIterator[Client]:
    with serving(store, *options, **more) as url:
        async with on_http(url) as client:
            yield client


TRANSPORTS = pytest.mark.parametrize("opened", [_over_stdio, _over_http], ids=["stdio", "http"])
