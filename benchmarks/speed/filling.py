"""Stores for measurements, filled as a stream: texts with a vector each that fits them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from echoless import Memory, open_store
from echoless.core.model import Vector

MODEL: Final = "bow@1"
_BATCH: Final = 2_000


class Bags:
    """Vectors of texts: the sum of one random vector for each word, at unit length."""

    def __init__(self, dimensions: int) -> None:
        """Begin without any word."""
        self._numbers: dict[str, int] = {}
        self._table = np.empty((1_024, dimensions), dtype=np.float32)

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (texts, dimensions), float32, unit length; each text has a word."""
        words = [[self._number(w.strip(".,*->")) for w in text.lower().split()] for text in texts]
        starts = np.cumsum([0, *(len(each) for each in words[:-1])])
        flat = np.fromiter((number for each in words for number in each), np.int64)
        rows: NDArray[np.float32] = np.add.reduceat(self._table[flat], starts, axis=0)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
        return rows

    def _number(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self._numbers))
        if number == len(self._numbers) - 1:
            if number == len(self._table):
                self._table = np.concatenate([self._table, np.empty_like(self._table)])
            self._table[number] = self._vector(word)
        return number

    def _vector(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        common = 0.1 if word in {"the", "", "and"} else 1.0  # models weigh such words less
        return np.random.default_rng(seed).standard_normal(self._table.shape[1]) * common


def with_vectors(memories: Iterable[Memory], dimensions: int) -> Iterator[list[Memory]]:
    """Memories in batches, each with its vector."""
    bags, source = Bags(dimensions), iter(memories)
    while some := list(islice(source, _BATCH)):
        rows = bags.rows([memory.content for memory in some]).astype("<f4")
        yield [
            replace(memory, vectors=(Vector(MODEL, row.tobytes()),))
            for memory, row in zip(some, rows, strict=True)
        ]


def fill(path: Path, memories: Iterable[Memory], dimensions: int | None) -> None:
    """Make an SQLite store; without dimensions, without vectors."""
    source = iter(memories)
    batches: Iterator[list[Memory]]
    if dimensions is None:
        batches = iter(lambda: list(islice(source, _BATCH)), [])
    else:
        batches = with_vectors(source, dimensions)
    with open_store(f"sqlite:///{path}", create=True) as store, store.writing():
        for batch in batches:
            store.put(batch)
