"""Pairs of an earlier look at a partition that still hold, so that only what changed is looked at.

Where the similarity of a pair depends on its two memories alone, and no pair is missed, a memory
that did not change has the same partners as before, but for those that came, went or changed. Two
things hang on the other memories all the same, and are compared again: memories that had as many
partners as are wanted (another one may take the place), and those that changed their place among
the survivors relative to the others.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.core.model import Json, canonical

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

PRINT: Final = 16
"""Bytes of the digest of a memory's text and vectors."""

FEW: Final = 8
"""One in so many memories may have changed; of more, all are compared anew."""


@dataclass(slots=True)
class KnownPairs:
    """Pairs among memories that did not change, for one call of a detector.

    Attributes:
        one: Positions in the memories handed in, int64.
        other: As above; `one < other` in every pair.
        similarity: 0 to 1, float64.
        asked: Shape (memories,): memories of which all pairs are looked for. All pairs among the
            others are known.
        basis: Name of the encoder or text form that gave the similarities, as the detector names
            it.
        measured_with: Set by the detector: names what it measures with now, if it depends on two
            memories alone and misses no pair; None where the next look cannot build on this one.
        used: Set by the detector: whether it took the pairs over.
    """

    one: Ints
    other: Ints
    similarity: Floats
    asked: Flags
    basis: str | None = None
    measured_with: str | None = field(default=None, init=False)
    used: bool = field(default=False, init=False)

    def hold(self, basis: str) -> bool:
        """Returns whether the pairs count for a detector that measures with this."""
        few = int(np.count_nonzero(self.asked)) * FEW <= len(self.asked)
        return few and self.basis == basis


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a partition as the next one needs it; positions are ranks among the survivors.

    Attributes:
        basis: What similarities were measured with.
        prints: Digest of each memory.
        one: Positions, int64.
        other: Positions, int64; `one < other`.
        similarity: 0 to 1, float64.
        cut: Flags of the memories with as many earlier partners as the detector wants.
    """

    basis: str
    prints: Sequence[bytes]
    one: Ints
    other: Ints
    similarity: Floats
    cut: Flags

    def known_among(self, prints: Sequence[bytes]) -> KnownPairs:
        """Returns what is known of the memories of these digests, best survivor first."""
        places = matched(self.prints, prints)
        places[self.cut] = -1
        places[~rising(places)] = -1
        asked = np.ones(len(prints), dtype=np.bool_)
        asked[places[places >= 0]] = False
        one, other = places[self.one], places[self.other]
        both = (one >= 0) & (other >= 0)
        return KnownPairs(one[both], other[both], self.similarity[both], asked, self.basis)


def nothing_known(memories: int) -> KnownPairs:
    """Returns that all pairs of so many memories have to be looked for."""
    none = np.zeros(0, dtype=np.int64)
    return KnownPairs(none, none, np.zeros(0), np.ones(memories, dtype=np.bool_))


def matched(before: Sequence[bytes], now: Sequence[bytes]) -> Ints:
    """Returns for each value before its place now, equal values in their order; -1 where gone."""
    free: dict[bytes, list[int]] = {}
    for at in range(len(now) - 1, -1, -1):
        free.setdefault(now[at], []).append(at)
    places = np.full(len(before), -1, dtype=np.int64)
    for at, value in enumerate(before):
        if left := free.get(value):
            places[at] = left.pop()
    return places


def rising(places: Ints) -> Flags:
    """Returns which values form a longest rising sequence; negative ones never do."""
    ends: list[int] = []  # the least last value of a rising sequence of each length
    length_at: list[int] = []
    for value in places.tolist():
        length = bisect_left(ends, value) if value >= 0 else -1
        length_at.append(length)
        if length == len(ends):
            ends.append(value)
        elif length >= 0:
            ends[length] = value
    chosen = np.zeros(len(places), dtype=np.bool_)
    wanted, limit = len(ends) - 1, int(places.max(initial=0)) + 1
    for at in range(len(places) - 1, -1, -1):
        if wanted >= 0 and length_at[at] == wanted and places[at] < limit:
            chosen[at] = True
            wanted, limit = wanted - 1, int(places[at])
    return chosen


# ------------------------------------------------------------------ as bytes


def packed(look: Look) -> bytes:
    """Returns a look as bytes that name neither a text nor an id."""
    head: dict[str, Json] = {
        "basis": look.basis,
        "memories": len(look.prints),
        "pairs": len(look.one),
    }
    columns = (
        look.one.astype("<i4").tobytes(),
        look.other.astype("<i4").tobytes(),
        look.similarity.astype("<f8").tobytes(),
        np.packbits(look.cut).tobytes(),
    )
    body = b"".join((*look.prints, *columns))
    return canonical(head).encode("ascii") + b"\n" + body


def unpacked(data: bytes) -> Look | None:
    """Returns the look of some bytes; None if they are none."""
    head, _, body = data.partition(b"\n")
    try:
        header = json.loads(head)
        basis, size, pairs = str(header["basis"]), int(header["memories"]), int(header["pairs"])
        at = size * PRINT
        one = np.frombuffer(body, "<i4", pairs, at).astype(np.int64)
        other = np.frombuffer(body, "<i4", pairs, at + 4 * pairs).astype(np.int64)
        similarity = np.frombuffer(body, "<f8", pairs, at + 8 * pairs).astype(np.float64)
        bits = np.frombuffer(body, np.uint8, -(-size // 8), at + 16 * pairs)
    except (ValueError, KeyError, TypeError):
        return None
    prints = [body[start : start + PRINT] for start in range(0, at, PRINT)]
    cut = np.unpackbits(bits, count=size).astype(np.bool_)
    possible = bool(((one >= 0) & (one < other) & (other < size)).all())
    return Look(basis, prints, one, other, similarity, cut) if possible else None
