"""A cache of the pairs that each detector proposed in each partition, valid while nothing changes.

A look is what one detector proposed in one partition. Its name is a digest of everything it depends
on: texts and stored vectors in their order, the detector and its options, models, thresholds, and
the source code involved. A change to a single memory gives another name, because a proposal depends
on all memories (weights of words, order of survivors). So in a store of many namespaces only the
changed ones are searched again, and a plan after an audit searches none.

One file in the user's cache folder holds the looks: numbers, digests, and sentences for the report.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.pair_scores import Floats, Ints
from echoless.core.cache import BytesFile
from echoless.core.model import Json, Memory, canonical
from echoless.core.own_folders import cache_folder
from echoless.core.profiles import DetectorUse, Profile
from echoless.core.run_notes import Tally
from echoless.core.runtime import compiled
from echoless.core.source_digest import digest_of
from echoless.models.encoders.base import Vectoriser
from echoless.models.encoders.calibration import operating_point

FILE_NAME: Final = "looks.sqlite3"

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries are dropped: some fifty million pairs."""

KEPT_FROM: Final = 2_000
"""Memories of a run from which looks are cached: fewer are searched within a second."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS looks (
    key BLOB PRIMARY KEY,
    used INTEGER NOT NULL,
    data BLOB NOT NULL
)
"""

_LARGEST: Final = 64 * 2**20
"""Bytes of one look beyond which it is not cached."""

_MADE_WITH: Final = (
    *("blocking", "models/encoders"),
    *("core/text.py", "core/model.py", "core/runtime.py"),
)

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Look:
    """Pairs that one detector proposed in one partition.

    Attributes:
        keys: `low * size + high` for each pair of positions in the partition by id, int64.
        similarity: 0 to 1, float64, of the same length.
        left_out: Pairs that were proposed beyond the budget.
        crowds: Where partners were chosen for each memory: by rank, which memories have several
            near partners, and which have more than were wanted; None where all pairs were taken.
        tally: Skipped memories and notes of the detector.
    """

    keys: Ints
    similarity: Floats
    left_out: int = 0
    crowds: tuple[Flags, Flags] | None = None
    tally: Tally = field(default_factory=Tally)


class KeptLooks:
    """Looks of earlier runs by name; it also stores those of this run."""

    def __init__(
        self, profile: Profile, vectoriser: Vectoriser | None, looks: LookFile, tally: Tally
    ) -> None:
        """Prepares the cache; nothing is read yet.

        Args:
            profile: Says how partners are chosen.
            vectoriser: Of the run.
            looks: The file that holds them.
            tally: Takes a note if they cannot be read or written.
        """
        self._rules = (edition(), profile.grouping, profile.pairs, compiled())
        self._models = None if vectoriser is None else vectoriser.basis
        self._file = looks
        self._tally = tally
        self._digests: dict[str, bytes] = {}

    def named(
        self, use: DetectorUse, detector: object, partition: Sequence[Memory], order: Ints | None
    ) -> bytes:
        """Returns the name of a look.

        Args:
            use: How the detector was made.
            detector: The detector.
            partition: By id.
            order: Positions, best survivor first, where the look depends on it.
        """
        maker = _source(type(detector).__module__), type(detector).__qualname__
        options = use.name, use.threshold, use.inclusive, canonical(use.settings), self._models
        name = blake2b(repr((self._rules, maker, options)).encode(), digest_size=16)
        name.update(self._partition_digest(partition))
        name.update(b"" if order is None else order.tobytes())
        return name.digest()

    def recall(
        self, names: Sequence[bytes], partitions: Sequence[Sequence[Memory]]
    ) -> list[Look | None]:
        """Returns the look of each name, None where it is not in the cache.

        Args:
            names: Of looks.
            partitions: The partition of each, by id.
        """
        entries = self._file.get(names, self._tally)
        looks = [
            unpacked(entries[name], partition) if name in entries else None
            for name, partition in zip(names, partitions, strict=True)
        ]
        known = sum(name in entries for name in names)
        self._file.damaged(known - sum(look is not None for look in looks), self._tally)
        return looks

    def keep(self, looks: Iterable[tuple[bytes, Look, Sequence[Memory]]]) -> None:
        """Writes looks to the file; they are on the disk when it returns.

        Args:
            looks: Name, look, and the partition by id.
        """
        entries: dict[bytes, bytes] = {}
        for name, look, partition in looks:
            data = packed(look, partition)
            if data is not None:
                entries[name] = data
                continue
            self._tally.note(
                f"{len(look.keys):,} pairs proposed among {len(partition):,} memories are too many "
                "to keep; the next run will look again.",
                passing=True,
            )
        self._file.put(entries, self._tally)

    def _partition_digest(self, partition: Sequence[Memory]) -> bytes:
        """Returns a digest of texts, stored vectors and the operating points of their models."""
        first = partition[0].id
        if first in self._digests:
            return self._digests[first]
        digest, models = blake2b(digest_size=32), set()
        for memory in partition:
            text = memory.content.encode("utf-8", "surrogatepass")
            digest.update(b"%d %d\0" % (len(text), len(memory.vectors)) + text)
            for vector in memory.vectors:
                data, model = vector.data, vector.model.encode("utf-8", "surrogatepass")
                models.add(vector.model)
                digest.update(b"%d %d\0" % (len(model), len(data)) + model + data)
        digest.update(repr([(model, operating_point(model)) for model in sorted(models)]).encode())
        return self._digests.setdefault(first, digest.digest())


