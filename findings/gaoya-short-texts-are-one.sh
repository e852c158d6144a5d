#!/usr/bin/env bash
# Package: gaoya 0.2.2 (an index for near-duplicate texts).
# Question: texts shorter than the word group the index compares. What finds what?
# One would guess: nothing, or only a text that is equal.
# What happens: a text without one whole group has an empty set of groups.
# All empty sets look the same, so all short texts are duplicates of one another.
# A text of two words that was never stored "finds" every short text in the index.
# Why it matters: short memories are the ones that carry a plain yes, no, or a name.
# Who drops what the index finds keeps the first short memory and loses all others.
# Longer texts in the same index are compared rightly.
# Seen:
#   'allergic to nuts' finds [3]
#   'no nuts' finds [0, 1, 2]
#   'dentist Tuesday' finds [0, 1, 2]
#   'mother drinks tea at four' finds [4]
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'gaoya==0.2.2'

cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from gaoya.minhash import MinHashStringIndex

index = MinHashStringIndex(
    hash_size=32,
    jaccard_threshold=0.5,
    num_bands=40,
    band_size=3,
    num_hashes=120,
    analyzer="word",
    lowercase=True,
    ngram_range=(3, 3),
)
memories = ["no nuts", "likes Olga", "York", "allergic to nuts", "mother drinks tea at four"]
for number, text in enumerate(memories):
    index.insert_document(number, text)


def find(text):
    found = sorted(index.query(text))
    print(f"{text!r} finds {found}")
    return found


three, short, unknown, long = map(
    find, ("allergic to nuts", "no nuts", "dentist Tuesday", "mother drinks tea at four")
)
if three != [3] or long != [4]:
    raise SystemExit("DIFFERENT: texts with a whole group do not find themselves alone.")
if short != [0, 1, 2] or unknown != [0, 1, 2]:
    raise SystemExit("DIFFERENT: short texts no longer find all short texts.")
PYTHON
