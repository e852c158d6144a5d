"""Audit of each kind of store at a size: `python -m benchmarks.adapters [--size 50000]`.

The same memories, each with a vector of 384 components where the store keeps any, are put into
every kind of store; then what `echoless audit` does is done as a process of its own, with the
profile the store proposes and the vectors it holds, and once more with `--limit 1000`. Beside them
the embedded store, in the same run. shodh-memory takes so long to fill that it is measured with
fewer (`--shodh`). A kind whose library is missing is named and left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks import foreign_stores as foreign
from benchmarks.data import memories
from benchmarks.measure import Cost, keep, run
from echoless import Memory, find, open_store
from echoless.core.errors import EcholessError
from echoless.core.model import Vector
from echoless.core.settings import Choices, resolve
from echoless.workflows.audit.report import audit

DIMENSIONS: Final = 384


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of store under measurement.

    Attributes:
        url: Of a store inside a folder.
        dressed: A memory as it is put in: only what this kind has a place for.
        fill: Makes the store; by default through echoless itself.
    """

    url: Callable[[Path], str]
    dressed: Callable[[Memory, int], Memory]
    fill: Callable[[str, Sequence[Memory]], None] | None = None


@cache
def _word(word: str) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)


def _vector(text: str) -> npt.NDArray[np.float32]:
    """The sum of one random vector for each word: texts with the same words are close."""
    total: npt.NDArray[np.float32] = np.sum([_word(w) for w in text.lower().split()], axis=0)
    return (total / np.linalg.norm(total)).astype("<f4")


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


def _plain(memory: Memory, number: int) -> Memory:
    """A text in a file, without a vector."""
    del number
    return memory


def _table(url: str, records: Sequence[Memory]) -> None:
    """A table as another program makes it: its vectors lie in a column of vectors."""
    import lancedb
    import pyarrow as pa

    rows = np.frombuffer(b"".join(m.vectors[0].data for m in records), dtype="<f4")
    columns = {
        "id": [m.id for m in records],
        "text": [m.content for m in records],
        "namespace": [m.namespace for m in records],
        "created_at": [m.created_at for m in records],
        "vector": pa.FixedSizeListArray.from_arrays(rows, DIMENSIONS),
    }
    folder, _, name = url.removeprefix("lancedb:///").partition("#")
    lancedb.connect(folder).create_table(name, pa.table(columns))


_COLUMNS: Final = "content:body&map=namespace:project&map=created_at:made&map=vectors:embedding"

KINDS: Final = {
    "sqlite": Kind(lambda folder: f"sqlite:///{folder}/store.db", _vectors("bow@1")),
    "recall": Kind(lambda folder: f"recall:///{folder}/recall.db", _recall),
    "llm-memory": Kind(
        lambda folder: f"llm-memory:///{folder}/llm_memory.db", _vectors("llm-memory")
    ),
    "chroma": Kind(lambda folder: f"chroma:///{folder}/chroma#notes", _vectors("chroma:notes")),
    "lancedb": Kind(lambda folder: f"lancedb:///{folder}/db#memories", _vectors("bow@1")),
    "lancedb, its own vectors": Kind(
        lambda folder: f"lancedb:///{folder}/db#notes", _vectors("vector-384"), _table
    ),
    "jsonl": Kind(lambda folder: f"jsonl:///{folder}/memories.jsonl", _vectors("bow@1")),
    "markdown, a file a memory": Kind(
        lambda folder: f"markdown:///{folder}/memory", _plain, foreign.fill_memory_files
    ),
    "markdown, bullets": Kind(
        lambda folder: f"markdown:///{folder}/CLAUDE.md", _plain, foreign.fill_rules
    ),
    "mcp-memory": Kind(
        lambda folder: f"mcp-memory:///{folder}/memory.jsonl", _plain, foreign.fill_graph
    ),
    "sql, a table of SQLite": Kind(
        lambda folder: f"sql:///{folder}/agent.db?map={_COLUMNS}#notes",
        _vectors("bow@1"),
        foreign.fill_table,
    ),
    "postgresql, pgvector": Kind(
        lambda _: f"postgresql://{os.environ[foreign.SERVER]}&map={_COLUMNS}#notes",
        _vectors("bow@1"),
        foreign.fill_pgvector,
    ),
    "mem0, Qdrant in a folder": Kind(
        lambda folder: f"mem0:///{folder}/qdrant#mem0", _vectors("bow@1"), foreign.fill_qdrant
    ),
    "shodh": Kind(lambda folder: f"shodh:///{folder}/project", _note),
}


