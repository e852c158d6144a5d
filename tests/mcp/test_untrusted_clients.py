"""What strangers can do to a server: nothing they were not shown, and not for long (F14)."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest

from echoless import open_store
from echoless.core import plugins
from echoless.core.address import Address
from echoless.core.settings import Choices
from echoless.mcp.server import PATH, SessionLimits, http_server
from tests.mcp.clients import (
    MEMORIES,
    TOKEN,
    TRANSPORTS,
    Agent,
    Opened,
    command,
    environment,
    on_http,
    on_stdio,
    served_store,
    serving,
    talk,
)
from tests.model_server import running

ACCEPT = {"Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@contextmanager
def bounded(store: Path, bounds: SessionLimits, token: str | None = None) -> Iterator[str]:
    """A server over HTTP in a thread of this process, with bounds a test can reach."""
    with socket.create_server(("127.0.0.1", 0)) as listening, served_store(store) as served:
        bound = Address("127.0.0.1", listening.getsockname()[1])
        server = http_server(served, bound, token=token, bounds=bounds)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://{bound.shown}{PATH}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


def place_of(url: str) -> tuple[str, int]:
    parts = httpx2.URL(url)
    assert parts.port is not None
    return parts.host, parts.port


# ------------------------------------------------------------------ Host and Origin


@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
def test_host_and_origin_are_read_whole(notes: Path, token: str | None) -> None:
    """F14: the SDK's pattern took 127.0.0.1:PORT.evil.com and http://localhost:@evil.com."""
    hosts = [
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1:evil.example",
        "localhost:@evil.example",
        "localhost.evil.example:{port}",
        "127.0.0.1.evil.example",
        "[::1]:{port}.evil.example",
        "127.0.0.1:99999",
        "127.0.0.1:{port}x",
        "evil.example",
    ]
    origins = [
        "http://localhost:@evil.example",
        "http://127.0.0.1:{port}.evil.example",
        "http://localhost:{port}@evil.example",
        "http://localhost.evil.example",
        "https://localhost:{port}.evil.example",
        "null",
        "file://",
    ]
    headers = {**ACCEPT, **({} if token is None else {"Authorization": f"Bearer {token}"})}
    with bounded(notes, SessionLimits(), token) as url:
        port = place_of(url)[1]
        for host in hosts:
            sent = {**headers, "Host": host.format(port=port)}
            assert httpx2.post(url, json=HELLO, headers=sent).status_code == 421, host
        for origin in origins:
            sent = {**headers, "Origin": origin.format(port=port)}
            assert httpx2.post(url, json=HELLO, headers=sent).status_code == 403, origin
        for good in ("127.0.0.1", "localhost", f"localhost:{port}", f"[::1]:{port}", "127.0.0.1:9"):
            sent = {**headers, "Host": good, "Origin": f"http://{good}"}
            assert httpx2.post(url, json=HELLO, headers=sent).status_code == 200, good
        usual = {**headers, "Host": f"localhost:{port}", "Origin": "http://localhost:6274"}
        assert httpx2.post(url, json=HELLO, headers=usual).status_code == 200


# ------------------------------------------------------------------ plans


def test_a_plan_belongs_to_the_session_whose_preview_made_it(notes: Path) -> None:
    """F14: another client could carry out a plan whose id it knew."""
    before = notes.read_bytes()

    async def story() -> None:
        with serving(notes, "--encoder", "none") as url:
            async with on_http(url, mode="legacy") as one, on_http(url, mode="legacy") as two:
                mine, theirs = Agent(one), Agent(two)
                plan = (await mine.call("memory_deduplicate"))["plan_id"]
                said = await theirs.refused("memory_deduplicate", plan_id=plan)
                assert "for the client it was shown" in said
                assert notes.read_bytes() == before
                assert (await mine.call("memory_deduplicate", plan_id=plan))["merged"] == 3

    anyio.run(story)


