"""A cache of the pairs that each detector proposed in each partition, valid while nothing changes.

An entry is what one detector proposed in one partition. Its name is a digest of everything it
depends on: texts and stored vectors in their order, the detector and its options, models,
thresholds, and the edition of the stage (`core/versions.py`). A change to a single memory gives
another name, because a proposal depends on all memories (weights of words, order of survivors). So
in a store of many namespaces only the changed ones are searched again, and a plan after an audit
searches none.

One file in the user's cache folder holds the entries: numbers, digests, and sentences for the
report.
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

from echoless.blocking import known_pairs
from echoless.blocking.known_pairs import Look
from echoless.blocking.pair_scores import Floats, Ints
from echoless.core.cache import EntryFile
from echoless.core.model import Json, Memory, canonical
from echoless.core.own_folders import cache_folder
from echoless.core.profiles import DetectorUse, Profile
from echoless.core.run_notes import Tally
from echoless.core.versions import edition
from echoless.models.encoders.base import Vectoriser
from echoless.models.encoders.operating_points import operating_point

FILE_NAME: Final = "looks.sqlite3"

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries are dropped: some fifty million pairs."""

KEPT_FROM: Final = 2_000
"""Memories of a run from which proposals are cached: fewer are searched within a second."""

_LARGEST: Final = 64 * 2**20
"""Largest entry of the cache, in bytes."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Proposals:
    """Pairs of one partition that one detector proposed.

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


class ProposalCache:
    """Looks of earlier runs by name; it also stores those of this run."""

    def __init__(
        self, profile: Profile, vectoriser: Vectoriser | None, file: ProposalFile, tally: Tally
    ) -> None:
        """Prepares the cache; nothing is read yet.

        Args:
            profile: Says how partners are chosen.
            vectoriser: Of the run.
            file: The file that holds them.
            tally: Takes a note if they cannot be read or written.
        """
        maker = f"{edition('blocking')}, numpy {np.__version__}"
        self._rules = (maker, profile.grouping, profile.pairs)
        self._models = None if vectoriser is None else vectoriser.basis
        self._file = file
        self._tally = tally
        self._prints: dict[str, bytes] = {}
        self._digests: dict[str, bytes] = {}

    def named(
        self, use: DetectorUse, detector: object, partition: Sequence[Memory], order: Ints | None
    ) -> bytes:
        """Returns the name of an entry.

        Args:
            use: How the detector was made.
            detector: The detector.
            partition: By id.
            order: Positions, best survivor first, where the entry depends on it.
        """
        name = blake2b(self._made_by(use, detector), digest_size=16)
        name.update(self._partition_digest(partition))
        name.update(b"" if order is None else order.tobytes())
        return name.digest()

    def _made_by(self, use: DetectorUse, detector: object) -> bytes:
        """Returns all that an entry depends on apart from the memories."""
        maker = _source(type(detector).__module__), type(detector).__qualname__
        options = use.name, use.threshold, use.inclusive, canonical(use.settings), self._models
        return repr((self._rules, maker, options)).encode()

    def look_named(self, use: DetectorUse, detector: object, partition: Sequence[Memory]) -> bytes:
        """Returns the name of the latest look at a partition, whatever it holds now.

        It is named by its namespace and first id, so that stores with equal namespaces do not
        replace each other's looks. A wrong look costs time: what is known is told by digests.
        """
        first = partition[0]
        names = repr((first.namespace, first.type, first.id)).encode("utf-8", "surrogatepass")
        return blake2b(self._made_by(use, detector) + names, digest_size=16).digest()

    def look(self, name: bytes) -> Look | None:
        """Returns the latest look of a name; None where there is none."""
        entries = self._file.get([name], self._tally)
        look = known_pairs.unpacked(entries[name]) if name in entries else None
        self._file.damaged(int(name in entries and look is None), self._tally)
        return look

    def keep_look(self, name: bytes, look: Look) -> None:
        """Writes a look in place of the one before; one that is too large is left out."""
        data = known_pairs.packed(look)
        if len(data) <= _LARGEST:
            self._file.put({name: data}, self._tally)

    def recall(
        self, names: Sequence[bytes], partitions: Sequence[Sequence[Memory]]
    ) -> list[Proposals | None]:
        """Returns the entry of each name, None where it is not in the cache.

        Args:
            names: Of entries.
            partitions: The partition of each, by id.
        """
        entries = self._file.get(names, self._tally)
        proposals = [
            unpacked(entries[name], partition) if name in entries else None
            for name, partition in zip(names, partitions, strict=True)
        ]
        known = sum(name in entries for name in names)
        self._file.damaged(known - sum(entry is not None for entry in proposals), self._tally)
        return proposals

    def keep(self, proposals: Iterable[tuple[bytes, Proposals, Sequence[Memory]]]) -> None:
        """Writes proposals to the file; they are on the disk when it returns.

        Args:
            proposals: Name, entry, and the partition by id.
        """
        entries: dict[bytes, bytes] = {}
        for name, entry, partition in proposals:
            data = packed(entry, partition)
            if data is not None:
                entries[name] = data
                continue
            self._tally.note(
                f"{len(entry.keys):,} pairs proposed among {len(partition):,} memories are too "
                "many to keep; the next run will look again.",
                passing=True,
            )
        self._file.put(entries, self._tally)

    def _partition_digest(self, partition: Sequence[Memory]) -> bytes:
        """Returns a digest of texts, stored vectors and the operating points of their models."""
        first = partition[0].id
        if first in self._digests:
            return self._digests[first]
        digest = blake2b(self.prints(partition), digest_size=32)
        models = {vector.model for memory in partition for vector in memory.vectors}
        digest.update(repr([(model, operating_point(model)) for model in sorted(models)]).encode())
        return self._digests.setdefault(first, digest.digest())

    def prints(self, partition: Sequence[Memory]) -> bytes:
        """Returns digests of the text and the vectors of each memory, `PRINT` bytes each, in order.

        Args:
            partition: By id.
        """
        first = partition[0].id
        if first not in self._prints:
            self._prints[first] = b"".join(map(_print_of, partition))
        return self._prints[first]


