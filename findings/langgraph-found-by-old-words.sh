#!/usr/bin/env bash
# Package: langgraph-checkpoint 4.3.2 (the store in memory, with a vector index).
# Question: a memory is put again under its key. When does its old vector go?
# One would guess: always. A search then sees the value that is there now.
# What happens: a vector goes only when the new value fills the same indexed place.
# Put with `index=False`, or without the indexed field, it keeps the old vector.
# A list that gets shorter keeps the vectors of the entries it lost.
# So the memory comes first, with score 1.0, for words it no longer has.
# Why it matters: a corrected memory still comes for the old question, and looks certain.
# Who puts `index=False` to take a memory out of search does not take it out.
# `delete` before `put` clears it.
# Seen:
#   search 'tea four':       [('a', 1.0, 'tea at four')]
#   put with index=False:    [('a', 1.0, 'garden')]
#   put without the field:   [('a', 1.0, None)]
#   list of two made one:    [('l', 1.0, ['dentist'])]
#   deleted and put again:   [('a', 0.02, 'garden')]
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'langgraph-checkpoint==4.3.2' 'numpy==2.4.6'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from langgraph.store.memory import InMemoryStore

WORDS = ["tea", "four", "dentist", "garden", "milk", "rain"]


def vectors(texts):
    return [[1.0 if word in text else 0.01 for word in WORDS] for text in texts]


def store(field):
    return InMemoryStore(index={"dims": len(WORDS), "embed": vectors, "fields": [field]})


def show(name, memories, query, field):
    found = [
        (item.key, round(item.score, 2), item.value.get(field))
        for item in memories.search(("user",), query=query, limit=3)
    ]
    print(f"{name:<24} {found}")
    return found


notes = store("text")
notes.put(("user",), "a", {"text": "tea at four"})
begin = show("search 'tea four':", notes, "tea four", "text")
notes.put(("user",), "a", {"text": "garden"}, index=False)
hidden = show("put with index=False:", notes, "tea four", "text")
notes.put(("user",), "a", {"summary": "garden"})
moved = show("put without the field:", notes, "tea four", "text")

lists = store("facts[*]")
lists.put(("user",), "l", {"facts": ["milk", "tea at four"]})
lists.put(("user",), "l", {"facts": ["dentist"]})
shorter = show("list of two made one:", lists, "tea four", "facts")

notes.delete(("user",), "a")
notes.put(("user",), "a", {"text": "garden"})
clean = show("deleted and put again:", notes, "tea four", "text")

if begin[0][1] < 0.99 or clean[0][1] > 0.1:
    raise SystemExit("DIFFERENT: an ordinary put is not found as expected.")
if hidden[0][1] is None or hidden[0][1] < 0.99:
    raise SystemExit("DIFFERENT: a put with index=False drops the old vector.")
if moved[0][1] is None or moved[0][1] < 0.99:
    raise SystemExit("DIFFERENT: a put without the indexed field drops the old vector.")
if shorter[0][1] is None or shorter[0][1] < 0.99:
    raise SystemExit("DIFFERENT: a shorter list drops the vectors of the lost entries.")
PYTHON