def test_a_client_without_a_session_cannot_take_the_plan_of_one_that_has_one(notes: Path) -> None:
    """F14: not even with the session's id in a header, which later protocols do not check."""

    async def story() -> None:
        with serving(notes, "--encoder", "none") as url:
            async with on_http(url, mode="legacy") as one, on_http(url, mode="2026-07-28") as two:
                mine, theirs = Agent(one), Agent(two)
                for tool, words in (
                    ("memory_deduplicate", {}),
                    ("memory_merge", {"keep": "m-5", "remove": "m-6"}),
                    (
                        "memory_supersede",
                        {"text": "The database listens on port 6000.", "namespace": "work"},
                    ),
                ):
                    plan = (await mine.call(tool, **words))["plan_id"]
                    assert plan
                    assert "no plan" in await theirs.refused(tool, plan_id=plan)
                plan = (await theirs.call("memory_deduplicate"))["plan_id"]
                assert "no plan" in await mine.refused("memory_deduplicate", plan_id=plan)
                assert (await theirs.call("memory_deduplicate", plan_id=plan))["merged"] == 3

    anyio.run(story)


def test_a_client_of_the_same_name_and_address_cannot_take_the_plan_of_another(
    notes: Path,
) -> None:
    """Without sessions too: official clients keep the cookie that tells them apart."""

    async def story() -> None:
        with serving(notes, "--encoder", "none") as url:
            async with (
                on_http(url, mode="2026-07-28") as one,
                on_http(url, mode="2026-07-28") as two,
                on_http(url, mode="legacy") as three,
            ):
                mine, theirs, others = Agent(one), Agent(two), Agent(three)
                for tool, words in (
                    ("memory_merge", {"keep": "m-5", "remove": "m-6"}),
                    ("memory_deduplicate", {}),
                ):
                    plan = (await mine.call(tool, **words))["plan_id"]
                    assert "no plan" in await theirs.refused(tool, plan_id=plan)
                    assert "no plan" in await others.refused(tool, plan_id=plan)
                assert (await mine.call("memory_deduplicate", plan_id=plan))["merged"] == 3

    anyio.run(story)


# ------------------------------------------------------------------ bounds


def opened(url: str, **headers: str) -> dict[str, str]:
    """The headers of a new session."""
    answer = httpx2.post(url, json=HELLO, headers={**ACCEPT, **headers})
    assert answer.status_code == 200
    return {**ACCEPT, **headers, "Mcp-Session-Id": answer.headers["mcp-session-id"]}


def is_open(url: str, session: dict[str, str]) -> bool:
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    return httpx2.post(url, json=ping, headers=session).status_code == 200


