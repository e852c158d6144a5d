#!/usr/bin/env bash
# Packages: milvus-lite 3.2.2 with pymilvus 3.0.2 (a vector store in a file).
# Question: an id that is there is inserted, and another is upserted. What is in the rows?
# One would guess: insert keeps both rows or refuses; upsert replaces the whole row.
# What happens: it is the other way round.
# Insert replaces the row, counts it as inserted, and all fields of the old one are gone.
# Upsert replaces only the fields it names; fields of the old memory stay in the new one.
# In one insert, the last of two rows with one id is kept; both are counted.
# Why it matters: code that inserts to be safe from overwriting does overwrite.
# Code that upserts a corrected memory keeps an end date that no longer holds.
# Seen:
#   insert says 1 inserted, row: {'text': 'moved to Leeds'}
#   upsert, row: {'text': 'moved to Leeds', 'until': '2026-01'}
#   insert of one id twice says 2 inserted, rows: [{'text': 'second'}]
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'milvus-lite==3.2.2' 'pymilvus==3.0.2'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import logging

from pymilvus import MilvusClient

logging.disable(logging.CRITICAL)
client = MilvusClient("./memories.db")
client.create_collection(
    "memory", dimension=2, id_type="string", max_length=16, consistency_level="Strong"
)


def rows(name):
    found = client.query("memory", filter=f"id == '{name}'", output_fields=["*"])
    return [{key: row[key] for key in sorted(row) if key not in ("id", "vector")} for row in found]


old = {"vector": [1.0, 0.0], "text": "moved to York", "until": "2026-01"}
new = {"vector": [0.0, 1.0], "text": "moved to Leeds"}
client.insert("memory", [{"id": "a"} | old, {"id": "b"} | old])
inserted = client.insert("memory", [{"id": "a"} | new])["insert_count"]
client.upsert("memory", [{"id": "b"} | new])
a, b = rows("a"), rows("b")
print(f"insert says {inserted} inserted, row: {a[0] if len(a) == 1 else a}")
print(f"upsert, row: {b[0] if len(b) == 1 else b}")
twice = [
    {"id": "c", "vector": [1.0, 0.0], "text": "first"},
    {"id": "c", "vector": [1.0, 0.0], "text": "second"},
]
counted = client.insert("memory", twice)["insert_count"]
c = rows("c")
print(f"insert of one id twice says {counted} inserted, rows: {c}")
client.close()

if inserted != 1 or a != [{"text": "moved to Leeds"}]:
    raise SystemExit("DIFFERENT: insert of a known id does not replace its row.")
if b != [{"text": "moved to Leeds", "until": "2026-01"}]:
    raise SystemExit("DIFFERENT: upsert does not keep the fields it was not given.")
if counted != 2 or c != [{"text": "second"}]:
    raise SystemExit("DIFFERENT: one id twice in an insert does not leave the last row.")
PYTHON
