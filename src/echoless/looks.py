"""What detectors proposed in a partition is kept, and taken over while nothing in it changed.

A look is what one detector proposed in one partition. It is named by a digest of all that it hangs
on: texts and stored vectors in their order, the detector and how it was made, models, thresholds,
and the source of everything in between. A change to a single memory makes another name: what is
proposed hangs on all memories (weights of words, who stands before whom). So a store of many
namespaces pays for those that changed, and a plan after an audit for none.

A file of the user's cache folder holds the looks: numbers, digests, and sentences for the report.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless.compiled import compiled
from echoless.core.own_folders import cache_folder
from echoless.model import Json, Memory, canonical
from echoless.profiles import DetectorUse, Profile
from echoless.signals import Floats, Ints
from echoless.sources import digest_of
from echoless.tally import Tally
from echoless.vectors.base import Vectoriser
from echoless.vectors.cache_file import BytesFile
from echoless.vectors.calibration import operating_point

FILE_NAME: Final = "looks.sqlite3"

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries leave: some fifty million pairs."""

KEPT_FROM: Final = 2_000
"""Memories of a run from which looks are kept: fewer are looked at in a second, without a trace."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS looks (
    key BLOB PRIMARY KEY,
    used INTEGER NOT NULL,
    data BLOB NOT NULL
)
"""

_LARGEST: Final = 64 * 2**20
"""Bytes of one look beyond which it is not kept."""

_MADE_WITH: Final = (
    *("detect", "vectors", "looking.py", "looks.py", "signals.py"),
    *("text.py", "model.py", "compiled.py"),
)

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Look:
    """What one detector proposed in one partition.

    Attributes:
        keys: `low * size + high` for each pair of positions in the partition by id, int64.
        similarity: 0 to 1, float64, of the same length.
        left_out: Pairs that were proposed beyond the budget.
        crowds: Where partners were chosen for each memory: by rank, who has several near ones, and
            who has more than were wanted; None where all pairs were taken.
        tally: What the detector told.
    """

    keys: Ints
    similarity: Floats
    left_out: int = 0
    crowds: tuple[Flags, Flags] | None = None
    tally: Tally = field(default_factory=Tally)


class KeptLooks:
    """Looks of earlier runs, and where those of this one go."""

    def __init__(
        self, profile: Profile, vectoriser: Vectoriser | None, looks: LookFile, tally: Tally
    ) -> None:
        """Begin; nothing is read yet.

        Args:
            profile: Says how partners are chosen.
            vectoriser: Of the run.
            looks: Where they lie.
            tally: Told if they cannot be read or kept.
        """
        self._rules = (edition(), profile.grouping, profile.pairs, compiled())
        self._models = None if vectoriser is None else vectoriser.basis
        self._file = looks
        self._tally = tally
        self._prints: dict[str, bytes] = {}

    def named(
        self, use: DetectorUse, detector: object, partition: Sequence[Memory], order: Ints | None
    ) -> bytes:
        """The name of a look.

        Args:
            use: How the detector was made.
            detector: The detector.
            partition: By id.
            order: Positions, best survivor first, where the look hangs on it.
        """
        maker = _source(type(detector).__module__), type(detector).__qualname__
        made = use.name, use.threshold, use.inclusive, canonical(use.settings), self._models
        told = blake2b(repr((self._rules, maker, made)).encode(), digest_size=16)
        told.update(self._print(partition))
        told.update(b"" if order is None else order.tobytes())
        return told.digest()

    def recall(
        self, names: Sequence[bytes], partitions: Sequence[Sequence[Memory]]
    ) -> list[Look | None]:
        """Looks that are known, None where one is not.

        Args:
            names: Of looks.
            partitions: The partition of each, by id.
        """
        found = self._file.get(names, self._tally)
        looks = [
            unpacked(found[name], partition) if name in found else None
            for name, partition in zip(names, partitions, strict=True)
        ]
        known = sum(name in found for name in names)
        self._file.damaged(known - sum(look is not None for look in looks), self._tally)
        return looks

    def keep(self, looks: Iterable[tuple[bytes, Look, Sequence[Memory]]]) -> None:
        """Keep looks; on the disk when it returns.

        Args:
            looks: Name, look, and the partition by id.
        """
        told: dict[bytes, bytes] = {}
        for name, look, partition in looks:
            data = packed(look, partition)
            if data is not None:
                told[name] = data
                continue
            self._tally.note(
                f"{len(look.keys):,} pairs proposed among {len(partition):,} memories are too many "
                "to keep; the next run will look again.",
                passing=True,
            )
        self._file.put(told, self._tally)

    def _print(self, partition: Sequence[Memory]) -> bytes:
        """Stands for texts, stored vectors and the points of their models."""
        first = partition[0].id
        if first not in self._prints:
            self._prints[first] = _print_of(partition)
        return self._prints[first]


