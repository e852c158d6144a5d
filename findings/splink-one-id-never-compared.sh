#!/usr/bin/env bash
# Package: splink 5.0.0 (links records that mean the same).
# Question: equal records came from two files, and some share an id. Which pairs are found?
# One would guess: an error about the repeated id, or all pairs of equal records.
# What happens: no error. Rows with one id are never compared with each other.
# Pairs with a third row are found, but each of them four times in place of once.
# Why it matters: exports merged from two programs often count from 1 again.
# The plainest copies are then the ones that stay, and counts of pairs are too high.
# Seen:
#   other ids: 1-2 once, 1-3 once, 2-3 once
#   one id twice: 1-3 4 times
#   only two rows, one id: no pair
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'splink==5.0.0' 'pandas==2.3.3'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import logging
import warnings
from collections import Counter

import pandas
import splink.comparison_library as compare
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
settings = SettingsCreator(
    link_type="dedupe_only",
    comparisons=[compare.ExactMatch("name"), compare.ExactMatch("city")],
    blocking_rules_to_generate_predictions=[block_on("name")],
)


def pairs(*ids):
    people = pandas.DataFrame([{"unique_id": i, "name": "Mary Tea", "city": "York"} for i in ids])
    linker = Linker(DuckDBAPI().register(people), settings)
    found = linker.inference.predict().as_pandas_dataframe()
    return Counter(f"{a}-{b}" for a, b in zip(found["unique_id_l"], found["unique_id_r"]))


def words(found):
    times = {1: "once"}
    each = [f"{pair} {times.get(n, f'{n} times')}" for pair, n in sorted(found.items())]
    return ", ".join(each) or "no pair"


apart, shared, alone = pairs(1, 2, 3), pairs(1, 1, 3), pairs(1, 1)
print("other ids:", words(apart))
print("one id twice:", words(shared))
print("only two rows, one id:", words(alone))

if apart != {"1-2": 1, "1-3": 1, "2-3": 1}:
    raise SystemExit("DIFFERENT: records with other ids are paired in another way.")
if alone:
    raise SystemExit("DIFFERENT: rows with one id are compared with each other.")
if set(shared) != {"1-3"} or shared["1-3"] < 2:
    raise SystemExit("DIFFERENT: pairs with a repeated id are counted in another way.")
PYTHON
