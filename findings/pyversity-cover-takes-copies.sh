#!/usr/bin/env bash
# Package: pyversity 0.2.0 (picks varied results).
# Question: three exact copies lead a result of eight. Which four does each strategy pick?
# One would guess: every strategy takes one copy, then other texts, at highest diversity.
# What happens: the strategy `COVER` takes all three copies first, at diversity 0.5 and 1.
# A copy counts as something that covers the pool well, and the pool holds the copies.
# The other four strategies take one copy at diversity 1.
# Why it matters: a step added against repetition fills the prompt with one memory.
# The more often a text is stored, the surer it is to be picked again.
# Seen at diversity 1.0 (0, 1 and 2 are the copies):
#   mmr [0, 4, 3, 6]
#   msd [0, 4, 3, 7]
#   cover [0, 1, 2, 6]
#   dpp [0, 4, 3, 7]
#   ssd [0, 4, 3, 7]
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'pyversity==0.2.0' 'numpy==2.4.6'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from pyversity import Strategy, diversify

random = np.random.default_rng(3)
topic = random.normal(size=32)
texts = np.stack([topic + 1.5 * random.normal(size=32) for _ in range(6)])
pool = np.vstack([texts[:1], texts[:1], texts])
scores = np.array([0.80, 0.80, 0.80, 0.79, 0.78, 0.77, 0.76, 0.75])
COPIES = {0, 1, 2}


def copies_picked(strategy, diversity):
    picked = diversify(pool, scores, k=4, strategy=strategy, diversity=diversity).indices
    picked = [int(place) for place in picked]
    if diversity == 1.0:
        print(strategy.value, picked)
    return picked[:3], len(COPIES & set(picked))


for strategy in Strategy:
    half, _ = copies_picked(strategy, 0.5)
    full, number = copies_picked(strategy, 1.0)
    if strategy is Strategy.COVER:
        if set(half) != COPIES or set(full) != COPIES:
            raise SystemExit("DIFFERENT: COVER no longer takes the three copies first.")
    elif number != 1:
        raise SystemExit(f"DIFFERENT: {strategy.value} takes {number} copies at diversity 1.")
PYTHON
