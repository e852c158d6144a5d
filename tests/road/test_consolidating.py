"""Pairs that may say the same, and what follows from the answer, on every kind of store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from echoless import (
    Consolidation,
    Memory,
    Offer,
    Store,
    consolidate,
)
from tests.laws.worlds import safe, world

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

PORT = "The staging database listens on port 5432."
PORT_TOO = "The staging database listens on port 5432"
OTHER_PORT = "The staging database listens on port 5433."
MORE = "The staging database listens on port 5432 and is backed up every night."


def told(*texts: str, hours: Sequence[float] = (), **fields: object) -> list[Memory]:
    """Memories `m-0`, `m-1`, … made some hours before `NOW`, one hour each by default."""
    made = [NOW - timedelta(hours=each) for each in (hours or [1.0] * len(texts))]
    return [
        Memory(id=f"m-{n}", content=text, created_at=at.isoformat(), **fields)  # type: ignore[arg-type]
        for n, (text, at) in enumerate(zip(texts, made, strict=True))
    ]


def offered(store: Store, **options: object) -> Consolidation:
    return consolidate(store, safe(), now=NOW, **options)  # type: ignore[arg-type]


def ids(found: Consolidation) -> list[tuple[str, str]]:
    return [(each.a.id, each.b.id) for each in found.pairs]


def one(*texts: str, **fields: object) -> Offer:
    with world("sqlite", told(*texts, **fields)) as store:
        (pair,) = offered(store).pairs
        return pair


# ------------------------------------------------------------------ the list


def test_closest_pairs_come_first_and_those_left_out_are_counted() -> None:
    with world("sqlite", told(PORT, PORT_TOO, OTHER_PORT, MORE)) as store:
        every = offered(store, limit=None)
        some = offered(store, limit=2)
        none = offered(store, limit=0)
    distances = [-each.similarity for each in every.pairs]
    assert distances == sorted(distances)
    assert ids(every)[0] == ("m-0", "m-1")
    assert len(every.pairs) == every.total == 6
    assert (some.pairs, some.total, some.left_out) == (every.pairs[:2], 6, 4)
    assert (none.pairs, none.total, none.left_out) == ((), 6, 6)
    assert sum(every.verdicts.values()) == 6
