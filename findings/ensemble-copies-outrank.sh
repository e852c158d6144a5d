#!/usr/bin/env bash
# Package: langchain-classic 1.0.8 (`EnsembleRetriever`, reciprocal rank fusion).
# Question: one retriever brings a text three times under three ids. Where does it rank?
# One would guess: once, at its best place, since equal texts are shown once.
# What happens: it is shown once, but each copy adds its share to the score.
# Three copies at places 2 to 4 outrank the memory that both retrievers put first.
# The output shows no trace of it: one row, no score.
# With one copy the order is as guessed.
# Why it matters: what was stored often wins over what fits best.
# Removing copies changes the order of answers, not only their number.
# Seen:
#   one copy:     ['lives in Leeds', 'likes tea', 'has a dog']
#   three copies: ['likes tea', 'lives in Leeds', 'has a dog']
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'langchain-classic==1.0.8'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class Fixed(BaseRetriever):
    memories: list

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(id=str(n), page_content=text) for n, text in enumerate(self.memories)]


def order(copies):
    by_words = Fixed(memories=["lives in Leeds"] + ["likes tea"] * copies)
    by_meaning = Fixed(memories=["lives in Leeds", "has a dog"])
    both = EnsembleRetriever(retrievers=[by_words, by_meaning], weights=[0.5, 0.5])
    return [memory.page_content for memory in both.invoke("Where does the user live?")]


one, three = order(1), order(3)
print("one copy:    ", one)
print("three copies:", three)

if one[0] != "lives in Leeds":
    raise SystemExit("DIFFERENT: without copies, the memory first in both is not first.")
if len(three) != 3:
    raise SystemExit("DIFFERENT: equal texts are not shown once.")
if three[0] != "likes tea":
    raise SystemExit("DIFFERENT: copies no longer outrank the memory first in both.")
PYTHON
