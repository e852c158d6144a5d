"""A server on loopback that speaks for language and embedding models, and misbehaves on order.

It answers `/v1/chat/completions` and `/v1/embeddings` in OpenAI's wire format and `/v1/messages` in
Anthropic's. What it says is a script: one entry a request, the last one stays. An entry takes the
body of the request and returns what is to be sent: a text, in the format asked for; `Says` for
more; `Fails` for a status; or `(status, bytes)` as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]
Raw: TypeAlias = tuple[int, bytes]
"""Status 206 breaks off midway."""


@dataclass(frozen=True)
class Says:
    """A well-formed answer.

    Attributes:
        text: What the model wrote.
        cut: It was cut off.
        usage: Tokens in and out; None leaves them out.
    """

    text: str
    cut: bool = False
    usage: tuple[int, int] | None = (1, 1)


@dataclass(frozen=True)
class Fails:
    """An error in the format asked for."""

    status: int
    text: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)


Act: TypeAlias = Callable[[Body], "str | Says | Fails | Raw"]
Embed: TypeAlias = Callable[[list[str]], "Sequence[Sequence[float]] | Fails | Raw"]


def fails(status: int, text: str = "no", **headers: str) -> Callable[[object], Fails]:
    """A script's entry that fails; headers with underscores for hyphens."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _body: Fails(status, text, told)


def hangs(until: Event) -> Callable[[object], str]:
    """A script's entry that answers too late."""

    def wait(_body: object) -> str:
        until.wait(5)
        return "late"

    return wait


def opinion(word: str, reason: str = "because") -> str:
    return json.dumps({"reason": reason, "opinion": word})


def merged(text: str) -> str:
    return json.dumps({"text": text})


def asked_for_json(body: Body) -> bool:
    """Whether a schema came with the prompt, in any of the ways there are."""
    return any(key in body for key in ("response_format", "output_config", "tools"))


def prompt_of(body: Body) -> str:
    """All that was said to the model."""
    told = [body.get("system", ""), *(m["content"] for m in body["messages"])]
    return "\n\n".join(filter(None, told))


def data_of(body: Body) -> Any:
    """What stood behind the fence."""
    text = body["messages"][-1]["content"]
    return json.loads(text.removeprefix("<memories>\n").removesuffix("\n</memories>"))


class ModelServer(ThreadingHTTPServer):
    """Both kinds of models; each kind has its script.

    Attributes:
        script: For chats and messages.
        embed: For embeddings.
        seen: Bodies of chats and messages, in order.
        embedded: Texts of each request for embeddings.
        keys: Path and key of each request; an empty text for none.
        headers: All headers of each request.
        redirect: Status and address with which every request is answered.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Act] = [lambda _body: "OK"]
        self.embed: list[Embed] = [lambda texts: [[1.0, 0, 0, 0, 0, 0] for _ in texts]]
        self.seen: list[Body] = []
        self.embedded: list[list[str]] = []
        self.keys: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.redirect: tuple[int, str] | None = None
        self.lock = Lock()

    @property
    def root(self) -> str:
        """Where Anthropic's API begins."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        """Where OpenAI's API begins."""
        return f"{self.root}/v1"

    @property
    def nowhere(self) -> str:
        """An address like `url` at which nobody listens."""
        return "http://127.0.0.1:9/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up on a slow answer is part of the test, not a failure."""


@contextmanager
def running() -> Iterator[ModelServer]:
    """A server that listens."""
    with ModelServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers["x-api-key"] or self.headers["authorization"] or ""
        with self.server.lock:
            self.server.keys.append((self.path, key.removeprefix("Bearer ")))
            self.server.headers.append(dict(self.headers.items()))
            if self.server.redirect is not None:
                status, target = self.server.redirect
                self.send_response(status)
                self.send_header("location", target)
                self.send_header("content-length", "0")
                self.end_headers()
                self.close_connection = True
                return
            act = self._next(body)
        sent = act()
        status, answer, headers = self._rendered(sent, body)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        for name, value in {"retry-after-ms": "1", **headers}.items():
            if value:
                self.send_header(name, value)
        self.send_header("content-length", str(len(answer) + (1_000 if status == 206 else 0)))
        self.end_headers()
        self.wfile.write(answer)
        self.close_connection = True

    def _next(self, body: Body) -> Callable[[], object]:
        if self.path == "/v1/embeddings":
            self.server.embedded.append(body["input"])
            embed = _pop(self.server.embed)
            return lambda: embed(body["input"])
        assert self.path in {"/v1/chat/completions", "/v1/messages"}, self.path
        self.server.seen.append(body)
        act = _pop(self.server.script)
        return lambda: act(body)

    def _rendered(self, sent: object, body: Body) -> tuple[int, bytes, Mapping[str, str]]:
        match sent:
            case (int(status), bytes(raw)):
                return status, raw, {}
            case Fails(status=status, text=text, headers=headers):
                error = {"type": "error", "error": {"type": "api_error", "message": text}}
                return status, json.dumps(error).encode(), headers
            case str():
                return self._rendered(Says(sent), body)
            case Says() if self.path == "/v1/messages":
                return 200, json.dumps(_message(sent, body)).encode(), {}
            case Says():
                return 200, json.dumps(_completion(sent, body)).encode(), {}
            case _:
                return 200, json.dumps(_vectors(sent, body)).encode(), {}  # type: ignore[arg-type]

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""


def _pop(script: list[Any]) -> Any:
    return script.pop(0) if len(script) > 1 else script[0]


def _completion(said: Says, body: Body) -> Body:
    message = {"role": "assistant", "content": said.text}
    choice = {"index": 0, "finish_reason": "length" if said.cut else "stop", "message": message}
    found: Body = {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"]}
    found["choices"] = [choice]
    if said.usage:
        sent, written = said.usage
        found["usage"] = {
            "prompt_tokens": sent,
            "completion_tokens": written,
            "total_tokens": sent + written,
        }
    return found


def _message(said: Says, body: Body) -> Body:
    block: Body = {"type": "text", "text": said.text}
    if "tools" in body:
        block = {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(said.text)}
    found: Body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block] if said.text else [],
        "stop_reason": "max_tokens" if said.cut else "end_turn",
        "stop_sequence": None,
    }
    if said.usage:
        sent, written = said.usage
        found["usage"] = {"input_tokens": sent, "output_tokens": written}
    return found


def _vectors(rows: Sequence[Sequence[float]], body: Body) -> Body:
    """In reversed order, which the index sets right."""
    data = [
        {"object": "embedding", "index": at, "embedding": list(row)} for at, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage}
