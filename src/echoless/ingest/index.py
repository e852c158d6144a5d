"""Index of the memories a new text is compared with, kept up to date as the store changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from echoless.blocking.candidates import eligible
from echoless.core.checked_arrays import Part, whole
from echoless.core.model import Memory, canonical
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally
from echoless.core.text import loose, normalise
from echoless.ingest.ngram_index import WordingIndex
from echoless.ingest.rows import Rows
from echoless.ingest.vector_index import VectorIndex
from echoless.stores.base import Store

Keys = NDArray[np.uint64]
Places = NDArray[np.int32]


class KeyTable:
    """Places by a key of 64 bits: sorted where they were kept, and a dictionary of later ones.

    A place stays in the table for good; whoever asks knows which places count.
    """

    def __init__(self, keys: Keys | None = None, places: Places | None = None) -> None:
        """Begins with keys in ascending order and a place of each, ascending among equal keys."""
        self._keys = np.empty(0, dtype=np.uint64) if keys is None else keys
        self._places = np.empty(0, dtype=np.int32) if places is None else places
        self._later: dict[int, list[int]] = {}

    def add(self, key: int, place: int) -> None:
        """Adds a place, above all that were added before."""
        self._later.setdefault(key, []).append(place)

    def places(self, key: int) -> list[int]:
        """Returns the places of a key, ascending."""
        wanted = np.uint64(key)
        first = int(self._keys.searchsorted(wanted))
        if first == len(self._keys) or self._keys[first] != wanted:
            return list(self._later.get(key, ()))
        last = int(self._keys.searchsorted(wanted, side="right"))
        return [*self._places[first:last].tolist(), *self._later.get(key, ())]


def ordered(keys: Keys) -> tuple[Keys, Places]:
    """Returns what `KeyTable` begins with.

    Args:
        keys: Shape (places,): the key of each place.
    """
    order = np.argsort(keys, kind="stable")
    return keys[order], order.astype(np.int32)


class TextTable(Sequence[str]):
    """Texts by place: stored texts in one block of UTF-8, later texts in a list."""

    def __init__(
        self, data: NDArray[np.uint8] | None = None, ends: NDArray[np.int64] | None = None
    ) -> None:
        """Begins with texts.

        Args:
            data: UTF-8 bytes of all texts, one text after the other.
            ends: Shape (texts,): where each ends.
        """
        self._data = np.empty(0, dtype=np.uint8) if data is None else data
        self._bytes = self._data.data
        self._ends = np.empty(0, dtype=np.int64) if ends is None else ends
        self._later: list[str] = []

    def __len__(self) -> int:
        return len(self._ends) + len(self._later)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Returns the text at a place, or at some."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        stored = len(self._ends)
        if place >= stored:
            return self._later[place - stored]
        start = int(self._ends[place - 1]) if place else 0
        return str(self._bytes[start : int(self._ends[place])], "utf-8", "surrogatepass")

    def extend(self, texts: Iterable[str]) -> None:
        """Adds texts at the end."""
        self._later.extend(texts)

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Returns what it may begin with the next time."""
        later = [text.encode("utf-8", "surrogatepass") for text in self._later]
        more = np.cumsum([len(each) for each in later], dtype=np.int64) + len(self._data)
        data = np.frombuffer(b"".join(later), dtype=np.uint8)
        return np.concatenate([self._data, data]), np.concatenate([self._ends, more])


if TYPE_CHECKING:
    from echoless.models.encoders.base import Matrix, Vectoriser

Progress = Callable[[int, int], None]

EXACT: Final = "exact"
NORMALISED: Final = "normalised"
LOOSE: Final = "loose"
KEYS: Final = (EXACT, NORMALISED, LOOSE)
"""Forms of a text that are looked up whole."""

NOWHERE: Final = -1
"""Number of the scope of a memory that does not count."""

UNKNOWN: Final = -2
"""Number of a scope that no memory is in."""

AT_ONCE: Final = 1_024
"""Memories taken in together."""


