#!/usr/bin/env bash
# Package: ladybug 0.22.0 (the graph store in a file that followed Kuzu).
# Question: a fact between two people is merged three times; one of its fields is null.
# One would guess: one edge, or an error, for other graph stores refuse null there.
# What happens: each run adds an edge. A null never equals a null, so none is found.
# With an empty text in place of the null there is one edge.
# On a node the same null raises an error about its key, at the second run.
# Why it matters: facts often have no end date or no source, and those fields are null.
# Every retry of a load then doubles exactly these facts, and says nothing.
# Seen:
#   field empty: 1 edge
#   field null:  3 edges
#   node with a null: refused
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


run("CREATE NODE TABLE Person(name STRING PRIMARY KEY, nick STRING)")
run("CREATE REL TABLE Knows(FROM Person TO Person, fact STRING, source STRING)")
run("CREATE (:Person {name: 'Anna'}), (:Person {name: 'Olga'})")


def edges(source):
    for _ in range(3):
        run(
            "MATCH (a:Person {name: 'Anna'}), (o:Person {name: 'Olga'}) "
            "MERGE (a)-[:Knows {fact: 'plays chess with', source: $source}]->(o)",
            source=source,
        )
    count = run("MATCH (:Person)-[k:Knows]->(:Person) RETURN count(*)")[0][0]
    run("MATCH (:Person)-[k:Knows]->(:Person) DELETE k")
    return count


empty, null = edges(""), edges(None)
print(f"field empty: {empty} edge")
print(f"field null:  {null} edges")
merge_node = "MERGE (:Person {name: 'Ida', nick: NULL})"
run(merge_node)
try:
    run(merge_node)
    node = "taken"
except RuntimeError:
    node = "refused"
print("node with a null:", node)

if empty != 1:
    raise SystemExit("DIFFERENT: a fact without null is not merged.")
if null != 3:
    raise SystemExit("DIFFERENT: a fact with a null is not doubled by each run.")
if node != "refused":
    raise SystemExit("DIFFERENT: a node with a null is merged again without an error.")
PYTHON
