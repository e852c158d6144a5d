#!/usr/bin/env bash
# Package: graphiti-core 0.31.2 (a memory graph for agents).
# Question: which new names does it join to a known entity before it asks a model?
# One would guess: equal names alone. A name with another year or room goes to the model.
# What happens: in a longer name, another last digit is joined, and no model is asked.
# Names are compared by their runs of three characters; the last digit is in one run only.
# The known entity then takes the attributes of the new one.
# The same change in the middle of a name is in three runs, and goes to the model.
# Why it matters: the reports of two years, or two houses of a street, become one memory.
# What was known of the first is overwritten, and nothing asks.
# Seen:
#   joined, no model asked: 'Quarterly sales report 2025' <- 'Quarterly sales report 2026'
#   joined, no model asked: 'Mary Johnson, Maple Street 12' <- 'Mary Johnson, Maple Street 14'
#   joined, no model asked: 'Conference room number 12' <- 'Conference room number 13'
#   left to the model: 'Year 2025 quarterly sales report' <- 'Year 2026 quarterly sales report'
#   left to the model: 'Tea with Anna' <- 'Dentist in York'
#   status of 'Quarterly sales report 2025' is now: not begun
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'graphiti-core==0.31.2' 'httpx==0.28.1'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from graphiti_core.nodes import EntityNode
from graphiti_core.utils.maintenance.dedup_helpers import (
    DedupResolutionState,
    _build_candidate_indexes,
    _resolve_with_similarity,
)


def entity(name, status):
    return EntityNode(name=name, group_id="memories", labels=["Entity"], attributes={"status": status})


def resolve(known_name, new_name):
    known, new = entity(known_name, "sent"), entity(new_name, "not begun")
    state = DedupResolutionState(resolved_nodes=[None], uuid_map={}, unresolved_indices=[])
    _resolve_with_similarity([new], _build_candidate_indexes([known]), state)
    joined, asked = state.resolved_nodes[0] is known, state.unresolved_indices == [0]
    assert joined != asked
    print(f"{'joined, no model asked' if joined else 'left to the model'}: {known_name!r} <- {new_name!r}")
    return joined, known


last = [
    resolve("Quarterly sales report 2025", "Quarterly sales report 2026"),
    resolve("Mary Johnson, Maple Street 12", "Mary Johnson, Maple Street 14"),
    resolve("Conference room number 12", "Conference room number 13"),
]
middle, _ = resolve("Year 2025 quarterly sales report", "Year 2026 quarterly sales report")
unlike, _ = resolve("Tea with Anna", "Dentist in York")
report = last[0][1]
print(f"status of {report.name!r} is now: {report.attributes['status']}")

if not all(joined for joined, _ in last):
    raise SystemExit("DIFFERENT: names that differ in the last digit are no longer joined at once.")
if middle or unlike:
    raise SystemExit("DIFFERENT: a name that differs in its middle is joined too.")
if report.attributes["status"] != "not begun":
    raise SystemExit("DIFFERENT: the known entity keeps its attributes.")
PYTHON
