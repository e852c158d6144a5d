#!/usr/bin/env bash
# Package: memori 3.3.6 on SQLite.
# Question: facts of one user differ in a decimal point, a minus sign or a space. What is kept?
# One would guess: each, as their texts differ and so do their meanings.
# What happens: before comparing, all but letters a to z and digits is struck out.
#   So 1.5 mg and 15 mg are one fact, and so are -5 and 5, "C" and "C++".
#   "now here" and "nowhere" are one too. The first text stays and its counter rises.
# Why it matters: the correction of a wrong number is counted as a proof of it.
#   It is never stored, and the wrong fact ranks higher, as it was "said twice".
# Seen:
#   2 x Ann takes 1.5 mg of the drug each day
#   2 x The freezer must stay at -5 degrees
#   2 x Ann writes her programs in C
#   2 x The spare key is now here
#   facts given 8, facts kept 4
# Date: 2026-11-30.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -qq --no-compile --disable-pip-version-check \
    'memori==3.3.6' 'SQLAlchemy==2.1.9'
cd "$work"
HOME="$work" "$work/venv/bin/python" -W ignore - <<'PY'
import contextlib
import io
import sqlite3
import sys

from memori import Memori


def check(holds, what):
    if not holds:
        sys.exit(f"DIFFERENT: {what}")


FACTS = (
    "Ann takes 1.5 mg of the drug each day",
    "Ann takes 15 mg of the drug each day",
    "The freezer must stay at -5 degrees",
    "The freezer must stay at 5 degrees",
    "Ann writes her programs in C",
    "Ann writes her programs in C++",
    "The spare key is now here",
    "The spare key is nowhere",
)
memory = Memori(conn=lambda: sqlite3.connect("memori.db"))
with contextlib.redirect_stdout(io.StringIO()):
    memory.config.storage.build()
driver = memory.config.storage.driver
ann = driver.entity.create("ann")
for number, fact in enumerate(FACTS):
    driver.entity_fact.create(ann, [fact], [[1.0, float(number)]])
memory.close()

rows = sqlite3.connect("memori.db").execute(
    "SELECT num_times, content FROM memori_entity_fact ORDER BY id"
).fetchall()
for times, content in rows:
    print(times, "x", content)
print(f"facts given {len(FACTS)}, facts kept {len(rows)}")
check(rows == [(2, fact) for fact in FACTS[::2]], "the facts are told apart")
print("SAME: the second of each pair was counted as the first")
PY
