#!/usr/bin/env bash
# Packages: usearch 2.26.6 and voyager 2.2.3 (two graph indexes for vectors).
# Question: one memory is stored 600 times among 100 others. Are the others still found?
# One would guess: yes. Copies fill the first places, but only near their own text.
# What happens: most others can no longer be found, even by their own exact vector.
# The copies take up each other's links, and a search does not get out of the crowd.
# A plain scan of the same index finds all 100, so every row is there.
# Copies that differ by a hair do no such harm. It is the exact copies that do.
# Why it matters: a greeting or a status line saved over and over hides unrelated memories.
# The search raises nothing and still returns rows. One copy in place of 600 heals it.
# Seen (the two shares with 600 copies may vary a little with the processor):
#   usearch, 1 copy: 100% of the others find themselves
#   usearch, 600 copies: 22% of the others find themselves
#   usearch, 600 copies, plain scan: 100% of the others find themselves
#   usearch, 600 nearly equal: 98% of the others find themselves
#   voyager, 1 copy: 100% of the others find themselves
#   voyager, 600 copies: 13% of the others find themselves
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'usearch==2.26.6' 'voyager==2.2.3' 'numpy==2.4.6'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import voyager
from usearch.index import Index

DIM, OTHERS, SEEDS = 64, 100, (1, 2, 3, 4, 5)


def memories(copies, seed, jitter=0.0):
    random = np.random.default_rng(seed)
    others = random.normal(size=(OTHERS, DIM)).astype(np.float32)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    said_often = random.normal(size=DIM).astype(np.float32)
    said_often /= np.linalg.norm(said_often)
    rows = np.vstack([np.repeat(said_often[None], copies, 0), others])
    order = random.permutation(len(rows))
    rows, places = rows[order], np.argsort(order)[copies:]
    rows = rows + jitter * random.normal(size=rows.shape).astype(np.float32)
    return rows, others, places


def with_usearch(copies, exact=False, jitter=0.0):
    found = []
    for seed in SEEDS:
        rows, others, places = memories(copies, seed, jitter)
        index = Index(ndim=DIM, metric="cos", dtype="f32")
        index.add(np.arange(len(rows)), rows, threads=1)
        for vector, place in zip(others, places):
            keys = index.search(vector, 1, exact=exact, threads=1).keys
            found.append(len(keys) > 0 and int(keys[0]) == int(place))
    return float(np.mean(found))


def with_voyager(copies):
    found = []
    for seed in SEEDS:
        rows, others, places = memories(copies, seed)
        index = voyager.Index(voyager.Space.Cosine, DIM)
        index.add_items(rows, ids=np.arange(len(rows)), num_threads=1)
        keys, _ = index.query(others, k=1, num_threads=1)
        found.extend(keys[:, 0] == places)
    return float(np.mean(found))


shares = {
    "usearch, 1 copy": with_usearch(1),
    "usearch, 600 copies": with_usearch(600),
    "usearch, 600 copies, plain scan": with_usearch(600, exact=True),
    "usearch, 600 nearly equal": with_usearch(600, jitter=1e-4),
    "voyager, 1 copy": with_voyager(1),
    "voyager, 600 copies": with_voyager(600),
}
for name, share in shares.items():
    print(f"{name}: {share:.0%} of the others find themselves")

one, many, scan, near, one_v, many_v = shares.values()
if not (one > 0.98 and one_v > 0.98 and scan == 1.0 and near > 0.9):
    raise SystemExit("DIFFERENT: without exact copies, or by a scan, not all memories are found.")
if not (many < 0.7 and many_v < 0.7):
    raise SystemExit("DIFFERENT: 600 exact copies no longer hide the other memories.")
PYTHON