def key_of(text: str) -> int:
    """Returns 64 bits of the BLAKE2b digest of a text."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def forms(text: str) -> tuple[int, int, int]:
    """Returns keys of a text: exact, in case-folded normal form, and in loose form."""
    return key_of(text), key_of(normalise(text, fold_case=True)), key_of(loose(text))


@dataclass(frozen=True, slots=True)
class Reach:
    """Filter on index rows: inside one scope or outside it, evaluated for requested rows only.

    A mask of 100,000 places takes 40 microseconds, and a query asks about some hundred.

    Attributes:
        scopes: Shape (places,): number of the scope of each; `NOWHERE` where none counts.
        code: Number of the scope.
        beyond: Whether the other scopes are meant.
    """

    scopes: NDArray[np.int32]
    code: int
    beyond: bool

    def __getitem__(self, places: NDArray[np.integer] | slice) -> NDArray[np.bool_]:
        """Returns which of some places are within reach."""
        scopes = self.scopes[places]
        within: NDArray[np.bool_] = scopes == self.code
        return (scopes != NOWHERE) & ~within if self.beyond else within

    def any(self) -> bool:
        """Returns whether any place is within reach."""
        starts = range(0, len(self.scopes), AT_ONCE)
        return any(self[start : start + AT_ONCE].any() for start in starts)


class MemoryIndex:
    """Index of memories by their texts, their wording and their vectors, within scopes.

    A memory has a place, a number that is never given twice. One that is changed or removed leaves
    its place dead; the index is built anew when too many places are dead.

    Attributes:
        token: State of the store the index was brought up to, as `Store.changes` tells it; empty
            where the store cannot tell.
        touched: Memories taken in or out since the index was read or built.
    """

    def __init__(self, profile: Profile, vectoriser: Vectoriser | None) -> None:
        """Begins empty.

        Args:
            profile: Says what is compared, and within which scopes.
            vectoriser: Gives vectors of memories; None where the profile wants none.
        """
        self._profile = profile
        self._vectoriser = vectoriser
        self.token, self.touched = "", 0
        self.ids = TextTable()
        self.used = Rows(np.empty(0, dtype=np.bool_))
        self.states = Rows(np.empty(0, dtype=np.uint64))
        self.keys = Rows(np.empty((0, len(KEYS)), dtype=np.uint64))
        self.scopes = Rows(np.empty(0, dtype=np.int32))
        self.alive = Rows(np.empty(0, dtype=np.bool_))
        self.codes: dict[str, int] = {}
        self.wording = WordingIndex()
        self.vectors: dict[str, VectorIndex] = {}
        self._by_key: tuple[KeyTable, ...] = tuple(KeyTable() for _ in KEYS)
        self._by_id = KeyTable()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def place(self, id_: str) -> int | None:
        """Returns the place of a memory, or None."""
        used = self.used.all
        places = self._by_id.places(key_of(id_))
        return next((at for at in places if used[at] and self.ids[at] == id_), None)

    @property
    def vectoriser(self) -> Vectoriser | None:
        """Returns what gives vectors of memories."""
        return self._vectoriser

    # ------------------------------------------------------------------ keeping up

    def refresh(self, store: Store, tally: Tally, progress: Progress | None = None) -> int:
        """Takes in what changed in the store since the last time.

        Returns:
            How many memories were taken in or out.

        Raises:
            EncoderError: The encoder failed; what was taken in before that stays.
        """
        token, ids = store.changes(self.token)
        if ids is None:
            done = self._compare(store.scan(), tally, progress)
        else:
            done = self._take(store.get(ids), ids, tally) if ids else 0
        self.token = token
        if len(self.ids) > 2 * len(self) + AT_ONCE:
            fresh = MemoryIndex(self._profile, self._vectoriser)
            self.__dict__.update(fresh.__dict__ | {"touched": self.touched})
            done = self._compare(store.scan(), tally, progress)
        self.touched += done
        return done

    def fill(self, memories: Iterable[Memory], tally: Tally) -> None:
        """Takes in memories that lie in no store."""
        by_id = {m.id: m for m in memories}
        self._take(by_id, by_id, tally)

    def take_written(self, memory: Memory, matrices: Sequence[Matrix], tally: Tally) -> None:
        """Takes in a memory that was just written, with the vectors it was compared by.

        Args:
            memory: As the store gives it back.
            matrices: What the vectoriser gives for it alone.
            tally: Takes what is not compared, and why.
        """
        place = self.place(memory.id)
        if place is not None:
            if int(self.states.all[place]) == self._state(memory):
                return
            self._drop(memory.id)
        self._place([memory], tally, matrices)
        self.touched += 1

    def _compare(self, memories: Iterable[Memory], tally: Tally, progress: Progress | None) -> int:
        """Brings the index to exactly these memories."""
        seen: set[str] = set()
        done, batch = 0, []
        for memory in memories:
            seen.add(memory.id)
            if not self._holds(memory):
                batch.append(memory)
            if len(batch) == AT_ONCE:
                done += self._take({m.id: m for m in batch}, [m.id for m in batch], tally)
                batch = []
                if progress:
                    progress(len(seen), 0)
        done += self._take({m.id: m for m in batch}, [m.id for m in batch], tally)
        held = np.flatnonzero(self.used.all).tolist()
        gone = [id_ for id_ in (self.ids[place] for place in held) if id_ not in seen]
        for id_ in gone:
            self._drop(id_)
        if progress:
            progress(len(seen), len(seen))
        return done + len(gone)

    def _holds(self, memory: Memory) -> bool:
        place = self.place(memory.id)
        return place is not None and int(self.states.all[place]) == self._state(memory)

    def _state(self, memory: Memory) -> int:
        """Returns 64 bits over all of a memory that counts here."""
        digest = hashlib.blake2b(digest_size=8)
        looked_at = self._profile.looks_at(memory)
        for part in (memory.content, canonical(self._profile.scope_of(memory)), str(looked_at)):
            digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
        for vector in memory.vectors:
            digest.update(vector.model.encode() + b"\0" + vector.data)
        return int.from_bytes(digest.digest(), "little")

    def _take(self, current: Mapping[str, Memory], ids: Iterable[str], tally: Tally) -> int:
        """Updates the index with the present memories; ids without a memory are removed."""
        fresh, done = [], 0
        for id_ in sorted(set(ids)):
            memory = current.get(id_)
            if memory is not None and self._holds(memory):
                continue
            done += self._drop(id_) or memory is not None
            if memory is not None:
                fresh.append(memory)
        if fresh:
            self._place(fresh, tally)
        return done

    def _drop(self, id_: str) -> bool:
        place = self.place(id_)
        if place is None:
            return False
        if self.alive.all[place]:
            self.wording.remove(place)
        self.alive.all[place] = self.used.all[place] = False
        self.scopes.all[place] = NOWHERE
        self._size -= 1
        return True

    def _place(
        self, memories: Sequence[Memory], tally: Tally, matrices: Sequence[Matrix] | None = None
    ) -> None:
        """Gives new places to memories, and takes in their keys, wording and vectors.

        Args:
            memories: None of which has a place.
            tally: Takes what is not compared, and why.
            matrices: Vectors of the one memory; None where they are to be made.
        """
        first = len(self.ids)
        fit = {m.id for m in eligible({m.id: m for m in memories}, {}, tally, self._profile)}
        scopes = [canonical(self._profile.scope_of(m)) for m in memories]
        codes = [self.codes.setdefault(scope, len(self.codes)) for scope in scopes]
        codes = [code if m.id in fit else NOWHERE for code, m in zip(codes, memories, strict=True)]
        keys = np.array([forms(m.content) for m in memories], dtype=np.uint64)
        self.ids.extend(m.id for m in memories)
        self.used.append(np.ones(len(memories), dtype=np.bool_))
        self._size += len(memories)
        self.states.append(np.array([self._state(m) for m in memories], dtype=np.uint64))
        self.keys.append(keys)
        self.scopes.append(np.array(codes, dtype=np.int32))
        self.alive.append(np.array([m.id in fit for m in memories], dtype=np.bool_))
        for at, (m, own) in enumerate(zip(memories, keys.tolist(), strict=True), first):
            self._by_id.add(key_of(m.id), at)
            for table, key in zip(self._by_key, own, strict=True):
                table.add(key, at)
        compared = [(first + at, m) for at, m in enumerate(memories) if m.id in fit]
        self.wording.add((place, m.content) for place, m in compared)
        if self._vectoriser is None or not compared:
            return
        places = np.array([place for place, _ in compared], dtype=np.int64)
        if matrices is None:
            matrices = self._vectoriser.matrices([m for _, m in compared], tally)
        for matrix in matrices:
            self._add_vectors(matrix, places[matrix.owners], tally)

    def _add_vectors(self, matrix: Matrix, owners: NDArray[np.int64], tally: Tally) -> None:
        known = self.vectors.get(matrix.model)
        if known is None:
            self.vectors[matrix.model] = VectorIndex(matrix.model, owners, matrix.rows)
        elif known.dimensions == matrix.rows.shape[1]:
            known.add(owners, matrix.rows)
        else:
            tally.skip("vector of a foreign dimension", *(self.ids[p] for p in owners.tolist()))

    # ------------------------------------------------------------------ asking

    def check(self) -> None:
        """Reads and checks all files of the index, so that no query has to.

        Raises:
            DamagedIndex: A file changed since it was written.
        """
        self.wording.check()
        for vectors in self.vectors.values():
            vectors.check()

    def allowed(self, memory: Memory) -> Reach:
        """Returns the places in the scope of a memory."""
        return self._reach(memory, beyond=False)

    def beyond(self, memory: Memory) -> Reach:
        """Returns the places in other scopes than that of a memory."""
        return self._reach(memory, beyond=True)

    def _reach(self, memory: Memory, *, beyond: bool) -> Reach:
        code = self.codes.get(canonical(self._profile.scope_of(memory)), UNKNOWN)
        return Reach(self.scopes.all, code, beyond)

    def same(self, form: str, key: int, allowed: Reach) -> list[int]:
        """Returns places of the memories whose text has a key, in one of `KEYS`."""
        places = np.array(self._by_key[KEYS.index(form)].places(key), dtype=np.int64)
        return places[allowed[places]].tolist() if len(places) else []

    # ------------------------------------------------------------------ kept between processes

    def restore(self, codes: Mapping[str, int], arrays: Mapping[str, Part[Any]]) -> None:
        """Takes up what was kept; wording and vectors are set by the caller.

        Nothing is read through: the time it takes does not grow with the number of memories, but
        for what marks the dead.
        """
        given = {name: whole(arrays[name]) for name in (*_ARRAYS, *map("by-{}".format, _TABLES))}
        self.codes = dict(codes)
        self.ids = TextTable(given["ids"], given["ids-ends"])
        self.states, self.keys = Rows(given["states"]), Rows(given["keys"])
        self.scopes = Rows(np.where(given["alive"], given["scopes"], np.int32(NOWHERE)))
        self.alive, self.used = Rows(given["alive"].copy()), Rows(given["used"].copy())
        self._size = int(np.count_nonzero(self.used.all))
        tables = [KeyTable(given[f"by-{name}"], whole(arrays[f"of-{name}"])) for name in _TABLES]
        self._by_id, self._by_key = tables[-1], tuple(tables[:-1])

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Returns what `restore` takes up."""
        ids, ends = self.ids.arrays()
        id_keys = np.array([key_of(id_) for id_ in self.ids], dtype=np.uint64)
        columns = [*self.keys.all.T, id_keys]
        arrays: dict[str, NDArray[np.generic]] = {
            "ids": ids,
            "ids-ends": ends,
            "states": self.states.all,
            "keys": self.keys.all,
            "scopes": self.scopes.all,
            "alive": self.alive.all,
            "used": self.used.all,
        }
        for name, column in zip(_TABLES, columns, strict=True):
            arrays[f"by-{name}"], arrays[f"of-{name}"] = ordered(column)
        return arrays


_ARRAYS: Final = ("ids", "ids-ends", "states", "keys", "scopes", "alive", "used")
_TABLES: Final = (*KEYS, "id")
