"""What a server of PostgreSQL is told of a password: nothing in clear text."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from echoless.core.errors import EcholessError
from echoless.stores.registry import open_store
from echoless_stores.sql.location import Location, guarded

SECRET = "SECRETPG1234"
CLEAR_TEXT, MD5 = b"R\0\0\0\x08\0\0\0\x03", b"R\0\0\0\x0c\0\0\0\x05salt"


class Listener(threading.Thread):
    """A server without encryption that asks for the password, and keeps what it is sent."""

    def __init__(self, asks: bytes) -> None:
        super().__init__(daemon=True)
        self.asks = asks
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(20)
        self.sent = b""
        self.start()

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def run(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                said = client.recv(4096)
                while len(said) == 8:  # a request for encryption: no
                    client.sendall(b"N")
                    said = client.recv(4096)
                client.sendall(self.asks)
                self.sent += client.recv(4096)


@pytest.fixture
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    made = Listener(getattr(request, "param", CLEAR_TEXT))
    with closing(made.socket):
        yield made


@pytest.mark.parametrize("given", ["PGPASSWORD", "the address", "a mode"])
def test_a_server_that_asks_for_the_password_in_clear_text_gets_none(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    secret = f":{SECRET}" if given == "the address" else ""
    mode = "?sslmode=prefer" if given == "a mode" else ""
    monkeypatch.setenv("PGPASSWORD", "" if secret else SECRET)
    address = f"postgresql://u{secret}@127.0.0.1:{listener.port}/x{mode}#notes"
    with pytest.raises(EcholessError, match=r"password in clear text, which was not sent.*sslmode"):
        open_store(address)
    assert SECRET.encode() not in listener.sent


@pytest.mark.parametrize("listener", [MD5], indirect=True)
def test_a_server_that_asks_for_a_digest_of_the_password_gets_it(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with pytest.raises(EcholessError, match="Check host, port"):
        open_store(f"postgresql://u@127.0.0.1:{listener.port}/x#notes")
    assert listener.sent[:1] == b"p"
    assert SECRET.encode() not in listener.sent


@pytest.mark.parametrize(
    ("options", "variables", "library", "wanted"),
    [
        ("", {}, 160_000, {"require_auth": "!password"}),
        ("?sslmode=allow", {}, 180_000, {"require_auth": "!password"}),
        ("?sslmode=require", {}, 180_000, {}),
        ("?sslmode=verify-full", {}, 140_000, {}),
        ("", {"PGSSLMODE": "verify-ca"}, 180_000, {}),
        ("?require_auth=password", {}, 180_000, {}),
        ("", {"PGREQUIREAUTH": "scram-sha-256"}, 180_000, {}),
        ("", {}, 150_000, {"sslmode": "require"}),
        ("?host=10.0.0.9", {}, 150_000, {"sslmode": "require"}),
        ("?host=localhost", {}, 150_000, {}),
        ("?host=/run/postgresql", {}, 150_000, {}),
    ],
)
def test_encryption_or_a_way_to_log_in_that_a_person_demands_stands(
    monkeypatch: pytest.MonkeyPatch,
    options: str,
    variables: dict[str, str],
    library: int,
    wanted: dict[str, str],
) -> None:
    monkeypatch.setattr(psycopg.pq, "version", lambda: library)
    for name in ("PGSSLMODE", "PGREQUIREAUTH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert guarded(Location.parse(f"postgresql://u@db:5432/x{options}#notes")) == wanted