@pytest.mark.parametrize("token", [None, TOKEN])
def test_whoever_opens_all_sessions_keeps_nobody_out(notes: Path, token: str | None) -> None:
    """F14, F15: sessions are bounded, and one that is not used gives its place to a new one."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with bounded(notes, SessionLimits(sessions=3), token) as url:
        mine = opened(url, **headers)
        assert all(is_open(url, mine) for _ in range(5))
        first = opened(url, **headers)
        others = [opened(url, **headers) for _ in range(5)]
        assert is_open(url, mine)
        assert [is_open(url, each) for each in (first, *others)] == [False] * 4 + [True] * 2
        for each in others[-2:]:
            assert all(is_open(url, each) for _ in range(5))
        assert is_open(url, opened(url, **headers))
        assert httpx2.post(
            url, json=HELLO, headers={**ACCEPT, "Authorization": "Bearer x"}
        ).status_code == (200 if token is None else 401)


def test_a_session_that_ends_leaves_its_place(notes: Path) -> None:
    with bounded(notes, SessionLimits(sessions=2)) as url:
        first, second = opened(url), opened(url)
        assert httpx2.delete(url, headers=first).status_code == 200
        third = opened(url)
        assert [is_open(url, each) for each in (first, second, third)] == [False, True, True]


def test_a_session_nobody_uses_ends(notes: Path) -> None:
    """F14: it ends by itself, and its place is free again."""
    ended = threading.Event()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "idle timeout" in record.getMessage():
                ended.set()

    log = logging.getLogger("mcp.server.streamable_http_manager")
    handler, level = Listening(), log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        with bounded(notes, SessionLimits(sessions=1, idle=0.05)) as url:
            first = httpx2.post(url, json=HELLO, headers=ACCEPT)
            session = {"Mcp-Session-Id": first.headers["mcp-session-id"]}
            assert ended.wait(20)
            late = httpx2.post(url, json=HELLO, headers={**ACCEPT, **session})
            assert late.status_code == 404
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def test_a_body_that_is_too_large_is_not_read(notes: Path) -> None:
    """F14: 413, whether its length is told or not."""
    data = json.dumps({**HELLO, "padding": "x" * 5_000}).encode()
    sent = {**ACCEPT, "Content-Type": "application/json"}
    with bounded(notes, SessionLimits(body=4_000)) as url:
        assert httpx2.post(url, content=data, headers=sent).status_code == 413
        assert httpx2.post(url, content=iter([data]), headers=sent).status_code == 413
        assert httpx2.post(url, json=HELLO, headers=ACCEPT).status_code == 200


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "headers", "body"],
)
@pytest.mark.parametrize("before", [b"", b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
def test_a_request_that_does_not_come_to_its_end_is_given_up(
    notes: Path, begun: bytes, before: bytes
) -> None:
    """F14: half-open requests still stood after 20 seconds; others are answered meanwhile."""
    with bounded(notes, SessionLimits(seconds=0.3)) as url:
        with socket.create_connection(place_of(url), timeout=30) as slow:
            if before:
                slow.sendall(before)
                assert slow.recv(65_536).startswith(b"HTTP/1.1 404")
            slow.sendall(begun)
            assert httpx2.post(url, json=HELLO, headers=ACCEPT).status_code == 200
            while slow.recv(65_536):
                pass  # the rest of an answer; then the end, well before the timeout


def test_who_only_holds_connections_keeps_no_client_out(notes: Path) -> None:
    """F14: a new one takes the place of the one that waits longest."""
    with bounded(notes, SessionLimits(connections=3, seconds=30)) as url, ExitStack() as held:
        for _ in range(9):
            held.enter_context(socket.create_connection(place_of(url)))
        assert httpx2.post(url, json=HELLO, headers=ACCEPT).status_code == 200


# ------------------------------------------------------------------ what hides is destructive


def test_what_may_hide_a_memory_says_so_and_takes_two_calls(notes: Path) -> None:
    """F14: memory_remember hid one in a call, with destructiveHint false."""

    async def story(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert tools["memory_remember"].annotations.destructive_hint is False  # type: ignore[union-attr]
        assert tools["memory_supersede"].annotations.destructive_hint is True  # type: ignore[union-attr]
        said = await agent.refused(
            "memory_remember", text="The database listens on port 6000.", supersede=True
        )
        assert "no parameter 'supersede'" in said

    talk(notes, story)


@TRANSPORTS
def test_a_memory_changed_since_the_preview_is_not_hidden(opened: Opened, notes: Path) -> None:
    """F14: the second call does what the first one showed, or nothing."""
    text = "The database listens on port 6000."

    async def story() -> None:
        async with opened(notes, "--encoder", "none") as client:
            agent = Agent(client)
            shown = await agent.call("memory_supersede", text=text, namespace="work")
            old = shown["old"]
            first = next(each for each in MEMORIES if each[0] == old)
            changed = notes.read_text("utf-8").replace(
                json.dumps({"id": old, "content": first[1]})[:-1],
                json.dumps({"id": old, "content": "The cat is called Minou."})[:-1],
            )
            notes.write_text(changed, "utf-8")
            said = await agent.refused("memory_supersede", plan_id=shown["plan_id"])
            assert "Nothing was written" in said
            assert notes.read_text("utf-8") == changed

    anyio.run(story)


# ------------------------------------------------------------------ where texts go


@pytest.mark.parametrize("verifier", ["anthropic:m@http://127.0.0.1:9", "Anthropic:m"])
def test_an_anthropic_verifier_is_no_local_one(
    notes: Path, monkeypatch: pytest.MonkeyPatch, verifier: str
) -> None:
    """F14: only names that begin with openai were told as an open world."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret-0123456789")

    async def story(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert tools["memory_audit"].annotations.open_world_hint is True  # type: ignore[union-attr]
        said = agent.client.instructions or ""
        assert "Texts of memories go to http" in said
        assert "(verifier anthropic:m)" in said

    talk(notes, story, choices=Choices(encoder="none", verifier=verifier))


def test_a_server_on_this_machine_alone_names_no_destination(notes: Path) -> None:
    """F14: nothing is told where nothing goes."""

    async def story(agent: Agent) -> None:
        assert "go to" not in (agent.client.instructions or "")

    talk(notes, story)


@pytest.mark.parametrize(
    ("declared", "local"),
    [("sends_texts = False", True), ("sends_texts = True", False), ("", False)],
)
def test_a_verifier_says_itself_whether_texts_leave_this_machine(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str, local: bool
) -> None:
    """No name is taken for a local one: here a package calls its verifier as a local encoder."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "judges.py").write_text(f"class Judge:\n    name = 'judge'\n    {declared}\n")
    info = package / "judges-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: judges\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[echoless.verifiers]\nmodel2vec = judges:Judge\n")
    monkeypatch.syspath_prepend(package)
    monkeypatch.delitem(sys.modules, "judges", raising=False)
    monkeypatch.setattr(plugins, "_group", plugins._group.__wrapped__)

    async def story(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert tools["memory_audit"].annotations.open_world_hint is not local  # type: ignore[union-attr]
        told = "verifier 'model2vec' of another package" in (agent.client.instructions or "")
        assert told is not local

    talk(notes, story, choices=Choices(encoder="none", verifier="model2vec"))


def test_the_destination_is_said_when_the_server_starts(notes: Path) -> None:
    """F3: on standard error, before anything was asked."""
    with running() as models:
        with subprocess.Popen(
            [sys.executable, *command(notes, "--encoder", f"openai:m@{models.url}")],
            env=environment(OPENAI_API_KEY="sk-very-secret-0123456789"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            out, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert (out, said) == ("", f"Texts of memories go to {models.url} (encoder openai:m).\n")
        assert models.keys == []


def test_a_server_started_in_a_stranger_s_folder_says_why_it_does_not_serve(
    notes: Path, place: Path
) -> None:
    """F3: a coding client starts servers in any folder."""
    with running() as models:
        file = place / "echoless.toml"
        file.write_text(f'encoder = "openai:m@{models.url}"\n', "utf-8")
        done = subprocess.run(
            [sys.executable, *command(notes)],
            env=environment(OPENAI_API_KEY="sk-very-secret-0123456789"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (3, "")
        assert f"{file} may not set encoder" in done.stderr
        assert models.url in done.stderr
        assert models.keys == []


def test_settings_changed_while_a_server_runs_change_nothing_it_said(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F3: the file is read once, so no destination is added behind the client's back."""
    own = tmp_path / "own" / "echoless.toml"
    own.parent.mkdir(mode=0o700)
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(own.parent))

    async def story() -> None:
        with running() as models:
            async with on_stdio(notes) as client:
                agent = Agent(client)
                own.write_text(f'encoder = "openai:m@{models.url}"\n', "utf-8")
                await agent.call("memory_audit")
                assert models.keys == []

    with open_store(notes) as store:
        assert store.count() == len(MEMORIES)
    anyio.run(story)
