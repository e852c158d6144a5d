"""What `lexical` finds where a store is too large to score every pair.

`python -m benchmarks.wording --data ../shared/data [--size 100000]`

Labelled memories stand among made-up ones of a small vocabulary. For each of them, and for some
others, every text before it is scored; of the ten closest, how many does the join by rare words
(`echoless.blocking.text_join.tfidf_join`) name? Texts of one label are told apart:
those are the pairs that count.
"""

from __future__ import annotations

import argparse
import json
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.data import stream
from benchmarks.measure import keep
from echoless.blocking.detector import Gate
from echoless.blocking.detectors.lexical import DEFAULT_THRESHOLD
from echoless.blocking.text_join.tfidf_join import WordingJoin, cosines_of_pairs
from echoless.blocking.text_join.tfidf_rows import TermRows, rows_and_clues

NEAREST: Final = 10
PARTNERS: Final = 30
"""As in a run: `echoless.blocking.pair_budget.PAIRS_PER_MEMORY`."""
OTHERS: Final = 300
FLOORS: Final = (DEFAULT_THRESHOLD, 0.3, 0.4, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=100_000)
    asked = parser.parse_args()
    texts, clusters = _store(asked.data, asked.size)
    rows, clues = rows_and_clues(texts, 3)
    join = WordingJoin(rows, clues, Gate(DEFAULT_THRESHOLD), PARTNERS)
    pairs = {
        (int(i), int(j)) for block in join.pairs() for i, j in zip(*block.arrays[:2], strict=True)
    }
    labelled = [at for at, cluster in enumerate(clusters) if cluster is not None]
    sampled = [*labelled, *random.Random(7).sample(range(len(texts)), OTHERS)]
    counts: Counter[tuple[bool, float, bool]] = Counter()
    for same, similarity, pair in _nearest(rows, sampled, clusters):
        floor = FLOORS[bisect_right(FLOORS, similarity) - 1]
        counts[same, floor, pair in pairs] += 1
    keep("wording", f"Partners by rare words among {len(texts):,} texts",
         f"python -m benchmarks.wording --data ../shared/data --size {asked.size}",
         _body(counts, join.verified))  # fmt: skip


def _store(data: Path, size: int) -> tuple[list[str], list[str | None]]:
    """Texts in a mixed order, and the cluster of those that are labelled."""
    lines = (data / "memory_pairs" / "dev_store.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    labelled: list[tuple[str, str | None]] = [
        (each["content"], each["cluster"]) for each in records
    ]
    labelled += [(memory.content, None) for memory in stream(size - len(labelled))]
    random.Random(5).shuffle(labelled)
    return [text for text, _ in labelled], [cluster for _, cluster in labelled]


def _nearest(
    rows: TermRows, sampled: list[int], clusters: list[str | None]
) -> Iterator[tuple[bool, float, tuple[int, int]]]:
    """The closest before each text: whether of one label, how close, and which."""
    for row in sampled:
        before = np.arange(row, dtype=np.int64)
        similarity = cosines_of_pairs(rows, np.full_like(before, row), before)
        closest = np.argsort(-similarity, kind="stable")[:NEAREST]
        for other in closest[similarity[closest] >= DEFAULT_THRESHOLD].tolist():
            same = clusters[row] is not None and clusters[row] == clusters[other]
            yield same, float(similarity[other]), (other, row)


def _body(counts: Counter[tuple[bool, float, bool]], verified: int) -> str:
    table = []
    for at, floor in enumerate(FLOORS):
        end = f"{FLOORS[at + 1]:g}" if at + 1 < len(FLOORS) else "1"
        cells = [f"| {floor:g} to {end}"]
        for kinds in ((True, False), (True,)):
            hit, all_of = (
                sum(counts[same, floor, seen] for same in kinds for seen in seens)
                for seens in ((True,), (True, False))
            )
            cells.append(f"{all_of:,} | {hit / all_of:.1%}" if all_of else "0 | ")
        table.append(" | ".join(cells) + " |")
    return "\n".join(
        [
            f"Ten closest before each labelled text and each of {OTHERS} others; found among the",
            f"{PARTNERS} partners a run keeps. Pairs scored by the join: {verified:,}.",
            "",
            "| cosine | pairs | found | of one label | found |",
            "|---|---|---|---|---|",
            *table,
        ]
    )


if __name__ == "__main__":
    main()
