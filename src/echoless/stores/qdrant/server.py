"""A collection of a Qdrant server, over its REST interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from echoless.core.model import Json
from echoless.stores.qdrant.client import Client
from echoless.stores.qdrant.points import Point, PointId

if TYPE_CHECKING:
    from qdrant_client import models


class ServerPoints:
    """The points of one collection of a server."""

    def __init__(self, client: Client) -> None:
        """Reads the settings of the collection.

        Args:
            client: Closed with this object.
        """
        self._client = client
        self._sizes = client.sizes()

    @property
    def sizes(self) -> Mapping[str, int]:
        """Returns the vectors the collection takes."""
        return self._sizes

    def scan(self, within: models.Filter | None = None, *, vectors: bool = True) -> Iterator[Point]:
        """Yields points, page by page, in the server's order of ids.

        Args:
            within: What they pass; None for all.
            vectors: Whether vectors are sent too.
        """
        return self._client.scroll(within, vectors=vectors)

    def holding(self, keys: Sequence[str]) -> Iterator[Point]:
        """Yields the points with one of some keys in their payload, without vectors."""
        return self._client.holding(keys)

    def get(self, ids: Sequence[PointId]) -> dict[PointId, Point]:
        """Returns points by id."""
        return {point.id: point for point in self._client.retrieve(ids)}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Does nothing: a server has no lock for one writer."""
        yield

    def write(self, points: Sequence[Point]) -> None:
        """Writes whole points."""
        self._client.upsert(points)

    def write_payloads(self, points: Sequence[Point]) -> None:
        """Replaces payloads, without vectors on the way."""
        for point in points:
            self._client.overwrite_payload(point.id, point.payload)

    def amend(self, ids: Sequence[PointId], new: Mapping[str, Json], gone: Sequence[str]) -> None:
        """Sets fields of points, then takes others away, in two requests."""
        self._client.amend(ids, new, gone)

    def remove(self, ids: Sequence[PointId]) -> None:
        """Removes points."""
        self._client.delete(ids)

    def close(self) -> None:
        """Closes the client."""
        self._client.close()