@cache
def _source(module: str) -> tuple[str, str]:
    """Returns a detector's module and a digest of its file, which may be in another package."""
    path = getattr(sys.modules.get(module), "__file__", None)
    return module, sha256(Path(path).read_bytes() if path else b"").hexdigest()


def edition() -> str:
    """Returns a digest of the source of all detectors and of what they are made with."""
    return f"{digest_of(*_MADE_WITH)} {np.__version__}"


# ------------------------------------------------------------------ as bytes


def packed(look: Look, partition: Sequence[Memory]) -> bytes | None:
    """Returns a look as bytes; None if it is too large or names memories outside the partition."""
    positions = {memory.id: position for position, memory in enumerate(partition)}
    skipped = look.tally.skipped
    if any(id_ not in positions for ids in skipped.values() for id_ in ids):
        return None
    head: dict[str, Json] = {
        "pairs": len(look.keys),
        "left_out": look.left_out,
        "crowds": look.crowds is not None,
        "skipped": {reason: [positions[id_] for id_ in ids] for reason, ids in skipped.items()},
        "notes": list(look.tally.lasting),
    }
    parts = [look.keys.astype("<i8").tobytes(), look.similarity.astype("<f8").tobytes()]
    parts += [np.packbits(flags).tobytes() for flags in look.crowds or ()]
    body = canonical(head).encode("ascii") + b"\n" + b"".join(parts)
    return None if len(body) > _LARGEST else zlib.compress(body, 1)


def unpacked(data: bytes, partition: Sequence[Memory]) -> Look | None:
    """Returns the look that bytes stand for; None if it does not fit this partition."""
    size = len(partition)
    try:
        head, _, body = zlib.decompress(data).partition(b"\n")
        facts = json.loads(head)
        pairs, width = facts["pairs"], -(-size // 8)
        keys = np.frombuffer(body, "<i8", pairs).astype(np.int64)
        similarity = np.frombuffer(body, "<f8", pairs, 8 * pairs).astype(np.float64)
        crowds = None
        if facts["crowds"]:
            bits = np.frombuffer(body[16 * pairs :], np.uint8, 2 * width).reshape(2, width)
            near, cut = np.unpackbits(bits, axis=1, count=size).astype(np.bool_)
            crowds = near, cut
        look = Look(keys, similarity, facts["left_out"], crowds)
        for sentence in facts["notes"]:
            look.tally.note(sentence)
        for reason, positions in facts["skipped"].items():
            look.tally.skip(reason, *(partition[position].id for position in positions))
    except (zlib.error, ValueError, TypeError, KeyError, IndexError):
        return None
    low, high = keys // max(1, size), keys % max(1, size)
    possible = bool(((low >= 0) & (low < high)).all())
    possible = possible and bool(((similarity >= 0.0) & (similarity <= 1.0)).all())
    return look if possible else None


# ------------------------------------------------------------------ the file


class LookFile(BytesFile):
    """A file of looks by name."""

    schema = (_SCHEMA,)
    name = "cache of proposals"
    instead = "detectors looked at everything anew"
    table = "looks"
    things = "looks"
    most = MOST_BYTES
    column = "data"


def open_looks(
    profile: Profile, vectoriser: Vectoriser | None, memories: int, tally: Tally
) -> KeptLooks | None:
    """Returns the looks of this user's earlier runs; None where caching is not worth it.

    Args:
        profile: Of the run.
        vectoriser: Of the run.
        memories: How many memories the detectors see.
        tally: Takes a note if they cannot be read or written.
    """
    if memories < KEPT_FROM:
        return None
    return KeptLooks(profile, vectoriser, LookFile(cache_folder() / FILE_NAME), tally)
