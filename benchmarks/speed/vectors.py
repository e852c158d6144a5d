"""Vectors to join: planted pairs, noise just below the threshold, crowds, or real texts."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from echoless.core.run_notes import Tally
from echoless.models.encoders.registry import open_encoder
from echoless.models.encoders.vectorizer import open_cache

Rows = npt.NDArray[np.float32]

SEED = 20261122
KINDS = ("planted", "crowds", "real")


def write(
    path: Path, kind: str, count: int, dimensions: int, threshold: float
) -> npt.NDArray[np.int64]:
    """Write unit vectors to an .npy file, block by block.

    Args:
        path: The file.
        kind: `planted`: directions at random; 5 % lie at a cosine between the threshold and 1 to an
            earlier one, 2 % up to 0.03 below the threshold. `crowds`: half of them in clusters of
            about a hundred around cosine 0.97, else as planted. `real`: sentences of documentation
            on this machine, through the default encoder.
        count: How many.
        dimensions: Of a vector; `real` brings its own.
        threshold: Of the join.

    Returns:
        Shape (pairs, 2), int64: pairs planted between the threshold and 1; none where texts are
        real. Crowds may have moved some of them.
    """
    if kind == "real":
        np.save(path, real(count))
        return np.empty((0, 2), dtype=np.int64)
    random = np.random.default_rng(SEED)
    made = np.lib.format.open_memmap(path, "w+", dtype=np.float32, shape=(count, dimensions))
    step = 1 << 16
    for start in range(0, count, step):
        made[start : start + step] = _directions(random, min(step, count - start), dimensions)
    places = random.permutation(count)
    planted = places[: count // 20 * 2].reshape(-1, 2)
    noise = places[count // 10 : count // 10 + count // 50 * 2].reshape(-1, 2)
    top = min(0.999, threshold + 0.8 * (1 - threshold))
    _plant(random, made, planted, threshold, top)
    _plant(random, made, noise, threshold - 0.03, threshold)
    if kind == "crowds":
        rest = places[count // 2 :]
        for some in np.array_split(rest, max(1, len(rest) // 100)):
            pairs = np.column_stack([np.full(len(some) - 1, some[0]), some[1:]])
            _plant(random, made, pairs, 0.985, 0.985)
    made.flush()
    return planted


def _directions(random: np.random.Generator, count: int, dimensions: int) -> Rows:
    rows = random.standard_normal((count, dimensions), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _plant(
    random: np.random.Generator,
    made: Rows,
    pairs: npt.NDArray[np.int64],
    low: float,
    high: float,
) -> None:
    """Put the second of each pair at a cosine between two limits to the first."""
    for some in np.array_split(pairs, max(1, len(pairs) // 4096)):
        base = made[some[:, 0]].astype(np.float64)
        aside = _directions(random, len(some), made.shape[1]).astype(np.float64)
        aside -= np.sum(aside * base, axis=1, keepdims=True) * base
        aside /= np.linalg.norm(aside, axis=1, keepdims=True)
        cosine = random.uniform(low, high, (len(some), 1))
        made[some[:, 1]] = cosine * base + np.sqrt(1 - cosine**2) * aside


def real(count: int) -> Rows:
    """Vectors of so many different sentences by the default encoder, kept in its cache."""
    encoder = open_encoder("fast")
    texts, cache, tally = sentences(count), open_cache(), Tally()
    assert encoder is not None
    assert cache is not None
    made: list[Rows] = []
    for start in range(0, len(texts), 1024):
        batch = texts[start : start + 1024]
        kept = cache.bulk(batch, encoder.model, tally)
        known = {
            batch[at]: row for places, rows in kept for at, row in zip(places, rows, strict=True)
        }
        fresh = [text for text in batch if text not in known]
        if fresh:
            new = dict(zip(fresh, encoder.encode(fresh), strict=True))
            cache.put(new, encoder.model, tally)
            known.update(new)
        made.append(np.stack([known[text] for text in batch]))
    rows = np.concatenate(made)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def sentences(count: int) -> list[str]:
    """Different sentences of 5 to 40 words from docstrings and comments of installed Python code.

    Raises:
        SystemExit: There are fewer on this machine.
    """
    listed: dict[str, None] = {}
    places = {sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")}
    for place in sorted(places):
        for path in sorted(Path(place).rglob("*.py")):
            for sentence in _sentences(path):
                listed.setdefault(sentence)
            if len(listed) >= count:
                return list(listed)[:count]
    sys.exit(f"There are {len(listed):,} sentences on this machine, {count:,} are asked for.")


def _sentences(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for sentence in " ".join((ast.get_docstring(node) or "").split()).split(". "):
                if 5 <= len(sentence.split()) <= 40:
                    yield sentence.rstrip(".")
