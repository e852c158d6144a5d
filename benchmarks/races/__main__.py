"""Races of two commands on one store: `python -m benchmarks.races [--times 20]`.

Every pair of import, export, backup, apply, remember, undo, purge and check starts within 0.2 s of
each other on a fresh copy of a prepared folder, as two real processes. After both ended each exit
code must be honest and the store in order: what both say and what is there has to be what one of
the two orders gives, or, where a command ended with "the store cannot do it now" (4), what the
other gives alone. Then everything that stands is undone, which must lead back to the beginning.
With `--kill` one of the two gets SIGKILL at a random moment of its life, and `check` has to mend
what it left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.races.page import Row, write
from benchmarks.races.running import Track, races
from benchmarks.races.scenes import PAIRS
from benchmarks.races.worlds import STORES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20, help="races of each pair")
    parser.add_argument("--store", default="sqlite,jsonl", help=f"of {', '.join(STORES)}")
    parser.add_argument("--pair", "--pairs", dest="pairs", help="such as import+export,undo+undo")
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--nth", type=int, help="only the race with this number, from 0")
    parser.add_argument("--kill", action="store_true", help="one of the two gets SIGKILL")
    parser.add_argument("--out", type=Path, help="the page; added to if it is there")
    chosen = parser.parse_args()
    pairs = _pairs(chosen.pairs)
    rows = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="races-") as folder:
        for store in chosen.store.split(","):
            track = Track.made(STORES[store], Path(folder) / store)
            for pair in pairs:
                numbers = range(chosen.times) if chosen.nth is None else [chosen.nth]
                row = Row(store, pair, chosen.kill)
                for race in races(track, pair, numbers, seed=chosen.seed, kill=chosen.kill):
                    row.add(race)
                rows.append(row)
                print(row.line(), flush=True)
                for fault in row.violations():
                    print(f"    {fault}", flush=True)
    print(f"{time.monotonic() - started:,.0f} s")
    if chosen.out:
        command = " ".join(["python -m benchmarks.races", *sys.argv[1:]])
        write(chosen.out, command, rows)
    sys.exit(1 if any(row.faulty for row in rows) else 0)


def _pairs(asked: str | None) -> Iterator[tuple[str, str]] | list[tuple[str, str]]:
    if asked is None:
        return list(PAIRS)
    wanted = [tuple(each.split("+")) for each in asked.split(",")]
    return [pair for pair in PAIRS if pair in wanted or pair[::-1] in wanted]


if __name__ == "__main__":
    main()
