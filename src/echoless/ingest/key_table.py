"""Tables of an index that open without being read: places by key, and texts by place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

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