def _print_of(memory: Memory) -> bytes:
    """Returns a digest of a text and its stored vectors."""
    text = memory.content.encode("utf-8", "surrogatepass")
    parts = [b"%d %d\0" % (len(text), len(memory.vectors)), text]
    for vector in memory.vectors:
        data, model = vector.data, vector.model.encode("utf-8", "surrogatepass")
        parts += (b"%d %d\0" % (len(model), len(data)), model, data)
    return blake2b(b"".join(parts), digest_size=known_pairs.PRINT).digest()


@cache
def _source(module: str) -> tuple[str, str]:
    """Returns the name of a detector's module, and a digest of its file for want of a version.

    The edition of the stage covers echoless's own detectors, so theirs is empty.
    """
    path = getattr(sys.modules.get(module), "__file__", None)
    if not path or module.startswith("echoless."):
        return module, ""
    return module, sha256(Path(path).read_bytes()).hexdigest()


# ------------------------------------------------------------------ as bytes


def packed(entry: Proposals, partition: Sequence[Memory]) -> bytes | None:
    """Returns proposals as bytes; None if too large, or if they name memories of elsewhere."""
    positions = {memory.id: position for position, memory in enumerate(partition)}
    skipped = entry.tally.skipped
    if any(id_ not in positions for ids in skipped.values() for id_ in ids):
        return None
    head: dict[str, Json] = {
        "pairs": len(entry.keys),
        "left_out": entry.left_out,
        "crowds": entry.crowds is not None,
        "skipped": {reason: [positions[id_] for id_ in ids] for reason, ids in skipped.items()},
        "notes": list(entry.tally.lasting),
    }
    parts = [entry.keys.astype("<i8").tobytes(), entry.similarity.astype("<f8").tobytes()]
    parts += [np.packbits(flags).tobytes() for flags in entry.crowds or ()]
    body = canonical(head).encode("ascii") + b"\n" + b"".join(parts)
    return None if len(body) > _LARGEST else zlib.compress(body, 1)


def unpacked(data: bytes, partition: Sequence[Memory]) -> Proposals | None:
    """Returns the proposals that bytes stand for; None if it does not fit this partition."""
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
        entry = Proposals(keys, similarity, facts["left_out"], crowds)
        for sentence in facts["notes"]:
            entry.tally.note(sentence)
        for reason, positions in facts["skipped"].items():
            entry.tally.skip(reason, *(partition[position].id for position in positions))
    except (zlib.error, ValueError, TypeError, KeyError, IndexError):
        return None
    low, high = keys // max(1, size), keys % max(1, size)
    possible = bool(((low >= 0) & (low < high)).all())
    possible = possible and bool(((similarity >= 0.0) & (similarity <= 1.0)).all())
    return entry if possible else None


# ------------------------------------------------------------------ the file


class ProposalFile(EntryFile):
    """A file of proposals by name."""

    name = "cache of proposals"
    instead = "detectors looked at everything anew"
    table = "looks"
    things = "proposals"
    most = MOST_BYTES


def open_looks(
    profile: Profile, vectoriser: Vectoriser | None, memories: int, tally: Tally
) -> ProposalCache | None:
    """Returns the proposals of this user's earlier runs; None where caching is not worth it.

    Args:
        profile: Of the run.
        vectoriser: Of the run.
        memories: How many memories the detectors see.
        tally: Takes a note if they cannot be read or written.
    """
    if memories < KEPT_FROM:
        return None
    return ProposalCache(profile, vectoriser, ProposalFile(cache_folder() / FILE_NAME), tally)
