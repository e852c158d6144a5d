#!/usr/bin/env bash
# Package: @orama/orama 3.1.18 (full-text and vector search in memory, for JavaScript).
# Question: `distinctOn` asks for one memory of each group. Does it hold in every mode?
# One would guess: yes, for it is an option of one search function.
# What happens: it holds for words. By meaning, and for both at once, it does nothing.
# No error is raised. Three copies of one group fill the three places.
# In word mode the same three places hold three groups.
# Why it matters: a program that moves from words to meaning loses its guard on copies.
# Other memories are then out of the answer, and nothing says so.
# Seen:
#   fulltext: tea milk rain
#   vector:   tea tea tea
#   hybrid:   tea tea tea
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @orama/orama@3.1.18

cat >look.mjs <<'JAVASCRIPT'
import { create, insertMultiple, search } from "@orama/orama";

const store = create({ schema: { text: "string", group: "enum", place: "vector[2]" } });
await insertMultiple(store, [
  { id: "1", text: "Anna said tea", group: "tea", place: [1, 0] },
  { id: "2", text: "Anna said tea", group: "tea", place: [1, 0.01] },
  { id: "3", text: "Anna said tea", group: "tea", place: [1, 0.02] },
  { id: "4", text: "Anna said milk", group: "milk", place: [1, 0.5] },
  { id: "5", text: "Anna said rain", group: "rain", place: [1, 1] },
]);

const vector = { value: [1, 0], property: "place" };
const found = {};
for (const mode of ["fulltext", "vector", "hybrid"]) {
  const asked = { mode, term: "Anna", similarity: 0, distinctOn: "group", limit: 3 };
  const answer = await search(store, mode === "fulltext" ? asked : { ...asked, vector });
  found[mode] = answer.hits.map((hit) => hit.document.group).join(" ");
  console.log(`${mode}:`.padEnd(9), found[mode]);
}

if (found.fulltext !== "tea milk rain") {
  throw new Error("DIFFERENT: in word mode, the three places do not hold three groups.");
}
if (found.vector !== "tea tea tea") {
  throw new Error("DIFFERENT: in vector mode, one of each group comes.");
}
if (new Set(found.hybrid.split(" ")).size === 3) {
  throw new Error("DIFFERENT: in hybrid mode, one of each group comes.");
}
JAVASCRIPT
node look.mjs
