"""Index of the memories a new text is compared with, kept up to date as the store changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from echoless.core.eligibility import eligible
from echoless.core.model import Memory, canonical
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally
from echoless.core.text import loose, normalise
from echoless.ingest.ngram_index import WordingIndex
from echoless.ingest.vector_index import Rows, VectorIndex
from echoless.stores.base import Store

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


class MemoryIndex:
    """Index of memories by their texts, their wording and their vectors, within scopes.

    A memory has a place, a number that is never given twice. One that is changed or removed leaves
    its place dead; the index is built anew when too many places are dead.

    Attributes:
        token: State of the store the index was brought up to, as `Store.changes` tells it; empty
            where the store cannot tell.
        vectoriser: What gives vectors of memories.
        touched: Memories taken in or out since the index was read or built.
        ids: Of the memory at each place; empty where it is dead.
        places: Of the memories, by id.
        states: A digest of the memory at each place, as far as it counts here.
        keys: Of the text at each place, by form.
        scopes: Number of the scope at each place; `NOWHERE` where the memory is not compared.
        codes: Numbers of scopes.
        wording: Finds memories by their n-grams.
        vectors: Find memories by their vectors, by model.
    """

    def __init__(self, profile: Profile, vectoriser: Vectoriser | None) -> None:
        """Begins empty.

        Args:
            profile: Says what is compared, and within which scopes.
            vectoriser: Gives vectors of memories; None where the profile wants none.
        """
        self._profile = profile
        self.vectoriser = vectoriser
        self.token, self.touched = "", 0
        self.ids: list[str] = []
        self.places: dict[str, int] = {}
        self.states = Rows(np.empty(0, dtype=np.uint64))
        self.keys = {form: Rows(np.empty(0, dtype=np.uint64)) for form in KEYS}
        self.scopes = Rows(np.empty(0, dtype=np.int32))
        self.codes: dict[str, int] = {}
        self.wording = WordingIndex()
        self.vectors: dict[str, VectorIndex] = {}

    def __len__(self) -> int:
        return len(self.places)

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
            fresh = MemoryIndex(self._profile, self.vectoriser)
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
        if not self._holds(memory):
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
        place = self.places.pop(id_, None)
        if place is None:
            return False
        if self.scopes.all[place] != NOWHERE:
            self.wording.remove(place)
        self.ids[place], self.scopes.all[place] = "", NOWHERE
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
        for rows, column in zip(self.keys.values(), keys.T, strict=True):
            rows.append(column)
        self.ids += (m.id for m in memories)
        self.places.update((m.id, place) for place, m in enumerate(memories, first))
        self.states.append(np.array([self._state(m) for m in memories], dtype=np.uint64))
        self.scopes.append(np.array(codes, dtype=np.int32))
        self.wording.add(m.content if m.id in fit else None for m in memories)
        compared = [(place, m) for place, m in enumerate(memories, first) if m.id in fit]
        if self.vectoriser is None or not compared:
            return
        places = np.array([place for place, _ in compared], dtype=np.int64)
        if matrices is None:
            matrices = self.vectoriser.matrices([m for _, m in compared], tally)
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

    def allowed(self, memory: Memory, *, elsewhere: bool = False) -> NDArray[np.bool_]:
        """Returns by place whether a memory is in the scope of another, or in other scopes."""
        scopes = self.scopes.all
        code = self.codes.get(canonical(self._profile.scope_of(memory)), UNKNOWN)
        within: NDArray[np.bool_] = scopes == code
        return (scopes != NOWHERE) & ~within if elsewhere else within

    def same(self, form: str, key: int, allowed: NDArray[np.bool_]) -> list[int]:
        """Returns places of the memories whose text has a key, in one of `KEYS`."""
        places: list[int] = np.flatnonzero(
            allowed & (self.keys[form].all == np.uint64(key))
        ).tolist()
        return places

    # ------------------------------------------------------------------ kept between processes

    def restore(self, contents: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes up what `snapshot` gave."""
        self.token, self.ids, self.codes = (contents[name] for name in ("token", "ids", "codes"))
        self.places = {id_: place for place, id_ in enumerate(self.ids) if id_}
        self.states, self.scopes = Rows(arrays["states"]), Rows(arrays["scopes"].copy())
        self.keys = {form: Rows(arrays[form]) for form in KEYS}
        self.wording = WordingIndex(arrays, int(np.count_nonzero(arrays["scopes"] != NOWHERE)))
        self.vectors = {
            model: VectorIndex(model, *(arrays[f"{number}-{each}"] for each in VectorIndex.ARRAYS))
            for number, model in enumerate(contents["models"])
        }

    def snapshot(self) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
        """Returns what `restore` takes up: contents, and arrays by name."""
        contents: dict[str, Any] = {
            "token": self.token,
            "ids": self.ids,
            "codes": self.codes,
            "models": [*self.vectors],
        }
        arrays: dict[str, NDArray[np.generic]] = {
            "states": self.states.all,
            "scopes": self.scopes.all,
            **{form: rows.all for form, rows in self.keys.items()},
            **self.wording.arrays(),
            **{
                f"{number}-{name}": array
                for number, vectors in enumerate(self.vectors.values())
                for name, array in vectors.arrays().items()
            },
        }
        return contents, arrays
