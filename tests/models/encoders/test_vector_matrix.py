"""Matrices made in bulk hold what one row after the other would; made vectors outlive a kill."""

import math
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from echoless.core.model import Memory, Vector
from echoless.core.run_notes import Tally
from echoless.models.encoders import vector_matrix as sheets
from echoless.models.encoders.vectorizer import MemoryVectoriser, VectorCache
from tests.conformance.encoders import WordBag

MODEL = "word-bag@1"
LONG = " ".join(f"Sentence number {n} says that pump {n} runs." for n in range(12))

numbers = st.sampled_from([0.0, 1.0, -2.5, math.nan, math.inf])
vectors = st.tuples(
    st.sampled_from([MODEL, "other"]), st.lists(numbers, max_size=3).map(tuple)
).map(lambda told: Vector(told[0], np.array(told[1], dtype="<f4").tobytes()))
contents = st.sampled_from(["one text", "another text", " \n", LONG, "half a \ud83d face"])


@st.composite
def worlds(draw: st.DrawFn) -> list[Memory]:
    """Memories with at most one vector a model, some of them of no use."""
    made = []
    for at in range(draw(st.integers(0, 8))):
        own = {each.model: each for each in draw(st.lists(vectors, max_size=2))}
        made.append(Memory(id=f"m{at}", content=draw(contents), vectors=tuple(own.values())))
    return made


def plainly(memories: Sequence[Memory], encoder: WordBag | None) -> tuple[object, object]:
    """Matrices and skipped ids, worked out memory by memory."""
    found: dict[str, dict[int, NDArray[np.float32]]] = {}
    skipped: dict[str, set[str]] = {}
    for at, memory in enumerate(memories):
        for vector in memory.vectors:
            row = np.frombuffer(vector.data, dtype="<f4")[None, :]
            reason = unusable(row) if row.size else "vector of a wrong length"
            if reason:
                skipped.setdefault(reason, set()).add(memory.id)
            else:
                found.setdefault(vector.model, {})[at] = row
        if encoder is None and not memory.vectors:
            skipped.setdefault("no vector", set()).add(memory.id)
    for at, memory in enumerate(memories if encoder else ()):
        if at in found.get(MODEL, {}):
            continue
        rows = made_of(memory.content)
        reason = "no vector" if rows is None else unusable(rows)
        if rows is None or reason:
            skipped.setdefault(str(reason), set()).add(memory.id)
        else:
            found.setdefault(MODEL, {})[at] = rows
    told = []
    for model in sorted(found):
        widths = Counter(rows.shape[1] for rows in found[model].values())
        width = max(widths, key=lambda each: (widths[each], each))
        chosen = {at: rows for at, rows in sorted(found[model].items()) if rows.shape[1] == width}
        foreign = {memories[at].id for at in found[model].keys() - chosen.keys()}
        if foreign:
            skipped.setdefault("vector of a foreign dimension", set()).update(foreign)
        owners = [at for at, rows in chosen.items() for _ in rows]
        told.append((model, owners, np.concatenate(list(chosen.values())).tobytes()))
    return told, {reason: tuple(sorted(ids)) for reason, ids in sorted(skipped.items())}


def made_of(content: str) -> NDArray[np.float32] | None:
    from echoless.models.encoders.vectorizer import split_parts

    parts = split_parts(content.encode("utf-8", "replace").decode("utf-8"))
    return WordBag(dimensions=2).encode(parts) if parts else None


def unusable(rows: NDArray[np.float32]) -> str | None:
    if not np.isfinite(rows).all():
        return "vector is not finite"
    return None if rows.any(axis=1).all() else "vector is zero"


@given(worlds(), st.booleans())
def test_a_matrix_made_in_bulk_is_the_one_made_row_by_row(
    memories: list[Memory], encoding: bool
) -> None:
    encoder, tally = WordBag(dimensions=2) if encoding else None, Tally()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sheets, "_BLOCK", 3)
        found = MemoryVectoriser(encoder, batch=2).matrices(memories, tally)
    told = [(each.model, each.owners.tolist(), each.rows.tobytes()) for each in found]
    assert (told, tally.skipped) == plainly(memories, WordBag() if encoding else None)


