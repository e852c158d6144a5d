"""mem0 for real, on this machine only: Qdrant in a folder, embedder and model on loopback."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conformance.encoders import WordBag

os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported: nothing leaves the machine
os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="mem0-")

if TYPE_CHECKING:
    from mem0 import Memory

DIMENSIONS = 64  # unless a request asks for another number
Extract = Callable[[dict[str, Any]], list[dict[str, str]]]


class Server(ThreadingHTTPServer):
    """Embeds by words, and extracts the memories a test says.

    Attributes:
        extract: What the model finds in a conversation; it is given the request.
        asked: Requests to the model.
        embedded: Texts that were embedded.
        fails: Whether the embedder answers 500.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.extract: Extract = lambda _request: []
        self.asked: list[dict[str, Any]] = []
        self.embedded: list[str] = []
        self.fails = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/embeddings"):
            status, told = (
                (500, {"error": {"message": "no"}})
                if self.server.fails
                else (200, self._vectors(body))
            )
        else:
            self.server.asked.append(body)
            status, told = 200, chat({"memory": self.server.extract(body)})
        sent = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("retry-after-ms", "1")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)
        self.close_connection = True

    def _vectors(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"]
        self.server.embedded += texts
        rows = WordBag(dimensions=body.get("dimensions", DIMENSIONS)).encode(texts)
        data = [
            {"object": "embedding", "index": i, "embedding": row.tolist()}
            for i, row in enumerate(rows)
        ]
        return {
            "object": "list",
            "model": "m",
            "data": data,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""


def chat(content: object) -> dict[str, Any]:
    message = {"role": "assistant", "content": json.dumps(content)}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@contextmanager
def opened(folder: Path, server: Server, **qdrant: Any) -> Iterator[Memory]:
    """A mem0 memory with Qdrant in a folder, or where the configuration says."""
    config = {
        **(qdrant or {"path": str(folder / "qdrant")}),
        "on_disk": True,
        "embedding_model_dims": DIMENSIONS,
    }
    with configured(folder, server, {"provider": "qdrant", "config": config}) as memory:
        yield memory


@contextmanager
def configured(folder: Path, server: Server, store: dict[str, Any]) -> Iterator[Memory]:
    """A mem0 memory with a vector store of one's own."""
    from mem0 import Memory

    api = {"api_key": "none", "openai_base_url": server.url}
    config = {
        "vector_store": store,
        "embedder": {"provider": "openai", "config": {"model": "m", **api}},
        "llm": {"provider": "openai", "config": {"model": "m", **api}},
        "history_db_path": str(folder / "history.db"),
    }
    memory = Memory.from_config(config)
    try:
        yield memory
    finally:
        memory.close()
        memory.vector_store.client.close()
