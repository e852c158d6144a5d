"""A server on loopback for the write sides: `/v1/messages` and `/v1/embeddings`."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Loopback(ThreadingHTTPServer):
    """Answers prompts with `write`, texts with vectors of `dimensions` numbers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.write: Callable[[str], tuple[int, str]] = lambda _prompt: (200, "OK")
        self.dimensions = 6
        self.asked: list[dict[str, Any]] = []
        self.keys: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up is part of the test."""


class _Handler(BaseHTTPRequestHandler):
    server: Loopback

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        key = self.headers["x-api-key"] or self.headers["authorization"]
        self.server.keys.append((self.path, key.removeprefix("Bearer ")))
        status, answer = self._written(body) if "messages" in body else self._embedded(body)
        sent = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("retry-after-ms", "1")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def _written(self, body: dict[str, Any]) -> tuple[int, object]:
        status, text = self.server.write(body["messages"][0]["content"])
        if status != 200:
            return status, {"type": "error", "error": {"type": "api_error", "message": text}}
        return 200, {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _embedded(self, body: dict[str, Any]) -> tuple[int, object]:
        vector = [float(at == 0) for at in range(self.server.dimensions)]
        data = [
            {"object": "embedding", "index": at, "embedding": vector}
            for at in range(len(body["input"]))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return 200, {"object": "list", "data": data, "model": body["model"], "usage": usage}

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""
