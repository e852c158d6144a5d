"""Search before and after `recall dedup --execute`: `python -m benchmarks.recall_search`.

A Recall database with planted copies, some exact, some with words of noise behind the text and a
vector close to the original's. For each query, words of a clean text, counts at which place of the
system's own search that text stands (a copy of it in the same words is as good). Deduplication
must not push it down: where the longer text of a pair wins, noise hides the clean record.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import memories
from benchmarks.measure import Cost, echoless, keep
from echoless import open_store
from echoless.core.text import loose
from echoless_programs.recall.search import search_text
from echoless_programs.stores.recall import RecallStore

DIMENSIONS = 64
DEPTH = 100
NOISE = (
    "see thread above",
    "copied from the session log",
    "tool output follows",
    "assistant said this again in the afternoon",
    "summary generated automatically please ignore the footer",
    "end of message",
)


@dataclass(frozen=True, slots=True)
class State:
    """What the queries found in one state of the database."""

    name: str
    rank: float
    hits: int
    visible: int
    cost: Cost | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recall.db"
        clean = build(path, chosen.size, random.Random(7))
        queries = asked(clean, chosen.queries, random.Random(11))
        states = [measured("before", path, queries, None)]
        for name, flags in (
            ("after `dedup --execute`", ()),
            ("after `dedup --execute --no-guards`", ("--no-guards",)),
        ):
            copy = Path(folder) / f"{len(states)}.db"
            shutil.copy(path, copy)
            cost = echoless(
                "recall", "dedup", "--execute", "--db", str(copy), *flags,
                environment={"ECHOLESS_ENCODER": "none", "ECHOLESS_CACHE_DIR": f"{folder}/cache"},
            )  # fmt: skip
            states.append(measured(name, copy, queries, cost))
    keep(
        "recall_search",
        f"Search in a Recall database of {chosen.size:,} records",
        f"python -m benchmarks.recall_search --size {chosen.size} --queries {chosen.queries}",
        body(states, len(queries)),
    )
    if states[1].rank < states[0].rank:
        raise SystemExit("The mean reciprocal rank fell.")


def build(path: Path, size: int, chance: random.Random) -> list[str]:
    """Fill a database; the texts that have copies."""
    with open_store(f"recall:///{path}", create=True):
        pass
    texts = list(
        dict.fromkeys(m.content for m in memories(size, repeated=0) if len(m.content) > 40)
    )
    originals = texts[: size * 7 // 10]
    copied = chance.sample(originals, min(len(originals), size * 3 // 10))
    exact, noisy = copied[: len(copied) // 2], copied[len(copied) // 2 :]
    vectors = {text: _unit(chance) for text in originals}
    rows = [(text, vectors[text]) for text in originals]
    rows += [(f" {text.upper()} ", vectors[text]) for text in exact]
    while len(rows) < size:
        text = noisy[len(rows) % len(noisy)]
        noise = " ".join(chance.sample(NOISE, chance.randint(1, 3)))
        rows.append((f"{text} {noise}", _near(vectors[text], chance)))
    chance.shuffle(rows)
    db = sqlite3.connect(path)
    with db:
        for number, (text, vector) in enumerate(rows, 1):
            day = f"2026-{1 + number % 9:02d}-{1 + number % 28:02d} 10:00:00"
            db.execute(
                "INSERT INTO breadcrumbs (id, content, created_at) VALUES (?, ?, ?)",
                (number, text, day),
            )
            db.execute(
                "INSERT INTO embeddings (source_table, source_id, dimensions, embedding)"
                " VALUES ('breadcrumbs', ?, ?, ?)",
                (number, DIMENSIONS, struct.pack(f"<{DIMENSIONS}f", *vector)),
            )
    db.close()
    return copied


def _unit(chance: random.Random) -> list[float]:
    row = [chance.gauss(0, 1) for _ in range(DIMENSIONS)]
    length = sum(x * x for x in row) ** 0.5
    return [x / length for x in row]


def _near(vector: list[float], chance: random.Random) -> list[float]:
    """A vector with a cosine of about .97 to another."""
    other = _unit(chance)
    return [x + 0.25 * y for x, y in zip(vector, other, strict=True)]


def asked(clean: list[str], number: int, chance: random.Random) -> list[tuple[str, str]]:
    """Queries with the text each is about: two of its longer words."""
    queries = []
    for text in chance.sample(clean, number):
        words = sorted({w for w in loose(text).replace(".", " ").split() if w.isalpha()})
        words = [w for w in words if len(w) > 3] or words
        queries.append((" ".join(chance.sample(words, min(2, len(words)))), text))
    return queries


def measured(name: str, path: Path, queries: list[tuple[str, str]], cost: Cost | None) -> State:
    with RecallStore.open(str(path)) as store:
        places = [_place(store, query, text) for query, text in queries]
        visible = store.count() - len(store.ledger.marks())
    ranks = [1 / place for place in places if place]
    return State(name, sum(ranks) / len(queries), len(ranks), visible, cost)


def _place(store: RecallStore, query: str, text: str) -> int:
    """The place of the text among the hits, from 1; 0 where it is not among them.

    Equal ranks share a place: which of them comes first is a matter of numbers, and a text with
    copies would have more tickets in that draw.
    """
    hits = search_text(store, query, limit=DEPTH)
    mine = next((hit for hit in hits if loose(hit.content) == loose(text)), None)
    return 0 if mine is None else 1 + sum(hit.rank < mine.rank for hit in hits)


def body(states: list[State], queries: int) -> str:
    rows = [
        f"| {s.name} | {s.rank:.4f} | {s.hits} of {queries} | {s.visible:,} | "
        + (f"{s.cost.wall:.1f} | {s.cost.peak_mb:.0f} |" if s.cost else "| |")
        for s in states
    ]
    return "\n".join(
        [
            "Breadcrumbs: 70 % originals, 15 % exact copies (other case and gaps), 15 % copies",
            "with noise appended whose vectors have a cosine of about .97 to the original's.",
            f"{queries} queries of two words of a copied text; its place among the first",
            f"{DEPTH} hits of `recall search`, where a copy in the same words is as good.",
            "",
            "| state | mean reciprocal rank | found | visible | wall s | peak MB |",
            "|---|---:|---:|---:|---:|---:|",
            *rows,
            "",
            "At the default profile a copy with noise contains the original whole, so the pair is",
            "held for review and the original stays visible. Without the guards the longer text",
            "wins, as in the original program, whose mean reciprocal rank fell from .1095 to .0179",
            "(on other data).",
        ]
    )


if __name__ == "__main__":
    main()
