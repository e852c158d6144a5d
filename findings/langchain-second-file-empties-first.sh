#!/usr/bin/env bash
# Package: langchain-text-splitters 1.1.3.
# Question: one Markdown syntax splitter splits two files. What does each result hold?
# One would guess: each call returns a list of its own.
# What happens: every call returns the same list, and the next call refills it.
# After the second file, the first result holds the pieces of the second file.
# Why it matters: a loader that splits all notes first and stores them then loses notes.
# It stores the last note once for each file, and all the others never.
# The loss is silent, and the store is full of copies.
# Seen:
#   after the first file:  ['\nTea at four\n\n', '\nNo milk\n']
#   first result later:    ['\nDentist on Tuesday\n']
#   second result:         ['\nDentist on Tuesday\n']
#   one list: True
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'langchain-text-splitters==1.1.3'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_text_splitters import ExperimentalMarkdownSyntaxTextSplitter

splitter = ExperimentalMarkdownSyntaxTextSplitter([("#", "title"), ("##", "part")])
first = splitter.split_text("# Mother\n\nTea at four\n\n## Kitchen\n\nNo milk\n")
before = [piece.page_content for piece in first]
second = splitter.split_text("# Health\n\nDentist on Tuesday\n")
after = [piece.page_content for piece in first]
print("after the first file: ", before)
print("first result later:   ", after)
print("second result:        ", [piece.page_content for piece in second])
print("one list:", first is second)

if "Tea at four" not in "".join(before):
    raise SystemExit("DIFFERENT: the first file is not split as before.")
if after == before:
    raise SystemExit("DIFFERENT: the first result keeps its pieces.")
if after != ["\nDentist on Tuesday\n"] or first is not second:
    raise SystemExit("DIFFERENT: the first result changes in another way.")
PYTHON