def _print_of(partition: Sequence[Memory]) -> bytes:
    told, models = blake2b(digest_size=32), set()
    for memory in partition:
        text = memory.content.encode("utf-8", "surrogatepass")
        told.update(b"%d %d\0" % (len(text), len(memory.vectors)) + text)
        for vector in memory.vectors:
            data, model = vector.data, vector.model.encode("utf-8", "surrogatepass")
            models.add(vector.model)
            told.update(b"%d %d\0" % (len(model), len(data)) + model + data)
    told.update(repr([(model, operating_point(model)) for model in sorted(models)]).encode())
    return told.digest()


@cache
def _source(module: str) -> tuple[str, str]:
    """Where a detector comes from, with a digest of the file, which may be another package's."""
    path = getattr(sys.modules.get(module), "__file__", None)
    return module, sha256(Path(path).read_bytes() if path else b"").hexdigest()


def edition() -> str:
    """Names the source of all detectors and of what they are made with."""
    return f"{digest_of(*_MADE_WITH)} {np.__version__}"


# ------------------------------------------------------------------ as bytes


def packed(look: Look, partition: Sequence[Memory]) -> bytes | None:
    """A look as bytes; None where it is too large, or tells of memories of elsewhere."""
    at = {memory.id: place for place, memory in enumerate(partition)}
    skipped = look.tally.skipped
    if any(id_ not in at for ids in skipped.values() for id_ in ids):
        return None
    head: dict[str, Json] = {
        "pairs": len(look.keys),
        "left_out": look.left_out,
        "crowds": look.crowds is not None,
        "skipped": {reason: [at[id_] for id_ in ids] for reason, ids in skipped.items()},
        "notes": list(look.tally.lasting),
    }
    parts = [look.keys.astype("<i8").tobytes(), look.similarity.astype("<f8").tobytes()]
    parts += [np.packbits(flags).tobytes() for flags in look.crowds or ()]
    body = canonical(head).encode("ascii") + b"\n" + b"".join(parts)
    return None if len(body) > _LARGEST else zlib.compress(body, 1)


def unpacked(data: bytes, partition: Sequence[Memory]) -> Look | None:
    """The look; None if it is none of this partition."""
    try:
        head, _, body = zlib.decompress(data).partition(b"\n")
        told = json.loads(head)
        look = _read(told, body, len(partition))
        for sentence in told["notes"]:
            look.tally.note(sentence)
        for reason, places in told["skipped"].items():
            look.tally.skip(reason, *(partition[place].id for place in places))
    except (zlib.error, ValueError, TypeError, KeyError, IndexError):
        return None
    return look if _sound(look, len(partition)) else None


def _read(told: Mapping[str, int], body: bytes, size: int) -> Look:
    pairs, flags = told["pairs"], -(-size // 8)
    keys = np.frombuffer(body, "<i8", pairs).astype(np.int64)
    similarity = np.frombuffer(body, "<f8", pairs, 8 * pairs).astype(np.float64)
    crowds, rest = None, body[16 * pairs :]
    if told["crowds"]:
        near, cut = np.frombuffer(rest, np.uint8, 2 * flags).reshape(2, flags)
        crowds = _flags(near, size), _flags(cut, size)
    return Look(keys, similarity, told["left_out"], crowds)


def _flags(bits: NDArray[np.uint8], size: int) -> Flags:
    return np.unpackbits(bits, count=size).astype(np.bool_)


def _sound(look: Look, size: int) -> bool:
    """Whether all of its numbers are possible."""
    low, high = look.keys // max(1, size), look.keys % max(1, size)
    pairs = bool(((low >= 0) & (low < high)).all())
    return pairs and bool(((look.similarity >= 0.0) & (look.similarity <= 1.0)).all())


# ------------------------------------------------------------------ the file


class LookFile(BytesFile):
    """Looks by name, in one file."""

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
    """The looks of this user's earlier runs; None where it is not worth keeping any.

    Args:
        profile: Of the run.
        vectoriser: Of the run.
        memories: How many are looked at.
        tally: Told if they cannot be read or kept.
    """
    if memories < KEPT_FROM:
        return None
    return KeptLooks(profile, vectoriser, LookFile(cache_folder() / FILE_NAME), tally)
