"""Measures the pair model: size, load time, and pairs a second beside the rules.

    python -m benchmarks.pair_model [--pairs 600] [--out NAME]

Pairs are those of `benchmarks/pairs`, by words a side. Ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.measure import keep
from echoless.core.model import Memory, Pair
from echoless.core.run_notes import Tally
from echoless.matching.pair_model import PairScorer, open_network
from echoless.matching.pair_model.network import WEIGHTS
from echoless.matching.rule_judge import RuleJudge

PAIRS = Path(__file__).parent / "pairs"
OPEN = (
    "import time; start = time.perf_counter(); "
    "from echoless.matching.pair_model import open_network; network = open_network(); "
    "network.logits(network.tokens('one'), network.tokens('two')); "
    "print(time.perf_counter() - start)"
)


def texts() -> list[tuple[str, str]]:
    """Returns the labelled pairs of the project."""
    pairs = []
    for path in sorted(PAIRS.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            item = json.loads(line)
            pairs.append((item["a"], item["b"]))
    return pairs


def size(pair: tuple[str, str]) -> float:
    """Returns the mean number of words of the two texts."""
    return (len(pair[0].split()) + len(pair[1].split())) / 2


def rate(scorer: PairScorer, pairs: list[tuple[str, str]], threads: int) -> float:
    """Returns pairs a second."""
    start = time.perf_counter()
    scorer.score(pairs, Tally(), threads=threads)
    return len(pairs) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--out", default="")
    asked = parser.parse_args()
    loads = [
        float(subprocess.run([sys.executable, "-c", OPEN], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    files = sorted(WEIGHTS.iterdir())
    scorer, every = PairScorer(open_network), texts()
    lines = [
        "| file | MB |",
        "| --- | --- |",
        *(f"| {path.name} | {path.stat().st_size / 1e6:.1f} |" for path in files),
        "",
        f"From start to the first score, median of five processes: {median(loads):.2f} s.",
        "",
        "| words a side | pairs | pairs a second, one thread | two threads |",
        "| --- | --- | --- | --- |",
    ]
    for low, high in ((4, 8), (8, 14), (14, 26), (26, 60)):
        some = [pair for pair in every if low <= size(pair) < high][: asked.pairs]
        if some:
            one, two = rate(scorer, some, 1), rate(scorer, some, 2)
            lines.append(f"| {low} to {high} | {len(some)} | {one:.0f} | {two:.0f} |")
    made = [
        Pair(Memory(id="a", content=a), Memory(id="b", content=b), {"lexical": 0.5})
        for a, b in every
    ]
    start = time.perf_counter()
    RuleJudge().judge_all(made)
    ruled = len(made) / (time.perf_counter() - start)
    lines += ["", f"Rules, on all {len(made):,} pairs: {ruled:,.0f} a second."]
    command = "python -m benchmarks.pair_model"
    if asked.out:
        keep(asked.out, "The pair model: size and speed", command, "\n".join(lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
