#!/usr/bin/env bash
# Package: ladybug 0.22.0 (the graph store in a file that followed Kuzu).
# Question: one batch merges an id several times, with a counter. What does it count?
# One would guess: `ON CREATE` sets 1, and each `ON MATCH` after it adds 1.
# What happens: each `ON MATCH` sees the row as it was before the batch.
# A row new in the batch had no counter then. Null plus one is null, and overwrites the 1.
# The counter of that row is null for ever. A known row named three times gains 1.
# A text set in the same batch keeps the first of two when the row is new.
# It keeps the last of two when the row is known.
# Merged one by one, all is as guessed.
# Why it matters: a batch of extracted facts often names one thing twice.
# Its count is lost, and the same batch run again leaves another text.
# Seen:
#   one by one:        [['tea', 3]]
#   one batch:         [['milk', 1], ['tea', None]]
#   batch once more:   [['milk', 2], ['tea', None]]
#   milk three times:  [['milk', 3], ['tea', None]]
#   text, new row:     first
#   text, known row:   second
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'ladybug==0.22.0'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import ladybug

link = ladybug.Connection(ladybug.Database("graph"))


def run(query, **values):
    result, rows = link.execute(query, values or None), []
    while result.has_next():
        rows.append(result.get_next())
    return rows


def merge(table, ids):
    run(
        f"UNWIND $ids AS i MERGE (n:{table} {{id: i}}) "
        "ON CREATE SET n.said = 1 ON MATCH SET n.said = n.said + 1",
        ids=ids,
    )
    return run(f"MATCH (n:{table}) RETURN n.id, n.said ORDER BY n.id")


def text():
    rows = [{"id": "x", "text": "first"}, {"id": "x", "text": "second"}]
    run("UNWIND $rows AS r MERGE (n:Batch {id: r.id}) SET n.text = r.text", rows=rows)
    return run("MATCH (n:Batch {id: 'x'}) RETURN n.text")[0][0]


for name in ("Alone", "Batch"):
    run(f"CREATE NODE TABLE {name}(id STRING PRIMARY KEY, said INT64, text STRING)")
for one in ("tea", "tea", "tea"):
    alone = merge("Alone", [one])
batch = merge("Batch", ["tea", "tea", "milk"])
again = merge("Batch", ["tea", "tea", "milk"])
known = merge("Batch", ["milk", "milk", "milk"])
new_text, known_text = text(), text()
print("one by one:       ", alone)
print("one batch:        ", batch)
print("batch once more:  ", again)
print("milk three times: ", known)
print("text, new row:    ", new_text)
print("text, known row:  ", known_text)

if alone != [["tea", 3]]:
    raise SystemExit("DIFFERENT: one by one, the counter is not 3.")
if batch != [["milk", 1], ["tea", None]] or again != [["milk", 2], ["tea", None]]:
    raise SystemExit("DIFFERENT: an id twice in a batch is counted in another way.")
if known[0] != ["milk", 3]:
    raise SystemExit("DIFFERENT: a known row named three times gains another number.")
if (new_text, known_text) != ("first", "second"):
    raise SystemExit("DIFFERENT: both runs of the batch keep the same text.")
PYTHON