_PROGRAM: Final = (sys.executable, "-m", "benchmarks.adapters")
STAGES: Final = ("opening", "reading", "looking", "judging", "the rest")


HEAD: Final = (
    *("store", "profile", "memories", "wall s", "cpu s", "peak MB"),
    *STAGES,
    *("candidates", "redundant", "limit: wall s", "limit: peak MB"),
)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    if sys.argv[1:2] == ["--audit"]:
        _audit(sys.argv[2], int(sys.argv[3]) or None)
        return
    if sys.argv[1:2] == ["--fill"]:
        _filled(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=50_000)
    parser.add_argument("--shodh", type=int, default=500, help="size for shodh-memory")
    parser.add_argument("--kind", action="append", choices=[*KINDS], default=None)
    chosen = parser.parse_args()
    rows = [
        _row(name, chosen.shodh if name == "shodh" else chosen.size)
        for name in chosen.kind or KINDS
    ]
    body = f"""
{chosen.size:,} memories of about 20 words, 30 % of them repetition of some kind
(`benchmarks/data.py`), with vectors of {DIMENSIONS} components where the store keeps any. Audit
with the profile the store proposes and no other vectors than the stored ones, as a process of its
own, start-up included. The stages are seconds of the wall clock inside that process; *opening* has
the import of the library. The last two columns are the same with `--limit 1000`.

{_line(HEAD)}
{_line(["---"] * len(HEAD))}
{chr(10).join(rows)}

Putting one memory into shodh-memory takes a fifth of a second (its own embedder runs, and it
flushes), so that kind is measured with {chosen.shodh:,}. chroma is read from a copy of its folder,
which is part of *reading*.
"""
    command = f"python -m benchmarks.adapters --size {chosen.size}"
    keep("adapters", "Audit of other programs' stores", command, body)


def _row(name: str, size: int) -> str:
    server = foreign.postgres() if name.startswith("postgresql") else nullcontext()
    with tempfile.TemporaryDirectory() as place, server:
        url = KINDS[name].url(Path(place))
        # Filled by a child: a process starts with the peak memory of the one that starts it.
        said = run(*_PROGRAM, "--fill", name, str(size), url).output.strip()
        if said:
            return _line([name, f"not measured: {said}", *[""] * (len(HEAD) - 2)])
        costs = [
            run(
                *(*_PROGRAM, "--audit", url, limit),
                environment={"ECHOLESS_CACHE_DIR": f"{place}/cache-{limit}"},
            )
            for limit in ("0", "1000")
        ]
        return _row_of(name, size, *costs)


def _filled(name: str, size: int, url: str) -> None:
    """Make the store of a kind; prints why if it cannot be made."""
    kind = KINDS[name]
    try:
        (kind.fill or _fill)(url, [kind.dressed(m, n) for n, m in enumerate(memories(size))])
    except EcholessError as problem:
        print(problem)


def _fill(url: str, records: Sequence[Memory]) -> None:
    with open_store(url, create=True) as store, store.writing():
        for start in range(0, len(records), 1_000):
            store.put(records[start : start + 1_000])


def _audit(url: str, limit: int | None) -> None:
    """What `echoless audit` does; prints counts, and seconds by stage."""
    spent = dict.fromkeys(STAGES, 0.0)
    ended = time.perf_counter()
    before = ("opening", False)

    def tell(stage: str, done: int, whole: int) -> None:
        nonlocal ended, before
        now, (last, over) = time.perf_counter(), before
        name = stage.partition(" ")[0]
        spent[name if over and name in spent else last] += now - ended
        ended, before = now, (name if name in spent else last, 0 < whole <= done)

    settings = Choices(encoder="stored", limit=limit)
    with open_store(url) as store:
        tell("opening", 1, 1)
        chosen = resolve(settings, proposed=store.profile)
        report = audit(find(store, chosen, progress=tell))
    spent["the rest"] += time.perf_counter() - ended
    answer = {"profile": report.profile, "counts": report.counts, "spent": spent}
    print(json.dumps(answer))


def _row_of(name: str, size: int, cost: Cost, narrowed: Cost) -> str:
    answer = json.loads(cost.output)
    counts = answer["counts"]
    return _line(
        [
            *(name, answer["profile"], f"{size:,}"),
            *(f"{cost.wall:.1f}", f"{cost.cpu:.1f}", f"{cost.peak_mb:.0f}"),
            *(f"{answer['spent'][stage]:.1f}" for stage in STAGES),
            *(f"{counts['candidates']:,}", f"{counts['redundant']:,}"),
            *(f"{narrowed.wall:.1f}", f"{narrowed.peak_mb:.0f}"),
        ]
    )


if __name__ == "__main__":
    main()
