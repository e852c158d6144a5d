"""Audit of each kind of store at a size: `python -m benchmarks.adapters [--size N] [--kind NAME]`.

The same memories, each with a vector of 384 components, are put into every kind of store; then
`echoless audit` runs on it as a process of its own, once with the profile the store proposes and
the vectors it holds. Beside them the embedded store, for the ratio. A kind whose library is missing
is named and left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.data import memories
from benchmarks.measure import Cost, echoless, keep
from echoless import Memory, open_store
from echoless.errors import EcholessError
from echoless.model import Vector

DIMENSIONS: Final = 384


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of store under measurement.

    Attributes:
        url: Of a store inside a folder.
        dressed: A memory as it is put in: only what this kind has a place for.
    """

    url: Callable[[Path], str]
    dressed: Callable[[Memory, int], Memory]


@cache
def _word(word: str) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)


def _vector(text: str) -> npt.NDArray[np.float32]:
    """The sum of one random vector for each word: texts with the same words are close."""
    told: npt.NDArray[np.float32] = np.sum([_word(w) for w in text.lower().split()], axis=0)
    return (told / np.linalg.norm(told)).astype("<f4")


def _vectors(model: str) -> Callable[[Memory, int], Memory]:
    def dressed(memory: Memory, number: int) -> Memory:
        del number
        vector = Vector(model, _vector(memory.content).tobytes())
        return replace(memory, vectors=(vector,))

    return dressed


def _recall(memory: Memory, number: int) -> Memory:
    """Breadcrumbs: a text, a project, an importance of 1 to 10, a time, a vector."""
    return Memory(
        id=f"breadcrumbs#{number + 1}",
        content=memory.content,
        namespace=memory.namespace,
        importance=1 + number % 10,
        created_at=memory.created_at,
        vectors=(Vector(f"bow/{DIMENSIONS}", _vector(memory.content).tobytes()),),
        extra={"table": "breadcrumbs"},
    )


def _note(memory: Memory, number: int) -> Memory:
    """A store is one project and keeps no vectors that can be read."""
    del number
    return Memory(id=memory.id, content=memory.content, type="Learning", tags=memory.tags)


KINDS: Final = {
    "sqlite": Kind(lambda folder: f"sqlite:///{folder}/store.db", _vectors("bow@1")),
    "recall": Kind(lambda folder: f"recall:///{folder}/recall.db", _recall),
    "llm-memory": Kind(
        lambda folder: f"llm-memory:///{folder}/llm_memory.db", _vectors("llm-memory")
    ),
    "chroma": Kind(lambda folder: f"chroma:///{folder}/chroma#notes", _vectors("chroma:notes")),
    "lancedb": Kind(lambda folder: f"lancedb:///{folder}/db#memories", _vectors("bow@1")),
    "shodh": Kind(lambda folder: f"shodh:///{folder}/project", _note),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--kind", action="append", choices=[*KINDS], default=None)
    chosen = parser.parse_args()
    rows = [_row(name, chosen.size) for name in chosen.kind or KINDS]
    body = f"""
{chosen.size:,} memories of about 20 words, 30 % of them repetition of some kind
(`benchmarks/data.py`), with vectors of {DIMENSIONS} components where the store keeps any. Audit
with the profile the store proposes and no other vectors than the stored ones, as a process of its
own, start-up included.

| store | profile | wall s | cpu s | peak MB | candidates | groups | redundant |
|---|---|---|---|---|---|---|---|
{chr(10).join(rows)}
"""
    command = f"python -m benchmarks.adapters --size {chosen.size}"
    keep("adapters", "Audit of other programs' stores", command, body)


def _row(name: str, size: int) -> str:
    kind = KINDS[name]
    with tempfile.TemporaryDirectory() as place:
        url = kind.url(Path(place))
        try:
            _fill(url, [kind.dressed(m, n) for n, m in enumerate(memories(size))])
        except EcholessError as problem:
            return f"| {name} | not measured: {problem} | | | | | | |"
        cost = echoless("audit", url, "--encoder", "stored", "--json")
        return _told(name, cost)


def _fill(url: str, told: Sequence[Memory]) -> None:
    with open_store(url, create=True) as store, store.writing():
        for start in range(0, len(told), 1_000):
            store.put(told[start : start + 1_000])


def _told(name: str, cost: Cost) -> str:
    found = json.loads(cost.output)
    counts = found["counts"]
    return (
        f"| {name} | {found['profile']} | {cost.wall:.1f} | {cost.cpu:.1f} | {cost.peak_mb:.0f} "
        f"| {counts['candidates']:,} | {counts['groups']:,} | {counts['redundant']:,} |"
    )


if __name__ == "__main__":
    main()
