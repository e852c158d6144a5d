"""The sequence profile against a plain double loop: `python -m benchmarks.sequence`.

350 memories of 30 words through `audit --profile wt-memory`, as a whole process, and the same pairs
by `difflib.SequenceMatcher` in a plain double loop, in one run. The pairs must be the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

from benchmarks.data import notes
from benchmarks.measure import echoless, keep
from echoless import Memory, open_store
from echoless.blocking.detectors import DetectorOptions, open_detector
from echoless.core.run_notes import Tally

THRESHOLD = 0.75


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=350)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument(
        "--large", type=int, default=10_000, help="memories the detector takes alone"
    )
    chosen = parser.parse_args()
    memories = notes(chosen.size, chosen.words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with open_store(f"sqlite:///{path}", create=True) as store, store.writing():
            store.put(memories)
        audits = [
            echoless("audit", str(path), "--profile", "wt-memory", "--json") for _ in range(3)
        ]
    audit = sorted(audits, key=lambda cost: cost.wall)[1]
    start = time.perf_counter()
    screened = _screened(memories)
    detector = time.perf_counter() - start
    plain, single, loop = _plain(memories)
    grouped = json.loads(audit.output)["counts"]["participants"]
    many = notes(chosen.large, chosen.words)
    start = time.process_time()
    pairs = len(_screened(many))
    large = time.process_time() - start
    versus = f"{loop / audit.wall:.0f} times as long, one direction {single / audit.wall:.0f} times"
    body = f"""
| what | wall s | the loop takes |
|---|---|---|
| plain double loop of difflib, both directions (what the ratio is defined by) | {loop:.2f} | 1 |
| plain double loop of difflib, one direction (the classic) | {single:.2f} | - |
| `audit --profile wt-memory`, whole process, median of 3 | {audit.wall:.2f} | {versus} |
| the detector alone | {detector:.3f} | {loop / detector:.0f} times as long |

Pairs above {THRESHOLD}: {len(plain)} by the loop, {len(screened)} by the detector, the same pairs
with the same ratios: {"yes" if plain == screened else "NO"}. The audit groups {grouped} memories.

Of {chosen.large:,} memories the detector alone takes {large:.1f} s of the processor and finds
{pairs:,} pairs.
"""
    keep(
        "sequence",
        f"{chosen.size} memories of {chosen.words} words, sequence ratio above {THRESHOLD}",
        "python -m benchmarks.sequence",
        body,
    )
    sys.exit(plain != screened)


def _plain(memories: list[Memory]) -> tuple[dict[tuple[str, str], float], float, float]:
    """Pairs by the loop, seconds of one direction, seconds of both."""
    start = time.perf_counter()
    forth = {(a.id, b.id): _ratio(a, b) for a, b in combinations(memories, 2)}
    single = time.perf_counter() - start
    back = {(a.id, b.id): _ratio(b, a) for a, b in combinations(memories, 2)}
    both = time.perf_counter() - start
    ratios = {pair: max(forth[pair], back[pair]) for pair in forth}
    return {pair: r for pair, r in ratios.items() if r > THRESHOLD}, single, both


def _ratio(one: Memory, other: Memory) -> float:
    return SequenceMatcher(None, one.content, other.content, autojunk=False).ratio()


def _screened(memories: list[Memory]) -> dict[tuple[str, str], float]:
    detector = open_detector("sequence", DetectorOptions(threshold=THRESHOLD, inclusive=False))
    return {(c.a, c.b): c.similarity for c in detector.detect(memories, Tally())}


if __name__ == "__main__":
    main()
