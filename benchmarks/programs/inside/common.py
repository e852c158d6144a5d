"""What the programs' files share: notes, records, vectors without a model, an embedder."""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

DIMENSIONS = 64

Record = dict[str, Any]


class Note(NamedTuple):
    """One memory to be written."""

    text: str
    owner: str


def record(
    name: object,
    text: str,
    *,
    created: object = None,
    updated: object = None,
    vector: Sequence[float] | None = None,
    **rest: object,
) -> Record:
    """One memory as the program gives it back; what a program does not tell is None."""
    return {
        "id": str(name),
        "text": text,
        "created": None if created is None else str(created),
        "updated": None if updated is None else str(updated),
        "vector": None if vector is None else [float(number) for number in vector],
        "rest": json.loads(json.dumps(rest, default=str)),
    }


def vector(text: str, size: int = DIMENSIONS) -> list[float]:
    """A count of words of length 1: texts of the same words have the same vector."""
    counts = [0.0] * size
    for word in re.findall(r"\w+", text.lower()):
        counts[zlib.crc32(word.encode()) % size] += 1.0
    length = sum(number * number for number in counts) ** 0.5 or 1.0
    return [number / length for number in counts]


def vectors(texts: Sequence[str]) -> list[list[float]]:
    """The vectors of several texts."""
    return [vector(text) for text in texts]


@contextmanager
def embedder(size: int = DIMENSIONS) -> Iterator[str]:
    """An embedding server of OpenAI's form on loopback; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            given = asked.get("input", "")
            texts = [given] if isinstance(given, str) else given
            data = [
                {"object": "embedding", "index": number, "embedding": vector(str(text), size)}
                for number, text in enumerate(texts)
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            answer = {"object": "list", "model": "words", "data": data, "usage": usage}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