def test_the_caller_may_give_the_array(tmp_path: Path) -> None:
    def mapped(shape: tuple[int, int]) -> NDArray[np.float32]:
        return np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=shape)

    memories = [Memory(id=str(n), content=f"text {n}") for n in range(40)]
    plain, given_ = (
        MemoryVectoriser(WordBag(), allocate=allocate).matrices(memories, Tally())[0]
        for allocate in (None, mapped)
    )
    assert isinstance(given_.rows, np.memmap)
    assert given_.rows.tobytes() == plain.rows.tobytes()
    assert (tmp_path / "rows").stat().st_size == plain.rows.nbytes


def test_one_array_is_made_for_each_model_however_many_memories(tmp_path: Path) -> None:
    shapes: list[tuple[int, int]] = []

    def counted(shape: tuple[int, int]) -> NDArray[np.float32]:
        shapes.append(shape)
        return np.empty(shape, dtype=np.float32)

    one = np.ones(4, dtype="<f4").tobytes()
    memories = [Memory(id=str(n), content="x", vectors=(Vector("m", one),)) for n in range(5000)]
    MemoryVectoriser(allocate=counted).matrices(memories, Tally())
    assert shapes == [(5000, 4)]


def test_a_text_that_is_there_often_is_encoded_once_and_put_everywhere() -> None:
    encoder = WordBag()
    memories = [Memory(id=str(n), content=f"text {n % 3}") for n in range(9)]
    (matrix,) = MemoryVectoriser(encoder, batch=2).matrices(memories, Tally())
    assert encoder.asked == [["text 0", "text 1"], ["text 2"]]
    assert matrix.rows.tobytes() == WordBag().encode([m.content for m in memories]).tobytes()


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_neither_batch_nor_cache_changes_a_bit(tmp_path: Path, batch: int) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite3")
    memories = [Memory(id=str(n), content=f"text {n}") for n in range(30)]
    MemoryVectoriser(WordBag(), cache).matrices(memories[::2], Tally())
    (matrix,) = MemoryVectoriser(WordBag(), cache, batch=batch).matrices(memories, Tally())
    (fresh,) = MemoryVectoriser(WordBag()).matrices(memories, Tally())
    assert matrix.rows.tobytes() == fresh.rows.tobytes()


WORKER = """
import sys
from pathlib import Path
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from tests.conformance.encoders import WordBag
from echoless.models.encoders import vectorizer as vectorise
from echoless.models.encoders.vectorizer import VectorCache

def tell(done, whole):
    print(done, flush=True)
    if done >= 12:
        sys.stdin.read()  # never ends: the test kills this process here

vectorise.KEPT_EVERY = 0.0
memories = [Memory(id=str(n), content=f"text {n:02}") for n in range(40)]
cache = VectorCache(Path(sys.argv[1]))
vectorise.MemoryVectoriser(WordBag(), cache, progress=tell, batch=4).matrices(memories, Tally())
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite3"
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert [child.stdout.readline().strip() for _ in range(3)] == ["4", "8", "12"]
        child.kill()
    assert child.returncode == -signal.SIGKILL
    encoder, tally = WordBag(), Tally()
    memories = [Memory(id=str(n), content=f"text {n:02}") for n in range(40)]
    (matrix,) = MemoryVectoriser(encoder, VectorCache(path)).matrices(memories, tally)
    assert encoder.asked == [[f"text {n:02}" for n in range(12, 40)]]
    assert len(matrix.owners) == 40
    assert not tally.notes


def test_an_interrupt_keeps_what_was_made_before_it(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite3")
    memories = [Memory(id=str(n), content=f"text {n:02}") for n in range(10)]

    def interrupt(done: int, _whole: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MemoryVectoriser(WordBag(), cache, progress=interrupt, batch=2).matrices(memories, Tally())
    encoder = WordBag()
    MemoryVectoriser(encoder, cache).matrices(memories, Tally())
    assert encoder.asked == [[f"text {n:02}" for n in range(6, 10)]]
