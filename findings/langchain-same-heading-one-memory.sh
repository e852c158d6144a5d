#!/usr/bin/env bash
# Package: langchain-text-splitters 1.1.3.
# Question: a log has three sections headed "Note", one after another. How many pieces come?
# One would guess: three, for each section has a heading line of its own.
# What happens: one. Neighbours under equal headings are put together as one section.
# With another heading between them they stay apart, so the count depends on the order.
# Why it matters: three memories become one text with one vector.
# A copy inside it is never compared, and deleting one fact deletes all three.
# Adding an unrelated section between them changes which texts are the same as before.
# Seen:
#   in a row:  ['tea at four  \nmilk at five  \ntea at four', 'rain']
#   apart:     ['tea at four', 'rain', 'milk at five', 'rain', 'tea at four']
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'langchain-text-splitters==1.1.3'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_text_splitters import MarkdownHeaderTextSplitter

splitter = MarkdownHeaderTextSplitter([("#", "title"), ("##", "kind")])


def pieces(*sections):
    text = "# Log\n\n" + "".join(f"## {kind}\n\n{said}\n\n" for kind, said in sections)
    return [piece.page_content for piece in splitter.split_text(text)]


tea, milk, rain = ("Note", "tea at four"), ("Note", "milk at five"), ("Weather", "rain")
in_a_row, apart = pieces(tea, milk, tea, rain), pieces(tea, rain, milk, rain, tea)
print("in a row: ", in_a_row)
print("apart:    ", apart)

if len(in_a_row) != 2 or not all(said in in_a_row[0] for said in ("tea at four", "milk at five")):
    raise SystemExit("DIFFERENT: sections with equal headings in a row stay apart.")
if len(apart) != 5:
    raise SystemExit("DIFFERENT: sections with another one between them are joined too.")
PYTHON
