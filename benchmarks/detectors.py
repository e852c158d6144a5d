"""What the text detectors find, how much they propose, and how long they take.

`python -m benchmarks.detectors --data ../shared/data [--speed]` prints Markdown. Recall is the
share of gold pairs (two memories of one gold cluster) proposed; each namespace is a partition of
its own, as in a run. Set OPENBLAS_NUM_THREADS=1 for figures of one core.
"""

from __future__ import annotations

import argparse
import difflib
import json
import platform
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations, islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
import rapidfuzz

from echoless.blocking.detectors import DetectorOptions, open_detector
from echoless.core.model import JsonObject, Memory
from echoless.core.run_notes import Tally

Pairs: TypeAlias = frozenset[tuple[str, str]]

GRID: tuple[tuple[str, JsonObject, tuple[float | None, ...]], ...] = (
    ("exact", {}, (None,)),
    ("normalised", {}, (None,)),
    ("sequence", {}, (0.9, 0.75, 0.6, 0.5)),
    ("lexical", {}, (0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15)),
)
UNIONS: tuple[tuple[tuple[str, float | None], ...], ...] = (
    (("exact", None), ("normalised", None)),
    (("normalised", None), ("sequence", None)),
    (("normalised", None), ("sequence", None), ("lexical", None)),
    (("normalised", None), ("sequence", 0.5), ("lexical", 0.2)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--speed", action="store_true")
    asked = parser.parse_args()
    lines = (asked.data / "memory_pairs" / "dev_store.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    print(
        f"{datetime.now(UTC).date()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, rapidfuzz {rapidfuzz.__version__}, {platform.machine()}\n"
    )
    quality(records)
    if asked.speed:
        speed([str(record["content"]) for record in records])


# ------------------------------------------------------------------------------------ quality


def quality(records: Sequence[Mapping[str, str]]) -> None:
    parts: dict[str, list[Memory]] = defaultdict(list)
    clusters: dict[str, list[str]] = defaultdict(list)
    for record in records:
        parts[record["namespace"]].append(Memory(id=record["id"], content=record["content"]))
        if record["cluster"]:
            clusters[record["cluster"]].append(record["id"])
    gold = frozenset(p for ids in clusters.values() for p in combinations(sorted(ids), 2))
    print(f"{len(records)} memories in {len(parts)} namespaces, {len(gold)} gold pairs\n")
    print("| detector | threshold | gold pairs found | recall | candidates | for each memory |")
    print("|---|---|---|---|---|---|")
    for name, settings, thresholds in GRID:
        shown = f"{name} {' '.join(f'{k}={v}' for k, v in settings.items())}".strip()
        for threshold in thresholds:
            row(
                f"{shown} | {threshold or '-'}",
                proposed(parts, name, threshold, settings),
                gold,
                records,
            )
    print("\n| union | gold pairs found | recall | candidates | for each memory |")
    print("|---|---|---|---|---|")
    for union in UNIONS:
        pairs: Pairs = frozenset().union(*(proposed(parts, name, t, {}) for name, t in union))
        shown = ", ".join(f"{name} {t}" if t else name for name, t in union)
        row(shown, pairs, gold, records)
    print()


def proposed(
    parts: Mapping[str, Sequence[Memory]], name: str, threshold: float | None, settings: JsonObject
) -> Pairs:
    detector = open_detector(name, DetectorOptions(threshold=threshold, settings=settings))
    return frozenset(
        (pair.a, pair.b) for part in parts.values() for pair in detector.detect(part, Tally())
    )


def row(shown: str, pairs: Pairs, gold: Pairs, records: Sequence[object]) -> None:
    hits = len(pairs & gold)
    each = 2 * len(pairs) / len(records)
    print(f"| {shown} | {hits} | {hits / len(gold):.3f} | {len(pairs)} | {each:.2f} |")


# -------------------------------------------------------------------------------------- speed


def speed(texts: Sequence[str]) -> None:
    print("| detector | memories | seconds | pairs | for each memory |")
    print("|---|---|---|---|---|")
    short = made_up(texts, words=30, count=3_800)
    plain_double_loop(short[:350])
    for count in (350, 1_000, 3_800):
        timed("sequence", short[:count], "30 words")
    store = made_up(texts, words=16, count=10_000)
    for name, threshold in (
        ("exact", None),
        ("normalised", None),
        ("sequence", None),
        ("lexical", None),
        ("lexical", 0.6),
    ):
        timed(name, store, "16 words", threshold)


def made_up(texts: Sequence[str], *, words: int, count: int) -> list[Memory]:
    """Texts of about the words and word pairs of real ones, every 20th a near copy of the last."""
    rng = random.Random(1)
    following: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        said = text.split()
        for word, after in zip(said, [*said[1:], said[0]], strict=True):
            following[word].append(after)
    made: dict[str, None] = {}
    last: list[str] = []
    while len(made) < count:
        if last and rng.random() < 0.05:
            last[rng.randrange(len(last))] = "changed"
        else:
            last = list(islice(walk(following, rng), words))
        made[" ".join(last)] = None
    return [Memory(id=f"m{number:06d}", content=text) for number, text in enumerate(made)]


def walk(following: Mapping[str, Sequence[str]], rng: random.Random) -> Iterable[str]:
    known = list(following)
    word = rng.choice(known)
    while True:
        # one word in seven is a rare one, as names and numbers are
        yield word if rng.random() < 0.86 else f"{word[:3]}{rng.randrange(2_000)}"
        word = rng.choice(following[word])


def timed(name: str, memories: Sequence[Memory], of: str, threshold: float | None = None) -> None:
    detector = open_detector(name, DetectorOptions(threshold=threshold))
    start = time.perf_counter()
    pairs = sum(1 for _ in detector.detect(memories, Tally()))
    seconds = time.perf_counter() - start
    shown = f"{name} {threshold or ''}".strip()
    each = 2 * pairs / len(memories)
    print(f"| {shown} | {len(memories):,} of {of} | {seconds:.3f} | {pairs} | {each:.2f} |")


def plain_double_loop(memories: Sequence[Memory]) -> None:
    start = time.perf_counter()
    pairs = 0
    for one, other in combinations(memories, 2):
        a, b = one.content, other.content
        ratio = max(
            difflib.SequenceMatcher(None, a, b, autojunk=False).ratio(),
            difflib.SequenceMatcher(None, b, a, autojunk=False).ratio(),
        )
        pairs += ratio >= 0.75
    seconds = time.perf_counter() - start
    each = 2 * pairs / len(memories)
    shown = f"{len(memories):,} of 30 words"
    print(f"| difflib, plain double loop 0.75 | {shown} | {seconds:.3f} | {pairs} | {each:.2f} |")


if __name__ == "__main__":
    main()
