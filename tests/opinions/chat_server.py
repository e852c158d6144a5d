"""A chat server on loopback that answers as a test says."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Answer: TypeAlias = tuple[int, bytes]
Act: TypeAlias = Callable[[dict[str, Any]], Answer]


def chat(content: object, status: int = 200) -> Answer:
    """A well-formed answer whose message is `content`."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}
    choice["message"]["content"] = content  # type: ignore[index]
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return status, json.dumps(body).encode()


def opinion(word: str, reason: str = "because") -> Answer:
    return chat(json.dumps({"reason": reason, "opinion": word}))


def fails(status: int, text: str = "no") -> Act:
    return lambda _body: (status, json.dumps({"error": {"message": text}}).encode())


class Server(ThreadingHTTPServer):
    """Answers as `script` says, one entry a request; the last one stays."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Act] = [lambda _body: opinion("same")]
        self.seen: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up on a slow answer is part of the test, not a failure."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def texts(self) -> list[dict[str, str]]:
        """Both texts of every question."""
        return [json.loads(body["messages"][1]["content"]) for body in self.seen]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        assert self.path == "/v1/chat/completions"
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(body)
        self.server.keys.append(self.headers["authorization"])
        act = self.server.script[0]
        if len(self.server.script) > 1:
            self.server.script.pop(0)
        status, sent = act(body)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("retry-after-ms", "1")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)
        self.close_connection = True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""
