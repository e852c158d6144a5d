"""A Qdrant server on loopback, as far as mem0 and echoless use its REST interface.

No package brings a server that runs here, so requests are answered by the library's own local mode.
What the server does otherwise is done here: it normalises vectors of a collection by cosine, and
leaves one that is normalised already bit for bit (`lib/segment/src/spaces/tools.rs`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models

_DONE = {"operation_id": 0, "status": "completed"}


class QdrantServer(ThreadingHTTPServer):
    """Attributes:
    inner: The local mode that answers.
    key: Key a request must carry, if any.
    requests: Method and path of each request.
    fails_after: Number of changes after which every change is answered with 500; None for never.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.inner = QdrantClient(":memory:")
        self.lock = threading.Lock()
        self.cosine: set[str] = set()
        self.key = ""
        self.requests: list[str] = []
        self.fails_after: int | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: QdrantServer

    def _answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        path = self.path.partition("?")[0].strip("/").split("/")
        self.server.requests.append(f"{self.command} /{'/'.join(path)}")
        with self.server.lock:
            status, result = self._status_and_result(path, body)
        whole = result if path == [""] else {"result": result, "status": "ok", "time": 0.0}
        sent = json.dumps(whole).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def do_GET(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _status_and_result(self, path: list[str], body: dict[str, Any]) -> tuple[int, Any]:
        if self.server.key and self.headers.get("api-key") != self.server.key:
            return 401, "Invalid API key"
        changes = self.command == "PUT" or path[-1] in {"delete", "payload"}
        if changes and self.server.fails_after is not None:
            if self.server.fails_after == 0:
                return 500, "No space left on device"
            self.server.fails_after -= 1
        try:
            return 200, self._result(path, body)
        except KeyError as problem:
            return 400, f"unknown: {problem}"
        except ValueError as problem:
            return (404 if "not found" in str(problem) else 400), str(problem)

    def _result(self, path: list[str], body: dict[str, Any]) -> Any:
        inner = self.server.inner
        match self.command, path:
            case "GET", [""]:
                return {"title": "qdrant", "version": version("qdrant-client")}
            case "GET", ["collections"]:
                return inner.get_collections().model_dump(mode="json")
            case "GET", ["aliases"]:
                return {"aliases": []}
            case _, ["collections", name]:
                return self._collection(name, body)
            case "PUT", ["collections", _, "index"]:
                return _DONE
            case _, ["collections", name, "points", *rest]:
                return self._points(name, rest, body)
            case _:
                raise KeyError(self.path)

    def _collection(self, name: str, body: dict[str, Any]) -> Any:
        if self.command == "GET":
            found = self.server.inner.get_collection(name).model_dump(mode="json")
            if name in self.server.cosine:
                vectors = found["config"]["params"]["vectors"]
                for each in [vectors] if "size" in vectors else vectors.values():
                    each["distance"] = "Cosine"
            return found
        asked = models.CreateCollection.model_validate(body)
        vectors = asked.vectors
        for each in vectors.values() if isinstance(vectors, dict) else [vectors]:
            if isinstance(each, models.VectorParams) and each.distance == models.Distance.COSINE:
                each.distance = models.Distance.DOT
                self.server.cosine.add(name)
        return self.server.inner.create_collection(
            name, vectors_config=vectors, sparse_vectors_config=asked.sparse_vectors
        )

    def _points(self, name: str, rest: list[str], body: dict[str, Any]) -> Any:
        inner = self.server.inner
        match self.command, rest:
            case "POST", []:
                read = inner.retrieve(name, body["ids"], with_payload=True, with_vectors=True)
                return [each.model_dump(mode="json") for each in read]
            case "POST", ["scroll"]:
                return self._scrolled(name, models.ScrollRequest.model_validate(body))
            case "POST", ["query"]:
                return self._queried(name, models.QueryRequest.model_validate(body))
            case _:
                self._change(name, rest, body)
                return _DONE

    def _change(self, name: str, rest: list[str], body: dict[str, Any]) -> None:
        inner = self.server.inner
        match self.command, rest:
            case "PUT", []:
                made = [models.PointStruct.model_validate(each) for each in body["points"]]
                for point in made if name in self.server.cosine else ():
                    point.vector = _unit(point.vector)
                inner.upsert(name, made)
            case "POST", ["payload"]:
                inner.set_payload(name, body["payload"], points=body["points"])
            case "PUT", ["payload"]:
                inner.overwrite_payload(name, body["payload"], points=body["points"])
            case "POST", ["payload", "delete"]:
                inner.delete_payload(name, body["keys"], points=body["points"])
            case "POST", ["delete"]:
                inner.delete(name, models.PointIdsList(points=body["points"]))
            case _:
                raise KeyError(self.path)

    def _scrolled(self, name: str, asked: models.ScrollRequest) -> Any:
        """A page; the server lists by id, the local mode in the order of insertion."""
        everything, _ = self.server.inner.scroll(
            name,
            scroll_filter=asked.filter,
            limit=100_000,
            with_payload=True,
            with_vectors=bool(asked.with_vector),
        )
        in_order = sorted(everything, key=lambda e: (isinstance(e.id, str), e.id))
        ids = [each.id for each in in_order]
        start = ids.index(asked.offset) if asked.offset is not None else 0
        end = start + (asked.limit or 10)
        return {
            "points": [each.model_dump(mode="json") for each in in_order[start:end]],
            "next_page_offset": ids[end] if end < len(ids) else None,
        }

    def _queried(self, name: str, asked: models.QueryRequest) -> Any:
        query: Any = asked.query
        dense = getattr(query, "nearest", query)
        if isinstance(dense, list) and name in self.server.cosine:
            query = _unit(dense)
        found = self.server.inner.query_points(
            name,
            query=query,
            using=asked.using,
            query_filter=asked.filter,
            limit=asked.limit or 10,
            with_payload=True,
        )
        return {"points": [each.model_dump(mode="json") for each in found.points]}

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""


def _unit(vector: Any) -> Any:
    if isinstance(vector, dict):
        return {k: _unit(v) if isinstance(v, list) else v for k, v in vector.items()}
    row = np.array(vector, dtype=np.float32)
    square = float(np.dot(row, row))
    if square < np.finfo(np.float32).eps or abs(square - 1.0) <= 1e-6:
        return vector
    return (row / np.float32(np.sqrt(np.float32(square)))).tolist()


@contextmanager
def serving_qdrant() -> Iterator[QdrantServer]:
    with QdrantServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()
