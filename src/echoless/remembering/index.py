"""What of a store the door compares a text with, kept up to date as the store changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from echoless.candidates import eligible
from echoless.model import Memory, canonical
from echoless.profiles import Profile
from echoless.remembering.growing import Rows
from echoless.remembering.pointed import VectorIndex
from echoless.remembering.shingled import WordingIndex
from echoless.stores.base import Changes, Store
from echoless.tally import Tally
from echoless.text import loose, normalise

if TYPE_CHECKING:
    from echoless.vectors.base import Matrix, Vectoriser

Progress = Callable[[int, int], None]

EXACT: Final = "exact"
NORMALISED: Final = "normalised"
LOOSE: Final = "loose"
KEYS: Final = (EXACT, NORMALISED, LOOSE)
"""Forms of a text that are looked up whole."""

AT_ONCE: Final = 1_024
"""Memories taken in together."""


def key_of(text: str) -> int:
    """64 bits of the BLAKE2b digest of a text."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def forms(text: str) -> tuple[int, int, int]:
    """Keys of a text as it is, in its case-folded normal form and in its loose form."""
    return key_of(text), key_of(normalise(text, fold_case=True)), key_of(loose(text))


class MemoryIndex:
    """Memories by their texts, their wording and their vectors, within scopes.

    A memory has a place, a number that is never given twice. One that is changed or removed leaves
    its place dead; the index is built anew when too many places are dead.

    Attributes:
        token: State of the store the index was brought up to, as `Changes` tells it; empty where
            the store cannot tell.
        touched: Memories taken in or out since the index was read or built.
    """

    def __init__(self, profile: Profile, vectoriser: Vectoriser | None) -> None:
        """Begin empty.

        Args:
            profile: Says what is compared, and within which scopes.
            vectoriser: Gives vectors of memories; None where the profile wants none.
        """
        self._profile = profile
        self._vectoriser = vectoriser
        self.token, self.touched = "", 0
        self.ids: list[str] = []
        self.places: dict[str, int] = {}
        self.states = Rows(np.empty(0, dtype=np.uint64))
        self.keys = Rows(np.empty((0, len(KEYS)), dtype=np.uint64))
        self.scopes = Rows(np.empty(0, dtype=np.int32))
        self.alive = Rows(np.empty(0, dtype=np.bool_))
        self.codes: dict[str, int] = {}
        self.wording = WordingIndex()
        self.vectors: dict[str, VectorIndex] = {}
        self._by_key: tuple[dict[int, list[int]], ...] = tuple({} for _ in KEYS)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def vectoriser(self) -> Vectoriser | None:
        """What gives vectors of memories."""
        return self._vectoriser

    # ------------------------------------------------------------------ keeping up

    def refresh(self, store: Store, tally: Tally, progress: Progress | None = None) -> int:
        """Take in what changed in the store since the last time.

        Returns:
            How many memories were taken in or out.

        Raises:
            EncoderError: The encoder failed; what was taken in before that stays.
        """
        token, ids = store.changes(self.token) if isinstance(store, Changes) else ("", None)
        if ids is None:
            done = self._compare(store.scan(), tally, progress)
        else:
            done = self._take(store.get(ids), ids, tally) if ids else 0
        self.token = token
        if len(self.ids) > 2 * len(self.places) + AT_ONCE:
            self._restart()
            done = self._compare(store.scan(), tally, progress)
        self.touched += done
        return done

    def fill(self, memories: Iterable[Memory], tally: Tally) -> None:
        """Take in memories that lie in no store."""
        told = {m.id: m for m in memories}
        self._take(told, told, tally)

    def _restart(self) -> None:
        fresh = MemoryIndex(self._profile, self._vectoriser)
        self.__dict__.update(fresh.__dict__ | {"touched": self.touched})

    def _compare(self, memories: Iterable[Memory], tally: Tally, progress: Progress | None) -> int:
        """Bring the index to exactly these memories."""
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
        gone = [id_ for id_ in self.places if id_ not in seen]
        for id_ in gone:
            self._drop(id_)
        if progress:
            progress(len(seen), len(seen))
        return done + len(gone)

    def _holds(self, memory: Memory) -> bool:
        place = self.places.get(memory.id)
        return place is not None and int(self.states.all[place]) == self._state(memory)

    def _state(self, memory: Memory) -> int:
        """64 bits over all of a memory that counts here."""
        digest = hashlib.blake2b(digest_size=8)
        looked_at = self._profile.looks_at(memory)
        for part in (memory.content, canonical(self._profile.scope_of(memory)), str(looked_at)):
            digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
        for vector in memory.vectors:
            digest.update(vector.model.encode() + b"\0" + vector.data)
        return int.from_bytes(digest.digest(), "little")

    def _take(self, found: Mapping[str, Memory], ids: Iterable[str], tally: Tally) -> int:
        """Take in memories as they are now; ids without one are gone."""
        fresh, done = [], 0
        for id_ in sorted(set(ids)):
            memory = found.get(id_)
            if memory is not None and self._holds(memory):
                continue
            done += self._drop(id_) or memory is not None
            if memory is not None:
                fresh.append(memory)
        self._place(fresh, tally)
        return done

    def _drop(self, id_: str) -> bool:
        place = self.places.pop(id_, None)
        if place is None:
            return False
        self.alive.all[place] = False
        for known, key in zip(self._by_key, self.keys.all[place].tolist(), strict=True):
            known[key].remove(place)
        return True

    def _place(self, memories: Sequence[Memory], tally: Tally) -> None:
        if not memories:
            return
        first = len(self.ids)
        fit = {m.id for m in eligible({m.id: m for m in memories}, {}, tally, self._profile)}
        keys = np.array([forms(m.content) for m in memories], dtype=np.uint64)
        self.ids += [m.id for m in memories]
        self.places.update((m.id, first + at) for at, m in enumerate(memories))
        self.states.append(np.array([self._state(m) for m in memories], dtype=np.uint64))
        self.keys.append(keys)
        self.scopes.append(np.array([self._code(m) for m in memories], dtype=np.int32))
        self.alive.append(np.array([m.id in fit for m in memories], dtype=np.bool_))
        self._note_keys(first)
        told = [(first + at, m) for at, m in enumerate(memories) if m.id in fit]
        self.wording.add((place, m.content) for place, m in told)
        self._place_vectors(told, tally)

    def _note_keys(self, first: int) -> None:
        for place, keys in enumerate(self.keys.all[first:].tolist(), first):
            for known, key in zip(self._by_key, keys, strict=True):
                known.setdefault(key, []).append(place)

    def _place_vectors(self, told: Sequence[tuple[int, Memory]], tally: Tally) -> None:
        if self._vectoriser is None or not told:
            return
        for matrix in self._vectoriser.matrices([m for _, m in told], tally):
            owners = np.array([place for place, _ in told], dtype=np.int64)[matrix.owners]
            self._add_vectors(matrix, owners, tally)

    def _add_vectors(self, matrix: Matrix, owners: NDArray[np.int64], tally: Tally) -> None:
        known = self.vectors.get(matrix.model)
        if known is None:
            self.vectors[matrix.model] = VectorIndex(matrix.model, owners, matrix.rows)
        elif known.dimensions == matrix.rows.shape[1]:
            known.add(owners, matrix.rows)
        else:
            tally.skip("vector of a foreign dimension", *(self.ids[p] for p in owners.tolist()))

    def _code(self, memory: Memory) -> int:
        key = canonical(self._profile.scope_of(memory))
        return self.codes.setdefault(key, len(self.codes))

    # ------------------------------------------------------------------ asking

    def allowed(self, memory: Memory) -> NDArray[np.bool_]:
        """Which places are in the scope of a memory: shape (places,)."""
        code = self.codes.get(canonical(self._profile.scope_of(memory)), -1)
        inside: NDArray[np.bool_] = self.alive.all & (self.scopes.all == code)
        return inside

    def same(self, form: str, key: int, allowed: NDArray[np.bool_]) -> list[int]:
        """Places of the memories whose text has a key, in one of `KEYS`."""
        found = self._by_key[KEYS.index(form)].get(key, ())
        return [place for place in found if allowed[place]]

    # ------------------------------------------------------------------ kept between processes

    def restore(
        self,
        ids: Sequence[str],
        codes: Mapping[str, int],
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> None:
        """Take up what was kept; wording and vectors are set by the caller."""
        self.ids, self.codes = list(ids), dict(codes)
        self.states = Rows(arrays["states"])  # type: ignore[arg-type]
        self.keys = Rows(arrays["keys"])  # type: ignore[arg-type]
        self.scopes = Rows(arrays["scopes"])  # type: ignore[arg-type]
        self.alive = Rows(np.array(arrays["alive"], dtype=np.bool_))
        there = arrays["there"]
        self.places = {id_: at for at, id_ in enumerate(ids) if there[at]}
        self._by_key = tuple({} for _ in KEYS)
        for place, keys in self._placed_keys():
            for known, key in zip(self._by_key, keys, strict=True):
                known.setdefault(key, []).append(place)

    def _placed_keys(self) -> Iterator[tuple[int, list[int]]]:
        rows = self.keys.all.tolist()
        for place in self.places.values():
            yield place, rows[place]

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """What `restore` takes up."""
        there = np.zeros(len(self.ids), dtype=np.bool_)
        there[list(self.places.values())] = True
        return {
            "states": self.states.all,
            "keys": self.keys.all,
            "scopes": self.scopes.all,
            "alive": self.alive.all,
            "there": there,
        }
