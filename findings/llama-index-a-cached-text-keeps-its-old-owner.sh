#!/usr/bin/env bash
# Package: llama-index-core 0.14.25, IngestionPipeline with docstore strategy UPSERTS.
# Question: two documents of two users have equal text. The pipeline runs on each.
#   Whose are the stored nodes? What is left when the first document changes?
# One would guess: each document has its own node. UPSERTS tells documents apart by id.
# What happens: the second run takes its node from the cache of the pipeline.
#   That node carries the id of the first document, and its owner too. One row is stored.
#   When the first document changes, the row goes, and the second user's memory with it.
#   Deleting the second document by its id deletes nothing.
# Why it matters: equal memories of two users are common.
#   An edit by one user silently removes the memory of the other.
# Seen:
#   rows after both runs, by owner: ['ann-1']
#   rows after delete of bob-1: ['ann-1']
#   texts after the change of ann-1: ['Ann eats nuts again']
#   bob-1 run once more: []
# Date: 2026-11-30.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -qq --no-compile --disable-pip-version-check \
    'llama-index-core==0.14.25'
cd "$work"
HOME="$work" "$work/venv/bin/python" -W ignore - <<'PY'
import sys

from llama_index.core import Document
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore


def check(holds, what):
    if not holds:
        sys.exit(f"DIFFERENT: {what}")


rows = SimpleVectorStore()
splitter = SentenceSplitter(tokenizer=str.split, chunk_size=50, chunk_overlap=0)
pipeline = IngestionPipeline(
    transformations=[splitter, MockEmbedding(embed_dim=4)],
    docstore=SimpleDocumentStore(),
    vector_store=rows,
    docstore_strategy=DocstoreStrategy.UPSERTS,
)
texts = {}


def run(name, text):
    for node in pipeline.run(documents=[Document(text=text, id_=name)]):
        texts[node.node_id] = node.text


def owners():
    return sorted(rows.data.text_id_to_ref_doc_id.values())


run("ann-1", "Eats no nuts")
run("bob-1", "Eats no nuts")
both = owners()
print("rows after both runs, by owner:", both)
rows.delete("bob-1")
deleted = owners()
print("rows after delete of bob-1:", deleted)
run("ann-1", "Ann eats nuts again")
left = sorted(texts[name] for name in rows.data.embedding_dict)
print("texts after the change of ann-1:", left)
again = [node.text for node in pipeline.run(documents=[Document(text="Eats no nuts", id_="bob-1")])]
print("bob-1 run once more:", again)
check(both == ["ann-1"], "each document has its own node")
check(deleted == ["ann-1"], "the delete by document id removed the row")
check(left == ["Ann eats nuts again"], "the second user's text outlives the change")
check(again == [], "the second user's text comes back when it is run again")
print("SAME: the second user's memory went with an edit of the first")
PY
